"""The newest part of the log, kept at hand, and the heads in it."""

from __future__ import annotations

from bisect import bisect_left, insort

from sdschat.sds.limits import RECENT_WINDOW
from sdschat.sds.values import Entry


class RecentWindow:
    """The last entries of the log in order. What it holds and what it answers is a function of the log alone.

    A head is an entry that no entry here depends on. Heads cover, transitively, everything that is delivered, so a
    causal history made of them acknowledges the most with the fewest ids. An entry without a body is no head and is
    not named: nobody could get from us what we would make others wait for.
    """

    __slots__ = ("_heads", "_named", "entries", "order")

    def __init__(self, entries: list[Entry]) -> None:
        # By message id: the entries of `order`.
        self.entries: dict[str, Entry] = {}
        # In the order of the log: Lamport time, then id. At most `RECENT_WINDOW` of them after a trim.
        self.order: list[Entry] = []
        # By message id: the entries with a body on which no entry here depends.
        self._heads: dict[str, Entry] = {}
        # By message id, here or not: number of entries here that depend on it. No number is 0.
        self._named: dict[str, int] = {}
        for entry in entries:
            self.insert(entry)

    def insert(self, entry: Entry) -> bool:
        """Put an entry in its place; true if that is before something that is already here."""
        message_id = entry.message_id
        order, heads, named = self.order, self._heads, self._named
        late = bool(order) and entry < order[-1]
        if late:
            insort(order, entry)
        else:
            order.append(entry)
        self.entries[message_id] = entry
        for dependency in entry.dependencies:
            heads.pop(dependency, None)
            named[dependency] = named.get(dependency, 0) + 1
        if message_id not in named and not entry.bare:
            heads[message_id] = entry
        return late

    def withdraw(self, entry: Entry) -> None:
        """Take out an entry, if it is here."""
        if self.entries.pop(entry.message_id, None) is None:
            return
        self._heads.pop(entry.message_id, None)
        del self.order[bisect_left(self.order, entry[:2])]
        self._unname(entry)

    def covers(self, entry: Entry) -> bool:
        """True if an entry belongs to the part of the log that is kept here."""
        return len(self.order) < RECENT_WINDOW or self.order[0] < entry

    def awaits(self, message_id: str) -> bool:
        """True if something here went without this message."""
        return message_id in self._named and message_id not in self.entries

    def trim(self) -> list[Entry]:
        """Let go of all but the newest. Only called when the rest is on its way into the history."""
        excess = len(self.order) - RECENT_WINDOW
        if excess <= 0:
            return []
        gone = self.order[:excess]
        del self.order[:excess]
        for entry in gone:
            del self.entries[entry.message_id]
            self._heads.pop(entry.message_id, None)
            self._unname(entry)
        return gone

    def _unname(self, entry: Entry) -> None:
        """Forget that a removed entry depends on others: they may be heads now."""
        for dependency in entry.dependencies:
            self._named[dependency] -= 1
            if not self._named[dependency]:
                del self._named[dependency]
                freed = self.entries.get(dependency)
                if freed is not None and not freed.bare:
                    self._heads[dependency] = freed

    def causal_history(self, count: int) -> list[Entry]:
        """The newest heads, filled up with the newest of the log; oldest first, as it goes on the wire."""
        heads = self._heads
        chosen: list[Entry] = []
        for entry in reversed(self.order):  # where many write at once there are many heads: all are not to be sorted
            if len(chosen) >= min(count, len(heads)):
                break
            if entry.message_id in heads:
                chosen.append(entry)
        for entry in reversed(self.order):
            if len(chosen) >= count:
                break
            if entry.message_id not in heads and not entry.bare:
                chosen.append(entry)
        chosen.sort()
        return chosen

    def dated(self, low: int, high: int) -> list[Entry]:
        """Entries here that are dated from `low` to `high`, both included."""
        return self.order[bisect_left(self.order, (low, "")) : bisect_left(self.order, (high + 1, ""))]

    def dated_before(self, lamport: int, count: int) -> list[Entry]:
        """The newest entries here that are older."""
        end = bisect_left(self.order, (lamport, ""))
        return self.order[max(0, end - count) : end]

    @property
    def heads(self) -> list[Entry]:
        return sorted(self._heads.values())
