"""The computation of all that one participant must show of the authors' chains, from all messages that it was given.

A chain is the numbers of one device of one author. Its own class counts runs (`AuthorChain`); this module keeps every
number and every id, and compares.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from sdschat.identity.author_chain import MOST_FORKS, MOST_RUNS
from sdschat.node.events import AuthorGapClosed, AuthorGapFound, EventBody, SaidTwoThings
from sdschat.sds.values import Message
from sdschat.wire.chat_codec import Place, decode_envelope

PATIENCE: Final = 20_000  # milliseconds that a gap may close by itself since its lowest message came, at most
SLACK: Final = 200


class Chain(NamedTuple):
    author: str
    device: bytes


class _Gap(NamedTuple):
    low: int
    high: int


class ChainOracle:
    """`forked` is true if a number is marked as used twice where messages are shown."""

    def __init__(self, honest: Iterable[str], forked: Callable[[str, Place], bool]) -> None:
        self._honest = frozenset(honest)
        self._forked = forked
        self._ids: dict[Chain, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._twice: set[tuple[str, int]] = set()
        self._told: dict[str, dict[int, int]] = defaultdict(dict)  # gaps that are shown: high -> low
        self._since: dict[tuple[Chain, _Gap], int] = {}
        self._too_many: set[Chain] = set()  # chains of more runs than are kept

    def hear(self, message: Message, *, body: bool) -> None:
        """Note a message that was delivered, or kept as an id. A chain does not begin with an id."""
        envelope = decode_envelope(message.content or b"")
        place = None if envelope is None else envelope.place
        if place is None:
            return
        chain = Chain(message.sender_id, place.device)
        if body or chain in self._ids:
            self._ids[chain][place.sequence].add(message.message_id)
            if len(list(_gaps(self._ids[chain]))) >= MOST_RUNS:
                self._too_many.add(chain)

    def tell(self, event: EventBody) -> None:
        """Note what the participant is shown."""
        if isinstance(event, SaidTwoThings):
            self._twice.add((event.sender_id, event.number))
        elif isinstance(event, AuthorGapFound):
            self._told[event.sender_id][event.high] = event.low
        elif isinstance(event, AuthorGapClosed):
            self._told[event.sender_id].pop(event.high, None)

    @property
    def forks(self) -> int:
        return sum(len(ids) > 1 for numbers in self._ids.values() for ids in numbers.values())

    @property
    def gaps(self) -> int:
        return sum(len(told) for told in self._told.values())

    def problems(self, mono: int) -> list[str]:
        return [*self._fork_problems(), *self._gap_problems(mono)]

    def _fork_problems(self) -> Iterator[str]:
        forked = set[tuple[str, int]]()
        for chain, numbers in self._ids.items():
            if chain in self._too_many:
                forked |= {(chain.author, number) for number in numbers}
                continue
            twice = [number for number, ids in numbers.items() if len(ids) > 1]
            forked |= {(chain.author, number) for number in twice}
            for number in twice:
                if (chain.author, number) not in self._twice:
                    yield f"two messages are number {number} of {chain.author[:8]}, and nobody is told"
            for number in numbers if len(twice) <= MOST_FORKS else ():
                if self._forked(chain.author, Place(chain.device, number, b"", 0, b"", b"")) != (number in twice):
                    yield f"number {number} of {chain.author[:8]} is marked wrongly"
        for author, number in self._twice - forked:
            yield f"number {number} of {author[:8]} is said to be two messages, and is not"
        for author, number in self._twice:
            if author in self._honest:
                yield f"{author[:8]}, who is honest, is said to have said two things as number {number}"

    def _gap_problems(self, mono: int) -> Iterator[str]:
        since, missing = dict[tuple[Chain, _Gap], int](), defaultdict[str, set[int]](set)
        for chain, numbers in self._ids.items():
            told = self._told.get(chain.author, {})
            for gap in _gaps(numbers):
                missing[chain.author].update(range(gap.low, gap.high + 1))
                begun = since[chain, gap] = self._since.get((chain, gap), mono)
                shown = told.get(gap.high, gap.high + 1) <= gap.low
                if not shown and mono - begun > PATIENCE + SLACK and chain not in self._too_many:
                    yield f"numbers {gap.low} to {gap.high} of {chain.author[:8]} are missing, and nobody is told"
        self._since = since
        forgotten = {chain.author for chain in self._too_many}
        for author, told in self._told.items():
            for high, low in told.items() if author not in forgotten else ():
                if missing[author].isdisjoint(range(low, high + 1)):
                    yield f"numbers {low} to {high} of {author[:8]} are shown as missing, and are here"


def _gaps(numbers: Iterable[int]) -> Iterator[_Gap]:
    """Yield the numbers that are missing between others."""
    ordered = sorted(numbers)
    for before, after in pairwise(ordered):
        if after > before + 1:
            yield _Gap(before + 1, after - 1)
