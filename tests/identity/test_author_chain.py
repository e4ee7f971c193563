"""The numbers of an author's messages, in whatever order they come."""

from __future__ import annotations

import random

from sdschat.identity.author_chain import MOST_RUNS, AuthorChain, Gap, NumberSpan, chain_of


def added(*numbers: int) -> AuthorChain:
    chain = AuthorChain()
    for number in numbers:
        chain.add(number, f"id {number - 1}")
    return chain


def test_any_order_gives_one_run() -> None:
    numbers = list(range(5, 40))
    random.Random(1).shuffle(numbers)
    chain = added(*numbers)
    assert (chain.runs, chain.gaps(), chain.forks) == ([NumberSpan(5, 39, "id 4")], [], [])


def test_a_missing_number_is_a_gap_with_the_id_that_its_successor_names() -> None:
    chain = added(1, 2, 4, 9)
    assert chain.gaps() == [Gap(3, 3, "id 3"), Gap(5, 8, "id 8")]
    assert chain.add(3, "id 2")
    assert chain.gaps() == [Gap(5, 8, "id 8")]


def test_one_number_twice_is_seen_and_told_once() -> None:
    chain = added(1, 2, 3)
    assert not chain.add(2, "another id")
    assert not chain.add(2, "a third one")
    assert chain.forks == [2]


def test_a_chain_is_bounded_and_outlives_the_program() -> None:
    chain = added(*range(2, 4 * MOST_RUNS, 2))
    assert len(chain.runs) == MOST_RUNS
    assert chain.gaps()[-1] == Gap(4 * MOST_RUNS - 3, 4 * MOST_RUNS - 3, f"id {4 * MOST_RUNS - 3}")
    assert not chain.add(4 * MOST_RUNS - 2, "x")
    again = chain_of(chain.to_bytes())
    assert (again.runs, again.forks, again.forgotten) == (chain.runs, chain.forks, chain.forgotten)


def test_what_comes_after_its_gap_was_forgotten_is_no_fork() -> None:
    numbers = range(1, 40 * MOST_RUNS)
    chain = added(*numbers[::3])
    assert all(chain.add(number, f"id {number - 1}") for number in numbers if number % 3 != 1)
    assert not chain.forks
    assert len(chain.runs) <= MOST_RUNS


def test_a_chain_kept_by_an_earlier_version_is_read() -> None:
    chain = chain_of(b'[[[1,4,""],[6,9,"id 5"]],[3]]')
    assert (chain.runs, chain.forks, chain.forgotten) == ([NumberSpan(1, 4, ""), NumberSpan(6, 9, "id 5")], [3], 0)
