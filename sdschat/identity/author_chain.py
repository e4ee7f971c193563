"""The numbers of one device's messages that are here: what is missing between them, and what was said twice.

A number is signed with its message, and so is the id of the message before it. So a gap is known though nobody named
the missing message, and an author cannot say two things under one number without being seen.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

MOST_RUNS: Final = 32  # beyond it, the oldest run is forgotten
MOST_FORKS: Final = 32


class NumberSpan(NamedTuple):
    """Numbers in a row that are all here."""

    low: int
    high: int
    previous: str  # id of the message before `low`; empty before the first one


class Gap(NamedTuple):
    """Numbers in a row that are not here, between others that are."""

    low: int
    high: int
    message_id: str  # of the last of them, as the message after it says


class AuthorChain:
    """The chain of one device in one channel. What was said before the first message here is no gap: a newcomer does
    not look for it. Of numbers up to `forgotten` nothing is known, so a message that bears one is neither a fork nor
    the end of a gap."""

    __slots__ = ("forgotten", "forks", "runs")

    def __init__(
        self, runs: list[NumberSpan] | None = None, forks: list[int] | None = None, forgotten: int = 0
    ) -> None:
        self.runs = runs or []
        self.forks = forks or []  # numbers of two messages or more
        self.forgotten = forgotten

    def add(self, number: int, previous: str) -> bool:
        """Add a new message. False: another message with its number is here already, so its author says two things."""
        if number <= self.forgotten:
            return True
        for place, run in enumerate(self.runs):
            if number < run.low:
                self.runs.insert(place, NumberSpan(number, number, previous))
                self._join(place)
                return True
            if number <= run.high:
                if number not in self.forks:
                    self.forks = [*self.forks, number][-MOST_FORKS:]
                return False
        self.runs.append(NumberSpan(number, number, previous))
        self._join(len(self.runs) - 1)
        return True

    def _join(self, place: int) -> None:
        for left in (place, place - 1):
            if 0 <= left < len(self.runs) - 1 and self.runs[left].high + 1 == self.runs[left + 1].low:
                low, _, previous = self.runs[left]
                self.runs[left : left + 2] = [NumberSpan(low, self.runs[left + 1].high, previous)]
        if len(self.runs) > MOST_RUNS:
            self.forgotten = self.runs.pop(0).high

    @property
    def messages(self) -> int:
        """Return the number of messages that are here, but for those that are forgotten."""
        return sum(run.high - run.low + 1 for run in self.runs)

    def gaps(self) -> list[Gap]:
        return [
            Gap(left.high + 1, right.low - 1, right.previous)
            for left, right in zip(self.runs, self.runs[1:], strict=False)
        ]

    def to_bytes(self) -> bytes:
        return json.dumps([self.runs, self.forks, self.forgotten], separators=(",", ":")).encode()


def chain_of(kept: bytes) -> AuthorChain:
    """Return the chain that `to_bytes` wrote."""
    runs, forks, *forgotten = json.loads(kept)
    return AuthorChain([NumberSpan(*run) for run in runs], forks, *forgotten)
