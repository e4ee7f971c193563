"""`sdschat pipeline stream --tap`: a tap beside the stream, and options that do not fit together."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from pathlib import Path

import click
import pytest

from sdschat.audit.lock import alone
from sdschat.cli.errors import CommandProblem
from sdschat.cli.spark.recording import TapRecording, recording
from sdschat.cli.spark.stream import _told
from sdschat.cli.spark.watching import batch_line
from sdschat.cli.text import moment
from sdschat.pipeline.stream.parts import Counted
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.segments import SPOOL
from tests.audit.worlds import with_filter
from tests.cli.processes import run as run_process
from tests.needs import needs_module
from tests.pipeline.kills import Arriving, live_until_a_batch_begins
from tests.pipeline.test_tap_command import PATIENCE, TOPIC, heard, size_of
from tests.transport.worlds import connected, embedded, free_port, quick


def test_what_passes_meanwhile_is_in_a_segment_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "segments"

    async def talk() -> None:
        url = f"mqtt://127.0.0.1:{(port := free_port())}"
        async with embedded(BrokerConfig(port=port)), connected(quick(url)) as (client, _):
            with recording(["lobby"], folder, url) as tap:
                async with asyncio.timeout(PATIENCE):
                    while not (folder.is_dir() and any((folder / SPOOL).glob("*"))):
                        client.publish(TOPIC, with_filter("m1", "ann", 1_000, 1))
                        await asyncio.sleep(0.1)
                await size_of(folder / SPOOL, 0)
                tap.check()

    asyncio.run(talk())
    assert set(heard(folder)) == {"m1"}


def _until_it_ends(tap: TapRecording) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        tap.check()
        time.sleep(0.05)


def test_a_tap_that_cannot_go_on_ends_the_stream_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    url = f"mqtt://127.0.0.1:{free_port()}"
    with (
        recording(["lobby"], tmp_path / "segments", url) as tap,
        pytest.raises(CommandProblem, match="Nothing listens") as told,
    ):
        _until_it_ends(tap)
    assert told.value.exit_code == 3


def test_a_tap_does_not_fit_with_once(tmp_path: Path) -> None:
    done = run_process(tmp_path, "pipeline", "stream", "in", "--lake", "lake", "--tap", "lobby", "--once")
    assert (done.returncode, "Leave one out" in done.stderr) == (2, True)


def test_a_broker_without_a_tap_is_told(tmp_path: Path) -> None:
    done = run_process(tmp_path, "pipeline", "stream", "in", "--lake", "lake", "--broker", "mqtt://127.0.0.1:1")
    assert (done.returncode, "Name a channel with --tap" in done.stderr) == (2, True)


def _ended_within_a_batch(tmp_path: Path, number: int) -> tuple[int, list[str], int]:
    """Return the exit code, the output, and the number of complete batches."""
    needs_module("pyspark")
    segments, lake = tmp_path / "segments", tmp_path / "lake"
    segments.mkdir()
    Arriving(segments, 2, 7).rest()
    code, said = live_until_a_batch_begins(segments, lake, number)
    return code, said.splitlines(), len(list((lake / "stream" / "counted").glob("batch=*/part-*.parquet")))


def test_ctrl_c_within_a_batch_lets_it_end(tmp_path: Path) -> None:
    code, said, count = _ended_within_a_batch(tmp_path, signal.SIGINT)
    assert (code, said[0], said[-1], count) == (
        0,
        f"waiting for segments in {tmp_path / 'segments'}",
        "stopped; the same command goes on",
        1,
    )
    assert any(
        re.fullmatch(r"[-0-9]+ [:0-9]+ batch 0: 2 segments, \d+ events, 0 packets, [.0-9]+ s", line) for line in said
    )


def test_where_spark_is_ended_too_a_batch_that_was_broken_off_does_not_count(tmp_path: Path) -> None:
    """The signal goes to all processes, as from a service manager."""
    code, said, count = _ended_within_a_batch(tmp_path, signal.SIGTERM)
    assert (code, said[-1], count) == (
        0,
        "stopped at once; a batch that was going on counts when it is done again; the same command goes on",
        0,
    )


def _what_is_said(raised: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the user is told if the stream was asked to end and its batch failed."""
    needs_module("pyspark")
    from pyspark.errors import StreamingQueryException

    asked = threading.Event()
    asked.set()
    with pytest.raises((CommandProblem, click.exceptions.Exit)) as ended, _told(asked):
        raise StreamingQueryException(f"{_OF_A_BATCH}\n{raised}")
    return str(ended.value) if isinstance(ended.value, CommandProblem) else capsys.readouterr().err


_OF_A_BATCH = (
    "[STREAM_FAILED] py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback"
)


@pytest.mark.parametrize("why", ["OSError: [Errno 28] No space left on device", "java.io.IOException: No space left"])
def test_a_batch_that_fails_after_ctrl_c_is_a_failure_with_its_reason(
    why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _what_is_said(why, capsys)
    assert said.startswith("The stream ended: ")
    assert "No space left" in said


@pytest.mark.parametrize(
    "why",
    [
        "org.apache.spark.SparkException: Job 3 cancelled because SparkContext was shut down",
        "py4j.protocol.Py4JNetworkError: Answer from Java side is empty",
    ],
)
def test_a_batch_whose_spark_was_ended_with_it_is_broken_off(why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _what_is_said(why, capsys).startswith("stopped at once")


def test_a_second_stream_into_the_same_lake_is_refused(tmp_path: Path) -> None:
    for name in ("segments", "lake"):
        (tmp_path / name).mkdir()
    with alone(tmp_path / "lake" / ".stream.lock", ""):
        done = run_process(tmp_path, "pipeline", "stream", "segments", "--lake", "lake", "--once")
    assert (done.returncode, "another stream is writing to" in done.stderr) == (1, True)


def test_a_line_says_what_a_batch_brought_and_what_of_it_could_not_be_taken() -> None:
    came = Counted(segments=1, events=2_000, packets=0, refused=3, at_ms=0, took_ms=1_230)
    assert batch_line(7, came) == f"{moment(0)} batch 7: 1 segment, 2,000 events, 0 packets, 3 refused, 1.2 s"
