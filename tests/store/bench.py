"""Benchmark of the store: `python -m tests.store.bench [--messages 1000000] [--in DIR]`.

The measurements and their goals are in `main`. A figure about a long history is taken on one, and if growth matters, on
a short one too.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sdschat.sds.limits import RECENT_WINDOW
from sdschat.sds.values import Append, Put, Table, Write
from sdschat.store.journal import JournalRow
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText
from tests.store.samples import CODEC, START, Talk, log_row, packet_of, state_row

BATCH = 250
_OPEN = """
import resource, sys, time
from pathlib import Path
from sdschat.store.store import Store
from tests.store.samples import CODEC
before = time.perf_counter()
store = Store.open(Path(sys.argv[1]), CODEC)
channel = store.channel("big")
snapshot, newest = channel.snapshot(), channel.history.newest(1024)
added = channel.history.recently_added(10000)
print(time.perf_counter() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(newest))
"""


def _timed(work: Callable[[], int]) -> float:
    """Items that `work` processes in a second."""
    before = time.perf_counter()
    count = work()
    return count / (time.perf_counter() - before)


def _batches(talk: Talk, count: int) -> list[tuple[list[Write], list[JournalRow], list[IndexedText]]]:
    return [talk.step() for _ in range(count)]


def _save(store: Store, steps: list[tuple[list[Write], list[JournalRow], list[IndexedText]]], size: int) -> int:
    for start in range(0, len(steps), size):
        some = steps[start : start + size]
        store.commit(
            [("big", writes) for writes, _, _ in some],
            [row for _, rows, _ in some for row in rows],
            [said for _, _, texts in some for said in texts],
        )
    return len(steps)


def fill(store: Store, count: int) -> float:
    """A long history, made with as little work as possible: only the rows that opening and look-ups depend on."""

    def work() -> int:
        deps: tuple[str, ...] = ()
        for start in range(0, count, 5000):
            writes: list[Write] = []
            texts: list[IndexedText] = []
            for at in range(start, min(start + 5000, count)):
                message = packet_of("big", f"sender {at % 20}", START + at * 3, f"message number {at} of many", deps)
                deps = (message.message_id,)
                writes.append(Append(log_row(message)))
                texts.append(IndexedText("big", message.message_id, "Anna", f"message number {at}", "known", START))
            writes.append(Put(Table.CHANNEL, "", state_row(START + count * 3)))
            store.commit([("big", writes)], (), texts)
        return count

    return _timed(work)


def _misses(store: Store, count: int = 20_000) -> float:
    history = store.channel("big").history
    ids = [hashlib.sha256(b"%d" % at).hexdigest() for at in range(count)]  # as spread as real ones

    def work() -> int:
        return sum(1 for message_id in ids if history.entry(message_id) is None)

    return _timed(work)


def _opening(path: Path) -> tuple[float, float]:
    """Seconds and MiB of a fresh process that reads all that an engine needs to start."""
    done = subprocess.run([sys.executable, "-c", _OPEN, str(path)], capture_output=True, text=True, check=True)
    seconds, memory, newest = done.stdout.split()
    assert int(newest) == RECENT_WINDOW
    return float(seconds), float(memory)


def _tell(what: str, figure: float, unit: str, target: str = "") -> None:
    print(f"{what:<58} {figure:>12,.2f} {unit:<12} {target}", flush=True)


def _journal_cost(directory: Path) -> float:
    """Microseconds of one row, the best of three rounds with journal and without."""
    best = {True: float("inf"), False: float("inf")}
    for round_number in range(3):
        for journaled in best:
            steps = [(writes, rows if journaled else [], texts) for writes, rows, texts in _batches(Talk("big"), 5000)]
            path = directory / f"{round_number} {journaled}" / "sdschat.db"
            with Store.open(path, CODEC, journal=JournalSettings("node", "boot")) as store:
                before = time.perf_counter()
                _save(store, steps, BATCH)
                best[journaled] = min(best[journaled], time.perf_counter() - before)
    return (best[True] - best[False]) / 5000 * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--in", dest="directory", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        directory = Path(place)
        path = directory / "profile" / "sdschat.db"
        with Store.open(path, CODEC, journal=JournalSettings("node", "boot")) as store:
            talk = Talk("big")
            _tell(
                "one message a commit, journal and full text",
                _timed(lambda: _save(store, _batches(talk, 500), 1)),
                "commits/s",
            )
            steps = _batches(talk, 10_000)
            _tell(
                f"batches of {BATCH}, journal and full text",
                _timed(lambda: _save(store, steps, BATCH)),
                "messages/s",
                "(>= 5,000)",
            )
            _tell("entry of an unknown id, 10,000 messages", _misses(store), "lookups/s")
            _tell(f"filling to {options.messages:,}", fill(store, options.messages), "messages/s")
            _tell(f"entry of an unknown id, {options.messages:,} messages", _misses(store), "lookups/s")
            talk = Talk("big", seed=2)
            steps = _batches(talk, 5000)
            _tell(
                f"batches of {BATCH} on top of that",
                _timed(lambda: _save(store, steps, BATCH)),
                "messages/s",
                "(>= 5,000)",
            )
        seconds, memory = _opening(path)
        _tell(f"opening {path.stat().st_size / 2**20:,.0f} MiB", seconds, "s", "(< 1.5)")
        _tell("memory of that process", memory, "MiB", "(< 150)")
        with Store.open_read_only(path, CODEC) as reader:
            _tell("reading the whole log", _timed(lambda: sum(1 for _ in reader.messages("big"))), "messages/s")
            _tell(
                "searching a word that all have, newest 50",
                1000 / _timed(lambda: len(list(reader.messages("big", search="message", limit=50))) // 50),
                "ms",
            )
        _tell("a journal row", _journal_cost(directory), "us", "(< 10 % of a node's 667 us a message)")


if __name__ == "__main__":
    main()
