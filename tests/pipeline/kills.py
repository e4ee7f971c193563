"""The stream, killed at random while segments arrive, compared with one ingest of everything.

    python -m tests.pipeline.kills --kills 20

Every life of the stream is a process group of its own, with its Java. SIGKILL ends it at a random moment.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sdschat.experiment.engine_group import EngineGroup
from sdschat.experiment.setting import GroupSetting
from sdschat.store.journal import json_lines
from tests.pipeline.conftest import QUICK_TO_START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IN_A_LIFE = 5  # segments for each life: two batches
_OVERLAP = 7  # rows of the previous segment that a segment repeats


class Arriving:
    """Segments of a simulated group's journals. They arrive in a folder one by one, like those of a tap."""

    def __init__(self, folder: Path, count: int, seed: int) -> None:
        group = EngineGroup(
            GroupSetting(by="engine", participants=5, messages=max(6, count // 8), loss=0.2, journal=True), seed
        )
        group.run()
        rows = group.journal
        self.folder = folder
        bounds = [len(rows) * at // count for at in range(count + 1)]
        self._bodies = [
            "\n".join(json_lines(rows[max(0, first - _OVERLAP) : last])) + "\n"
            for first, last in itertools.pairwise(bounds)
        ]
        self._put = 0

    def more(self, count: int) -> None:
        for _ in range(min(count, len(self._bodies) - self._put)):
            fresh = self.folder / f".segment-{self._put:04}.jsonl"
            fresh.write_text(self._bodies[self._put], encoding="utf-8")
            fresh.rename(self.folder / fresh.name[1:])
            self._put += 1

    def rest(self) -> None:
        self.more(len(self._bodies))


def by_spark(lake: Path) -> str:
    """Return the lake's folder as a URI: then small batches are done by Spark alone too."""
    return f"file:///{lake}"


def _start(segments: Path, lake: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "sdschat",
        "pipeline",
        "stream",
        str(segments),
        "--lake",
        lake,
        "--once",
        "--most",
        "3",
        "--master",
        "local[2]",
        "--conf",
        "spark.driver.memory=1g",
        "--conf",
        "=".join(QUICK_TO_START),
    ]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def live(segments: Path, lake: Path, kill_after: float | None, name: str = "") -> int | None:
    """Run one life of the stream. Return its exit code, or None if it was killed. `name`: another name of the lake."""
    process = _start(segments, name or str(lake))
    try:
        _, said = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    if process.returncode:
        raise RuntimeError(f"the stream ended by itself: {said.decode(errors='replace')[-500:]}")
    return process.returncode


def begun(lake: Path) -> int:
    """Return the number of batches that have begun, finished or not."""
    return len(list((lake / "stream" / "_checkpoint" / "offsets").glob("[0-9]*")))


def within(lake: Path) -> bool:
    """True if a batch has begun and is not finished."""
    checkpoint = lake / "stream" / "_checkpoint"
    done = {path.name for path in (checkpoint / "commits").glob("[0-9]*")}
    return any(path.name not in done for path in (checkpoint / "offsets").glob("[0-9]*"))


def live_until_a_batch_begins(
    segments: Path, lake: Path, number: int = signal.SIGKILL, after: float = 0.0, name: str = ""
) -> tuple[int, str]:
    """Run one life, and end it `after` seconds after it recorded the segments of its next batch.

    A life that ends earlier by itself is not ended. Return the exit code and the output.
    """
    before = begun(lake)
    process = _start(segments, name or str(lake))
    try:
        while begun(lake) == before:
            if process.poll() is not None:
                raise RuntimeError("the stream ended, and had begun nothing")
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
    except BaseException:
        number = signal.SIGKILL
        raise
    finally:
        if process.poll() is None:
            os.killpg(process.pid, number)
        said = process.communicate()[1]
    return process.returncode, said.decode(errors="replace")


class Killed(NamedTuple):
    begun: int  # number of batches begun so far
    within: bool  # True: killed during a batch


def kill_often(folder: Path, kills: int, seed: int) -> list[Killed]:
    """Kill the stream many times; then run one life to the end. Return the state at each kill.

    Every other life is killed during or after a batch that it began. The others are killed at any moment, perhaps while
    they repeat a batch of an earlier life. For each life a draw decides if small batches are done in the process or by
    Spark.
    """
    draw = random.Random(seed)
    segments, lake = folder / "segments", folder / "lake"
    segments.mkdir(parents=True)
    arriving = Arriving(segments, _IN_A_LIFE * (kills + 1) + 2, seed)
    arriving.more(_IN_A_LIFE)
    began = time.monotonic()
    live(segments, lake, None)  # measures the length of a life on this machine
    length = time.monotonic() - began
    seen: list[Killed] = []
    for number in range(kills):
        arriving.more(_IN_A_LIFE)
        name = draw.choice((str(lake), by_spark(lake)))
        if number % 2:
            live(segments, lake, draw.uniform(0.4, 1.0) * length, name)
        else:
            live_until_a_batch_begins(segments, lake, after=draw.uniform(0, 0.4) * length, name=name)
        seen.append(Killed(begun(lake), within(lake)))
    arriving.rest()
    live(segments, lake, None)
    return seen


def differences(spark: SparkSession, folder: Path) -> list[str]:
    """Return the differences between the stream's tables and those of all segments at once."""
    from sdschat.pipeline.stream.batches import at_once
    from sdschat.pipeline.stream.parts import Parts
    from sdschat.pipeline.stream.tables import merged

    parts = Parts(spark, str(folder / "lake"))
    paths = [str(path) for path in sorted((folder / "segments").glob("*.jsonl"))]
    found = []
    for of, whole in at_once(spark, paths, "field").items():
        came = {tuple(row) for row in merged(parts.all(of), of).collect()}
        ought = {tuple(row) for row in whole.collect()}
        found += [f"{of.__name__}: {row} is only in the stream" for row in came - ought]
        found += [f"{of.__name__}: {row} is not in the stream" for row in ought - came]
        if of.__name__ != "Traffic" and not ought:
            found.append(f"{of.__name__} is empty: nothing was compared")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    from sdschat.pipeline.session import Where, spark

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "kills"
        seen = kill_often(folder, options.kills, options.seed)
        with spark(Where("local[2]")) as session:
            wrong = differences(session, folder)
    amid = sum(each.within for each in seen)
    print(
        f"{options.kills} kills (seed {options.seed}), {amid} of them within a batch, with "
        f"{[each.begun for each in seen]} batches begun: {len(wrong)} rows differ"
    )
    print(*wrong[:10], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
