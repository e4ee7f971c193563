"""Bronze has each row once, whatever is ingested, and however often."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sdschat.audit.schemas import FIELD, Declared, Journal, KnownVersion, Message, Node, Quarantine, Whole
from sdschat.store.journal import json_lines
from sdschat.store.reader import Reader
from sdschat.wire.sds_codec import SdsCodec
from tests.audit.field import WORDS, change, database, nth, talk
from tests.needs import needs_module

needs_module("duckdb")
needs_module("pyarrow")
needs_module("deltalake")

from sdschat.audit.sources.databases import Reading
from sdschat.audit.sources.packets import Memory
from sdschat.lake.duck import open_duck
from sdschat.lake.ingest import Added, ingest, quarantined
from sdschat.lake.judge import refused_in
from sdschat.lake.sources.batch import table_of
from sdschat.lake.sources.survey import Seen, taken_already
from sdschat.lake.tables import PLACES, Tables
from tests.lake.bronze import rows_in, with_numbers
from tests.lake.by_row import read_file
from tests.lake.dying import Dying, Killed


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"), ("ann", "bob"))


@pytest.fixture(scope="module")
def lake(field: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Make a lake with the databases of the field, and a file that is not a database."""

    odd = field / "odd.db"
    odd.write_text("not a database")
    made = Tables(str(tmp_path_factory.mktemp("lake")))
    added(made, [database(field, "ann"), database(field, "bob"), odd], read_ms=1)
    return made


def added(lake: Tables, paths: list[Path], read_ms: int) -> dict[str, int]:

    return {row.table: row.added for row in ingest(lake, paths, FIELD, read_ms)}


def numbers(events: list[Any]) -> set[tuple[str, str, int]]:
    return {(row.node, row.boot, row.seq) for row in events}


def test_everything_is_taken_once(lake: Tables, field: Path) -> None:
    assert len(rows_in(lake, Message)) == 2 * len(WORDS)
    assert len(rows_in(lake, Node)) == 2
    events = rows_in(lake, Journal)
    assert len(events) == len(numbers(events)) > 2 * len(WORDS)
    assert [row.reason for row in rows_in(lake, Quarantine)] == [
        "it is no database of a profile, no journal and no capture"
    ]


def test_the_same_again_and_an_export_of_it_add_nothing(lake: Tables, field: Path, tmp_path: Path) -> None:
    path = database(field, "bob")
    exported = tmp_path / "bob.jsonl"
    with Reader.open(path, SdsCodec()) as reader:
        exported.write_text("".join(f"{line}\n" for line in json_lines(reader.journal())))
    again = added(lake, [path, field / "odd.db", exported], read_ms=2)
    assert {table: count for table, count in again.items() if count} == {"file": 2}


def test_a_newer_copy_adds_what_is_new_and_marks_what_is_gone(lake: Tables, field: Path, tmp_path: Path) -> None:
    shutil.copytree(field, tmp_path / "copy")
    place, gone = nth(tmp_path / "copy", "bob", 4)
    change(tmp_path / "copy", "bob", "DELETE FROM log WHERE place = ?", place)
    found = added(lake, [database(tmp_path / "copy", "bob")], read_ms=3)
    assert (found["journal"], found["message"], found["node"]) == (0, 1, 1)
    (row,) = [row for row in rows_in(lake, Message) if row.gone]
    assert (row.message_id, row.read_ms) == (gone, 3)


def test_rows_whose_message_was_there_before_are_noted(field: Path, tmp_path: Path) -> None:
    made = Tables(str(tmp_path / "lake"))
    added(made, [database(field, "bob")], read_ms=1)
    assert {row.again for row in rows_in(made, Message)} == {False}
    place, gone = nth(field, "bob", 4)
    shutil.copytree(field, tmp_path / "shorter")
    change(tmp_path / "shorter", "bob", "DELETE FROM log WHERE place = ?", place)
    added(made, [database(tmp_path / "shorter", "bob")], read_ms=2)
    shutil.copytree(field, tmp_path / "back")
    change(tmp_path / "back", "bob", "UPDATE boot SET boot = boot")
    added(made, [database(tmp_path / "back", "bob")], read_ms=3)
    again = [row for row in rows_in(made, Message) if row.again]
    assert sorted((row.message_id, row.read_ms, row.gone) for row in again) == [(gone, 2, True), (gone, 3, False)]


