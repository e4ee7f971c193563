"""A queue of timers, for thousands of participants at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.rules import NEVER

Indices = npt.NDArray[np.int64]
Item = tuple[str, int, Any]  # kind, message, and the participants or another content
NOBODY: Final[npt.NDArray[np.int64]] = np.zeros(0, dtype=np.int64)


def _merged(items: list[Item]) -> Iterator[Item]:
    """Merge the items of one time: receptions first, then sends, then equal items of all participants together."""
    together: dict[tuple[str, int], list[Indices]] = {}
    for what, message, content in items:
        if what == "hear":
            yield what, message, content
        elif what not in ("send", "resend"):
            together.setdefault((what, message), []).append(content)
    for what, message, content in items:
        if what in ("send", "resend"):
            yield what, message, content
    for (what, message), whose in together.items():
        yield what, message, whose[0] if len(whose) == 1 else np.concatenate(whose)


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
        return slot * self.step, list(_merged(self._items.pop(slot)))

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
