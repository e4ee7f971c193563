"""Events that are to be written here, with their number for each author."""

from __future__ import annotations

from collections import Counter

from sdschat.timber.values import PostId, SignedEvent


class Inbox:
    def __init__(self) -> None:
        self._events: dict[PostId, SignedEvent] = {}
        self._count: Counter[int] = Counter()

    def __contains__(self, name: PostId) -> bool:
        return name in self._events

    def get(self, name: PostId) -> SignedEvent | None:
        return self._events.get(name)

    def add(self, event: SignedEvent) -> None:
        if event.name not in self._events:
            self._events[event.name] = event
            self._count[event.body.author] += 1

    def drop(self, name: PostId) -> None:
        """Forget an event, which may be absent."""
        if self._events.pop(name, None) is not None:
            self._count[name.author] -= 1

    def count(self, author: int) -> int:
        """Return how many events of an author are to be written here."""
        return self._count[author]