def test_an_export_beside_its_database_adds_nothing_twice(field: Path, tmp_path: Path) -> None:

    path, exported = database(field, "ann"), tmp_path / "ann.jsonl"
    with Reader.open(path, SdsCodec()) as reader:
        lines = list(json_lines(reader.journal()))
    exported.write_text("".join(f"{line}\n" for line in [*lines, "torn", lines[0]]))
    made = Tables(str(tmp_path / "lake"))
    found = added(made, [exported, path], read_ms=1)
    assert (found["journal"], found["quarantine"], found["message"]) == (len(lines), 1, len(WORDS))
    assert added(made, [exported, path], read_ms=2)["quarantine"] == 0


def test_who_was_killed_before_the_end_takes_the_rest(field: Path, tmp_path: Path) -> None:
    paths = [database(field, "ann"), database(field, "bob")]
    for lives in range(3):
        dying = Dying(str(tmp_path / "lake"), lives)
        with pytest.raises(Killed):
            ingest(dying, paths, FIELD, lives)
    made = Tables(str(tmp_path / "lake"))
    added(made, paths, read_ms=9)
    events = rows_in(made, Journal)
    assert len(events) == len(numbers(events)) > 2 * len(WORDS)
    assert [len(rows_in(made, table)) for table in (Message, Node, Whole)] == [2 * len(WORDS), 2, 2]


def test_what_somebody_left_who_was_killed_while_writing_is_not_taken_for_new(field: Path, tmp_path: Path) -> None:
    """A file that no commit names."""
    made = Tables(str(tmp_path / "lake"))
    added(made, [database(field, "ann")], read_ms=1)
    there = tmp_path / "lake" / PLACES[Journal]
    written = next(there.rglob("part-*.parquet"))
    shutil.copy(written, written.with_name("part-left.parquet"))
    added(made, [database(field, "bob")], read_ms=2)
    events = rows_in(made, Journal)
    assert len(events) == len(numbers(events))


def test_a_file_that_is_still_being_written_is_told_and_taken_to_its_end_the_next_time(
    field: Path, tmp_path: Path
) -> None:
    with Reader.open(database(field, "ann"), SdsCodec()) as reader:
        whole = "".join(f"{line}\n" for line in json_lines(reader.journal())).encode()
    growing = tmp_path / "growing.jsonl"
    growing.write_bytes(whole[:-20])

    class Meanwhile(Tables):
        def append(self, table: type, rows: Any) -> None:
            super().append(table, rows)
            growing.write_bytes(whole)

    found = ingest(Meanwhile(str(tmp_path / "lake")), [growing], FIELD, 1)
    made = Tables(str(tmp_path / "lake"))
    assert [row for row in found if row.table == "quarantine"] == [Added("quarantine", 1, 1)]
    assert [row.reason for row in rows_in(made, Quarantine)] == ["is not JSON and ends in the middle"]
    assert len(rows_in(made, Journal)) == whole.count(b"\n") - 1
    assert added(made, [growing], read_ms=2) == {"file": 1, "journal": 1}


class Beside(Tables):
    """Somebody else takes files in, just before the first commit to a table."""

    def __init__(self, root: str, table: type, paths: list[Path]) -> None:
        super().__init__(root)
        self._table: type | None = table
        self._paths = paths

    def append(self, table: type, rows: Any) -> None:
        if table is self._table:
            self._table = None
            ingest(Tables(self.root), self._paths, FIELD, 5)
        super().append(table, rows)


@pytest.mark.parametrize("table", [Journal, Message, Node, Whole])
def test_of_two_at_once_nobody_adds_what_the_other_has_added(field: Path, tmp_path: Path, table: type) -> None:
    paths, made = [database(field, "ann"), database(field, "bob")], Tables(str(tmp_path / "lake"))
    added(made, paths[:1], read_ms=1)
    ingest(Beside(made.root, table, paths), paths, FIELD, 6)
    made.refresh()
    events = rows_in(made, Journal)
    assert len(events) == len(numbers(events))
    assert [len(rows_in(made, each)) for each in (Message, Node)] == [2 * len(WORDS), 2]


