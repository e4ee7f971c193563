"""Times in words."""

from __future__ import annotations

import pytest

from sdschat.tui.model import words
from tests.tui.model.samples import NOON


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [(0, "0s"), (999, "0s"), (41_000, "41s"), (60_000, "1m"), (7_300_000, "2h"), (200_000_000, "2d"), (-5, "0s")],
)
def test_durations(milliseconds: int, expected: str) -> None:
    assert words.duration(milliseconds) == expected


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [(12_000, "00:12"), (1, "00:01"), (0, "00:00"), (-9, "00:00"), (61_500, "01:02"), (3_600_000, "1h")],
)
def test_a_countdown_says_zero_only_when_the_time_has_come(milliseconds: int, expected: str) -> None:
    assert words.countdown(milliseconds) == expected


@pytest.mark.parametrize("milliseconds", [2**63, -(2**63), 2**43, 0])
def test_no_time_is_too_odd_to_be_shown(milliseconds: int) -> None:
    assert words.clock(milliseconds)
    assert words.day(milliseconds)
    assert words.stamp(milliseconds)
    assert words.day_number(milliseconds) > 0


def test_lists_of_names() -> None:
    assert words.listed([]) == ""
    assert words.listed(["bob"]) == "bob"
    assert words.listed(["bob", "carol"]) == "bob and carol"
    assert words.listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


@pytest.mark.parametrize(
    ("milliseconds", "told"), [(0, "just now"), (999, "just now"), (1000, "1s ago"), (61_000, "1m ago")]
)
def test_how_long_ago_something_was(milliseconds: int, told: str) -> None:
    assert words.ago(milliseconds) == told


def test_a_time_of_today_has_no_date() -> None:
    yesterday = NOON - 86_400_000
    assert words.when(NOON, NOON + 1000) == words.clock(NOON)
    assert words.when(yesterday, NOON) == f"{words.day(yesterday)} {words.clock(yesterday)}"
