"""Bronze has each row once, whatever is ingested, and however often."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sdschat.audit.problem import PipelineProblem
from sdschat.audit.schemas import FIELD, Journal, Message, Node, Quarantine, Whole, ddl
from sdschat.store.journal import json_lines
from sdschat.store.reader import Reader
from sdschat.wire.sds_codec import SdsCodec
from tests.audit.field import WORDS, change, database, nth, talk
from tests.needs import needs_module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from sdschat.pipeline.lake import Lake

needs_module("pyspark")
needs_module("pyarrow")

from sdschat.audit.sources.databases import PacketMemory, Reading  # noqa: E402
from sdschat.pipeline.known import taken_already  # noqa: E402
from sdschat.pipeline.sdp import journal  # noqa: E402
from sdschat.pipeline.sources.files import read_file  # noqa: E402
from sdschat.pipeline.sources.survey import Seen  # noqa: E402


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"), ("ann", "bob"))


@pytest.fixture(scope="module")
def lake(spark: SparkSession, field: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Make a lake with the databases of the field, and a file that is not a database."""
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
    assert {table: count for table, count in again.items() if count} == {"file": 2}


def test_a_newer_copy_adds_what_is_new_and_marks_what_is_gone(lake: Lake, field: Path, tmp_path: Path) -> None:
    shutil.copytree(field, tmp_path / "copy")
    place, gone = nth(tmp_path / "copy", "bob", 4)
    change(tmp_path / "copy", "bob", "DELETE FROM log WHERE place = ?", place)
    found = added(lake, [database(tmp_path / "copy", "bob")], read_ms=3)
    assert (found["journal"], found["message"], found["node"]) == (0, 1, 1)
    (row,) = lake.read(Message).where("gone").collect()
    assert (row.message_id, row.read_ms) == (gone, 3)


def test_an_export_beside_its_database_adds_nothing_twice(spark: SparkSession, field: Path, tmp_path: Path) -> None:
    from sdschat.pipeline.lake import Lake

    path, exported = database(field, "ann"), tmp_path / "ann.jsonl"
    with Reader.open(path, SdsCodec()) as reader:
        lines = list(json_lines(reader.journal()))
    exported.write_text("".join(f"{line}\n" for line in [*lines, "torn", lines[0]]))
    made = Lake(spark, str(tmp_path / "lake"))
    found = added(made, [exported, path], read_ms=1)
    assert (found["journal"], found["quarantine"], found["message"]) == (len(lines), 1, len(WORDS))
    assert added(made, [exported, path], read_ms=2)["quarantine"] == 0


def test_who_was_killed_before_the_end_takes_the_rest(spark: SparkSession, field: Path, tmp_path: Path) -> None:
    from sdschat.pipeline.ingest import ingest
    from sdschat.pipeline.lake import Lake

    class Killed(Exception):
        pass

    class Dying(Lake):
        lives = 0

        def folder_for_tasks(self, table: type) -> None:
            """Let no task write files, so that `append` counts all writes."""

        def append(self, table: type, rows: DataFrame) -> None:
            if self.lives == 0:
                raise Killed
            self.lives -= 1
            super().append(table, rows)

    paths = [database(field, "ann"), database(field, "bob")]
    for lives in range(4):
        dying = Dying(spark, str(tmp_path / "lake"))
        dying.lives = lives
        with pytest.raises(Killed):
            ingest(dying, paths, FIELD, lives)
    made = Lake(spark, str(tmp_path / "lake"))
    added(made, paths, read_ms=9)
    events = made.read(Journal)
    assert events.count() == events.select("node", "boot", "seq").distinct().count() > 2 * len(WORDS)
    assert [made.read(table).count() for table in (Message, Node, Whole)] == [2 * len(WORDS), 2, 2]


