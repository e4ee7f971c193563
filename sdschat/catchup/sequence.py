"""Pages in the order of their numbers, whichever order they came in. Pure bookkeeping."""

from __future__ import annotations

from typing import Final

from sdschat.catchup.values import HistoryPage

_AHEAD: Final = 64  # pages kept that came before an earlier one


class Sequenced:
    """The pages of one request."""

    __slots__ = ("_next", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[int, HistoryPage] = {}
        self._next = 0

    def clear(self) -> None:
        """For another request."""
        self._waiting.clear()
        self._next = 0

    def put(self, page: HistoryPage) -> bool:
        """False if too many wait already."""
        if len(self._waiting) >= _AHEAD:
            return False
        if page.number >= self._next:
            self._waiting.setdefault(page.number, page)
        return True

    def take(self) -> list[HistoryPage]:
        """Those whose turn it is."""
        found: list[HistoryPage] = []
        while self._next in self._waiting:
            found.append(self._waiting.pop(self._next))
            self._next += 1
        return found
