"""A queue of timers, and the times from which participants may do something: for thousands of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.rules import NEVER

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Item = tuple[str, int, Any]  # kind, message, and the participants or another content
Still = Callable[[str, int, Indices, npt.NDArray[np.int64]], Flags]
_WIDE: Final = 256  # number of steps in a stretch
_FEW: Final = 8  # with fewer than this part of all participants, only they are looked at
NOBODY: Final[npt.NDArray[np.int64]] = np.zeros(0, dtype=np.int64)


class _Put(NamedTuple):
    """Participants of one stretch and the step of each. `number`: the number of earlier calls of `put`."""

    number: int
    slots: npt.NDArray[np.int64]
    who: Indices


class Wheel:
    """A timer queue with steps of `step` milliseconds. All items of one step are returned together.

    Participants with a time far ahead are sorted only by stretch, which is a group of steps; when their stretch begins
    they are sorted by step. By then most of these items often have no effect any more: `still` tells for which
    participants and times there is still something to do.
    """

    __slots__ = ("_far", "_heap", "_near", "_opened", "_puts", "_still", "_stretches", "step")

    def __init__(self, step: int, still: Still | None = None) -> None:
        self.step = step
        self._still = still
        self._puts = 0
        self._near: dict[int, list[tuple[int, Item]]] = {}  # items by step
        self._heap: list[int] = []
        self._far: dict[int, dict[tuple[str, int], list[_Put]]] = {}  # items by stretch
        self._stretches: list[int] = []
        self._opened = -1  # the last stretch that has begun

    def put(self, at: int, what: str, message: int, content: Any) -> None:
        self._puts += 1
        self._put_near(-(-at // self.step), self._puts, (what, message, content))

    def put_each(self, times: npt.NDArray[Any], what: str, message: int, who: Indices) -> None:
        """Add one item for each participant, each with its own time."""
        if not len(who):
            return
        self._puts += 1
        slots = -(-times // self.step)
        for stretch, part in _parts(slots // _WIDE):
            if stretch <= self._opened:
                for slot, inner in _parts(slots[part]):
                    self._put_near(slot, self._puts, (what, message, who[part][inner]))
                continue
            if stretch not in self._far:
                self._far[stretch] = defaultdict(list)
                heappush(self._stretches, stretch)
            self._far[stretch][what, message].append(_Put(self._puts, slots[part], who[part]))

    def _put_near(self, slot: int, number: int, item: Item) -> None:
        if slot not in self._near:
            self._near[slot] = []
            heappush(self._heap, slot)
        self._near[slot].append((number, item))

    def _open(self, stretch: int) -> None:
        self._opened = stretch
        for (what, message), puts in self._far.pop(stretch).items():
            slots, who = (np.concatenate(each) for each in ([put.slots for put in puts], [put.who for put in puts]))
            numbers = np.repeat([put.number for put in puts], [len(put.who) for put in puts])
            if self._still is not None:
                still = self._still(what, message, who, slots * self.step)
                slots, who, numbers = slots[still], who[still], numbers[still]
            for slot, part in _parts(slots):
                self._put_near(slot, int(numbers[part[0]]), (what, message, who[part]))

    def next(self, until: int) -> tuple[int, list[Item]] | None:
        """Return the next time with due items, and the items; None if that time is after `until`."""
        while self._stretches and (not self._heap or self._stretches[0] * _WIDE <= self._heap[0]):
            if self._stretches[0] * _WIDE * self.step > until:
                break
            self._open(heappop(self._stretches))
        if not self._heap or self._heap[0] * self.step > until:
            return None
        slot = heappop(self._heap)
        return slot * self.step, self._items(slot)

    def more(self, at: int) -> list[Item]:
        """Return the items added to the present step since it was returned."""
        slot = at // self.step
        if self._heap and self._heap[0] == slot:
            heappop(self._heap)
            return self._items(slot)
        return []

    def first(self, which: Callable[[str, Any], bool]) -> int:
        """Return the time of the first item for which `which` is true of its kind and content; NEVER if none is.

        Items put with `put_each` are not searched.
        """
        found = (
            slot * self.step
            for slot, items in self._near.items()
            if any(which(what, content) for _, (what, _, content) in items)
        )
        return min(found, default=NEVER)

    def _items(self, slot: int) -> list[Item]:
        """Return the items of a step in the order in which they were added."""
        return [item for _, item in sorted(self._near.pop(slot), key=lambda each: each[0])]


def _parts(keys: npt.NDArray[np.int64]) -> list[tuple[int, Indices]]:
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

    def __init__(self, count: int, *, ready: bool = False) -> None:
        self._times = np.full(count, -NEVER if ready else NEVER, dtype=np.int32)
        self._ready = np.full(count, ready)
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