def test_an_older_copy_that_comes_at_the_same_time_brings_nothing_back(field: Path, tmp_path: Path) -> None:
    newer = Path(shutil.copytree(field, tmp_path / "newer"))
    place, gone = nth(newer, "bob", 4)
    change(newer, "bob", "DELETE FROM log WHERE place = ?", place)
    row = "SELECT max(place) + 1, 'odd', 1, 1, 0 FROM journal"
    change(newer, "bob", f"INSERT INTO journal (place, event, ts_ms, mono_us, sum) {row}")
    made = Tables(str(tmp_path / "lake"))
    added(made, [database(field, "ann")], read_ms=1)
    ingest(Beside(made.root, Message, [database(newer, "bob")]), [database(field, "bob")], FIELD, 6)
    made.refresh()
    assert len(rows_in(made, Node)) == 2
    assert len([row for row in rows_in(made, Message) if row.message_id == gone and not row.gone]) == 1  # of ann


def test_events_of_one_number_that_differ_are_kept_and_named(field: Path, tmp_path: Path) -> None:
    with Reader.open(database(field, "ann"), SdsCodec()) as reader:
        lines = list(json_lines(reader.journal()))
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_text("".join(f"{line}\n" for line in lines))
    other.write_text("".join(f"{line}\n" for line in [*lines[:2], lines[2].replace('"event":"', '"event":"not_')]))
    first, second = Tables(str(tmp_path / "first")), Tables(str(tmp_path / "second"))
    added(first, [one, other], read_ms=1)
    added(second, [other], read_ms=1)
    added(second, [one], read_ms=2)
    for made in (first, second):
        assert len(rows_in(made, Journal)) == len(lines) + 1
        (row,) = {(row.place, row.reason) for row in rows_in(made, Quarantine)}
        assert row[1] == "says something else than another of its number; both are kept"
    assert set(rows_in(first, Journal)) == set(rows_in(second, Journal))
    assert [Path(row.source).name for row in quarantined(second, [one, other])] == ["one.jsonl"]
    assert added(second, [one], read_ms=3) == {"file": 1, "journal": 0}
    assert [Path(row.source).name for row in quarantined(second, [one, other])] == ["one.jsonl"], "it is still so"


def test_where_the_newest_copy_is_broken_an_older_one_beside_it_counts(field: Path, tmp_path: Path) -> None:

    newer = Path(shutil.copytree(field, tmp_path / "newer"))
    change(newer, "bob", "UPDATE text SET nick = CAST(x'ff' AS TEXT) WHERE place = ?", nth(newer, "bob", 4)[0])
    row = "SELECT max(place) + 1, 'odd', 1, 1, 0 FROM journal"
    change(newer, "bob", f"INSERT INTO journal (place, event, ts_ms, mono_us, sum) {row}")
    made = Tables(str(tmp_path / "lake"))
    added(made, [database(newer, "bob"), database(field, "bob")], read_ms=1)
    assert (len(rows_in(made, Message)), len(rows_in(made, Node))) == (len(WORDS), 1)
    assert {Path(row.source) for row in rows_in(made, Quarantine)} == {database(newer, "bob")}


def with_odd_event(field: Path, copy: Path, place: str) -> Path:
    """Return a copy of bob's database with an altered event at this place of its journal."""
    shutil.copytree(field, copy)
    row = f"SELECT {place}, 'odd', 1, 1, 0 FROM journal"
    change(copy, "bob", f"INSERT OR REPLACE INTO journal (place, event, ts_ms, mono_us, sum) {row}")
    return database(copy, "bob")


def test_of_two_copies_that_are_equally_far_each_message_is_taken_once(field: Path, tmp_path: Path) -> None:
    """The first by path has an altered event, so that the log of the second is read too."""
    odd = with_odd_event(field, tmp_path / "a", "min(place) + 2")
    shutil.copytree(field, tmp_path / "b")
    made = Tables(str(tmp_path / "lake"))
    added(made, [odd, database(tmp_path / "b", "bob")], read_ms=1)
    assert (len(rows_in(made, Message)), len(rows_in(made, Node))) == (len(WORDS), 1)
    assert {row.again for row in rows_in(made, Message)} == {False}


