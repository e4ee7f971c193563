"""Reading of a damaged database."""

from __future__ import annotations

from pathlib import Path

from sdschat.sds.rows import AckState, Append, Evidence, OutgoingRow, Put, Table, Write
from sdschat.store.checksums import row_sum
from sdschat.store.salvage import Wreck
from sdschat.store.store import Store
from tests.store.samples import CODEC, START, log_row, packet_of, row_of, state_row


def test_what_is_known_of_other_own_messages_is_kept_where_one_row_makes_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "p" / "sdschat.db"
    evidence = Evidence("bob", "mention", "packet", START, 0.0)
    with Store.open(path, CODEC) as store:
        ids = []
        for number in range(3):
            message = packet_of("lobby", "me", START + number, f"number {number}")
            fate = row_of(
                OutgoingRow,
                message_id=message.message_id,
                lamport=START + number,
                state=AckState.ACKED,
                evidence=(evidence,),
            )
            writes: list[Write] = [Append(log_row(message, own=True)), Put(Table.OUTGOING, message.message_id, fate)]
            store.commit([("lobby", [*writes, Put(Table.CHANNEL, "", state_row(START + number))])])
            ids.append(message.message_id)
        rows = store.connection.execute("SELECT * FROM outgoing ORDER BY place").fetchall()
        names = [column[1] for column in store.connection.execute("PRAGMA table_info(outgoing)")]
        broken = dict(zip(names, rows[1], strict=True)) | {"evidence": "{"}
        values = tuple(broken[name] for name in names if name not in ("place", "sum"))
        store.connection.execute(
            "UPDATE outgoing SET evidence = ?, sum = ? WHERE place = ?", ("{", row_sum(values), broken["place"])
        )
    with Wreck(path, CODEC) as wreck:
        assert sorted(wreck.fates()) == sorted([ids[0], ids[2]])


def test_a_packet_whose_row_of_the_log_is_altered_comes_with_the_date_it_says_itself(tmp_path: Path) -> None:
    path = tmp_path / "p" / "sdschat.db"
    messages = [packet_of("lobby", "anna", START + number, f"number {number}") for number in range(3)]
    with Store.open(path, CODEC) as store:
        for message in messages:
            store.commit([("lobby", [Append(log_row(message))])])
        store.connection.execute("UPDATE log SET via = 'push' WHERE message_id = ?", (messages[1].message_id,))
    with Wreck(path, CODEC) as wreck:
        found = list(wreck.packets())
    assert [one.message for one in found] == messages
    assert [(one.via, one.received_at) for one in found] == [
        ("live", START + 40),
        ("live", START + 1),
        ("live", START + 42),
    ]
