"""A source's pages compared with what the source said to have, and against what its own messages name."""

from __future__ import annotations

import pytest

from sdschat.catchup.store_check import PageCheck
from sdschat.catchup.values import HIGHEST, LOWEST, LogKey, Need

KEYS = [LogKey(lamport, f"{lamport:064x}") for lamport in range(1000, 2000)]
NEEDS = [Need(LogKey(low, ""), LogKey(low + 250, ""), 250) for low in range(1000, 2000, 250)]


def _watch(needs: list[Need] = NEEDS) -> PageCheck:
    watch = PageCheck()
    watch.expect(needs)
    return watch


def _pages(watch: PageCheck, keys: list[LogKey], size: int = 100, newest_first: bool = False) -> int:
    """Give all of these as one stretch. The number of the page at which it was noticed; 0: never."""
    ordered = keys[::-1] if newest_first else keys
    pages = [ordered[at : at + size] for at in range(0, len(ordered), size)] or [[]]
    watch.begin(LOWEST, HIGHEST)
    for number, page in enumerate(pages, start=1):
        last = page[-1] if number < len(pages) else None
        if watch.gave(page, 0, last, newest_first):
            return number
    return 0


@pytest.mark.parametrize("newest_first", [False, True])
def test_all_of_it_is_no_reason_to_doubt(newest_first: bool) -> None:
    assert _pages(_watch(), KEYS, newest_first=newest_first) == 0


@pytest.mark.parametrize("newest_first", [False, True])
def test_every_tenth_left_out_is_noticed_as_soon_as_a_part_is_over(newest_first: bool) -> None:
    left = [key for at, key in enumerate(KEYS) if at % 10]
    assert _pages(_watch(), left, newest_first=newest_first) == 3


def test_an_empty_page_is_noticed_at_once() -> None:
    assert _pages(_watch(), []) == 1


def test_a_few_damaged_packets_of_many_are_not_held_against_it() -> None:
    assert _pages(_watch(), KEYS[:500] + KEYS[508:]) == 0


def test_packets_that_are_not_to_be_taken_count_as_given() -> None:
    watch = _watch()
    watch.begin(LOWEST, HIGHEST)
    assert not watch.gave(KEYS[:900], 100, None, False)


def test_what_is_below_a_floor_is_not_expected() -> None:
    watch = _watch()
    watch.forget_below(LogKey(1500, ""))
    assert _pages(watch, KEYS[500:]) == 0


def test_stretches_are_judged_one_by_one() -> None:
    watch = _watch()
    watch.begin(LogKey(1000, ""), LogKey(1250, ""))
    assert not watch.gave(KEYS[:250], 0, None, False)
    watch.begin(LogKey(1750, ""), LogKey(2000, ""))
    assert not watch.gave(KEYS[750:], 0, None, False)
    watch.begin(LogKey(1250, ""), LogKey(1500, ""))
    assert "250" in watch.gave([], 0, None, False)


def test_messages_whose_dependencies_it_lacks_page_after_page_are_noticed() -> None:
    watch = _watch([])
    assert [bool(watch.named(10, 100)) for _ in range(4)] == [False, False, False, True]


def test_small_pages_are_judged_together() -> None:
    watch = _watch([])
    assert [bool(watch.named(2, 22)) for _ in range(12)] == [False] * 11 + [True]


def test_where_its_log_begins_dependencies_are_lacking_and_nobody_minds() -> None:
    watch = _watch([])
    assert not any(watch.named(absent, 100) for absent in (50, 20, 3, 0, 2, 0, 30, 0, 1, 2))