def test_what_an_older_copy_says_to_lack_is_not_said_of_the_newest(field: Path, tmp_path: Path) -> None:
    """The newest has an altered event, so that the log of the older one is read too."""
    odd = with_odd_event(field, tmp_path / "a", "max(place) + 1")
    shutil.copytree(field, tmp_path / "b")
    gap = "INSERT INTO gap (channel, message_id, reason, at, charged_to, sum) SELECT 1, 'ab', 'lost', 7, '', 0"
    change(tmp_path / "b", "bob", gap)
    made = Tables(str(tmp_path / "lake"))
    added(made, [odd, database(tmp_path / "b", "bob")], read_ms=1)
    assert [Path(row.source) for row in rows_in(made, Node)] == [odd]
    assert rows_in(made, Declared) == []


def test_a_log_is_taken_and_told_of_where_what_its_node_lacks_cannot_be_read(field: Path, tmp_path: Path) -> None:

    broken = Path(shutil.copytree(field, tmp_path / "broken"))
    gap = "SELECT 1, CAST(x'ff' AS TEXT), 'lost', 7, '', 0"
    change(broken, "bob", f"INSERT INTO gap (channel, message_id, reason, at, charged_to, sum) {gap}")
    made = Tables(str(tmp_path / "lake"))
    added(made, [database(broken, "bob")], read_ms=1)
    assert (len(rows_in(made, Message)), len(rows_in(made, Node)), len(rows_in(made, Whole))) == (len(WORDS), 1, 0)
    assert [Path(row.source) for row in rows_in(made, Quarantine)] == [database(broken, "bob")]


def test_what_cannot_be_taken_is_counted_once(tmp_path: Path) -> None:

    odd = tmp_path / "odd.jsonl"
    odd.write_text("no\nJSON\n")
    found = ingest(Tables(str(tmp_path / "lake")), [odd], FIELD, 1)
    assert found == [Added("file", 1, 1), Added("quarantine", 2, 2)]


def refused_rows(made: Tables) -> list[Quarantine]:
    assert made.folder is not None
    with open_duck(made.folder) as lake:
        return refused_in(lake).rows


def standing_in(made: Tables) -> list[str]:
    """Return the names of the files with a part that counts as unreadable."""
    return sorted(Path(row.source).name for row in refused_rows(made))


def test_a_file_that_was_mended_counts_no_more_and_damaged_again_it_does(field: Path, tmp_path: Path) -> None:
    made, path = Tables(str(tmp_path / "lake")), tmp_path / "bob.db"
    whole = database(field, "bob").read_bytes()
    for read_ms, content in enumerate([whole, b"damaged", whole, b"damaged", whole], 1):
        path.write_bytes(content)
        added(made, [path], read_ms)
        wrong = ["bob.db"] if content == b"damaged" else []
        assert standing_in(made) == [Path(row.source).name for row in quarantined(made, [path])] == wrong
    assert len(rows_in(made, Quarantine)) == 2
    assert len(rows_in(made, Message)) == len(WORDS)


def test_what_an_older_program_took_whole_ends_its_quarantine_when_it_is_brought_again(
    field: Path, tmp_path: Path
) -> None:

    made, path = Tables(str(tmp_path / "lake")), database(field, "bob")
    added(made, [path], read_ms=1)
    made.append(Quarantine, table_of(Quarantine, [Quarantine(FIELD, str(path), "", "?", "", 1)]))
    assert standing_in(made) == ["sdschat.db"]
    added(made, [path], read_ms=2)
    assert standing_in(made) == []


def test_a_sound_copy_of_a_database_elsewhere_ends_the_quarantine_of_a_damaged_one(field: Path, tmp_path: Path) -> None:

    broken = Path(shutil.copytree(field, tmp_path / "broken"))
    change(broken, "bob", "UPDATE text SET nick = CAST(x'ff' AS TEXT) WHERE place = ?", nth(broken, "bob", 4)[0])
    made = Tables(str(tmp_path / "lake"))
    damaged, sound = database(broken, "bob"), database(field, "bob")
    added(made, [damaged, database(field, "ann")], read_ms=1)
    assert standing_in(made) == ["sdschat.db"]
    added(made, [sound], read_ms=2)
    assert standing_in(made) == []
    added(made, [damaged], read_ms=3)
    assert standing_in(made) == ["sdschat.db"]
    assert added(made, [sound], read_ms=4) == {"file": 0}
    assert standing_in(made) == []


