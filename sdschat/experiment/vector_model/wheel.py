"""A queue of timers, and the times from which participants may do something: for thousands of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.rules import NEVER

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Item = tuple[str, int, Any]  # kind, message, and the participants or another content
_FEW: Final = 8  # with fewer than this part of all participants, only they are looked at
NOBODY: Final[npt.NDArray[np.int64]] = np.zeros(0, dtype=np.int64)
BLOCK: Final = 1 << 15  # participants at once, so that their values stay in the processor's cache


def blocks(who: Indices) -> Iterator[Indices]:
    return (who[start : start + BLOCK] for start in range(0, len(who), BLOCK))


class Wheel:
    """A timer queue with steps of `step` milliseconds. All items of one step are returned together, in order."""

    __slots__ = ("_heap", "_items", "step")

    def __init__(self, step: int) -> None:
        self.step = step
        self._items: dict[int, list[Item]] = defaultdict(list)  # by step
        self._heap: list[int] = []

    def put(self, at: int, what: str, message: int, content: Any) -> None:
        self._put(-(-at // self.step), (what, message, content))

    def put_each(self, times: npt.NDArray[Any], what: str, message: int, who: Indices) -> None:
        """Add one item for each participant, each with its own time."""
        for slot, part in parts(-(-times // self.step)):
            self._put(slot, (what, message, who[part]))

    def _put(self, slot: int, item: Item) -> None:
        if slot not in self._items:
            heappush(self._heap, slot)
        self._items[slot].append(item)

    def next(self, until: int) -> tuple[int, list[Item]] | None:
        """Return the next time with due items, and the items; None if that time is after `until`."""
        if not self._heap or self._heap[0] * self.step > until:
            return None
        slot = heappop(self._heap)
        return slot * self.step, self._items.pop(slot)

    def more(self, at: int) -> list[Item]:
        """Return the items added to the present step since it was returned."""
        due = self.next(at)
        return due[1] if due else []

    def first(self, which: Callable[[str, Any], bool]) -> int:
        """Return the time of the first item for which `which` is true of its kind and content; NEVER if none is."""
        for slot in sorted(self._items):
            if any(which(what, content) for what, _, content in self._items[slot]):
                return slot * self.step
        return NEVER


def each_once(who: Indices) -> Indices:
    """Return these participants in order, and each of them once."""
    who = np.sort(who)
    new = np.ones(len(who), dtype=np.bool_)
    np.not_equal(who[1:], who[:-1], out=new[1:])
    return who[new]


def parts(keys: npt.NDArray[np.int64]) -> list[tuple[int, Indices]]:
    """Return each key and the indices of its values, in order of the keys."""
    if not len(keys):
        return []
    first = int(keys.min())
    narrow = keys - first
    # Keys of two bytes are sorted much faster.
    order = np.argsort(narrow.astype(np.uint16) if narrow.max() < 1 << 16 else narrow, kind="stable")
    found = keys[order]
    ends = [*np.flatnonzero(found[1:] != found[:-1]) + 1, len(found)]
    starts = [0, *ends[:-1]]
    return [(int(found[start]), order[start:end]) for start, end in zip(starts, ends, strict=True)]


class ReadyParticipants:
    """One time per participant, and who has reached it. `now` never goes back."""

    __slots__ = ("_later", "_puts", "_ready", "_times")

    def __init__(self, times: npt.NDArray[np.int32]) -> None:
        """Begin with times that are all NEVER, or all -NEVER."""
        self._times = times
        self._ready = times < 0
        self._later: list[tuple[int, int, Indices]] = []  # time of the first of them; number of the put; participants
        self._puts = 0

    def put(self, who: Indices, times: Any, now: int) -> None:
        """Set the times of these participants; NEVER: not until it is set again."""
        self._times[who] = times
        self._ready[who] = False
        self._wait(who, int(np.min(times, initial=NEVER)))
        self._advance(now)

    def by(self, now: int, which: Callable[[Any], Flags] | None = None) -> Indices:
        """Return all participants that are ready and for which `which` is true, in order."""
        self._advance(now)
        if which is not None and np.count_nonzero(self._ready) > len(self._ready) // _FEW:
            return np.flatnonzero(self._ready & which(slice(None)))
        found: Indices = np.flatnonzero(self._ready)
        return found if which is None else found[which(found)]

    def among(self, now: int, who: Indices, which: Callable[[Any], Flags]) -> Indices:
        """Return those of these participants that are ready and for which `which` is true."""
        self._advance(now)
        who = who[self._ready[who]]
        return who[which(who)]

    def _advance(self, now: int) -> None:
        while self._later and self._later[0][0] <= now:
            _, _, who = heappop(self._later)
            times = self._times[who]
            ready = times <= now
            self._ready[who[ready]] = True
            waiting = ~ready & (times < NEVER)
            self._wait(who[waiting], int(np.min(times[waiting], initial=NEVER)))

    def _wait(self, who: Indices, first: int) -> None:
        if first < NEVER:
            self._puts += 1
            heappush(self._later, (first, self._puts, who))
