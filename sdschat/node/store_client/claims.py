"""Record of the messages that each Store said to have, so that it is noticed when it leaves one out of a page.

A Store that has not got a message is no liar: it may have missed it. A Store lies if it has handed out or confirmed a
message before, and then leaves it out of a page whose ends lie on both sides of it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

from sdschat.wire.store_codec import Range, StoreAnswer, StoreKey

_MOST: Final = 4096  # messages remembered of one Store
_STORES: Final = 64


class StoreClaims:
    """Keys that Stores vouched for with their signatures."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: dict[str, list[tuple[int, str]]] = {}

    def note(self, store: str, keys: Iterable[tuple[int, str]]) -> None:
        if store not in self._said and len(self._said) >= _STORES:
            del self._said[next(iter(self._said))]
        said = self._said.setdefault(store, [])
        for key in keys:
            at = bisect_left(said, key)
            if at == len(said) or said[at] != key:
                insort(said, key)
        del said[: max(0, len(said) - _MOST)]

    def left_out(self, store: str, asked: Range, answer: StoreAnswer, given: set[str]) -> str | None:
        """The id of a message that must have been in this page and is not."""
        low: tuple[int, str] = (max(asked.low, answer.floor), "")
        high: tuple[int, str] = (asked.high + 1, "")
        if asked.newest_first:
            high = min(high, asked.after or high)
            low = max(low, _behind(answer.last)) if answer.more and answer.last is not None else low
        else:
            low = max(low, _behind(asked.after)) if asked.after is not None else low
            high = min(high, answer.last) if answer.more and answer.last is not None else high
        said = self._said.get(store, [])
        within = said[bisect_left(said, low) : bisect_left(said, high)]
        return next((message_id for _, message_id in within if message_id not in given), None)


def _behind(key: StoreKey) -> tuple[int, str]:
    """Return the smallest position after a key."""
    return (key.lamport, key.message_id + "\0")
