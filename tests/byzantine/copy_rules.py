"""Rules for several copies of one message that nobody signed: `python -m tests.byzantine.copy_rules`.

A copy is a place in the log, here a number. All nodes agree in the end, in whatever order the copies come, only if a
rule is a function of the set of copies that came. `RULES` has other rules, too, which look at the order or the time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, pairwise, permutations, product
from typing import Final, NamedTuple

Place = int | None  # None: the message is shown without a place
Copies = frozenset[int]
Choice = Mapping[Copies, Place]

_COPIES: Final = (1, 2, 3)
_NODES: Final = 5
_MESSAGES: Final = 40
_ROUNDS: Final = 200
_WINDOW: Final = 20  # rounds


def choices(*, may_withdraw: bool) -> Iterator[Choice]:
    """Yield all rules on three copies that are functions of the set. A single copy is always shown at its place."""
    sets = [frozenset(some) for size in (2, 3) for some in combinations(_COPIES, size)]
    alone = {frozenset({copy}): copy for copy in _COPIES}
    for places in product(*([*some, None] if may_withdraw else list(some) for some in sets)):
        yield alone | dict(zip(sets, places, strict=True))


def most_moves(choice: Choice) -> int:
    """Return how often a message moves if its copies come in the worst order."""
    return max(_moves([choice[frozenset(order[:end])] for end in (1, 2, 3)]) for order in permutations(_COPIES))


def _moves(places: list[Place]) -> int:
    return sum(before != after for before, after in pairwise(places))


class Heard(NamedTuple):
    """The copies of one message in the order in which a node heard them, and when; and when it heard an answer."""

    copies: tuple[tuple[int, int], ...]  # place and round
    answered: int | None


Rule = Callable[[Heard], Place]


def first(heard: Heard) -> Place:
    return heard.copies[0][0]


def lowest(heard: Heard) -> Place:
    return min(place for place, _ in heard.copies)


def lowest_in_a_window(heard: Heard) -> Place:
    begin = heard.copies[0][1]
    return min(place for place, at in heard.copies if at <= begin + _WINDOW)


def lowest_until_answered(heard: Heard) -> Place:
    end = _ROUNDS if heard.answered is None else max(heard.answered, heard.copies[0][1])
    return min(place for place, at in heard.copies if at <= end)


def withdrawn(heard: Heard) -> Place:
    return heard.copies[0][0] if len({place for place, _ in heard.copies}) == 1 else None


RULES: Final[Mapping[str, Rule]] = {
    "the first one stands": first,
    "the lowest wins": lowest,
    "the lowest of a time wins": lowest_in_a_window,
    "the lowest wins until an answer": lowest_until_answered,
    "two copies: no place": withdrawn,
}


class Result(NamedTuple):
    split: int  # messages that have different places at two nodes in the end
    moves: int  # of one message at one node, at most
    displaced: int  # messages that are not where their author put them at some node in the end


class _Node:
    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.heard: dict[int, Heard] = {}
        self.places: dict[int, list[Place]] = {}

    def hear(self, message: int, place: int, at: int) -> None:
        before = self.heard.get(message, Heard((), None))
        if place not in {one for one, _ in before.copies}:
            self._set(message, before._replace(copies=(*before.copies, (place, at))))

    def hear_answer(self, message: int, at: int) -> None:
        before = self.heard.get(message)
        if before is not None and before.answered is None:
            self._set(message, before._replace(answered=at))

    def _set(self, message: int, heard: Heard) -> None:
        self.heard[message] = heard
        shown = self.places.setdefault(message, [])
        if not shown or shown[-1] != self._rule(heard):
            shown.append(self._rule(heard))


def simulate(rule: Rule, seed: int) -> Result:
    """Honest nodes pass on all copies and all answers. Somebody makes copies at any time, and tells whom they like
    first; who it is that hears the author's copy first is for the broker to say."""
    chance = random.Random(seed)
    nodes = [_Node(rule) for _ in range(_NODES)]
    written = {message: 1000 + 10 * message for message in range(_MESSAGES)}
    answers = {message: chance.randrange(_ROUNDS // 2) for message in range(_MESSAGES)}
    for at in range(_ROUNDS):
        message = chance.randrange(_MESSAGES)
        if at < _MESSAGES:
            chance.choice(nodes).hear(at, written[at], at)
        elif at < _ROUNDS - 2 * _NODES and message < at:
            chance.choice(nodes).hear(message, written[message] - chance.randrange(1, 500), at)
        for answered in (one for one, when in answers.items() if when == at):
            chance.choice(nodes).hear_answer(answered, at)
        giver, taker = chance.sample(nodes, 2)
        _pass_on(giver, taker, at)
    for giver, taker in [*permutations(nodes, 2)] * 2:
        _pass_on(giver, taker, _ROUNDS)
    ends = [{node.places[message][-1] for node in nodes} for message in range(_MESSAGES)]
    return Result(
        sum(len(places) > 1 for places in ends),
        max(len(shown) - 1 for node in nodes for shown in node.places.values()),
        sum(places != {written[message]} for message, places in enumerate(ends)),
    )


def _pass_on(giver: _Node, taker: _Node, at: int) -> None:
    for message, heard in list(giver.heard.items()):
        for place, _ in heard.copies:
            taker.hear(message, place, at)
        if heard.answered is not None:
            taker.hear_answer(message, at)


def main() -> None:
    for may_withdraw in (False, True):
        every = [(choice, most_moves(choice)) for choice in choices(may_withdraw=may_withdraw)]
        found = [choice for choice, moves in every if moves <= 1]
        what = "that may show none of the copies" if may_withdraw else "that show one of the copies"
        print(f"{len(every)} functions of three copies {what}: in {len(found)} a message moves at most once")
        for choice in found:
            print("  " + ", ".join(f"{sorted(some)}: {place}" for some, place in choice.items() if len(some) > 1))
    print(f"{_MESSAGES} messages, {_NODES} honest nodes, 100 seeds, at the worst:")
    for name, rule in RULES.items():
        results = [simulate(rule, seed) for seed in range(100)]
        split, moves, displaced = (max(values) for values in zip(*results, strict=True))
        print(f"  {name:<34} split {split:>2}   moves of one message {moves:>2}   displaced {displaced:>2}")


if __name__ == "__main__":
    main()
