"""Rows of a database as they are in the file, for an audit: an altered one is a result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.sds.values import AckState, ChannelRow, Put, Table
from sdschat.store.audit_reader import AlteredRow, AuditReader, LogRowFound
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.retention import drop_oldest
from sdschat.store.store import Store
from tests.fingerprints import fingerprint_of
from tests.store.samples import CODEC, START, Talk, row_of

COUNT = 40


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[tuple[Store, Talk]]:
    talk = Talk()
    journal = JournalSettings("me", "boot 1")
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC, journal=journal) as store:
        for _ in range(COUNT):
            writes, rows, texts = talk.step()
            store.commit([("lobby", writes)], rows, texts)
        yield store, talk


def _log(store: Store) -> dict[str, LogRowFound]:
    with AuditReader(store.path) as reader:
        (counts,) = reader.standings()
        return {row.message_id: row for row in reader.messages(counts.number)}


def _alter(store: Store, statement: str, message_id: str) -> None:
    where = "WHERE place = (SELECT place FROM log WHERE message_id = ?)"
    store.connection.execute(f"{statement} {where}", (message_id,))


def test_an_intact_log_is_as_it_was_written(filled: tuple[Store, Talk]) -> None:
    store, talk = filled
    found = _log(store)
    assert list(found) == [message.message_id for message in talk.messages]
    for message in talk.messages:
        row = found[message.message_id]
        assert row.damage == ""
        assert (row.lamport, row.sender_id) == (message.lamport_timestamp, message.sender_id)
        assert row.dependencies == tuple(entry.message_id for entry in message.causal_history)
        assert (row.raw, row.text) == (CODEC.encode(message), talk.texts[message.message_id])
        assert (row.nick, row.sent_at) == (message.sender_id.title(), message.lamport_timestamp)
        assert row.own == (message.sender_id == "me")
        assert (row.state is not None) == row.own
        assert (row.via, row.received_at) == ("live", (message.lamport_timestamp or 0) + 40)


def test_a_horizon_counts_only_with_its_checksum(filled: tuple[Store, Talk]) -> None:
    store, _ = filled
    with AuditReader(store.path) as reader:
        number = reader.standings()[0].number
    found = []
    rows = row_of(ChannelRow, lamport=START, layout="compact", horizon=START)
    store.commit([("lobby", [Put(Table.CHANNEL, "", rows)])], [])
    for statement in ("", "UPDATE channel_state SET sum = sum + 1", "DELETE FROM channel_state"):
        store.connection.execute(f"{statement} WHERE channel = {number}" if statement else "SELECT 1")
        with AuditReader(store.path) as reader:
            found.append(reader.standings()[0].horizon)
    assert found == [START, 0, 0]


def test_what_is_claimed_of_a_log_is_compared_with_a_count(filled: tuple[Store, Talk]) -> None:
    store, talk = filled
    with AuditReader(store.path) as reader:
        assert reader.node() == "me"
        assert reader.as_of() > 0
        (counts,) = reader.standings()
    keys = [(message.lamport_timestamp or 0, message.message_id) for message in talk.messages]
    assert (counts.channel, counts.claimed, counts.counted) == ("lobby", COUNT, COUNT)
    assert counts.claimed_fingerprint == counts.counted_fingerprint == fingerprint_of(keys)
    _alter(store, "DELETE FROM log", talk.messages[0].message_id)
    with AuditReader(store.path) as reader:
        (counts,) = reader.standings()
    assert (counts.claimed, counts.counted) == (COUNT, COUNT - 1)
    assert counts.claimed_fingerprint != counts.counted_fingerprint == fingerprint_of(keys[1:])


@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ("UPDATE log SET received_at = 1", "its row in the log was altered"),
        ("UPDATE log SET dependencies = 'no ids'", "its row in the log was altered"),
        ("UPDATE log SET dependencies = '[1]'", "its row in the log was altered"),
        ("DELETE FROM body", "its packet is gone"),
        ("UPDATE body SET raw = x'00'", "its packet was altered"),
        ("UPDATE text SET nick = 'Mallory'", "its text was altered"),
    ],
)
def test_an_altered_part_is_named(filled: tuple[Store, Talk], statement: str, damage: str) -> None:
    store, talk = filled
    altered = talk.messages[9].message_id
    _alter(store, statement, altered)
    found = _log(store)
    assert {name: row.damage for name, row in found.items() if row.damage} == {altered: damage}
    intact = tuple(entry.message_id for entry in talk.messages[9].causal_history)
    assert found[altered].dependencies == (() if "dependencies" in statement else intact)


def test_what_is_known_of_an_acknowledgement_is_checked(filled: tuple[Store, Talk]) -> None:
    store, talk = filled
    own = next(message.message_id for message in talk.messages if message.sender_id == "me")
    assert isinstance(_log(store)[own].state, AckState)
    store.connection.execute("UPDATE outgoing SET sends = sends + 1 WHERE message_id = ?", (own,))
    row = _log(store)[own]
    assert (row.state, row.damage) == (None, "what is known of its acknowledgement was altered")


def test_a_packet_that_was_dropped_as_too_old_is_not_gone(filled: tuple[Store, Talk]) -> None:
    store, talk = filled
    drop_oldest(store, "lobby", talk.messages[20].lamport_timestamp or 0, COUNT, START)
    found = _log(store)
    assert {row.damage for row in found.values()} == {""}
    assert set(found) == {message.message_id for message in talk.messages}
    bare = {name for name, row in found.items() if row.raw is None}
    assert bare == {message.message_id for message in talk.messages[:20] if message.sender_id != "me"}
    deps = {message.message_id: tuple(one.message_id for one in message.causal_history) for message in talk.messages}
    assert {name: row.dependencies for name, row in found.items()} == deps


def test_an_altered_row_of_the_journal_is_named(filled: tuple[Store, Talk]) -> None:
    store, _ = filled
    with AuditReader(store.path) as reader:
        before = list(reader.journal())
    assert not any(isinstance(row, AlteredRow) for row in before)
    place = store.connection.execute("SELECT place FROM journal ORDER BY place LIMIT 1 OFFSET 3").fetchone()[0]
    store.connection.execute("UPDATE journal SET event = 'other' WHERE place = ?", (place,))
    with AuditReader(store.path) as reader:
        after = list(reader.journal())
    assert [row for row in after if not isinstance(row, AlteredRow)] == before[:3] + before[4:]
    (altered,) = (row for row in after if isinstance(row, AlteredRow))
    assert (altered.boot, altered.detail) == ("boot 1", "a row of the journal does not match its checksum")


def test_what_is_declared_is_gaps_and_what_is_missing_or_held(filled: tuple[Store, Talk]) -> None:
    store, _ = filled
    with AuditReader(store.path) as reader:
        (counts,) = reader.standings()
        declared = {(row.kind, row.message_id) for row in reader.declared(counts.number)}
    number = counts.number
    ids = {
        kind: {row[0] for row in store.connection.execute(f"SELECT message_id FROM {table} WHERE channel = {number}")}
        for kind, table in (("lost", "gap"), ("missing", "missing"), ("held", "held"))
    }
    assert declared == {(kind, name) for kind, names in ids.items() for name in names}
    assert all(ids.values())
