"""The log in memory against a sorted list."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.sds.history import MemoryHistory
from sdschat.sds.values import Entry, LogRow

dates = st.lists(st.integers(1, 60), max_size=120)


def filled(lamports: list[int], bodies: int | None = None) -> tuple[MemoryHistory, list[Entry]]:
    history = MemoryHistory(bodies)
    entries = [Entry(lamport, f"m{place:04}", "a", ("x",), 3) for place, lamport in enumerate(lamports)]
    for entry in entries:
        history.append(LogRow(entry, b"raw", False, "live", 0))
    return history, entries


@given(dates, st.integers(0, 130))
@settings(max_examples=100, deadline=None)
def test_newest_is_the_end_of_the_sorted_list(lamports: list[int], count: int) -> None:
    history, entries = filled(lamports)
    assert history.newest(count) == (sorted(entries)[-count:] if count else [])


@given(dates, st.integers(0, 62), st.integers(1, 130))
@settings(max_examples=100, deadline=None)
def test_before_is_the_end_of_what_is_older(lamports: list[int], bound: int, count: int) -> None:
    history, entries = filled(lamports)
    assert history.before(bound, count) == [entry for entry in sorted(entries) if entry.lamport < bound][-count:]


@given(dates, st.integers(0, 62), st.integers(0, 62), st.integers(1, 130))
@settings(max_examples=100, deadline=None)
def test_between_is_the_beginning_of_what_lies_between(lamports: list[int], low: int, high: int, limit: int) -> None:
    history, entries = filled(lamports)
    expected = [entry for entry in sorted(entries) if low <= entry.lamport <= high][:limit]
    assert history.between(low, high, limit) == expected


@given(dates, st.integers(1, 130))
@settings(max_examples=50, deadline=None)
def test_recently_added_goes_by_arrival(lamports: list[int], count: int) -> None:
    history, entries = filled(lamports)
    assert history.recently_added(count) == entries[-count:]


def test_thousands_in_descending_order_are_kept_sorted() -> None:
    history, entries = filled(list(range(5000, 0, -1)))
    assert history.newest(5000) == sorted(entries)
    assert len(history) == 5000


def test_ids_outlive_bodies() -> None:
    history, entries = filled([1, 2, 3], bodies=2)
    assert history.row("m0000") is None
    assert history.entry("m0000") == Entry(1, "m0000", "a")
    assert history.row("m0002") == LogRow(entries[2], b"raw", False, "live", 0)


def test_what_is_not_there_is_nothing() -> None:
    history, _ = filled([1])
    assert history.entry("other") is None
    assert history.row("other") is None
