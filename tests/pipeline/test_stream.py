"""The stream: repeated batches, repeated segments, and processes that die."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.needs import needs_module

needs_module("pyspark")
needs_module("pyarrow")
needs_module("numpy")

from pyspark.serializers import CloudPickleSerializer  # noqa: E402

from sdschat.audit.problem import PipelineProblem  # noqa: E402
from sdschat.audit.schemas import Fingerprint, Journal, Quarantine  # noqa: E402
from sdschat.pipeline.stream import by_spark, here  # noqa: E402
from sdschat.pipeline.stream.batches import local_path, take_in  # noqa: E402
from sdschat.pipeline.stream.carried import for_connect  # noqa: E402
from sdschat.pipeline.stream.job import start  # noqa: E402
from sdschat.pipeline.stream.live import Totals, channels_now  # noqa: E402
from sdschat.pipeline.stream.parts import Counted, Parts  # noqa: E402
from sdschat.pipeline.stream.parts_here import PartsHere  # noqa: E402
from sdschat.pipeline.stream.tables import Activity, Traffic, merged  # noqa: E402
from tests.audit.worlds import with_filter  # noqa: E402
from tests.pipeline.kills import Arriving, begun, differences, live, live_until_a_batch_begins  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


HERE, SPARK = "here", "by Spark"
WAYS = [(SPARK, HERE, SPARK), (HERE, SPARK, HERE)]


def take(way: str, spark: SparkSession, paths: list[str], batch: int, lake: str) -> None:
    if way == HERE:
        here.take_in(PartsHere(spark, lake, Path(lake)), paths, batch, "field")
    else:
        by_spark.take_in(Parts(spark, lake), paths, batch, "field")


def streamed(ways: tuple[str, str, str], spark: SparkSession, folder: Path) -> Path:
    """Stream six segments in two batches. The first batch was done twice, the first time with fewer segments."""
    (folder / "segments").mkdir()
    Arriving(folder / "segments", 4, 1).rest()
    packets(folder / "segments" / "tap-1.jsonl", range(1, 4))
    packets(folder / "segments" / "tap-2.jsonl", range(3, 9))
    paths = [str(path) for path in sorted((folder / "segments").glob("*.jsonl"))]
    lake = str(folder / "lake")
    first, again, second = ways
    take(first, spark, paths[:1], 0, lake)
    take(again, spark, [*paths[:2], paths[4]], 0, lake)
    take(second, spark, paths[1:], 1, lake)  # two segments come a second time
    return folder


def packets(segment: Path, numbers: Iterable[int]) -> None:
    """Write the recording of a tap; one of its packets is invalid."""
    lines = [
        {
            "v": 1,
            "tap": "t",
            "seq": at,
            "ts_ms": 60_000 * at,
            "topic": "sds/1/lobby/msg",
            "channel": "lobby",
            "raw": base64.b64encode(with_filter(f"m{at}", "ann", at, 1) if at % 5 else b"?").decode(),
        }
        for at in numbers
    ]
    segment.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return streamed(WAYS[-1], spark, tmp_path_factory.mktemp("stream"))


@pytest.mark.parametrize("ways", WAYS[:1], ids=", ".join)
def test_batches_come_to_what_everything_at_once_comes_to(
    ways: tuple[str, str, str], spark: SparkSession, tmp_path: Path
) -> None:
    assert differences(spark, streamed(ways, spark, tmp_path)) == []


def test_a_row_too_many_would_be_seen(spark: SparkSession, folder: Path) -> None:
    parts = Parts(spark, str(folder / "lake"))
    whole = merged(parts.all(Activity), Activity)
    assert whole.count() > 0
    doubled = merged(parts.all(Activity).unionByName(parts.all(Activity)), Activity)
    assert doubled.exceptAll(whole).count() == whole.count()


def test_fingerprints_of_parts_merge_to_that_of_the_whole(spark: SparkSession, folder: Path) -> None:
    rows = merged(Parts(spark, str(folder / "lake")).all(Fingerprint), Fingerprint).collect()
    assert len({row.node for row in rows}) == 5
    assert len({(row.n, row.x1) for row in rows if row.bucket == rows[0].bucket}) == 1


def test_the_live_table_says_whether_logs_are_alike(spark: SparkSession, folder: Path) -> None:
    (channel,) = channels_now(spark, str(folder / "lake"))
    assert (channel.channel, channel.nodes, channel.fewest, channel.most, channel.alike) == ("lobby", 5, 6, 6, True)
    assert channel.packets == 8


def test_a_table_that_is_kept_up_to_date_comes_to_the_same(spark: SparkSession, folder: Path) -> None:
    lake = str(folder / "lake")
    totals = Totals(spark, lake)
    assert [row.packets for row in totals.up_to(0)] == [3]
    assert totals.up_to(1) == totals.up_to(1) == channels_now(spark, lake)


def test_what_was_new_in_each_batch_is_written_down(spark: SparkSession, folder: Path) -> None:
    parts = Parts(spark, str(folder / "lake"))
    first, second = (parts.rows(Counted, batch)[0] for batch in (0, 1))
    assert (first.segments, first.packets, second.segments, second.packets) == (3, 3, 5, 5)
    assert first.events + second.events == parts.all(Journal).count() > 0
    assert (first.refused, second.refused) == (0, 0)


def test_a_batch_counts_once_it_was_done_to_its_end(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    lake = str(shutil.copytree(folder / "lake", tmp_path / "lake"))
    shutil.rmtree(tmp_path / "lake" / "stream" / "counted" / "batch=1")
    assert [row.packets for row in channels_now(spark, lake)] == [3]
    assert sum(row.packets for row in Parts(spark, lake).all(Traffic).collect()) == 3


@pytest.mark.parametrize("way", [HERE, SPARK])
def test_a_batch_that_is_done_again_does_not_count_meanwhile(
    way: str, spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = str(shutil.copytree(folder / "lake", tmp_path / "lake"))

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(here if way == HERE else by_spark, "spans_before", fail)
    with pytest.raises(ZeroDivisionError):
        take(way, spark, [str(folder / "segments" / "tap-1.jsonl")], 1, lake)
    assert [row.packets for row in channels_now(spark, lake)] == [3]


def test_rows_of_earlier_batches_are_not_read_to_know_what_is_new(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    lake = shutil.copytree(folder / "lake", tmp_path / "lake")
    before = merged(Parts(spark, str(lake)).all(Activity), Activity).count()
    shutil.rmtree(lake / "stream" / "journal")
    paths = [str(path) for path in sorted((folder / "segments").glob("*.jsonl"))]
    take_in(spark, paths, 2, str(lake), "field")
    assert Parts(spark, str(lake)).all(Journal).count() == 0
    assert merged(Parts(spark, str(lake)).all(Activity), Activity).count() == before > 0


def test_a_message_that_comes_in_two_batches_is_counted_once(spark: SparkSession, tmp_path: Path) -> None:
    for batch in range(5):
        take_in(spark, [told_twice(tmp_path, batch)], batch, str(tmp_path / "lake"), "field")
    assert counted(spark, str(tmp_path / "lake")) == 6


def test_what_earlier_batches_have_is_found_where_spark_keeps_it(spark: SparkSession, tmp_path: Path) -> None:
    lake = "/elsewhere/lake"
    with another_file_system(spark, "/elsewhere", tmp_path / "there"):
        for batch in range(3):
            paths = [told_twice(tmp_path, each) for each in (batch - 1, batch) if each >= 0]
            take_in(spark, paths, batch, lake, "field")
        assert counted(spark, lake) == 4
    assert (tmp_path / "there" / "lake").is_dir()
    assert not Path(lake).exists()


def told_twice(folder: Path, number: int) -> str:
    """Write a segment with two messages, and one of them again, as from a node that starts anew."""
    event = {"v": 1, "node": "ann", "event": "delivered", "channel": "lobby", "sender": "bob", "deps": []}
    lines = [
        event | {"boot": f"b{number}", "seq": seq, "ts_ms": 5, "lamport": at, "message_id": f"m{at}"}
        for seq, at in enumerate((number, number + 1))
    ]
    segment = folder / f"{number}.jsonl"
    segment.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(segment)


def counted(spark: SparkSession, lake: str) -> int:
    (row,) = merged(Parts(spark, lake).all(Fingerprint), Fingerprint).collect()
    count: int = row.n
    return count


@contextlib.contextmanager
def another_file_system(spark: SparkSession, name: str, folder: Path) -> Iterator[None]:
    """Make Spark look elsewhere for paths without a scheme, as on a cluster."""
    folder.mkdir()
    system = "elsewhere"
    settings = {
        "fs.defaultFS": f"viewfs://{system}/",
        f"fs.viewfs.mounttable.{system}.link.{name}": folder.as_uri(),
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def test_a_stream_that_an_older_program_began_is_refused(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(folder / "lake", tmp_path / "lake")
    shutil.rmtree(lake / "stream" / "counted")
    paths = [str(path) for path in (folder / "segments").glob("*.jsonl")]
    with pytest.raises(PipelineProblem, match="older sdschat"):
        take_in(spark, paths, 2, str(lake), "field")


@pytest.mark.parametrize("way", [HERE, SPARK])
def test_what_cannot_be_taken_is_kept_with_its_reason_and_the_rest_is_taken(
    way: str, spark: SparkSession, tmp_path: Path
) -> None:
    with Path(told_twice(tmp_path, 0)).open("a") as segment:
        segment.write("nonsense\n")
    gone = tmp_path / "gone.jsonl"
    take(way, spark, [str(tmp_path / "0.jsonl"), str(gone)], 0, str(tmp_path / "lake"))
    parts = Parts(spark, str(tmp_path / "lake"))
    refused = {(Path(row.source).name, row.place) for row in parts.all(Quarantine).collect()}
    assert refused == {("0.jsonl", "line 3"), ("gone.jsonl", "")}
    assert parts.rows(Counted, 0)[0][:4] == (2, 2, 0, 2)


def test_an_empty_lake_has_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    assert channels_now(spark, str(tmp_path)) == []


_ELSEWHERE = "import sys; sys.modules['sdschat'] = None; import pickle; print(pickle.load(sys.stdin.buffer).func)"


def test_what_a_connect_server_calls_needs_no_package_there() -> None:
    pickled = CloudPickleSerializer().dumps(for_connect("lake", "field"))  # type: ignore[no-untyped-call]
    done = subprocess.run([sys.executable, "-c", _ELSEWHERE], input=pickled, capture_output=True, check=False)
    assert (done.returncode, b"function carried" in done.stdout) == (0, True), done.stderr.decode()
    assert b"sdschat/pipeline/stream/batches.py" in pickled  # the package travels with the function


def test_names_that_mean_something_in_patterns_and_addresses_are_names(spark: SparkSession, tmp_path: Path) -> None:
    segments, lake = tmp_path / "in [1] #2 ?", tmp_path / "lake {a} [1]"
    segments.mkdir()
    event = {"v": 1, "node": "ann", "boot": "b", "ts_ms": 5, "event": "delivered"}
    names = ("plain", "a b", "c#d", "e%20f", "g?h", "i[1]", "é")
    for seq, name in enumerate(names):
        (segments / f"{name}.jsonl").write_text(json.dumps(event | {"seq": seq}) + "\n")
    start(spark, str(segments), str(lake), "field", once=True).awaitTermination()
    parts = Parts(spark, str(lake))
    assert sorted(row.seq for row in parts.all(Journal).collect()) == list(range(len(names)))
    assert parts.all(Quarantine).count() == 0


def test_little_is_what_is_here_and_fits_into_memory_also_when_it_is_unpacked(tmp_path: Path) -> None:
    lines, packed, gone = tmp_path / "a.jsonl", tmp_path / "b.parquet", tmp_path / "gone.jsonl"
    for path, size in ((lines, 8 << 20), (packed, 2 << 20)):
        with path.open("wb") as file:
            file.truncate(size)
    assert here.is_little([str(lines), str(lines), str(gone)])
    assert not here.is_little([str(lines)] * 3)
    assert not here.is_little([str(lines), str(packed)])
    assert not here.is_little(["s3a://bucket/a.jsonl"])


def test_paths_come_as_they_are() -> None:
    assert local_path("file:///tmp/a%20b.jsonl") == "/tmp/a%20b.jsonl"
    assert local_path("s3a://bucket/a%20b") == "s3a://bucket/a%20b"


def test_killed_within_a_batch_it_comes_to_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """`python -m tests.pipeline.kills --kills 20` kills the stream twenty times, at any moment."""
    segments, lake = tmp_path / "segments", tmp_path / "lake"
    segments.mkdir()
    arriving = Arriving(segments, 6, 7)
    arriving.more(3)
    live_until_a_batch_begins(segments, lake)
    arriving.rest()
    live(segments, lake, None)
    assert begun(lake) > 0
    assert differences(spark, tmp_path) == []
