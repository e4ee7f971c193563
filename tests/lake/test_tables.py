"""The tables of a lake: where they can be, who may write them, and how they stay few files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.processes import alone
from sdschat.audit.schemas import FIELD, Journal, Whole
from sdschat.store.journal import json_lines
from sdschat.store.reader import Reader
from sdschat.wire.sds_codec import SdsCodec
from tests.audit.field import database, talk
from tests.needs import needs_module

for module in ("duckdb", "pyarrow", "deltalake"):
    needs_module(module)

from sdschat.lake.ingest import ingest
from sdschat.lake.sources.batch import table_of
from sdschat.lake.tables import PLACES, Overtaken, Tables
from tests.lake.bronze import rows_in, stored


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"), ("ann", "bob"))


def added(lake: Tables, paths: list[Path], read_ms: int) -> dict[str, int]:

    return {row.table: row.added for row in ingest(lake, paths, FIELD, read_ms)}


def test_a_writer_that_another_one_overtook_with_the_first_rows_is_told(tmp_path: Path) -> None:
    whole = table_of(Whole, [Whole(FIELD, "a", "ann", 1, 1)])
    one, other = Tables(str(tmp_path)), Tables(str(tmp_path))
    assert other.files(Whole) == []  # compared with a table that is not there
    one.append(Whole, whole)
    with pytest.raises(Overtaken):
        other.append(Whole, whole)
    assert len(other.files(Whole)) == 1


def test_a_writer_that_was_overtaken_is_told(tmp_path: Path) -> None:
    one, other = Tables(str(tmp_path / "lake")), Tables(str(tmp_path / "lake"))
    whole = table_of(Whole, [Whole(FIELD, "a", "ann", 1, 1)])
    one.append(Whole, whole)
    assert (one.version(Whole), other.version(Whole)) == (1, 1)
    other.append(Whole, whole)
    with pytest.raises(Overtaken):
        one.append(Whole, whole)
    assert len(rows_in(other, Whole)) == 2


def test_a_lake_may_have_signs_in_its_name(field: Path, tmp_path: Path) -> None:
    made = Tables(str(tmp_path / "lake {1} it's #2 ? ü"))
    first = added(made, [database(field, "ann")], read_ms=1)
    assert len(rows_in(made, Journal)) == first["journal"] > 0
    assert added(made, [database(field, "ann")], read_ms=2) == {"file": 0}


@pytest.mark.parametrize("sign", "[]^%")
def test_a_folder_where_delta_tables_cannot_be_is_refused(sign: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineProblem, match="Choose another folder"):
        Tables(str(tmp_path / f"a{sign}b"))
    assert list(tmp_path.iterdir()) == []


def test_a_lake_of_a_newer_version_is_named(field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added(Tables(str(tmp_path)), [database(field, "ann")], read_ms=1)
    monkeypatch.setattr("sdschat.audit.schemas.VERSION", 1)
    with pytest.raises(PipelineProblem, match=r"written by a newer sdschat.*Update the program"):
        added(Tables(str(tmp_path)), [database(field, "ann")], read_ms=2)


def test_a_table_without_its_log_of_commits_is_named(field: Path, tmp_path: Path) -> None:
    added(Tables(str(tmp_path)), [database(field, "ann")], read_ms=1)
    for commit in (tmp_path / PLACES[Journal] / "_delta_log").iterdir():
        commit.write_text("{")
    with pytest.raises(PipelineProblem, match="cannot be read"):
        added(Tables(str(tmp_path)), [database(field, "bob")], read_ms=2)


def test_a_damaged_file_of_a_table_is_named_by_whoever_reads_it(field: Path, tmp_path: Path) -> None:
    made, other = Tables(str(tmp_path)), tmp_path / "other.jsonl"
    added(made, [database(field, "ann")], read_ms=1)
    with Reader.open(database(field, "ann"), SdsCodec()) as reader:
        other.write_text("".join(f"{line}\n" for line in json_lines(reader.journal())))
    for file in made.files(Journal):
        Path(file).write_bytes(b"PAR1")
    with pytest.raises(PipelineProblem, match=f"DuckDB cannot read or write the lake in {tmp_path}"):
        added(made, [other], read_ms=2)


def test_many_small_files_become_few(field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.lake.tables._MANY", 3)
    with Reader.open(database(field, "ann"), SdsCodec()) as reader:
        lines = list(json_lines(reader.journal()))
    made = Tables(str(tmp_path / "lake"))
    for at, line in enumerate(lines[:12]):
        (tmp_path / f"{at}.jsonl").write_text(f"{line}\n")
        added(made, [tmp_path / f"{at}.jsonl"], read_ms=at)
        made.refresh()
    assert len(rows_in(made, Journal)) == 12
    assert len(made.files(Journal)) <= 8  # of two channels: that of the program itself, and lobby


def small_files(lake: Path) -> Tables:
    made = Tables(str(lake))
    for seq in range(8):
        made.append(Journal, stored(Journal, [Journal(FIELD, 1, "ann", "boot", seq, 5, 0, "", "sent")]))
    return made


def test_of_two_writers_that_make_files_fewer_none_doubles_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second looked at the table before the first was done."""
    made = small_files(tmp_path / "lake")
    monkeypatch.setattr("sdschat.lake.tables._MANY", 3)
    one, other = Tables(made.root), Tables(made.root)
    assert len(one.files(Journal)) == len(other.files(Journal)) == 8
    one.tidy()
    other.tidy()
    made.refresh()
    assert sorted(event.seq for event in rows_in(made, Journal)) == list(range(8))
    assert len(made.files(Journal)) == 1


def test_where_somebody_else_makes_files_fewer_they_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = small_files(tmp_path)
    monkeypatch.setattr("sdschat.lake.tables._MANY", 3)
    with alone(tmp_path / ".tidy.lock", "busy"):
        made.tidy()
    made.refresh()
    assert len(made.files(Journal)) == 8


def test_the_tables_of_a_lake_in_an_object_store_are_not_listed_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(*_: object) -> None:
        pytest.fail("nothing is made fewer there")

    monkeypatch.setattr(Tables, "_look", listed)
    Tables("memory://lake").tidy()


def test_what_a_killed_audit_left_on_its_way_is_removed_a_day_later(tmp_path: Path) -> None:
    lake = Tables(str(tmp_path))
    places = {age: Path(lake.scratch()) for age in (0, 2 * 86_400)}
    for age, place in places.items():
        place.mkdir(parents=True)
        os.utime(place, (time.time() - age,) * 2)
    mine = lake.scratch()
    assert [place.exists() for place in places.values()] == [True, False]
    lake.drop_scratch(mine)
    lake.drop_scratch(str(places[0]))
    assert not (tmp_path / "scratch").exists()
