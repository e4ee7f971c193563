"""Pages of a Store, compared with its own words: the numbers of its comparison, and what its messages depend on. Pure.

A comparison says how many messages there are in each part of a stretch. Once pages reach over a part, so many must have
come. And whoever has a message has what it depends on, but for the first messages of a log and for what was lost; a
Store that lacks some of it on page after page leaves it out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from sdschat.catchup.values import LOWEST, LogKey, Need

Place = tuple[int, str]  # a key, whoever made it

# Packets that a disk has altered are not handed out, and nobody is a liar for it.
_FORGIVEN: Final = 8  # messages
_FORGIVEN_PART: Final = 50  # one in so many
_JUDGED: Final = 64  # messages: smaller pages are judged together
_PAGES: Final = 4  # in a row whose dependencies are lacking
_LACKING: Final = 4  # in a page, and
_LACKING_PART: Final = 33  # one for so many messages


class PageCheck:
    """One source. `expect` after a comparison, `begin` for each stretch, `gave` for each page of it."""

    def __init__(self) -> None:
        self._lows: list[LogKey] = []
        self._needs: list[Need] = []  # in order, without those that are settled
        self._came: list[int] = []
        self._low = self._high = LOWEST
        self._expected = self._missing = self._doubtful = self._bad_pages = 0
        self._absent = self._messages = 0  # since pages were judged last

    def expect(self, needs: Iterable[Need]) -> None:
        """Note what a comparison found to be there and not here; what short ids tell is not asked for in pages."""
        self._needs = sorted(need for need in needs if not need.shorts)
        self._lows = [need.low for need in self._needs]
        self._came = [0] * len(self._needs)

    def forget_below(self, floor: LogKey) -> None:
        """Expect nothing from before a floor: it may have been dropped since."""
        self.expect([need for need in self._needs if need.low >= floor])

    def begin(self, low: LogKey, high: LogKey) -> None:
        """Note the stretch to which the next pages belong."""
        self._low, self._high = low, high

    def gave(
        self, keys: Sequence[tuple[int, str]], doubtful: int, last: tuple[int, str] | None, newest_first: bool
    ) -> str:
        """Note a page: its keys, the number of packets in it that cannot be used, and its end; None if it is the last
        page of the stretch. Return the reason to leave the source, or nothing."""
        self._doubtful += doubtful
        for key in keys:
            at = bisect_right(self._lows, key) - 1
            if at >= 0 and key < self._needs[at].high:
                self._came[at] += 1
        if newest_first:
            self._settle(self._low if last is None else last, self._high)
        else:
            self._settle(self._low, self._high if last is None else last)
        missing = self._missing - self._doubtful
        if missing > _FORGIVEN and missing * _FORGIVEN_PART > self._expected:
            return f"its pages lack {missing} of {self._expected} messages that it said to have"
        return ""

    def named(self, absent: int, messages: int) -> str:
        """Note a page of messages in ascending order, of which `absent` dependencies are neither here nor in the page.
        Return the reason to leave the source, or nothing."""
        self._absent += absent
        self._messages += messages
        if self._messages < _JUDGED:
            return ""
        bad = self._absent >= _LACKING and self._absent * _LACKING_PART >= self._messages
        self._bad_pages = self._bad_pages + 1 if bad else 0
        self._absent = self._messages = 0
        if self._bad_pages >= _PAGES:
            return "its pages lack what the messages in them depend on"
        return ""

    def _settle(self, low: Place, high: Place) -> None:
        """Count what lies wholly within what pages reached over."""
        at = bisect_left(self._lows, low)
        end = at
        while end < len(self._needs) and self._needs[end].high <= high:
            self._expected += self._needs[end].messages
            self._missing += max(0, self._needs[end].messages - self._came[end])
            end += 1
        del self._needs[at:end], self._lows[at:end], self._came[at:end]
