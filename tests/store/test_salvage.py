"""Reading of a damaged database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from sdschat.sds.values import AckState, Append, Evidence, Message, OutgoingRow, Put, Table, Write
from sdschat.store.columns import row_sum
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


def _saved(path: Path, count: int) -> list[Message]:
    messages = [packet_of("lobby", "anna", START + number, f"number {number} {'x' * 200}") for number in range(count)]
    with Store.open(path, CODEC) as store:
        store.commit([("lobby", [Append(log_row(message)) for message in messages])])
    return messages


def _without_pages_of(path: Path, messages: Sequence[Message], chosen: Sequence[int]) -> set[int]:
    """Turn the pages with the packets of the chosen messages into noise. Return the numbers of all that were there."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    image = path.read_bytes()
    pages = [image.index(CODEC.encode(message)) // size for message in messages]
    bad = {pages[number] for number in chosen}
    with path.open("r+b") as file:
        for page in bad:
            file.seek(page * size)
            file.write(b"\xa5" * size)
    return {number for number, page in enumerate(pages) if page in bad}


@pytest.mark.parametrize("chosen", [[0], [7, 390], [50], [250, 280, 310], [399]])
def test_an_unreadable_page_costs_its_own_packets_and_a_few_after_it(tmp_path: Path, chosen: list[int]) -> None:
    path = tmp_path / "p" / "sdschat.db"
    messages = _saved(path, 400)
    unreadable = _without_pages_of(path, messages, chosen)
    with Wreck(path, CODEC) as wreck:
        found = [one.message for one in wreck.packets()]
    kept = {message.message_id for message in found}
    assert found == [message for message in messages if message.message_id in kept]
    lost = {number for number, message in enumerate(messages) if message.message_id not in kept}
    assert unreadable <= lost
    assert all(number - 1 in lost for number in lost - unreadable)
    assert len(lost - unreadable) <= 5 * len(chosen)


def test_after_many_unreadable_rows_the_rest_is_found_in_few_steps(tmp_path: Path) -> None:
    path = tmp_path / "p" / "sdschat.db"
    messages = _saved(path, 4000)
    _without_pages_of(path, messages, range(100, 3000, 5))
    queries: list[str] = []
    with Wreck(path, CODEC) as wreck:
        wreck._connection.set_trace_callback(lambda text: queries.append(text) if "FROM body" in text else None)
        found = [one.message for one in wreck.packets()]
    assert found[:80] == messages[:80]
    assert found[-900:] == messages[-900:]
    assert len(queries) - len(found) < 200, "and not one for each row that is lost"
