"""Knocks of strangers, who want to be let in: each is told once, and so many in a minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from sdschat.identity.key_book import PEOPLE_A_MINUTE, KeyBook

_KNOCKS: Final = 64  # strangers who are remembered, so that each knock is told once
_MINUTE: Final = 60_000  # ms


class Knocks:
    def __init__(self, book: KeyBook) -> None:
        self._book = book
        self._told: set[str] = set()
        self._told_at: deque[int] = deque()  # times of the knocks that were told in the last minute

    def is_news(self, sender_id: str, now: int) -> bool:
        """True for a knock that is to be told. `now`: on the monotonic clock, in milliseconds."""
        crowd = self._book.is_waiting(sender_id)  # keys cost nothing; who knocks again later is told then
        if sender_id in self._told or crowd:
            return False
        told_at = self._told_at
        while told_at and now - told_at[0] >= _MINUTE:
            told_at.popleft()
        if len(told_at) >= PEOPLE_A_MINUTE:
            return False  # keys that became people one by one may knock all at once
        told_at.append(now)
        if len(self._told) >= _KNOCKS:
            self._told.clear()
        self._told.add(sender_id)
        return True

    def forget(self, sender_ids: Iterable[str]) -> None:
        """Tell the next knock of these again."""
        self._told.difference_update(sender_ids)
