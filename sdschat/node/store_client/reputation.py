"""Choice of the Store to ask among those that are here: the load is shared, silent Stores rest, liars are left."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from sdschat.catchup.rests import Rests

BUSY: Final = 3_000  # milliseconds: a Store that asks for patience is alive, and its share fills up all the time
_MOST: Final = 2048  # anybody can make up Stores: the oldest of so many is forgotten


class StoreReputation:
    """Reputation of the Stores that this node met. One object serves all channels."""

    __slots__ = ("left", "rests")

    def __init__(self) -> None:
        self.left: dict[str, str] = {}  # for having lied, until the program is started anew; and what it did
        self.rests = Rests()  # catching up uses the same

    def trusted(self, stores: Iterable[str]) -> list[str]:
        """Those that were not left."""
        return [store for store in stores if store not in self.left]

    def ranked(self, stores: Iterable[str], question: bytes, now: int, first: str = "") -> list[str]:
        """Those of `shared` that do not rest."""
        return [store for store in self.shared(stores, question, first) if self.rests.until(store) <= now]

    def shared(self, stores: Iterable[str], question: bytes, first: str = "") -> list[str]:
        """Stores in the order in which to ask them. Rendezvous hashing: every question has its own order, so that all
        Stores get their share, and one that comes or goes moves nobody else's. `first` is known to have the answer."""
        return sorted(self.trusted(stores), key=lambda store: (store != first, _weight(store, question)))

    def answered(self, store: str) -> None:
        self.rests.forget(store)

    def silent(self, store: str, now: int) -> None:
        """Note that no answer came in time."""
        self.rests.failed(store, now)

    def busy(self, store: str, now: int) -> None:
        """Note that it answered with a request for patience."""
        self.rests.failed(store, now, BUSY)

    def leave(self, store: str, why: str) -> bool:
        """It lied. True the first time."""
        if store in self.left:
            return False
        self.left[store] = why
        if len(self.left) > _MOST:
            del self.left[next(iter(self.left))]
        self.rests.forget(store)
        return True

    @property
    def size(self) -> int:
        return len(self.left) + len(self.rests)


def _weight(store: str, question: bytes) -> bytes:
    return blake2b(question, key=store.encode()[:64], digest_size=8, person=b"sdschat-store").digest()
