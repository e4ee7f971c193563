"""Repeated batches: after a killed life of the stream, and after the loss of a checkpoint."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tests.needs import needs_module

needs_module("pyspark")
needs_module("pyarrow")
needs_module("numpy")

from sdschat.audit.schemas import Packet, Quarantine  # noqa: E402
from sdschat.pipeline.stream.gone import gone  # noqa: E402
from sdschat.pipeline.stream.job import start  # noqa: E402
from sdschat.pipeline.stream.parts import Counted, Parts  # noqa: E402
from sdschat.pipeline.stream.parts_here import PartsHere  # noqa: E402
from sdschat.pipeline.stream.seen import Span  # noqa: E402
from tests.pipeline.kills import differences  # noqa: E402
from tests.pipeline.test_stream import HERE, SPARK, WAYS, counted, packets, streamed, take, told_twice  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return streamed(WAYS[-1], spark, tmp_path_factory.mktemp("stream"))


@pytest.mark.parametrize("ways", WAYS[1:], ids=", ".join)
def test_a_stream_whose_checkpoint_was_lost_takes_all_in_anew(
    ways: tuple[str, str, str], spark: SparkSession, tmp_path: Path
) -> None:
    streamed(ways, spark, tmp_path)
    paths, lake = [str(path) for path in sorted((tmp_path / "segments").glob("*.jsonl"))], str(tmp_path / "lake")
    take(ways[0], spark, paths, 2, lake)
    take(ways[1], spark, paths[2:], 0, lake)
    assert [row.segments for row in Parts(spark, lake).all(Counted).collect()] == [len(paths) - 2]
    take(ways[2], spark, paths, 1, lake)
    assert differences(spark, tmp_path) == []


@pytest.mark.parametrize("way", [HERE, SPARK])
def test_a_checkpoint_that_is_older_than_the_tables_goes_on_from_there(
    way: str, spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    lake = str(shutil.copytree(folder / "lake", tmp_path / "lake"))
    paths = [str(path) for path in sorted((folder / "segments").glob("*.jsonl"))]
    for batch in (2, 3):
        packets(more := tmp_path / f"{batch}.jsonl", [10 * batch + 1])
        take(way, spark, [str(more)], batch, lake)
    take(way, spark, paths, 1, lake)
    parts = Parts(spark, lake)
    assert sorted(row.packets for row in parts.all(Counted).collect()) == [3, 5]
    assert parts.all(Packet).count() == 8


@pytest.mark.parametrize("ways", [(HERE, SPARK)], ids=", ".join)
def test_a_batch_that_is_done_again_has_nothing_of_the_first_time(
    ways: tuple[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    """A repeated batch keeps no rows of its first time, also if its segments were removed meanwhile.

    The first time it had packets and copies, then only packets, and then only copies. The copies counted by earlier
    batches are still known.
    """
    lake, first, again = str(tmp_path / "lake"), *ways
    packets(tap := tmp_path / "tap.jsonl", [1, 2])
    journals = [told_twice(tmp_path, each) for each in range(3)]
    for batch, journal in enumerate(journals):
        take(first, spark, [journal], batch, lake)
    take(first, spark, [str(tap), told_twice(tmp_path, 7)], 3, lake)
    take(again, spark, [str(tap)], 3, lake)
    assert (counted(spark, lake), Parts(spark, lake).all(Packet).count()) == (4, 2)
    take(again, spark, [told_twice(tmp_path, 3)], 4, lake)
    assert counted(spark, lake) == 5
    take(again, spark, [told_twice(tmp_path, 3)], 3, lake)
    assert (counted(spark, lake), Parts(spark, lake).all(Packet).count()) == (5, 0)


@pytest.mark.parametrize("way", [HERE, SPARK])
def test_what_is_left_of_earlier_lives_is_looked_for_once(
    way: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    of = PartsHere if way == HERE else Parts
    monkeypatch.setattr(of, "_take_away", lambda _, since: looked.append(since))
    parts = PartsHere(spark, str(tmp_path), tmp_path) if way == HERE else Parts(spark, str(tmp_path))
    for batch in (4, 5, 6, 6, 7, 0):
        parts.begin(batch)
    assert looked == [4, 6, 0]


def test_a_batch_that_the_shell_that_started_it_did_not_outlive_has_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent process changes, as with `nohup ... &`. Without `outlives` the batch would count without its rows."""
    parents = itertools.count(1)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    parts = PartsHere(cast("SparkSession", None), str(tmp_path), tmp_path)
    parts.keep(Span, 0, [span := Span("Packet", "field", "tap", "", 1, 2)])
    assert parts.rows(Span, 0) == [span]


def test_segments_that_were_tidied_away_before_their_batch_was_done_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Twelve batches, because Spark merges its records of files after ten. Checked: a merged one and the last one."""
    segments, lake = tmp_path / "in [1] %20=é", tmp_path / "lake"
    segments.mkdir()
    for at in range(12):
        packets(segments / f"{at:02}.jsonl", [10 * at + 1])
        os.utime(segments / f"{at:02}.jsonl", (at + 1, at + 1))
    start(spark, str(segments), str(lake), "field", once=True, most=1).awaitTermination()
    for batch in (9, 11):
        assert gone(str(lake), batch) == []
        (segments / f"{batch:02}.jsonl").unlink()
        assert gone(str(lake), batch) == [str(segments / f"{batch:02}.jsonl")]
    for name in ("11", ".11.crc"):
        (lake / "stream" / "_checkpoint" / "commits" / name).unlink()
    start(spark, str(segments), str(lake), "field", once=True, most=1).awaitTermination()
    parts = Parts(spark, str(lake))
    assert [Path(row.source).name for row in parts.all(Quarantine).collect()] == ["11.jsonl"]
    assert parts.rows(Counted, 11)[0][:4] == (1, 0, 0, 1)


def test_of_a_checkpoint_that_is_elsewhere_nothing_is_said_to_be_gone(tmp_path: Path) -> None:
    assert gone("s3a://bucket/lake", 0) == gone(str(tmp_path), 0) == []