def test_databases_that_come_by_the_same_path_mend_only_those_of_their_own_node(field: Path, tmp_path: Path) -> None:
    """The path is that of a USB stick shared by two people."""
    made, stick = Tables(str(tmp_path / "lake")), tmp_path / "chat.db"
    broken = Path(shutil.copytree(field, tmp_path / "broken"))
    for name in ("ann", "bob"):
        change(broken, name, "UPDATE text SET nick = CAST(x'ff' AS TEXT) WHERE place = ?", nth(broken, name, 4)[0])
    brought = ((broken, "ann", 1), (field, "bob", 1), (broken, "bob", 2), (field, "ann", 1), (field, "bob", 0))
    for read_ms, (folder, name, standing) in enumerate(brought, 1):
        shutil.copy(database(folder, name), stick)
        added(made, [stick], read_ms)
        assert len({row.node for row in refused_rows(made)}) == standing
    assert len(rows_in(made, Quarantine)) == 2
    assert len({row.node for row in rows_in(made, Message)}) == 2


def test_a_sound_database_is_not_read_again_for_a_damaged_one_of_another_node_at_its_path(
    field: Path, tmp_path: Path
) -> None:

    made, path = Tables(str(tmp_path / "lake")), database(field, "bob")
    added(made, [path], read_ms=1)
    bad = Quarantine(FIELD, str(path), "", "?", "", 1, "ann", 1)
    made.append(Quarantine, table_of(Quarantine, [bad]))
    assert added(made, [path], read_ms=2) == {"file": 0}
    assert standing_in(made) == ["sdschat.db"]


def test_a_lake_at_a_uri_of_files_is_the_folder(field: Path, tmp_path: Path) -> None:

    added(Tables(f"file://{tmp_path}/lake"), [database(field, "ann")], read_ms=1)
    assert added(Tables(f"{tmp_path}/lake"), [database(field, "ann")], read_ms=2) == {"file": 0}


@pytest.mark.parametrize("much", [0, 1 << 60])
def test_the_rows_are_those_of_the_files_whether_one_process_reads_or_several(
    field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, much: int
) -> None:
    monkeypatch.setattr("sdschat.lake.staging._MUCH", much)
    made, paths = Tables(str(tmp_path / "lake")), [database(field, "ann"), database(field, "bob")]
    added(made, paths, read_ms=1)
    memory = Memory(sized=True)
    wanted: list[Any] = [row for path in paths for row in read_file(Reading(FIELD, path, 1, memory))]
    for table in (Journal, Message, Node):
        rows: list[Any] = [row for row in wanted if type(row) is table]
        if table is Message:
            rows = [with_numbers(row._replace(again=False)) for row in rows]
        assert Counter(rows_in(made, table)) == Counter(rows)


def test_a_version_of_a_message_is_named_once(lake: Tables) -> None:
    rows = [with_numbers(row) for row in rows_in(lake, Message)]
    wanted = {KnownVersion(*(getattr(row, name) for name in KnownVersion._fields)) for row in rows}
    found = rows_in(lake, KnownVersion)
    assert len(found) == len(wanted) < len(rows)
    assert set(found) == wanted


def whole(digest: str, as_of: int, read_ms: int, node: str = "ann") -> Whole:
    return Whole(FIELD, digest, node, as_of, read_ms)


def passed_over(digest: str, as_of: int, *taken: Whole, node: str = "ann") -> bool:
    seen = Seen("path", "stamp", digest, node, as_of)
    return taken_already([seen], taken) == {"path"}


def test_what_was_taken_is_passed_over_and_what_is_not_known_is_read() -> None:
    assert passed_over("a", 5, whole("a", 5, 1))
    assert not passed_over("b", 5, whole("a", 5, 1))
    assert not passed_over("", 5, whole("", 5, 1))
    assert passed_over("a", 0, whole("a", 0, 1, node=""), whole("b", 0, 2, node=""), node="")


def test_an_old_copy_that_was_taken_is_passed_over_and_one_that_was_altered_since_is_read() -> None:
    assert passed_over("a", 5, whole("a", 5, 1), whole("b", 6, 2))
    assert not passed_over("a", 5, whole("a", 5, 1), whole("altered", 5, 2))
    assert not passed_over("a", 5, whole("a", 5, 1), whole("altered", 5, 1))
