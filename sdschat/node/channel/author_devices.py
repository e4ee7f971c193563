"""The devices whose chains are kept. An author can invent any number of them, so most of those are forgotten again.

The longest chain of an author stays as long as its row in the key book. Of further devices, an author has a few, and a
channel some thousands: those of strangers and of the keys that came last go first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sdschat.identity.key_book import KeyBook, KeyStanding

MOST_DEVICES: Final = 16  # of one author; somebody who restores a backup every month has them for a year
MOST_FURTHER: Final = 4096  # in a channel, beside the first device of each author
_ROOM: Final = 8  # this part of them goes at once

_Order = tuple[bool, bool, int]


class AuthorDevices:
    """The authors of one channel who have more devices than one: their chains, and the messages of each."""

    def __init__(self, book: KeyBook) -> None:
        self._book = book
        self._several: dict[str, dict[str, int]] = {}  # by sender; the chain that was heard last stands last
        self._further = 0

    def add(self, sender_id: str, chains: Mapping[str, int]) -> None:
        """Add the chains of an author who has more than one of them."""
        before = self._several.pop(sender_id, {})
        found = self._several[sender_id] = before | dict(chains)
        self._further += len(found) - max(1, len(before))

    def has_several(self, sender_id: str) -> bool:
        return sender_id in self._several

    def count(self, sender_id: str, chain: str, messages: int) -> None:
        """Set the number of messages of a chain that was heard now."""
        chains = self._several.get(sender_id)
        if chains is not None:
            chains.pop(chain, None)
            chains[chain] = messages

    def take_surplus(self, sender_id: str) -> list[str]:
        """Take out the chains that are too many, now that one of this author's was added. Return their names."""
        gone: list[str] = []
        while len(self._several.get(sender_id, ())) > MOST_DEVICES:
            gone.append(self._take_shortest(sender_id))
        if self._further > MOST_FURTHER:
            for other in sorted(self._several, key=self._order, reverse=True):
                while self.has_several(other) and self._further > MOST_FURTHER - MOST_FURTHER // _ROOM:
                    gone.append(self._take_shortest(other))
        return gone

    def _order(self, sender_id: str) -> _Order:
        """Return what is greater the sooner the devices of this author go."""
        standing, since = self._book.standing(sender_id), self._book.since(sender_id)
        return not standing & KeyStanding.KEPT, not standing & KeyStanding.PERSON, since

    def _take_shortest(self, sender_id: str) -> str:
        """Take out the chain of the fewest messages, but for the one that was heard last."""
        chains = self._several[sender_id]
        shortest = min(list(chains)[:-1], key=chains.__getitem__)
        del chains[shortest]
        self._further -= 1
        if len(chains) == 1:
            del self._several[sender_id]
        return shortest
