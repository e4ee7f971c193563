"""The stream, killed at random while segments arrive, against everything taken in at once.

    python -m tests.pipeline.kills --kills 20

Every life of the stream is a process group of its own, Java included, that SIGKILL ends at a moment drawn at random.
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

from sdschat.pipeline.grid.engine import EngineGroup
from sdschat.pipeline.grid.setting import Setting
from sdschat.store.journal import json_lines
from tests.pipeline.conftest import QUICK_TO_START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IN_A_LIFE = 5  # segments: two batches
_OVERLAP = 7  # rows that a segment repeats of the one before


class Arriving:
    """Segments of the journals of a simulated group, that come into a folder one by one, as a tap would put them."""

    def __init__(self, folder: Path, count: int, seed: int) -> None:
        group = EngineGroup(
            Setting(by="engine", participants=5, messages=max(6, count // 8), loss=0.2, journal=True), seed
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
    """The same folder under a name that is left to Spark, so that small batches are done by Spark alone too."""
    return f"file:///{lake}"


def _start(segments: Path, lake: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "sdschat", "pipeline", "stream", str(segments), "--lake", lake, "--once",
        "--most", "3", "--master", "local[2]", "--conf", "spark.driver.memory=1g", "--conf", "=".join(QUICK_TO_START),
    ]  # fmt: skip
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def live(segments: Path, lake: Path, kill_after: float | None, name: str = "") -> int | None:
    """One life of the stream. Gives its exit code, or nothing where it was killed. `name`: of the lake, by which it
    is to be called."""
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
    """How many batches were begun and not finished at this moment, or finished."""
    return len(list((lake / "stream" / "_checkpoint" / "offsets").glob("[0-9]*")))


def within(lake: Path) -> bool:
    """Whether there is a batch that was begun and is not finished."""
    checkpoint = lake / "stream" / "_checkpoint"
    done = {path.name for path in (checkpoint / "commits").glob("[0-9]*")}
    return any(path.name not in done for path in (checkpoint / "offsets").glob("[0-9]*"))


def live_until_a_batch_begins(
    segments: Path, lake: Path, number: int = signal.SIGKILL, after: float = 0.0, name: str = ""
) -> tuple[int, str]:
    """One life, ended so many seconds after it has written down which segments are in its next batch, if it has not
    ended by itself. Gives its exit code and what it said."""
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
    begun: int  # batches, so far
    within: bool  # a batch


def kill_often(folder: Path, kills: int, seed: int) -> list[Killed]:
    """What was going on at each kill; then one life to the end. Every other life is killed while it does a batch that
    it began, or after that; the others at any moment, which may be while a batch of an earlier life is done again. Who
    does small batches, the stream itself or Spark, is drawn for each life."""
    draw = random.Random(seed)
    segments, lake = folder / "segments", folder / "lake"
    segments.mkdir(parents=True)
    arriving = Arriving(segments, _IN_A_LIFE * (kills + 1) + 2, seed)
    arriving.more(_IN_A_LIFE)
    began = time.monotonic()
    live(segments, lake, None)  # how long a life takes here and now
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
    """What the stream's tables have, and those of all segments at once do not, or the other way round."""
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
