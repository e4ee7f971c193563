"""Sums over buckets of a log, so that the sum of any stretch is had without looking through it.

A bucket holds the messages from its start to the next one's, a few hundred of them. The first starts below all keys.
Buckets are rows of whoever keeps the log; what is done to them here is first a draft, and counts once it is saved.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sdschat.catchup.values import BUCKET, BUCKET_PART, HIGHEST, LOWEST, LogKey, RangeSummary, bound_between, summarise

Keys = Sequence[tuple[int, str]]
Read = Callable[[LogKey, LogKey, int], Keys]  # the first keys of a stretch, as they are once what is drafted is saved
NO_LIMIT = -1
# Messages by which a bucket may be cut earlier or later: so far that a power of two fits in between from one cut to the
# next, however many messages come in a second.
_SHIFT = BUCKET_PART // 2


class IndexBucket(NamedTuple):
    start: LogKey
    summary: RangeSummary


class BucketDraft(NamedTuple):
    """Rows to put and rows to delete."""

    put: dict[LogKey, RangeSummary]
    gone: dict[LogKey, None]


class RangeIndex:
    """All buckets of one log. There is always one at `LOWEST`."""

    __slots__ = ("starts", "summaries")

    def __init__(self, buckets: Iterable[IndexBucket] = ()) -> None:
        rows = sorted(buckets) or [IndexBucket(LOWEST, RangeSummary())]
        if rows[0].start != LOWEST:
            raise ValueError("the first bucket does not start below all keys")
        self.starts = [row.start for row in rows]
        self.summaries = [row.summary for row in rows]

    def whole(self) -> RangeSummary:
        found = RangeSummary()
        for summary in self.summaries:
            found = found.plus(summary)
        return found

    # Changing.

    def draft(self, added: Keys, removed: Keys, read: Read) -> BucketDraft:
        """Return the changes to the buckets when these keys are put in and taken out. Changes nothing yet."""
        touched: dict[int, RangeSummary] = {}
        for key in added:
            at = self._at(key)
            touched[at] = touched.get(at, self.summaries[at]).with_key(key)
        for key in removed:
            at = self._at(key)
            touched[at] = touched.get(at, self.summaries[at]).without_key(key)
        draft = BucketDraft({}, {})
        for at, summary in touched.items():
            start = self.starts[at]
            if summary.messages > BUCKET:
                for bucket in split(start, read(start, self._end(at), NO_LIMIT)):
                    draft.put[bucket.start] = bucket.summary
            elif summary.messages <= 0 and start != LOWEST:
                draft.gone[start] = None
            else:
                draft.put[start] = summary
        return draft

    def apply(self, draft: BucketDraft) -> None:
        """Apply a draft to the index once the draft is saved."""
        for start in draft.gone:
            at = bisect_left(self.starts, start)
            del self.starts[at], self.summaries[at]
        for start, summary in draft.put.items():
            at = bisect_left(self.starts, start)
            if at < len(self.starts) and self.starts[at] == start:
                self.summaries[at] = summary
            else:
                self.starts.insert(at, start)
                self.summaries.insert(at, summary)

    def _at(self, key: tuple[int, str]) -> int:
        return bisect_right(self.starts, key) - 1

    def _end(self, at: int) -> LogKey:
        return self.starts[at + 1] if at + 1 < len(self.starts) else HIGHEST

    # Asking.

    def summary(self, low: LogKey, high: LogKey, read: Read) -> RangeSummary:
        """Return the sum of a stretch: of whole buckets, and of what is read where it begins and ends within one."""
        if low >= high:
            return RangeSummary()
        first, last = self._at(low), self._at(high)
        if first == last:
            return self._within(first, low, high, read)
        found = self._within(first, low, self.starts[first + 1], read)
        for at in range(first + 1, last):
            found = found.plus(self.summaries[at])
        return found.plus(self._within(last, self.starts[last], high, read))

    def _within(self, at: int, low: LogKey, high: LogKey, read: Read) -> RangeSummary:
        """Return the sum of a stretch within one bucket."""
        start, end = self.starts[at], self._end(at)
        if low <= start and high >= end:
            return self.summaries[at]
        return (
            RangeSummary() if low >= high or not self.summaries[at].messages else summarise(read(low, high, NO_LIMIT))
        )

    def cut(self, low: LogKey, high: LogKey, parts: int, read: Read) -> list[LogKey]:
        """Return bounds at the starts of buckets, if there are enough of them: their sums cost no reading. Otherwise
        return bounds between messages."""
        first, last = self._at(low), self._at(high)
        between = range(first + 1, last + (1 if self.starts[last] < high else 0))
        if len(between) >= parts:
            return self._by_buckets(between, parts)
        keys = read(low, high, NO_LIMIT)
        step = -(-len(keys) // parts) or 1
        return [bound_between(keys[at - 1], keys[at]) for at in range(step, len(keys), step)]

    def _by_buckets(self, between: range, parts: int) -> list[LogKey]:
        step = len(between) / parts
        chosen = dict.fromkeys(between[int(step * number)] for number in range(1, parts))
        return [self.starts[at] for at in chosen]


def split(start: LogKey, keys: Keys) -> list[IndexBucket]:
    """Split one bucket into several. The first keeps its start, and the others begin at the roundest date near to where
    they should: so the buckets of two logs that are nearly the same begin at the same dates, and what one of them asks
    of the other is had from whole buckets on both sides."""
    found: list[IndexBucket] = []
    at = 0
    while len(keys) - at > BUCKET_PART + _SHIFT:
        end, bound = _cut(keys, at + BUCKET_PART)
        found.append(IndexBucket(start, summarise(keys[at:end])))
        at, start = end, bound
    return [*found, IndexBucket(start, summarise(keys[at:]))]


def _cut(keys: Keys, middle: int) -> tuple[int, LogKey]:
    """Choose a place to cut near `middle`. Return the position and the bound."""
    places = range(middle - _SHIFT, min(middle + _SHIFT, len(keys)))
    at = max(places, key=lambda at: (_roundness(keys[at - 1][0], keys[at][0]), -abs(at - middle)))
    before, key = keys[at - 1], keys[at]
    if before[0] == key[0]:
        return at, bound_between(before, key)
    zeros = _roundness(before[0], key[0])
    return at, LogKey(key[0] >> zeros << zeros, "")


def _roundness(before: int, lamport: int) -> int:
    """Return the number of trailing binary zeros of the roundest number that is above `before` and not above
    `lamport`."""
    return (before ^ lamport).bit_length() - 1 if before < lamport else -1
