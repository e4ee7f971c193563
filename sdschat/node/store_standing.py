"""Which Stores are here, and which of them is to be asked: the load is shared, the silent rest, liars are left."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

REST_FIRST: Final = 2_000  # milliseconds for which a Store is not asked after it stayed silent, doubling
REST_LONGEST: Final = 120_000
_MOST: Final = 2048  # anybody can make up Stores: the oldest of so many is forgotten


class _Rest(NamedTuple):
    times: int
    until: int  # on the monotonic clock


class Standing:
    """What this node thinks of the Stores it met, in whichever channel: one for all of them."""

    __slots__ = ("_rests", "left")

    def __init__(self) -> None:
        self.left: dict[str, str] = {}  # for having lied, until the program is started anew; and what it did
        self._rests: dict[str, _Rest] = {}

    def trusted(self, stores: Iterable[str]) -> list[str]:
        """Those that were not left."""
        return [store for store in stores if store not in self.left]

    def ranked(self, stores: Iterable[str], question: bytes, now: int, first: str = "") -> list[str]:
        """Whom to ask, in this order. Rendezvous hashing: every question has its own order, so that all Stores get
        their share, and one that comes or goes moves nobody else's. `first` is who is known to have the answer."""
        awake = [store for store in self.trusted(stores) if not self._rests_at(store, now)]
        return sorted(awake, key=lambda store: (store != first, _weight(store, question)))

    def answered(self, store: str) -> None:
        self._rests.pop(store, None)

    def silent(self, store: str, now: int) -> None:
        """No answer in time, or one that asks for patience."""
        times = min(self._rests[store].times + 1 if store in self._rests else 0, 16)
        self._rests[store] = _Rest(times, now + min(REST_FIRST << times, REST_LONGEST))
        if len(self._rests) > _MOST:
            del self._rests[next(iter(self._rests))]

    def leave(self, store: str, why: str) -> bool:
        """It lied. True the first time."""
        if store in self.left:
            return False
        self.left[store] = why
        if len(self.left) > _MOST:
            del self.left[next(iter(self.left))]
        self._rests.pop(store, None)
        return True

    @property
    def size(self) -> int:
        return len(self.left) + len(self._rests)

    def _rests_at(self, store: str, now: int) -> bool:
        rest = self._rests.get(store)
        return rest is not None and rest.until > now


def _weight(store: str, question: bytes) -> bytes:
    return blake2b(question, key=store.encode()[:64], digest_size=8, person=b"sdschat-store").digest()
