"""History on disk answers as history in memory does, and no answer costs more for a long log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count as counting
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sdschat.store
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import (
    AckState,
    AnswerRow,
    Append,
    Drop,
    Entry,
    GapRow,
    HintRow,
    LogRow,
    MissingRow,
    OutgoingRow,
    PeerRow,
    PushRow,
    Put,
    Row,
    Table,
    Write,
)
from sdschat.store.store import Store
from tests.store.samples import CODEC, START, log_row, packet_of, state_row

IDS = st.sampled_from([f"id{number}" for number in range(12)] + ["é", "\U0001f600", 'with "quotes"', "\\", "日本"])
NUMBERS = st.integers(0, 2**43)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
VALUES: dict[object, st.SearchStrategy[object]] = {
    int: NUMBERS,
    str: NAMES,
    bytes: st.binary(max_size=9),
    str | None: st.none() | NAMES,
    bytes | None: st.none() | st.binary(max_size=5),
    tuple[str, ...]: st.lists(NAMES, max_size=3).map(tuple),
}
TABLES: dict[type, Table] = {
    MissingRow: Table.MISSING,
    GapRow: Table.GAP,
    AnswerRow: Table.ANSWER,
    PushRow: Table.PUSH,
    PeerRow: Table.PEER,
    HintRow: Table.HINT,
}


def _rows(kind: type) -> st.SearchStrategy[Row]:
    """Any row of this kind; its first value is its key."""
    hints = list(get_type_hints(kind).values())
    return st.builds(kind, IDS, *(VALUES[hint] for hint in hints[1:]))


ROWS = st.one_of(*(_rows(kind) for kind in TABLES))


def _put(row: Row) -> Write:
    return Put(TABLES[type(row)], str(row[0]), row)


WRITES = st.lists(ROWS.map(_put) | st.builds(Drop, st.sampled_from(sorted(TABLES.values())), IDS), max_size=40)
ENTRIES = st.lists(
    st.builds(Entry, st.integers(1, 30), IDS, NAMES, st.lists(IDS, max_size=3).map(tuple), st.integers(0, 9)),
    unique_by=lambda entry: entry.message_id,
)
SLOW = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
FRESH = counting()  # every example has channels of its own


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("store") / "p" / "sdschat.db", CODEC) as opened:
        yield opened


@SLOW
@given(steps=st.lists(WRITES, max_size=4))
def test_snapshots_equal_those_of_a_store_in_memory(store: Store, steps: list[list[Write]]) -> None:
    """The order of rows is the same too: replaced in place; dropped and put again, at the end."""
    memory = MemoryStore()
    name = f"room {next(FRESH)}"
    for writes in steps:
        every = [*writes, Put(Table.CHANNEL, "", state_row(START))]
        memory.apply(every)
        store.commit([(name, every)])
        assert store.channel(name).snapshot() == memory.snapshot()


@SLOW
@given(entries=ENTRIES, low=st.integers(0, 31), high=st.integers(0, 31), count=st.integers(1, 12))
def test_answers_equal_those_of_history_in_memory(
    store: Store, entries: list[Entry], low: int, high: int, count: int
) -> None:
    rows = [LogRow(entry, entry.message_id.encode(), bool(at % 2), "sync", at) for at, entry in enumerate(entries)]
    memory = MemoryStore()
    name, other = f"room {next(FRESH)}", f"other {next(FRESH)}"
    for start in range(0, len(rows), 3):
        writes: list[Write] = [Append(row) for row in rows[start : start + 3]]
        memory.apply(writes)
        store.commit([(other, writes), (name, writes)])
    found, expected = store.channel(name).history, memory.history
    assert found.newest(count) == expected.newest(count)
    assert found.before(low, count) == expected.before(low, count)
    assert found.between(low, high, count) == expected.between(low, high, count)
    assert found.recently_added(count) == expected.recently_added(count)
    for entry in [*entries, Entry(1, "nowhere", "")]:
        assert found.entry(entry.message_id) == expected.entry(entry.message_id)
        assert found.row(entry.message_id) == expected.row(entry.message_id)


def test_a_channel_that_was_never_opened_is_empty(tmp_path: Path) -> None:
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        channel = store.channel("nowhere")
        assert channel.snapshot() is None
        history = channel.history
        answers = (history.newest(5), history.before(5, 5), history.between(0, 9, 5), history.recently_added(5))
        assert answers == ([], [], [], [])
        assert history.entry("x") is None
        assert history.row("x") is None
        assert store.channels() == []


def test_no_question_on_the_way_of_a_message_looks_through_a_table(tmp_path: Path) -> None:
    """The queries are those of the program itself, which saves messages, looks for their causes, and starts."""
    asked: list[str] = []
    path = tmp_path / "p" / "sdschat.db"
    with Store.open(path, CODEC) as store:
        messages = [packet_of("lobby", "anna", START + number, f"{number}") for number in range(20)]
        for number, message in enumerate(messages):
            if number == 10:
                store.connection.set_trace_callback(asked.append)
            row = OutgoingRow(message.message_id, message.lamport_timestamp or 0, AckState.UNACKED, 1, 99, ())
            state = Put(Table.CHANNEL, "", state_row(lamport=START + number))
            writes: list[Write] = [
                Append(log_row(message, own=True)),
                Put(Table.OUTGOING, message.message_id, row),
                state,
            ]
            store.commit([("lobby", writes)])
        history = store.channel("lobby").history
        assert history.row(messages[3].message_id) is not None
        assert history.entry(messages[3].message_id) is not None
        assert history.entry("nowhere") is None
        found = [history.newest(9), history.before(START + 15, 9), history.between(START + 2, START + 10, 9)]
        assert [len(each) for each in (*found, history.recently_added(9))] == [9] * 4
        snapshot = store.channel("lobby").snapshot()
        assert snapshot is not None
        assert len(snapshot.outgoing) == 20
        store.connection.set_trace_callback(None)
        queries = sorted(
            {query for query in asked if re.search(r"\b(FROM|INTO|UPDATE) (log|body|outgoing|past)\b", query)}
        )
        assert len(queries) > 8
        steps = {
            (query, row[3]) for query in queries for row in store.connection.execute(f"EXPLAIN QUERY PLAN {query}")
        }
    assert [each for each in sorted(steps) if each[1].startswith("SCAN")] == []


def test_a_failed_step_leaves_no_trace_and_may_be_tried_again(tmp_path: Path) -> None:
    """Places and counts in memory change only after the disk."""
    message = packet_of("lobby", "anna", START, "hello")
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        with pytest.raises(LookupError), store.transaction() as transaction:  # noqa: PT012
            transaction.apply("lobby", [Append(log_row(message))])
            transaction.index_text("lobby", "no such message", "a", "b", "known", 0)
        assert store.channel("lobby").history.newest(5) == []
        assert store.channels() == []
        store.commit([("lobby", [Append(log_row(message))])])
        assert [entry.message_id for entry in store.channel("lobby").history.newest(5)] == [message.message_id]


def test_no_statement_numbers_its_values() -> None:
    """Python 3.12.0 to 3.12.3 take `?1` for a name, and warn of each such statement that is given a tuple."""
    sources = Path(sdschat.store.__file__).parent.glob("*.py")
    assert [path.name for path in sources if re.search(r"\?\d", path.read_text())] == []
