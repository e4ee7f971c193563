"""`sdschat pipeline stream --tap`: a tap beside the stream, and what is said where the two do not fit together."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import pytest

from sdschat.cli.problem import Problem
from sdschat.cli.spark.recording import Recording, recording
from sdschat.cli.spark.stream import reason
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.segments import SPOOL
from tests.cli.processes import run as run_process
from tests.needs import needs_module
from tests.pipeline.kills import Arriving, live_until_a_batch_begins
from tests.pipeline.test_tap_command import PATIENCE, TOPIC, heard, size_of
from tests.pipeline.worlds import with_filter
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


def _until_it_ends(tap: Recording) -> None:
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
        pytest.raises(Problem, match="Nothing listens") as told,
    ):
        _until_it_ends(tap)
    assert told.value.exit_code == 3


def test_a_tap_does_not_fit_with_once(tmp_path: Path) -> None:
    done = run_process(tmp_path, "pipeline", "stream", "in", "--lake", "lake", "--tap", "lobby", "--once")
    assert (done.returncode, "Leave one out" in done.stderr) == (2, True)


def test_a_broker_without_a_tap_is_told(tmp_path: Path) -> None:
    done = run_process(tmp_path, "pipeline", "stream", "in", "--lake", "lake", "--broker", "mqtt://127.0.0.1:1")
    assert (done.returncode, "Name a channel with --tap" in done.stderr) == (2, True)


def test_ctrl_c_within_a_batch_ends_it_in_a_line(tmp_path: Path) -> None:
    needs_module("pyspark")
    segments = tmp_path / "segments"
    segments.mkdir()
    Arriving(segments, 2, 7).rest()
    code, said = live_until_a_batch_begins(segments, tmp_path / "lake", signal.SIGINT)
    assert (code, said.splitlines()) == (0, ["stopped; the same command goes on"])


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            "[STREAM_FAILED] Query [id = 1] terminated: no such folder",
            "[STREAM_FAILED] Query [id = 1] terminated: no such folder",
        ),
        (
            "failed: Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'x'\n\tat org.apache.Spark(a:1)",
            "KeyError: 'x'",
        ),
        ('failed.\nTraceback (most recent call last):\n  File "a.py"', "failed"),
    ],
)
def test_of_traces_only_the_reason_is_told(told: str, said: str) -> None:
    assert reason(told) == said
