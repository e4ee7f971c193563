"""The index over ranges of a log agrees with the log, for any messages inserted in any order."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from sdschat.catchup.values import BUCKET, HIGHEST, LOWEST, LogKey, RangeSummary, summarise
from sdschat.sds.values import Append, Entry, LogRow
from sdschat.store.errors import DiskFull
from sdschat.store.ranges import Ranges
from sdschat.store.store import Store
from tests.store.samples import CODEC

Keys = list[tuple[int, str]]


def _some(count: int, seed: int = 1) -> Keys:
    draw = Random(seed)
    return sorted({(1000 + draw.randrange(4 * count), f"{draw.getrandbits(64):016x}") for _ in range(count)})


def _put(store: Store, keys: Keys, channel: str = "lobby") -> None:
    rows = [LogRow(Entry(lamport, name, "ann"), b"raw", False, "live", 0) for lamport, name in keys]
    store.commit([(channel, [Append(row) for row in rows])])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p" / "sdschat.db"


def _holds(store: Store, keys: Keys, channel: str = "lobby") -> None:
    """Compare every sum, and every division into parts, with those of the keys themselves."""
    log = store.log(channel)
    keys = sorted(keys)
    bounds = [LOWEST, *(LogKey(*key) for key in Random(3).sample(keys, 12)), HIGHEST]
    for low in bounds:
        for high in bounds:
            within = [key for key in keys if low <= key < high]
            assert log.summary(low, high) == summarise(within)
    for parts in (2, 7, 64):
        cuts = log.cut(LOWEST, HIGHEST, parts)
        assert cuts == sorted(set(cuts))
        assert len(cuts) < parts
        ends = [LOWEST, *cuts, HIGHEST]
        found = [log.summary(low, high) for low, high in pairwise(ends)]
        assert sum(part.messages for part in found) == len(keys)


def test_sums_are_those_of_the_log_however_it_grew(path: Path) -> None:
    keys = _some(3000)
    mixed = Random(2).sample(keys, len(keys))
    with Store.open(path, CODEC) as store:
        for at in range(0, len(mixed), 170):
            _put(store, mixed[at : at + 170])
        _holds(store, keys)
        assert max(summary.messages for summary in store.ranges.load(1).summaries) <= BUCKET
    with Store.open(path, CODEC) as store:
        _holds(store, keys)


def test_many_messages_of_one_moment_are_told_apart(path: Path) -> None:
    keys = [(5, f"{number:05d}") for number in range(1500)]
    with Store.open(path, CODEC) as store:
        _put(store, keys)
        _holds(store, keys)


def test_channels_have_indexes_of_their_own(path: Path) -> None:
    with Store.open(path, CODEC) as store:
        _put(store, _some(700, 1), "lobby")
        _put(store, _some(900, 2), "attic")
        _holds(store, _some(700, 1), "lobby")
        _holds(store, _some(900, 2), "attic")
        assert store.log("nowhere").summary(LOWEST, HIGHEST) == RangeSummary()


def test_an_index_that_does_not_fit_its_log_is_made_anew(path: Path) -> None:
    keys = _some(1200)
    with Store.open(path, CODEC) as store:
        _put(store, keys)
    for damage in (
        "DELETE FROM range_bucket",
        "DELETE FROM range_bucket WHERE place = (SELECT max(place) FROM range_bucket)",
        "UPDATE range_bucket SET count = count + 1",
        "DELETE FROM range_bucket WHERE start = '0000000000000000'",
    ):
        connection = sqlite3.connect(path)
        connection.execute(damage)
        connection.commit()
        connection.close()
        with Store.open(path, CODEC) as store:
            _holds(store, keys)
    with Store.open(path, CODEC) as store:
        saved = Ranges(store.connection, path)
        assert saved.load(1).whole() == summarise(keys)


def test_what_was_not_saved_is_not_in_the_sums(path: Path) -> None:
    first, more = _some(600, 1), _some(600, 9)
    with Store.open(path, CODEC) as store:
        _put(store, first)
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(DiskFull):
            _put(store, more)
        _holds(store, first)
        store.connection.execute("PRAGMA max_page_count = 1000000")
        store.commit([("lobby", [])])
        _holds(store, first)
        _put(store, more)
        _holds(store, first + more)


def test_sums_are_found_without_walking_through_the_log(path: Path) -> None:
    keys = _some(20_000)
    with Store.open(path, CODEC) as store:
        _put(store, keys)
        log = store.log("lobby")
        read = 0

        def count(*_: object) -> int:
            nonlocal read
            read += 1
            return 0

        store.ranges.load(1)
        store.connection.set_progress_handler(count, 100)
        log.summary(LogKey(*keys[77]), LogKey(*keys[19_000]))
        store.connection.set_progress_handler(None, 0)
        assert read < 2 * BUCKET * 10 / 100 + 50


def test_without_its_first_bucket_the_index_is_made_anew(path: Path) -> None:
    keys = _some(3 * BUCKET)
    with Store.open(path, CODEC) as store:
        _put(store, keys)
        first = store.connection.execute("SELECT min(start) FROM range_bucket").fetchone()[0]
        store.connection.execute("DELETE FROM range_bucket WHERE start = ?", (first,))
        ranges = Ranges(store.connection, path)
        number = store.number("lobby")
        assert number is not None
        index = ranges.load(number)
        assert index.starts[0] == LOWEST
        assert index.whole() == summarise(keys)
