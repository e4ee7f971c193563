"""Plan of the messages still lacking, choice of the next request, and pages in the order of their numbers.

Pure bookkeeping. Pages may come in any order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from sdschat.catchup import values
from sdschat.catchup.values import HistoryPage, LogKey, Need, Stretch, Want

READ_FIRST: Final = 100  # messages that are on the screen at once
_MORE: Final = 64  # messages that may have been added since they were counted


class FetchPlan:
    """First the newest hundred; then all that is left, oldest first. One request at a time."""

    def __init__(self) -> None:
        self._left: list[Need] = []  # newest first
        self._asked: list[Need] = []  # newest first
        self._ascending: list[Need] = []  # the same
        self.partly = False
        self._read_first = True
        self.limit = 0

    def __bool__(self) -> bool:
        return bool(self._left)

    def replace(self, needs: Sequence[Need]) -> None:
        """Replace the plan by the needs that a comparison found."""
        self._left = []
        for need in sorted(needs, key=lambda need: need.low, reverse=True):
            last = self._left[-1] if self._left else None
            if last is not None and need.high == last.low and not need.shorts and not last.shorts:
                self._left[-1] = Need(need.low, last.high, need.messages + last.messages)  # one question less
            else:
                self._left.append(need)
        self._asked, self._ascending = [], []

    def choose(self, apart: bool = False) -> Want:
        """Return the next request. `apart`: what is needed as a whole first, and what short ids tell in a request of
        its own, because the source gives them in two ways."""
        left = ([need for need in self._left if not need.shorts] if apart else []) or self._left
        total = sum(need.messages for need in left)
        self.partly = self._read_first and total > READ_FIRST
        self._asked = _newest(left) if self.partly else _oldest(left)
        self._ascending = self._asked[::-1]
        self._read_first = False
        found = sum(need.messages for need in self._asked)
        # Messages that are told by short ids are asked for as a whole: what is left of them could not be told.
        cut = self.partly and not self._asked[-1].shorts
        # A source may say any number, and no more are given for one request.
        limit = READ_FIRST if cut else min(2 * found + _MORE, values.WANTED_MOST)
        ordered = self._asked if self.partly else self._ascending
        stretches = tuple(Stretch(need.low, need.high, need.shorts, need.sole) for need in ordered)
        return Want(stretches, limit, self.partly)

    def covers(self, key: LogKey) -> bool:
        """True if a message belongs to the current request."""
        at = bisect_right(self._ascending, key, key=lambda need: need.low) - 1
        return at >= 0 and key < self._ascending[at].high

    def forget_below(self, floor: LogKey) -> None:
        """Drop what is needed from before this: the source does not have it."""
        kept = [need for need in self._left if need.high > floor]
        self._left = [need._replace(low=max(need.low, floor)) for need in kept]

    def settle(self, lowest: LogKey | None) -> None:
        """Close the current request: its messages came, down to the key `lowest`. Keep the rest of a request that was
        cut at its limit."""
        asked, self._asked, self._ascending = self._asked, [], []
        highs = {need.high for need in asked}
        self._left = [need for need in self._left if need.high not in highs]
        last = asked[-1] if asked else None
        over = sum(need.messages for need in asked) - READ_FIRST
        if self.partly and last is not None and not last.shorts and over > 0 and lowest is not None:
            if last.low < lowest < last.high:
                self._left.insert(0, Need(last.low, lowest, over))
            self._left.sort(key=lambda need: need.low, reverse=True)


def _newest(needs: list[Need]) -> list[Need]:
    chosen: list[Need] = []
    found = 0
    for need in needs:
        chosen.append(need)
        found += need.messages
        if found >= READ_FIRST:
            break
    return chosen


def _oldest(needs: list[Need]) -> list[Need]:
    """Return the oldest needs, as many as one request may have, in their order."""
    chosen: list[Need] = []
    shorts = 0
    for need in reversed(needs):
        shorts += len(need.shorts)
        if chosen and (len(chosen) == values.STRETCHES or shorts > values.SHORTS):
            return chosen[::-1]
        chosen.append(need)
    return chosen[::-1]


_AHEAD: Final = 64  # pages kept that came before an earlier one


class Sequenced:
    """The pages of one request."""

    __slots__ = ("_next", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[int, HistoryPage] = {}
        self._next = 0

    def clear(self) -> None:
        """Forget the pages of this request, before another one."""
        self._waiting.clear()
        self._next = 0

    def put(self, page: HistoryPage) -> bool:
        """Put a page in its place. Return False if too many wait already."""
        if len(self._waiting) >= _AHEAD:
            return False
        if page.number >= self._next:
            self._waiting.setdefault(page.number, page)
        return True

    def take(self) -> list[HistoryPage]:
        """Return the pages that are next in order."""
        found: list[HistoryPage] = []
        while self._next in self._waiting:
            found.append(self._waiting.pop(self._next))
            self._next += 1
        return found
