"""The speed of look-ups in the archive, without a JVM.

    python -m tests.pipeline.bench --only archive
    python -m tests.pipeline.archive_bench --messages 5000000
    python -m tests.pipeline.archive_bench --messages 5000000 --spark    written by `sdschat pipeline archive` itself

Without --spark the files are written by pyarrow, in the same two orders and row groups. Packets are random bytes, which
is the worst case. Look-ups are of messages drawn at random. Half of the times are below the median, and 95 % are below
the other value. Each look-up also has its processor time, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.audit.schemas import FIELD, Log, ddl
from sdschat.pipeline import archive
from sdschat.pipeline.archive import BY_ID, BY_PLACE, END, Archive
from tests.pipeline.bench_bars import Bar, Bars

_CHANNEL = "lobby"
_FIRST, _STEP = 1_000_000, 500  # Lamport times
_PAGE = 100
_REPLAYED = 1_000_000  # messages from the beginning of the log, each with its packet
FULL, PACKET, LOOKUPS = 5_000_000, 400, 200  # messages for which the bars are set, bytes of a packet, look-ups


class Messages(NamedTuple):
    """The messages of the archive. Number n has the n-th id; `places[n]` is its position in the log, from 1."""

    keys: Any
    places: Any
    packet: int

    def ids(self, numbers: Any) -> list[str]:
        return [f"{key:016x}{key * 2654435761 % 2**64:016x}{'5' * 32}" for key in self.keys[numbers].tolist()]

    def table(self, numbers: Any, seed: int) -> pa.Table:
        count = len(numbers)
        noise = np.random.default_rng(seed).bytes(count * self.packet)
        ends = pa.py_buffer(np.arange(0, (count + 1) * self.packet, self.packet, dtype=np.int32).tobytes())
        ids, places = self.ids(numbers), self.places[numbers]
        columns: dict[str, Any] = {
            "run_id": [FIELD] * count,
            "channel": [_CHANNEL] * count,
            "position": places,
            "lamport": _FIRST + _STEP * places,
            "message_id": ids,
            "sender": [each[:8] for each in ids],
            "deps": [[each, each[::-1]] for each in ids],
            "digest": [each[:16] for each in ids],
            "running": [each[:32] for each in ids],
            "copies": np.full(count, 8),
            "first_ms": places,
            "last_ms": places,
            "raw": pa.Array.from_buffers(pa.binary(), count, [None, ends, pa.py_buffer(noise)]),
        }
        return pa.table({name: columns[name] for name in (*Log._fields, "raw")})


def made(count: int, packet: int) -> Messages:
    draw = np.random.default_rng(2)
    keys = np.unique(draw.integers(0, 2**63, count + count // 1000 + 10, dtype=np.uint64))[:count]
    return Messages(keys, draw.permutation(count) + 1, packet)


def write_with_pyarrow(folder: Path, messages: Messages) -> None:
    count = len(messages.keys)
    for place, order in ((BY_ID, np.arange(count)), (BY_PLACE, np.argsort(messages.places))):
        (folder / place).mkdir(parents=True)
        for part, start in enumerate(range(0, count, archive.ROWS_A_FILE)):
            target = folder / place / f"part-{part:05}.parquet"
            stop = min(start + archive.ROWS_A_FILE, count)
            with pq.ParquetWriter(target, messages.table(order[:1], 0).schema, compression="zstd") as writer:
                for at in range(start, stop, archive.ROWS_A_GROUP):
                    numbers = order[at : min(at + archive.ROWS_A_GROUP, stop)]
                    writer.write_table(messages.table(numbers, at), row_group_size=archive.ROWS_A_GROUP)


def write_with_spark(folder: Path, messages: Messages, master: str) -> None:
    from sdschat.pipeline.session import SparkTarget, spark

    source = folder / "log"
    source.mkdir()
    for part, start in enumerate(range(0, len(messages.keys), 500_000)):
        numbers = np.arange(start, min(start + 500_000, len(messages.keys)))
        pq.write_table(messages.table(numbers, start), source / f"part-{part:05}.parquet")
    with spark(SparkTarget(master, conf=(("spark.driver.memory", "2g"),))) as session:
        whole = session.read.schema(f"{ddl(Log)}, raw BINARY").parquet(str(source))
        raw = whole.select("run_id", "channel", "message_id", "raw")
        archive.write_archive(whole.drop("raw"), raw, str(folder))


def measure(look_up: Callable[[int], object], numbers: Sequence[int]) -> tuple[Any, Any]:
    """Return the seconds of each look-up: wall time and processor time."""
    wall, own = [], []
    for number in numbers:
        began, busy = time.perf_counter(), time.process_time()
        look_up(number)
        own.append(time.process_time() - busy)
        wall.append(time.perf_counter() - began)
    return np.array(wall), np.array(own)


def report(folder: Path, messages: Messages, lookups: int, bars: Bars) -> None:
    count = len(messages.keys)
    archive = Archive(folder)
    numbers = np.random.default_rng(3).integers(0, count, lookups).tolist()
    places = [int(messages.places[number]) for number in numbers]

    def by_id(number: int) -> None:
        ((found,),) = archive.beginning(messages.ids(np.array([number]))[0]).values()
        assert found["position"] == messages.places[number]

    def by_position(place: int) -> None:
        found = archive.between("position", place, min(place + _PAGE - 1, count), _CHANNEL, FIELD)
        assert [row["position"] for row in found] == list(range(place, min(place + _PAGE, count + 1)))

    def by_date(place: int) -> None:
        found = list(islice(archive.between("lamport", _FIRST + _STEP * place, END, _CHANNEL, FIELD), _PAGE))
        assert found[0]["position"] == place

    print(f"{count:,} messages, {_size(folder) / 2**30:.1f} GiB, load of the machine {os.getloadavg()[0]:.1f}")
    bar = Bar(11, 50, "ms") if count >= FULL else None
    _tell(bars, "open, and the first id", measure(lambda number: _afresh(folder, messages, number), numbers[:5]), None)
    by_id(numbers[0])
    by_position(places[0])
    _tell(bars, "by id", measure(by_id, numbers), bar)
    _tell(bars, f"{_PAGE} by position", measure(by_position, places), bar)
    _tell(bars, f"{_PAGE} by Lamport time", measure(by_date, places), bar)
    _replay(archive, min(count, _REPLAYED), bars, full=count >= FULL)
    archive.close()
    got = measure(lambda number: _command(folder, messages, number), numbers[:5])
    _tell(bars, "sdschat pipeline get ID", got, None)


def _afresh(folder: Path, messages: Messages, number: int) -> None:
    archive = Archive(folder)
    assert len(archive.beginning(messages.ids(np.array([number]))[0])) == 1
    archive.close()


def _command(folder: Path, messages: Messages, number: int) -> None:
    (message_id,) = messages.ids(np.array([number]))
    arguments = [sys.executable, "-m", "sdschat", "pipeline", "get", "--lake", str(folder), message_id]
    done = subprocess.run(arguments, capture_output=True, check=True)
    assert json.loads(done.stdout)["message_id"] == message_id


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for place in (BY_ID, BY_PLACE) for path in (folder / place).glob("*.parquet"))


def _replay(archive: Archive, count: int, bars: Bars, full: bool) -> None:
    bar = Bar(11, 100_000, "rows/s", least=True) if full else None
    with bars("archive, replay in the order of the log", "DuckDB", count, bar):
        found = sum(len(row["raw"]) > 0 for row in archive.between("position", 1, count, _CHANNEL, FIELD))
    assert found == count


def _tell(bars: Bars, what: str, found: tuple[Any, Any], bar: Bar | None) -> None:
    wall, own = (np.percentile(each, [50, 95]) * 1000 for each in found)
    for share, seconds, busy in zip(("median", "95 of 100"), wall, own, strict=True):
        bars.tell(f"archive, {what}, {share}", f"processor {busy:.1f}", float(seconds), "ms", bar)


def measure_all(bars: Bars, folder: Path) -> None:
    """Measure the archive as the bars require."""
    messages = made(FULL, PACKET)
    write_with_pyarrow(folder, messages)
    report(folder, messages, LOOKUPS, bars)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=FULL)
    parser.add_argument("--packet", type=int, default=PACKET, help="bytes of each packet")
    parser.add_argument("--lookups", type=int, default=LOOKUPS)
    parser.add_argument("--spark", action="store_true", help="have Spark write the archive")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--to", type=Path, help="keep it there; what is there is measured as it is")
    options = parser.parse_args(argv)
    messages = made(options.messages, options.packet)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.to or Path(scratch)
        if not (folder / BY_PLACE).exists():
            folder.mkdir(parents=True, exist_ok=True)
            if options.spark:
                write_with_spark(folder, messages, options.master)
            else:
                write_with_pyarrow(folder, messages)
        report(folder, messages, options.lookups, Bars())
    return 0


if __name__ == "__main__":
    sys.exit(main())
