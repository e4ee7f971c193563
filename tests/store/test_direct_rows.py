"""Direct messages, and the rows of their protocol, come back from the disk as they were."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sdschat.mvds.values import (
    AheadRow,
    Drop,
    GroupRow,
    Head,
    HeadsRow,
    Keep,
    Message,
    MessageRow,
    Metadata,
    Mode,
    PeerRow,
    PeerTable,
    Put,
    RecordRow,
    RecordType,
    Row,
    WaitingRow,
    Write,
)
from sdschat.store.direct import DirectMessages, newest_with
from sdschat.store.display_rows import DirectRow
from sdschat.store.mvds import MvdsStore
from sdschat.store.store import Store
from tests.store.samples import CODEC


def _row(number: int, peer: str, **other: object) -> DirectRow:
    name = hashlib.sha256(bytes([number])).hexdigest()
    made = DirectRow(name, peer, False, peer.title(), f"text {number}", 1, 100 + number, 200 + number, 0, "", "known")
    return made._replace(**other)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as opened:
        yield opened


def _put(store: Store, messages: DirectMessages, rows: Sequence[DirectRow]) -> None:
    for row in rows:
        with store.transaction() as transaction:
            messages.put(transaction, row)


def test_no_question_about_the_newest_looks_at_all_messages(store: Store) -> None:
    """With little said with one person, all that was said with others was read for each message."""
    messages = DirectMessages(store, "lobby")
    _put(store, messages, [_row(number, "ann") for number in range(2)])
    asked: list[str] = []
    store.connection.set_trace_callback(asked.append)
    messages.newest()
    newest_with(store, "ann", 9)
    store.connection.set_trace_callback(None)
    plans = [store.connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall() for query in asked]
    assert len(plans) == 2
    assert not [step for plan in plans for step in plan if "SCAN direct" in step[3] or "B-TREE" in step[3]], plans


def test_the_newest_direct_messages_come_oldest_first(store: Store) -> None:
    messages, other = DirectMessages(store, "lobby"), DirectMessages(store, "attic")
    rows = [_row(number, "ann" if number % 3 else "bob", own=number % 2 == 0) for number in range(9)]
    _put(store, messages, rows)
    _put(store, other, [_row(90, "ann")])
    assert messages.newest() == rows
    assert messages.newest(limit=4) == rows[-4:]
    assert newest_with(store, "bob", 9) == [row for row in rows if row.peer == "bob"]
    assert newest_with(store, "bob", 2) == [row for row in rows if row.peer == "bob"][-2:]
    assert messages.written_to() == {"ann", "bob"}
    assert other.written_to() == set()
    assert messages.one(rows[3].message_id) == rows[3]
    assert other.one(rows[3].message_id) is None
    assert DirectMessages(store, "nowhere").newest() == []


def test_a_direct_message_keeps_its_place_when_its_state_changes(store: Store) -> None:
    messages = DirectMessages(store, "lobby")
    rows = [_row(number, "ann", own=True) for number in range(3)]
    _put(store, messages, rows)
    changed = rows[0]._replace(state=2, reply_to=rows[1].message_id)
    _put(store, messages, [changed])
    assert messages.newest() == [changed, *rows[1:]]


def test_a_direct_message_that_the_disk_altered_is_left_out(store: Store) -> None:
    messages = DirectMessages(store, "lobby")
    rows = [_row(number, "ann") for number in range(3)]
    _put(store, messages, rows)
    store.connection.execute("UPDATE direct SET text = 'other' WHERE message_id = ?", (rows[1].message_id,))
    assert messages.newest() == [rows[0], rows[2]]
    assert messages.one(rows[1].message_id) is None


GROUP, MINE, PARENT = b"g" * 32, b"m" * 32, b"p" * 32
SAID = Message(GROUP, 17, b"body", Metadata((PARENT, MINE), False))
PLAIN = Message(GROUP, 18, b"", None)
ROWS: Sequence[tuple[PeerTable, str, Row]] = (
    (PeerTable.PEER, "ann", PeerRow("ann", Mode.BATCH, True, 4, 5, (6, MINE))),
    (PeerTable.PEER, "bob", PeerRow("bob")),
    (PeerTable.RECORD, "ann/1", RecordRow("ann", MINE, GROUP, RecordType.OFFER, 17, 2, 1, 9, True)),
    (PeerTable.RECORD, "bob/1", RecordRow("bob", PARENT, b"", RecordType.REQUEST, 0, 0, 0, 1)),
    (PeerTable.GROUP, "g", GroupRow(GROUP, ("ann", "bob"))),
    (PeerTable.HEADS, "g", HeadsRow(GROUP, (Head(MINE, 17), Head(PARENT, 3)))),
    (PeerTable.WAITING, "1", WaitingRow(MINE, SAID, "ann", (PARENT,), (MINE,), 12)),
    (PeerTable.WAITING, "2", WaitingRow(PARENT, PLAIN, "bob", (), (), 13)),
    (PeerTable.AHEAD, "1", AheadRow(PARENT)),
)


def _save(store: Store, mvds: MvdsStore, writes: Sequence[Write]) -> None:
    with store.transaction() as transaction:
        mvds.save(transaction, writes)


def test_all_rows_of_the_protocol_come_back(store: Store) -> None:
    mvds = MvdsStore(store, "lobby")
    _save(store, mvds, [Put(table, key, row) for table, key, row in ROWS])
    found = mvds.snapshot()
    by_table = {table: tuple(row for one, _, row in ROWS if one is table) for table in PeerTable}
    assert found.records == by_table[PeerTable.RECORD]
    assert found.peers == by_table[PeerTable.PEER]
    assert found.groups == by_table[PeerTable.GROUP]
    assert found.heads == by_table[PeerTable.HEADS]
    assert found.waiting == by_table[PeerTable.WAITING]
    assert found.ahead == by_table[PeerTable.AHEAD]
    assert MvdsStore(store, "attic").snapshot().peers == ()


def test_a_row_is_replaced_and_dropped_under_its_key(store: Store) -> None:
    mvds = MvdsStore(store, "lobby")
    _save(store, mvds, [Put(table, key, row) for table, key, row in ROWS])
    _save(store, mvds, [Put(PeerTable.PEER, "bob", PeerRow("bob", Mode.INTERACTIVE)), Drop(PeerTable.AHEAD, "1")])
    found = mvds.snapshot()
    assert found.peers[-1] == PeerRow("bob", Mode.INTERACTIVE)
    assert found.ahead == ()
    assert len(found.records) == 2


def test_what_belongs_to_a_peer_that_the_disk_altered_is_left_out(store: Store) -> None:
    mvds = MvdsStore(store, "lobby")
    _save(store, mvds, [Put(table, key, row) for table, key, row in ROWS])
    store.connection.execute("UPDATE mvds_row SET value = '[]' WHERE name = 'peer/bob'")
    found = mvds.snapshot()
    assert [row.peer for row in found.peers] == ["ann"]
    assert [row.peer for row in found.records] == ["ann"]
    assert found.groups == ()


def test_a_message_of_the_protocol_comes_back_unless_the_disk_altered_it(store: Store) -> None:
    mvds = MvdsStore(store, "lobby")
    _save(store, mvds, [Keep(MessageRow(MINE, SAID, "ann", 5, (PARENT,))), Keep(MessageRow(PARENT, PLAIN, "", 6, ()))])
    assert mvds.load(MINE) == SAID
    assert mvds.load(PARENT) == PLAIN
    assert mvds.holds(MINE)
    assert not mvds.holds(GROUP)
    assert MvdsStore(store, "attic").load(MINE) is None
    store.connection.execute("UPDATE mvds_message SET body = x'00' WHERE message_id = ?", (MINE.hex(),))
    assert mvds.load(MINE) is None
    assert not mvds.holds(MINE)
