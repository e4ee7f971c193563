"""What is due when: a queue that takes and gives participants by the thousand."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Item = tuple[str, int, Any]  # what, which message, for whom or what


class Wheel:
    """Time goes in steps of `step` milliseconds; what is due within one is taken together."""

    __slots__ = ("_due", "_heap", "step")

    def __init__(self, step: int) -> None:
        self.step = step
        self._due: dict[int, list[Item]] = {}
        self._heap: list[int] = []

    def put(self, at: int, what: str, message: int, content: Any) -> None:
        slot = -(-at // self.step)
        if slot not in self._due:
            self._due[slot] = []
            heappush(self._heap, slot)
        self._due[slot].append((what, message, content))

    def put_each(self, times: npt.NDArray[np.int64], what: str, message: int, who: Indices) -> None:
        """One entry for each participant, at a time of its own."""
        if not len(who):
            return
        slots = -(-times // self.step)
        order = np.argsort(slots, kind="stable")
        slots, who = slots[order], who[order]
        starts = np.concatenate([[0], np.flatnonzero(slots[1:] != slots[:-1]) + 1])
        for start, end in zip(starts, [*starts[1:], len(who)], strict=True):
            self.put(int(slots[start]) * self.step, what, message, who[start:end])

    def next(self, until: int) -> tuple[int, list[Item]] | None:
        """The next time at which something is due, and what; nothing if that is after `until`."""
        if not self._heap or self._heap[0] * self.step > until:
            return None
        slot = heappop(self._heap)
        return slot * self.step, self._due.pop(slot)

    def more(self, at: int) -> list[Item]:
        """What was put into the present since it was taken."""
        slot = at // self.step
        if self._heap and self._heap[0] == slot:
            heappop(self._heap)
            return self._due.pop(slot)
        return []
