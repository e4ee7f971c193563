"""Bronze: each row once, whatever is brought, however often."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sdschat.pipeline.schemas import FIELD, Journal, Message, Node, Quarantine
from sdschat.store.journal import json_lines
from sdschat.store.reader import Reader
from sdschat.wire.sds_codec import SdsCodec
from tests.needs import needs_module
from tests.pipeline.field import WORDS, change, database, nth, talk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.lake import Lake

needs_module("pyspark")
needs_module("pyarrow")


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"), ("ann", "bob"))


@pytest.fixture(scope="module")
def lake(spark: SparkSession, field: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """With the databases of the field, and a file that is none."""
    from sdschat.pipeline.lake import Lake

    odd = field / "odd.db"
    odd.write_text("not a database")
    made = Lake(spark, str(tmp_path_factory.mktemp("lake")))
    added(made, [database(field, "ann"), database(field, "bob"), odd], read_ms=1)
    return made


def added(lake: Lake, paths: list[Path], read_ms: int) -> dict[str, int]:
    from sdschat.pipeline.ingest import ingest

    return {row.table: row.added for row in ingest(lake, paths, FIELD, read_ms)}


def test_everything_is_taken_once(lake: Lake, field: Path) -> None:
    assert lake.read(Message).count() == 2 * len(WORDS)
    assert lake.read(Node).count() == 2
    events = lake.read(Journal)
    assert events.count() == events.select("node", "boot", "seq").distinct().count() > 2 * len(WORDS)
    assert [row.reason for row in lake.read(Quarantine).collect()] == [
        "it is no database of a profile, no journal and no capture"
    ]


def test_the_same_again_and_an_export_of_it_add_nothing(lake: Lake, field: Path, tmp_path: Path) -> None:
    path = database(field, "bob")
    exported = tmp_path / "bob.jsonl"
    with Reader.open(path, SdsCodec()) as reader:
        exported.write_text("".join(f"{line}\n" for line in json_lines(reader.journal())))
    again = added(lake, [path, field / "odd.db", exported], read_ms=2)
    assert set(again.values()) == {0}


def test_a_newer_copy_adds_what_is_new_and_marks_what_is_gone(lake: Lake, field: Path, tmp_path: Path) -> None:
    shutil.copytree(field, tmp_path / "copy")
    place, gone = nth(tmp_path / "copy", "bob", 4)
    change(tmp_path / "copy", "bob", "DELETE FROM log WHERE place = ?", place)
    found = added(lake, [database(tmp_path / "copy", "bob")], read_ms=3)
    assert (found["journal"], found["message"], found["node"]) == (0, 1, 1)
    (row,) = lake.read(Message).where("gone").collect()
    assert (row.message_id, row.read_ms) == (gone, 3)


def test_small_files_are_read_by_one_task_and_a_large_one_by_its_own(tmp_path: Path) -> None:
    from sdschat.pipeline.sources.staged import in_parts

    sizes = {"large": 20 << 20, "half": 5 << 20, "other half": 4 << 20, "small": 100, "empty": 0}
    for name, size in sizes.items():
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    paths = [str(tmp_path / name) for name in [*sizes, "not there"]]
    parts = [[Path(path).name for path in part] for part in in_parts(paths)]
    assert parts == [["large"], ["not there"], ["half"], ["other half", "small", "empty"]]
