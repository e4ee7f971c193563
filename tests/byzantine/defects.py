"""Rules about the authors' chains made wrong on purpose, each of which the seeds must find:
`python -m tests.byzantine.defects`.

Prints for each defect the first seed that finds it, and what it breaks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

from sdschat.identity.author_chain import MOST_FORKS, AuthorChain, Gap
from sdschat.node.channel import author_chains
from sdschat.node.channel.author_chains import AuthorChains, _Doubt
from tests.byzantine.run import run

Defect = Callable[[], Any]
ENOUGH: Final = 20


def forks_are_not_seen() -> Any:
    old = AuthorChain.add
    return patch.object(AuthorChain, "add", lambda self, number, previous: old(self, number, previous) or True)


def only_the_newest_number_may_be_a_fork() -> Any:
    old = AuthorChain.add

    def add(self: AuthorChain, number: int, previous: str) -> bool:
        newest = self.runs[-1].high if self.runs else 0
        return old(self, number, previous) or number < newest

    return patch.object(AuthorChain, "add", add)


def a_second_fork_is_not_marked() -> Any:
    old = AuthorChain.add

    def add(self: AuthorChain, number: int, previous: str) -> bool:
        first = self.forks[:1]
        is_new = old(self, number, previous)
        self.forks = first or self.forks[:MOST_FORKS]
        return is_new

    return patch.object(AuthorChain, "add", add)


def all_devices_have_one_chain() -> Any:
    return patch.object(
        author_chains, "chain_name", lambda channel, sender_id, device: f"author/{channel}/{sender_id}/"
    )


def every_message_counts_twice() -> Any:
    old = AuthorChain.add

    def add(self: AuthorChain, number: int, previous: str) -> bool:
        old(self, number, previous)
        return old(self, number, previous)

    return patch.object(AuthorChain, "add", add)


def gaps_are_not_seen() -> Any:
    return patch.object(AuthorChain, "gaps", lambda self: [])


def only_the_last_gap_is_seen() -> Any:
    old = AuthorChain.gaps
    return patch.object(AuthorChain, "gaps", lambda self: old(self)[-1:])


def a_gap_ends_where_a_message_came() -> Any:
    """The rest of a gap is forgotten once one of its numbers is here."""

    def gaps(self: AuthorChain) -> list[Gap]:
        between = zip(self.runs, self.runs[1:], strict=False)
        return [Gap(right.low - 1, right.low - 1, right.previous) for _, right in between]

    return patch.object(AuthorChain, "gaps", gaps)


def gaps_are_told_only_while_messages_come() -> Any:
    return patch.object(AuthorChains, "next_wake", lambda self: None)


def gaps_stay_when_the_messages_are_here() -> Any:
    return patch.object(AuthorChains, "_close", lambda self, name, chain: None)


def what_is_kept_as_an_id_is_missing() -> Any:
    return patch.object(AuthorChains, "_kept_as_id", lambda self, message, changed, mono: None)


def one_gap_of_an_author_is_told() -> Any:
    def has_room(gaps: dict[_Doubt, Any], most: int, sender_id: str) -> bool:
        return all(author_chains.author_of(name) != sender_id for name, _ in gaps)

    return patch.object(author_chains, "_has_room", has_room)


DEFECTS: Final[tuple[Defect, ...]] = (
    forks_are_not_seen,
    only_the_newest_number_may_be_a_fork,
    a_second_fork_is_not_marked,
    all_devices_have_one_chain,
    every_message_counts_twice,
    gaps_are_not_seen,
    only_the_last_gap_is_seen,
    a_gap_ends_where_a_message_came,
    gaps_are_told_only_while_messages_come,
    gaps_stay_when_the_messages_are_here,
    what_is_kept_as_an_id_is_missing,
    one_gap_of_an_author_is_told,
)


def first_seed(defect: Defect, seeds: int = ENOUGH) -> tuple[int, str] | None:
    """Return the first seed that finds a defect, and the first problem that it names."""
    for seed in range(seeds):
        with defect():
            problems = run(seed).problems
        if problems:
            return seed, problems[0]
    return None


def main() -> int:
    missed = 0
    for defect in DEFECTS:
        found = first_seed(defect)
        missed += found is None
        print(f"{defect.__name__}: {'NOT FOUND' if found is None else f'{found[0]}: {found[1]}'}", flush=True)
    print(f"{len(DEFECTS) - missed} of {len(DEFECTS)} found within {ENOUGH} seeds")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
