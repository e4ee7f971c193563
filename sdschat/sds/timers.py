"""Time in one channel: deadlines on the monotonic clock, the Lamport clock (spec: Participant state), and jitter.

Timers must not line up between participants, and must not be predictable by a peer that picks ids. A keyed hash of what
the timer is for gives both, and needs no state: an engine restored from disk draws what it would have drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappop, heappush


class Deadlines:
    """A heap with one entry in force a key. Entries that no longer are in force fall out when they surface."""

    __slots__ = ("_due", "_heap")

    def __init__(self) -> None:
        # By key: its deadline in force, in monotonic milliseconds.
        self._due: dict[str, int] = {}
        # A heap with (deadline, key) of each item of `_due`, and of some that are not in force any more. `set` clears
        # those away when it holds more than 64 and four for each item.
        self._heap: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: str) -> bool:
        return key in self._due

    def get(self, key: str) -> int | None:
        return self._due.get(key)

    def set(self, key: str, due: int) -> None:
        """Set the deadline of a key. A new one replaces the old."""
        if self._due.get(key) == due:
            return
        self._due[key] = due
        heappush(self._heap, (due, key))
        if len(self._heap) > 64 + 4 * len(self._due):
            self._heap = sorted((when, name) for name, when in self._due.items())

    def discard(self, key: str) -> None:
        self._due.pop(key, None)

    def next(self) -> int | None:
        heap = self._heap
        while heap:
            due, key = heap[0]
            if self._due.get(key) == due:
                return due
            heappop(heap)
        return None

    def pop_due(self, mono: int) -> list[str]:
        """Take out every key that is due, earliest first, ties by key."""
        ready: list[str] = []
        while (due := self.next()) is not None and due <= mono:
            key = heappop(self._heap)[1]
            del self._due[key]
            ready.append(key)
        return ready

    def pop_first(self) -> str | None:
        """Take out the earliest key, due or not."""
        if self.next() is None:
            return None
        key = heappop(self._heap)[1]
        del self._due[key]
        return key

    def first_due(self, mono: int, limit: int) -> list[str]:
        """Return the earliest keys that are due, left in place."""
        found: list[tuple[int, str]] = []
        while len(found) < limit and (due := self.next()) is not None and due <= mono:
            top = heappop(self._heap)
            if top not in found:  # a key set away and back again has two equal entries
                found.append(top)
        for item in found:
            heappush(self._heap, item)
        return [key for _, key in found]


class LamportClock:
    """Epoch milliseconds, pushed ahead by what is sent and delivered, never by what merely arrives."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def next(self, wall: int) -> int:
        """Send Message: `max(timeNowInMs, current_lamport_timestamp + 1)`."""
        return max(wall, self.value + 1)

    def tick(self, wall: int) -> int:
        """Make that the local timestamp."""
        self.value = self.next(wall)
        return self.value

    def observe(self, lamport: int) -> None:
        """Deliver Message: a greater timestamp than ours becomes ours."""
        if lamport > self.value:
            self.value = lamport


class Jitter:
    """Numbers that look random to everyone who lacks the secret."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret[:64]

    def below(self, bound: int, *what: str | int) -> int:
        """Return a number from 0 to `bound - 1`, always the same for the same `what`."""
        text = "\0".join(map(str, what)).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=8, key=self._secret).digest()
        return int.from_bytes(digest, "big") % bound if bound > 0 else 0

    def token(self, *what: str | int) -> str:
        """Return 32 hex digits, always the same for the same `what`."""
        text = "\0".join(map(str, what)).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=16, key=self._secret).hexdigest()


@dataclass(slots=True, eq=False)
class Budget:
    """Bytes or messages a minute, as a bucket that empties: `spent` falls back to 0 in a minute."""

    # A minute, at least 1.
    limit: int
    # What was spent and is not yet forgiven, at least 0. The last packet may bring it above `limit`.
    spent: int = field(default=0, init=False)

    def cool(self, elapsed: int) -> None:
        if self.spent:
            self.spent = max(0, self.spent - elapsed * self.limit // 60_000)

    @property
    def has_room(self) -> bool:
        """True while the bucket is not full. The last packet may overfill it, and the next ones wait for longer: were
        it to fit, small packets would keep the bucket too full for a large one for ever."""
        return self.spent < self.limit

    def spend(self, size: int) -> None:
        self.spent += size
