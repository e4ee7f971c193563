"""The stream: batches that are done twice, segments that come twice, and processes that die."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.needs import needs_module

needs_module("pyspark")
needs_module("pyarrow")
needs_module("numpy")

from pyspark.serializers import CloudPickleSerializer  # noqa: E402

from sdschat.pipeline.problem import PipelineProblem  # noqa: E402
from sdschat.pipeline.schemas import Fingerprint, Journal, Quarantine  # noqa: E402
from sdschat.pipeline.stream.batches import Parts, local_path, take_in  # noqa: E402
from sdschat.pipeline.stream.carried import for_connect  # noqa: E402
from sdschat.pipeline.stream.job import start  # noqa: E402
from sdschat.pipeline.stream.live import channels_now  # noqa: E402
from sdschat.pipeline.stream.tables import Activity, merged  # noqa: E402
from tests.pipeline.kills import Arriving, begun, differences, live, live_until_a_batch_begins  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four segments in two batches, of which the first was done twice, the first time with less in it."""
    folder = tmp_path_factory.mktemp("stream")
    (folder / "segments").mkdir()
    Arriving(folder / "segments", 4, 1).rest()
    paths = [str(path) for path in sorted((folder / "segments").glob("*.jsonl"))]
    lake = str(folder / "lake")
    take_in(spark, paths[:1], 0, lake, "field")
    take_in(spark, paths[:2], 0, lake, "field")
    take_in(spark, paths[1:], 1, lake, "field")  # the second segment comes once more
    return folder


def test_batches_come_to_what_everything_at_once_comes_to(spark: SparkSession, folder: Path) -> None:
    assert differences(spark, folder) == []


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
    event = {"v": 1, "node": "ann", "event": "delivered", "channel": "lobby", "sender": "bob", "deps": []}
    for batch in range(5):  # its journal tells of each message twice, as one that begins anew does
        lines = [
            event | {"boot": f"b{batch}", "seq": seq, "ts_ms": 5, "lamport": at, "message_id": f"m{at}"}
            for seq, at in enumerate((batch, batch + 1))
        ]
        segment = tmp_path / f"{batch}.jsonl"
        segment.write_text("".join(json.dumps(line) + "\n" for line in lines))
        take_in(spark, [str(segment)], batch, str(tmp_path / "lake"), "field")
    (row,) = merged(Parts(spark, str(tmp_path / "lake")).all(Fingerprint), Fingerprint).collect()
    assert row.n == 6


def test_a_stream_that_an_older_program_began_is_refused(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(folder / "lake", tmp_path / "lake")
    shutil.rmtree(lake / "stream" / "span")
    paths = [str(path) for path in (folder / "segments").glob("*.jsonl")]
    with pytest.raises(PipelineProblem, match="older sdschat"):
        take_in(spark, paths, 2, str(lake), "field")


def test_an_empty_lake_has_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    assert channels_now(spark, str(tmp_path)) == []


_ELSEWHERE = "import sys; sys.modules['sdschat'] = None; import pickle; print(pickle.load(sys.stdin.buffer).func)"


def test_what_a_connect_server_calls_needs_no_package_there() -> None:
    pickled = CloudPickleSerializer().dumps(for_connect("lake", "field"))  # type: ignore[no-untyped-call]
    done = subprocess.run([sys.executable, "-c", _ELSEWHERE], input=pickled, capture_output=True, check=False)
    assert (done.returncode, b"function carried" in done.stdout) == (0, True), done.stderr.decode()
    assert b"sdschat/pipeline/stream/batches.py" in pickled  # it brings it along


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


def test_paths_come_as_they_are() -> None:
    assert local_path("file:///tmp/a%20b.jsonl") == "/tmp/a%20b.jsonl"
    assert local_path("s3a://bucket/a%20b") == "s3a://bucket/a%20b"


def test_killed_within_a_batch_it_comes_to_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """`python -m tests.pipeline.kills --kills 20` does it twenty times, at any moment."""
    segments, lake = tmp_path / "segments", tmp_path / "lake"
    segments.mkdir()
    arriving = Arriving(segments, 6, 7)
    arriving.more(3)
    live_until_a_batch_begins(segments, lake)
    arriving.rest()
    live(segments, lake, None)
    assert begun(lake) > 0
    assert differences(spark, tmp_path) == []
