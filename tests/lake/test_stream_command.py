"""`sdschat pipeline stream --tap`: a tap beside the stream, and options that do not fit together."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sdschat.cli.errors import CommandProblem
from sdschat.cli.output import moment
from sdschat.cli.spark.stream import _asked_to_end, batch_line, recording
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.segments import SPOOL
from tests.audit.worlds import with_filter
from tests.cli.processes import run as run_process
from tests.lake.stream_kills import Arriving, differences, kill_often, start
from tests.needs import needs_module
from tests.pipeline.test_tap_command import PATIENCE, TOPIC, heard, size_of
from tests.transport.worlds import connected, embedded, free_port, quick

for module in ("pyarrow", "duckdb", "deltalake"):
    needs_module(module)

from sdschat.lake.ingest import StreamedBatch


def test_what_passes_meanwhile_is_in_a_segment_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "segments"

    async def talk() -> None:
        url = f"mqtt://127.0.0.1:{(port := free_port())}"
        async with embedded(BrokerConfig(port=port)), connected(quick(url)) as (client, _):
            with recording(["lobby"], folder, url) as check:
                async with asyncio.timeout(PATIENCE):
                    while not (folder.is_dir() and any((folder / SPOOL).glob("*"))):
                        client.publish(TOPIC, with_filter("m1", "ann", 1_000, 1))
                        await asyncio.sleep(0.1)
                await size_of(folder / SPOOL, 0)
                check()

    asyncio.run(talk())
    assert set(heard(folder)) == {"m1"}


def _until_it_ends(check: Callable[[], None]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        check()
        time.sleep(0.05)


def test_a_tap_that_cannot_go_on_ends_the_stream_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    url = f"mqtt://127.0.0.1:{free_port()}"
    with (
        recording(["lobby"], tmp_path / "segments", url) as check,
        pytest.raises(CommandProblem, match="Nothing listens") as told,
    ):
        _until_it_ends(check)
    assert told.value.exit_code == 3


def test_a_tap_does_not_fit_with_once(tmp_path: Path) -> None:
    done = run_process(tmp_path, "pipeline", "stream", "in", "--lake", "lake", "--tap", "lobby", "--once")
    assert (done.returncode, "Leave one out" in done.stderr) == (2, True)


def test_a_broker_without_a_tap_is_told(tmp_path: Path) -> None:
    done = run_process(tmp_path, "pipeline", "stream", "in", "--lake", "lake", "--broker", "mqtt://127.0.0.1:1")
    assert (done.returncode, "Name a channel with --tap" in done.stderr) == (2, True)


def test_ctrl_c_lets_the_batch_end(tmp_path: Path) -> None:
    segments = tmp_path / "segments"
    segments.mkdir()
    Arriving(segments, 2, 7).rest()
    process = start(segments, tmp_path / "lake")
    assert process.stderr is not None
    first = [process.stderr.readline().decode().strip() for _ in range(2)]
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[1].decode().splitlines()
    assert first[0] == f"waiting for segments in {segments}"
    assert re.fullmatch(r"[-0-9]+ [:0-9]+ batch 0: 2 segments, \d+ events, 0 packets, [.0-9]+ s", first[1])
    assert (process.returncode, said) == (0, ["stopped; the same command goes on"])


def test_a_first_ctrl_c_is_noted_and_a_second_one_is_raised() -> None:
    with _asked_to_end() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_a_stream_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    assert kill_often(tmp_path / "kills", 2, 7) <= 2
    assert differences(tmp_path / "kills") == []


def test_a_line_says_what_a_batch_brought_and_what_of_it_could_not_be_taken() -> None:
    came = StreamedBatch(7, segments=1, events=2_000, packets=0, refused=3, at_ms=0, took_ms=1_230)
    assert batch_line(came) == f"{moment(0)} batch 7: 1 segment, 2,000 events, 0 packets, 3 refused, 1.2 s"
