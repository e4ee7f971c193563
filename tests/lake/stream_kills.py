"""The stream, killed at random while segments arrive, compared with one ingest of everything.

    python -m tests.lake.stream_kills --kills 20

Every life of the stream is a process group of its own, with its Java. SIGKILL ends it at a random moment.
"""

from __future__ import annotations

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sdschat.experiment.engine_group import EngineGroup
from sdschat.experiment.setting import GroupSetting
from sdschat.store.journal import json_lines

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


def start(segments: Path, lake: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start a stream that takes in what is there."""
    command = [sys.executable, "-m", "sdschat", "pipeline", "stream", str(segments), "--lake", str(lake), *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def live(segments: Path, lake: Path, kill_after: float | None) -> bool:
    """Run one life of the stream. Return True if it was killed."""
    process = start(segments, lake, "--once", "--most", "3")
    try:
        _, said = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    if process.returncode:
        raise RuntimeError(f"the stream ended by itself: {said.decode(errors='replace')[-500:]}")
    return False


def kill_often(folder: Path, kills: int, seed: int, beside: int = 1) -> int:
    """Kill streams many times; then run one life to the end. Return how many were killed."""
    draw = random.Random(seed)
    segments, lake = folder / "segments", folder / "lake"
    segments.mkdir(parents=True)
    arriving = Arriving(segments, _IN_A_LIFE * (kills + 1) + 2, seed)
    arriving.more(_IN_A_LIFE)
    began = time.monotonic()
    live(segments, lake, None)  # measures the length of a life on this machine
    length, killed = time.monotonic() - began, 0
    for _ in range(kills):
        arriving.more(_IN_A_LIFE)
        lives = [start(segments, lake, "--once", "--most", "3") for _ in range(beside)]
        for process in lives:
            try:
                process.wait(draw.uniform(0.5, 1.0) * length)
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
            process.communicate()
    arriving.rest()
    live(segments, lake, None)
    return killed


def differences(folder: Path) -> list[str]:
    """Return the differences between the lake of the stream and one that takes all segments in at once."""
    from sdschat.audit.schemas import Journal, Packet
    from sdschat.lake.ingest import ingest
    from sdschat.lake.tables import Tables
    from tests.lake.bronze import rows_in

    at_once = Tables(str(folder / "at once"))
    ingest(at_once, sorted((folder / "segments").glob("*.jsonl")), "field", 1)
    found = []
    for table in (Journal, Packet):
        came = Counter(rows_in(Tables(str(folder / "lake")), table))
        ought = Counter(rows_in(at_once, table))
        found += [f"{table.__name__}: {row} is in the lake too often" for row in came - ought]
        found += [f"{table.__name__}: {row} is not in the lake" for row in ought - came]
        if table is Journal and not ought:
            found.append("there are no events: nothing was compared")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--beside", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "kills"
        killed = kill_often(folder, options.kills, options.seed, options.beside)
        wrong = differences(folder)
    print(f"seed {options.seed}: {killed} streams killed; {len(wrong)} rows differ")
    for line in wrong[:10]:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