def test_what_somebody_left_who_was_killed_while_writing_is_not_taken_for_new(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    """The files are those of finished tasks of an unfinished append."""
    from sdschat.pipeline.lake import Lake

    made = Lake(spark, str(tmp_path / "lake"))
    added(made, [database(field, "ann")], read_ms=1)
    there = Path(made.path(Journal))
    left = there / "_temporary" / "0" / "task_202611210000001234567890123456789_0003_m_000000"
    left.mkdir(parents=True)
    shutil.copy(next(there.glob("part-*")), left / "part-00000-left-c000.zstd.parquet")
    added(made, [database(field, "bob")], read_ms=2)
    events = made.read(Journal)
    assert events.count() == events.select("node", "boot", "seq").distinct().count()
    assert not (there / "_temporary").exists()


def test_a_file_that_is_still_being_written_is_told_and_taken_to_its_end_the_next_time(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    from sdschat.pipeline.ingest import ingest
    from sdschat.pipeline.intake import Added
    from sdschat.pipeline.lake import Lake

    with Reader.open(database(field, "ann"), SdsCodec()) as reader:
        whole = "".join(f"{line}\n" for line in json_lines(reader.journal())).encode()
    growing = tmp_path / "growing.jsonl"
    growing.write_bytes(whole[:-20])

    class Meanwhile(Lake):
        def append(self, table: type, rows: DataFrame) -> None:
            super().append(table, rows)
            growing.write_bytes(whole)

    found = ingest(Meanwhile(spark, str(tmp_path / "lake")), [growing], FIELD, 1)
    made = Lake(spark, str(tmp_path / "lake"))
    assert [row for row in found if row.table == "quarantine"] == [Added("quarantine", 1, 1)]
    assert [row.reason for row in made.read(Quarantine).collect()] == [
        "a part of it could not be read, and a moment later it could: take it in again"
    ]
    assert made.read(Journal).count() == whole.count(b"\n") - 1
    assert added(made, [growing], read_ms=2) == {"file": 1, "journal": 1}


def test_where_the_newest_copy_is_broken_an_older_one_beside_it_counts(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    from sdschat.pipeline.lake import Lake

    newer = Path(shutil.copytree(field, tmp_path / "newer"))
    change(newer, "bob", "UPDATE text SET nick = CAST(x'ff' AS TEXT) WHERE place = ?", nth(newer, "bob", 4)[0])
    row = "SELECT max(place) + 1, 'odd', 1, 1, 0 FROM journal"
    change(newer, "bob", f"INSERT INTO journal (place, event, ts_ms, mono_us, sum) {row}")
    made = Lake(spark, str(tmp_path / "lake"))
    added(made, [database(newer, "bob"), database(field, "bob")], read_ms=1)
    assert (made.read(Message).count(), made.read(Node).count()) == (len(WORDS), 1)
    assert {Path(row.source) for row in made.read(Quarantine).collect()} == {database(newer, "bob")}


def test_a_log_is_taken_and_told_of_where_what_its_node_lacks_cannot_be_read(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    from sdschat.pipeline.lake import Lake

    broken = Path(shutil.copytree(field, tmp_path / "broken"))
    gap = "SELECT 1, CAST(x'ff' AS TEXT), 'lost', 7, '', 0"
    change(broken, "bob", f"INSERT INTO gap (channel, message_id, reason, at, charged_to, sum) {gap}")
    made = Lake(spark, str(tmp_path / "lake"))
    added(made, [database(broken, "bob")], read_ms=1)
    assert (made.read(Message).count(), made.read(Node).count(), made.read(Whole).count()) == (len(WORDS), 1, 0)
    assert [Path(row.source) for row in made.read(Quarantine).collect()] == [database(broken, "bob")]


def test_what_cannot_be_taken_is_counted_once(spark: SparkSession, tmp_path: Path) -> None:
    from sdschat.pipeline.ingest import ingest
    from sdschat.pipeline.intake import Added
    from sdschat.pipeline.lake import Lake

    odd = tmp_path / "odd.jsonl"
    odd.write_text("no\nJSON\n")
    found = ingest(Lake(spark, str(tmp_path / "lake")), [odd], FIELD, 1)
    assert found == [Added("file", 1, 1), Added("quarantine", 2, 2)]


def standing_in(lake: Lake) -> list[str]:
    """Return the names of the files with a part that counts as unreadable."""
    from sdschat.lake.results import refused_in

    return sorted(Path(row.source).name for row in refused_in(lake).rows)


def test_a_file_that_was_mended_counts_no_more_and_damaged_again_it_does(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    from sdschat.lake.report import provenance
    from sdschat.pipeline.ingest import quarantined
    from sdschat.pipeline.lake import Lake

    made, path = Lake(spark, str(tmp_path / "lake")), tmp_path / "bob.db"
    whole = database(field, "bob").read_bytes()
    for read_ms, content in enumerate([whole, b"damaged", whole, b"damaged", whole], 1):
        path.write_bytes(content)
        added(made, [path], read_ms)
        wrong = ["bob.db"] if content == b"damaged" else []
        assert standing_in(made) == [Path(row.source).name for row in quarantined(made, [path])] == wrong
        assert ("bob.db" in provenance(made, made.root, 1)["Not taken"]) == bool(wrong)
    assert made.read(Quarantine).count() == 2
    assert made.read(Message).count() == len(WORDS)


def test_what_an_older_program_took_whole_ends_its_quarantine_when_it_is_brought_again(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    from sdschat.pipeline.lake import Lake

    made, path = Lake(spark, str(tmp_path / "lake")), database(field, "bob")
    added(made, [path], read_ms=1)
    made.append(Quarantine, spark.createDataFrame([Quarantine(FIELD, str(path), "", "?", "", 1)], ddl(Quarantine)))
    assert standing_in(made) == ["sdschat.db"]
    added(made, [path], read_ms=2)
    assert standing_in(made) == []


def test_a_sound_copy_of_a_database_elsewhere_ends_the_quarantine_of_a_damaged_one(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    from sdschat.pipeline.lake import Lake

    broken = Path(shutil.copytree(field, tmp_path / "broken"))
    change(broken, "bob", "UPDATE text SET nick = CAST(x'ff' AS TEXT) WHERE place = ?", nth(broken, "bob", 4)[0])
    made = Lake(spark, str(tmp_path / "lake"))
    damaged, sound = database(broken, "bob"), database(field, "bob")
    added(made, [damaged, database(field, "ann")], read_ms=1)
    assert standing_in(made) == ["sdschat.db"]
    added(made, [sound], read_ms=2)
    assert standing_in(made) == []
    added(made, [damaged], read_ms=3)
    assert standing_in(made) == ["sdschat.db"]
    assert added(made, [sound], read_ms=4) == {"file": 0}
    assert standing_in(made) == []


def test_databases_that_come_by_the_same_path_mend_only_those_of_their_own_node(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    """The path is that of a USB stick shared by two people."""
    from sdschat.lake.results import refused_in
    from sdschat.pipeline.lake import Lake

    made, stick = Lake(spark, str(tmp_path / "lake")), tmp_path / "chat.db"
    broken = Path(shutil.copytree(field, tmp_path / "broken"))
    for name in ("ann", "bob"):
        change(broken, name, "UPDATE text SET nick = CAST(x'ff' AS TEXT) WHERE place = ?", nth(broken, name, 4)[0])
    brought = ((broken, "ann", 1), (field, "bob", 1), (broken, "bob", 2), (field, "ann", 1), (field, "bob", 0))
    for read_ms, (folder, name, standing) in enumerate(brought, 1):
        shutil.copy(database(folder, name), stick)
        added(made, [stick], read_ms)
        assert len({row.node for row in refused_in(made).rows}) == standing
    assert made.read(Quarantine).count() == 2
    assert made.read(Message).select("node").distinct().count() == 2


def test_a_sound_database_is_not_read_again_for_a_damaged_one_of_another_node_at_its_path(
    spark: SparkSession, field: Path, tmp_path: Path
) -> None:
    from sdschat.pipeline.lake import Lake

    made, path = Lake(spark, str(tmp_path / "lake")), database(field, "bob")
    added(made, [path], read_ms=1)
    bad = Quarantine(FIELD, str(path), "", "?", "", 1, "ann", 1)
    made.append(Quarantine, spark.createDataFrame([bad], ddl(Quarantine)))
    assert added(made, [path], read_ms=2) == {"file": 0}
    assert standing_in(made) == ["sdschat.db"]


def test_a_lake_may_have_brackets_in_its_name(spark: SparkSession, field: Path, tmp_path: Path) -> None:
    from sdschat.pipeline.lake import Lake

    made = Lake(spark, str(tmp_path / "lake [1] {a} #2 ?"))
    first = added(made, [database(field, "ann")], read_ms=1)
    assert made.read(Journal).count() == first["journal"] > 0
    assert journal(spark, made.root).count() == first["journal"]  # read as a declarative pipeline reads it
    assert added(made, [database(field, "ann")], read_ms=2) == {"file": 0}


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_only_one_at_a_time_takes_in(spark: SparkSession, field: Path, tmp_path: Path, scheme: str) -> None:
    from sdschat.pipeline.lake import Lake

    made = Lake(spark, f"{scheme}{tmp_path}/lake")
    with made.alone(), pytest.raises(PipelineProblem, match="another ingest is writing"):
        added(Lake(spark, made.root), [database(field, "ann")], read_ms=1)
    assert made.there(Journal) is None


def test_a_lake_at_a_uri_of_files_is_the_folder(spark: SparkSession, field: Path, tmp_path: Path) -> None:
    from sdschat.pipeline.lake import Lake

    added(Lake(spark, f"file://{tmp_path}/lake"), [database(field, "ann")], read_ms=1)
    assert added(Lake(spark, f"{tmp_path}/lake"), [database(field, "ann")], read_ms=2) == {"file": 0}


def plain(table: type, row: Row) -> object:
    values: dict[str, Any] = row.asDict()
    for name, value in values.items():
        values[name] = tuple(value) if isinstance(value, list) else bytes(value) if type(value) is bytearray else value
    return table(**values)


@pytest.mark.parametrize("by_tasks", [True, False])
def test_tasks_that_write_files_themselves_write_what_spark_would(
    spark: SparkSession, field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_tasks: bool
) -> None:
    from sdschat.pipeline.lake import Lake

    made = Lake(spark, str(tmp_path / "lake"))
    paths = [database(field, "ann"), database(field, "bob")]
    if not by_tasks:
        monkeypatch.setattr(made, "folder_for_tasks", lambda table: None)
    added(made, paths, read_ms=1)
    files = [*(tmp_path / "lake/bronze/journal").iterdir()]
    assert any(path.name == "_SUCCESS" for path in files) == (not by_tasks)
    memory = PacketMemory()
    wanted = [row for path in paths for row in read_file(Reading(FIELD, path, 1, memory))]
    for table in (Journal, Message, Node):
        found = Counter(plain(table, row) for row in made.read(table).collect())
        assert found == Counter(row for row in wanted if type(row) is table)


def test_where_spark_looks_for_paths_elsewhere_no_task_writes_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    from sdschat.pipeline.lake import Lake

    made = Lake(spark, str(tmp_path / "lake"))
    assert made.folder_for_tasks(Journal) == tmp_path / "lake/bronze/journal"
    made.root = str(tmp_path / "another")
    assert made.folder_for_tasks(Journal) is None
    assert [path.name for path in (tmp_path / "lake").iterdir()] == ["_schema"]


def whole(digest: str, as_of: int, read_ms: int, node: str = "ann") -> Whole:
    return Whole(FIELD, digest, node, as_of, read_ms)


def passed_over(digest: str, as_of: int, *taken: Whole, node: str = "ann") -> bool:
    seen = Seen("path", "stamp", digest, node, as_of, 0, ())
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


def test_small_files_are_read_by_one_task_and_a_large_one_by_its_own(tmp_path: Path) -> None:
    from sdschat.pipeline.sources.staged import in_parts

    sizes = {"large": 20 << 20, "half": 5 << 20, "other half": 4 << 20, "small": 100, "empty": 0}
    for name, size in sizes.items():
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    paths = [str(tmp_path / name) for name in [*sizes, "not there"]]
    parts = [[Path(path).name for path in part] for part in in_parts(paths)]
    assert parts == [["large"], ["not there"], ["half"], ["other half", "small", "empty"]]
