"""Things to do at a time, each under a name. The next one is found without looking at the rest."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Generic, TypeVar

Name = TypeVar("Name")


class Agenda(Generic[Name]):
    def __init__(self) -> None:
        self._due: dict[Name, tuple[int, int]] = {}
        self._heap: list[tuple[int, int, Name]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, name: Name) -> bool:
        return name in self._due

    def set(self, name: Name, time: int) -> None:
        self._count += 1
        self._due[name] = (time, self._count)
        heappush(self._heap, (time, self._count, name))

    def cancel(self, name: Name) -> None:
        self._due.pop(name, None)

    def next(self) -> int | None:
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][:2]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> list[Name]:
        """Take out and return what is due, the earliest first."""
        found: list[Name] = []
        while (time := self.next()) is not None and time <= now:
            name = heappop(self._heap)[2]
            del self._due[name]
            found.append(name)
        return found
