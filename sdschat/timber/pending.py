"""Work before an engine: things to do at a time, each under a name, events that are to be written here, and what is to
be told: events of which there may be news, and refusals.

The next thing to do is found without looking at the rest. Events have their number for each author.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from typing import Generic, TypeVar

from sdschat.timber import limits
from sdschat.timber.config import MINUTE
from sdschat.timber.events import Rejected
from sdschat.timber.values import Kind, PostId, Reason, SignedEvent

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


class TouchedEvents:
    """Events whose delivery may have changed, and the posts that they change, since this was asked."""

    def __init__(self) -> None:
        self._names: dict[PostId, None] | None = None  # None: all

    def add(self, event: SignedEvent) -> None:
        if self._names is None:
            return
        self._names[event.name] = None
        if event.body.target is not None:
            self._names[event.body.target] = None
        if len(self._names) > limits.TOUCHED_REMEMBERED:
            self._names = None

    def add_all(self) -> None:
        self._names = None

    def take(self) -> list[PostId] | None:
        """Return the names, in the order of the changes; None: all of them."""
        names, self._names = self._names, {}
        return None if names is None else list(names)


class RefusalCount:
    """Refusals, to be reported: so many in a minute, since each is a line, and of the others how many there were."""

    def __init__(self, mono: int) -> None:
        self.by_reason: Counter[Reason] = Counter()  # since the start
        self._new: Counter[tuple[bytes, Reason, str]] = Counter()
        self._more: Counter[Reason] = Counter()  # not reported yet, and not to be told apart
        self._from, self._reported = mono, 0

    def add(self, peer: bytes, reason: Reason, detail: str) -> None:
        self.by_reason[reason] += 1
        self._new[(peer, reason, detail)] += 1

    def take(self, mono: int) -> list[Rejected]:
        """Return the reports that are due: one for all with the same peer, reason and detail."""
        found: list[Rejected] = []
        if mono >= self._from + MINUTE:
            found = [Rejected(b"", reason, count, "further ones") for reason, count in self._more.items()]
            self._from, self._reported = mono, 0
            self._more.clear()
        for (peer, reason, detail), count in self._new.items():
            if self._reported < limits.REFUSALS_A_MINUTE:
                self._reported += 1
                found.append(Rejected(peer, reason, count, detail))
            else:
                self._more[reason] += count
        self._new.clear()
        return found


class ChangesByPost:
    """Edits and deletions, by the post that they change."""

    def __init__(self) -> None:
        self._by_post: dict[PostId, dict[PostId, Kind]] = {}

    def add(self, event: SignedEvent | None) -> None:
        """Note an event, which may be of another kind, or none."""
        if event is not None and event.body.kind in (Kind.EDIT, Kind.DELETE) and event.body.target is not None:
            self._by_post.setdefault(event.body.target, {})[event.name] = event.body.kind

    def drop(self, event: SignedEvent) -> None:
        post = event.body.target
        if post is not None and event.name in self._by_post.get(post, {}):
            del self._by_post[post][event.name]
            if not self._by_post[post]:
                del self._by_post[post]

    def of(self, post: PostId) -> dict[PostId, Kind]:
        return self._by_post.get(post, {})


class Inbox:
    def __init__(self) -> None:
        self._events: dict[PostId, SignedEvent] = {}
        self._count: Counter[int] = Counter()
        self._held: set[PostId] = set()

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
        self._held.discard(name)
        if self._events.pop(name, None) is not None:
            self._count[name.author] -= 1

    def count(self, author: int) -> int:
        """Return how many events of an author are to be written here."""
        return self._count[author]

    def hold(self, name: PostId) -> None:
        """Keep an event whose turn has come until the one before is written."""
        self._held.add(name)

    def held_after(self, name: PostId) -> PostId | None:
        """Return the next event of this author, if it was held until now."""
        after = PostId(name.author, name.number + 1)
        return after if after in self._held else None
