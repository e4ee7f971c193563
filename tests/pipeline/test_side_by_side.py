"""Tasks side by side, each after those that it names. The tasks wait for each other here, and never for a clock."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from sdschat.pipeline.side_by_side import results, side_by_side

LONG = 20.0  # seconds, after which a task that waits has failed


def nothing() -> None:
    pass


def test_two_that_do_not_name_each_other_go_on_at_once() -> None:
    began = {name: Event() for name in ("one", "two")}

    def task(mine: str, other: str) -> Callable[[], None]:
        def do() -> None:
            began[mine].set()
            assert began[other].wait(LONG)

        return do

    side_by_side([("one", "SELECT 1", task("one", "two")), ("two", "SELECT 2", task("two", "one"))])


def test_a_task_waits_for_the_earlier_ones_that_it_names() -> None:
    done: list[str] = []

    def slow() -> None:
        sum(range(1_000_000))
        done.append("slow")

    side_by_side(
        [
            ("slow", "SELECT 1", slow),
            ("after", "SELECT * FROM slow", lambda: done.append("after")),
            ("last", "SELECT * FROM after AS a", lambda: done.append("last")),
        ]
    )
    assert done == ["slow", "after", "last"]


def test_what_follows_from_a_failed_task_is_not_done() -> None:
    done: list[str] = []

    def fail() -> None:
        raise ValueError("no such column")

    with pytest.raises(ValueError, match="no such column"):
        side_by_side([("one", "", fail), ("two", "FROM one", lambda: done.append("two")), ("three", "", nothing)])
    assert done == []


def test_results_stand_in_the_order_of_their_tasks() -> None:
    first = Event()

    def one() -> int:
        assert first.wait(LONG)
        return 1

    def two() -> int:
        first.set()
        return 2

    assert results([one, two]) == [1, 2]
