"""Databases read by column give the same verdict as read by row, however they were altered."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sdschat.audit.compare import compare, read_fast
from sdschat.audit.schemas import FIELD
from sdschat.audit.sources.databases import Reading, databases
from sdschat.audit.sources.packets import Memory
from sdschat.audit.verdict import DEFAULT
from sdschat.store.retention import drop_oldest
from sdschat.store.store import Store
from sdschat.wire.sds_codec import SdsCodec
from tests.audit.field import NAMES, change, database, forge, nth, one

FLIPS = int(os.environ.get("SDSCHAT_PIPELINE_FLIPS", "60"))


def sound(path: Path) -> bool:
    return [*read_fast([Reading(FIELD, path, 1, Memory(sized=True))])] != [None]


def both_say_the_same(paths: list[Path]) -> None:
    quick, whole = compare(paths, 1, DEFAULT), compare(paths, 1, DEFAULT, by_row=True)
    assert quick.audit == whole.audit
    assert quick.quarantine == whole.quarantine
    assert quick.sources == whole.sources
    assert quick.said.presences == whole.said.presences
    assert [*map(quick.said.held_by, quick.said.presences)] == [*map(whole.said.held_by, whole.said.presences)]


def test_what_nodes_wrote_is_sound_and_nothing_differs(untouched: Path) -> None:
    assert all(sound(database(untouched, name)) for name in NAMES)
    both_say_the_same(databases([untouched]))


ALTERED = (
    "UPDATE log SET lamport = lamport + 9000 WHERE place = ?",
    "UPDATE log SET dependencies = 'no json' WHERE place = ?",
    "UPDATE log SET dependencies = '[]', sum = sum + 1 WHERE place = ?",
    "UPDATE log SET via = 'moon' WHERE place = ?",
    "UPDATE log SET received_at = 0 WHERE place = ?",
    "UPDATE body SET raw = CAST(raw || x'00' AS BLOB) WHERE place = ?",
    "UPDATE body SET sum = sum + 1 WHERE place = ?",
    "UPDATE body SET raw = (SELECT raw FROM body WHERE place <> ?)",
    "DELETE FROM body WHERE place = ?",
    "UPDATE text SET text = 'pay me' WHERE place = ?",
    "UPDATE text SET text = text || char(0) || 'more' WHERE place = ?",
    "UPDATE text SET nick = 'mallory' WHERE place = ?",
    "UPDATE text SET nick = nick || char(0) || 'more' WHERE place = ?",
    "UPDATE log SET via = via || char(0) || 'more' WHERE place = ?",
    "UPDATE log SET dependencies = dependencies || char(0) || 'more' WHERE place = ?",
    "UPDATE journal SET event = event || char(0) || 'more' WHERE ? AND event = 'delivered'",
    "UPDATE outgoing SET state = 0 WHERE message_id = (SELECT message_id FROM log WHERE place >= ? AND own)",
    "UPDATE journal SET ts_ms = ts_ms - 1 WHERE ? AND event = 'delivered'",
    "UPDATE journal SET cause = NULL WHERE ? AND event = 'delivered'",
    "UPDATE boot SET node = 'somebody' WHERE ?",
)


@pytest.mark.parametrize("statement", ALTERED)
def test_a_database_that_was_altered_is_not_sound_and_nothing_differs(field: Path, statement: str) -> None:
    change(field, "cleo", statement, nth(field, "cleo", 2)[0])
    assert not sound(database(field, "cleo"))
    both_say_the_same(databases([field]))


GONE = (
    "DELETE FROM log WHERE place = ?",
    "DELETE FROM text WHERE place = ?",
    "DELETE FROM outgoing WHERE ?",
    "DELETE FROM journal WHERE ? AND place = (SELECT max(place) - 5 FROM journal)",
    "DELETE FROM channel_state WHERE ?",
    "UPDATE channel_state SET horizon = 1 WHERE ?",
    "INSERT INTO gap (channel, message_id, reason, at, charged_to, sum) SELECT 1, 'x' || ?, 'lost', 7, '', 0",
)


@pytest.mark.parametrize("statement", GONE)
def test_a_database_that_lacks_something_is_sound_and_nothing_differs(field: Path, statement: str) -> None:
    change(field, "bob", statement, nth(field, "bob", 5)[0])
    assert sound(database(field, "bob"))
    both_say_the_same(databases([field]))


def let_go(field: Path) -> None:
    """Remove packets like a Store, which drops those older than its limit."""
    newest = int(one(field, "bob", "SELECT max(lamport) FROM log"))
    with Store.open(database(field, "bob"), SdsCodec()) as store:
        assert drop_oldest(store, "lobby", newest, 100, 1).packets > 0


def twice(field: Path) -> None:
    """Put a copy beside the database, then delete a message from the database."""
    shutil.copy(database(field, "bob"), database(field, "bob").with_name("older.db"))
    change(field, "bob", "DELETE FROM log WHERE place = ?", nth(field, "bob", 3)[0])


def twice_and_altered(field: Path) -> None:
    twice(field)
    change(field, "bob", "UPDATE log SET via = 'moon' WHERE place = ?", nth(field, "bob", 3)[0])


def no_database(field: Path) -> None:
    (field / "odd.db").write_bytes(b"SQLite format 3\0 and nothing more")


def never_used(field: Path) -> None:
    with Store.open(field / "fresh" / "sdschat.db", SdsCodec()):
        pass


@pytest.mark.parametrize("done", [let_go, twice, twice_and_altered, no_database, never_used])
def test_what_is_out_of_the_ordinary_gives_the_same(field: Path, done: Callable[[Path], None]) -> None:
    done(field)
    both_say_the_same(databases([field]))


def test_a_store_that_let_packets_go_is_sound(field: Path) -> None:
    let_go(field)
    assert sound(database(field, "bob"))


def test_of_two_copies_of_the_same_age_the_first_by_path_counts(field: Path, tmp_path: Path) -> None:
    bob, (first, name), (second, _) = database(field, "bob"), nth(field, "bob", 3), nth(field, "bob", 6)
    saved = shutil.copy(bob, tmp_path / "saved")
    change(field, "bob", "DELETE FROM log WHERE place = ?", second)
    shutil.copy(bob, bob.with_name("the other.db"))
    shutil.copy(saved, bob)
    change(field, "bob", "DELETE FROM log WHERE place = ?", first)
    for paths in (databases([field]), databases([field])[::-1]):
        assert [row.message_id for row in compare(paths, 1, DEFAULT).audit.missing] == [name]
        both_say_the_same(paths)


@pytest.mark.parametrize("seed", range(FLIPS))
def test_a_flipped_bit_gives_the_same(field: Path, seed: int) -> None:
    draw = random.Random(seed)
    path = database(field, draw.choice(NAMES))
    found = bytearray(path.read_bytes())
    at = draw.choice([place for place in range(len(found)) if found[place]])  # most of the file is empty
    found[at] ^= 1 << draw.randrange(8)
    path.write_bytes(found)
    both_say_the_same([each for name in NAMES for each in [database(field, name)]])


NO_ROW_HAS: tuple[tuple[str, dict[str, object]], ...] = (
    ("log", {"lamport": -1}),
    ("log", {"dependencies": "no json"}),
    ("log", {"dependencies": "5"}),
    ("outgoing", {"state": 7}),
    ("journal", {"deps": "no json"}),
)


def forged(field: Path, table: str, values: dict[str, object]) -> str:
    """Give a row of bob an impossible value with a right checksum. Return the name of the row."""
    place, name = nth(field, "bob", 9)
    if table == "journal":
        forge(field, "bob", table, (1 << 40) + 9, **values)
        return "event 9 of boot "
    if table == "outgoing":
        name = one(field, "bob", "SELECT message_id FROM outgoing WHERE place = 1")
    forge(field, "bob", table, 1 if table == "outgoing" else place, **values)
    return f"message {name}"


@pytest.mark.parametrize(("table", "values"), NO_ROW_HAS)
def test_a_database_with_a_value_that_no_row_has_is_named_with_its_row_and_the_others_are_compared(
    field: Path, table: str, values: dict[str, object]
) -> None:
    what = forged(field, table, values)
    found = compare(databases([field]), 1, DEFAULT)
    assert [(row.source, row.place) for row in found.quarantine] == [(str(database(field, "bob")), "")]
    assert f"(there is a value in it that no row can have: {what}" in found.quarantine[0].reason
    assert {row.nick for row in found.audit.nodes} == ({*NAMES} if table == "journal" else {"ann", "cleo"})
    both_say_the_same(databases([field]))


@pytest.mark.parametrize("deps", ["[1]", '["\\ud800"]'])
def test_dependencies_of_an_event_that_are_no_ids_are_told_of_a_database_that_is_sound_otherwise(
    field: Path, deps: str
) -> None:
    forge(field, "bob", "journal", (1 << 40) + 9, deps=deps)
    found = compare(databases([field]), 1, DEFAULT)
    assert [row.reason for row in found.quarantine] == ["its dependencies are no list of ids"]
    both_say_the_same(databases([field]))


def test_a_row_with_the_place_of_another_channel_gives_the_same(field: Path) -> None:
    forge(field, "bob", "log", nth(field, "bob", 9)[0], place=9 << 40)
    both_say_the_same(databases([field]))


def test_an_index_that_is_damaged_alone_gives_the_same(field: Path) -> None:
    """The same bytes are in the table before; the index is used to count a log."""
    path, name = database(field, "bob"), nth(field, "bob", 5)[1].encode()
    found = path.read_bytes()
    for at in [each.start() for each in re.finditer(re.escape(name), found)]:
        path.write_bytes(found[:at] + bytes([found[at] ^ 1]) + found[at + 1 :])
        both_say_the_same(databases([field]))


def varint(number: int) -> bytes:
    """Return a row number as SQLite writes it in a table (for numbers under 2^56)."""
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127 | 128)
    return bytes(reversed(groups))


def test_a_text_whose_number_in_the_table_is_too_large_gives_the_same(field: Path) -> None:
    """A scan of the table ends there, but a search for a later row finds it."""
    path, (place, _) = database(field, "bob"), nth(field, "bob", 0)
    found = bytearray(path.read_bytes())
    at = found.rindex(varint(place), 0, found.index(b"word 0"))
    found[at] ^= 1
    path.write_bytes(found)
    assert not sound(path)
    both_say_the_same(databases([field]))


def test_a_database_that_breaks_off_is_named_and_the_others_are_compared(field: Path) -> None:
    change(field, "bob", "UPDATE log SET via = CAST(x'ff' AS TEXT) WHERE place = ?", nth(field, "bob", 9)[0])
    found = compare(databases([field]), 1, DEFAULT)
    assert [(row.source, row.place) for row in found.quarantine] == [(str(database(field, "bob")), "")]
    assert {row.nick for row in found.audit.nodes} == {"ann", "cleo"}
    assert found.audit.agreed
