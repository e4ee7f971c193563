"""The newest part of the log, kept at hand, with the heads in it; and the messages that came lately.

Those that came lately may still be on their way to others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from sdschat.sds.bloom.compact import Shape, mask
from sdschat.sds.limits import ARRIVALS_KEPT, RECENT_WINDOW
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
        """Return the newest heads, filled up with the newest of the log; oldest first, as it goes on the wire."""
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
        """Return the entries here that are dated from `low` to `high`, both included."""
        return self.order[bisect_left(self.order, (low, "")) : bisect_left(self.order, (high + 1, ""))]

    def dated_before(self, lamport: int, count: int) -> list[Entry]:
        """Return the newest entries here that are older."""
        end = bisect_left(self.order, (lamport, ""))
        return self.order[max(0, end - count) : end]

    @property
    def heads(self) -> list[Entry]:
        return sorted(self._heads.values())


class RecentArrivals:
    """Ids in the order in which they came, which is the order in which they go.

    Every filter that is heard asks which bits they set. So that this costs the same however many there are, it is kept
    in two parts: for each of the older ones the bits of it and all older ones after it, and one sum for the newer ones.
    When the last of the older ones has gone, the newer ones take their place.
    """

    __slots__ = ("_came", "_newer", "_newer_bits", "_older")

    def __init__(self, came: Iterable[tuple[int, str]] = ()) -> None:
        # By message id: when it came, in monotonic milliseconds, ascending. At most `ARRIVALS_KEPT`.
        self._came = OrderedDict((message_id, at) for at, message_id in came)
        # Id, time, and the bits of it and of all before it in this list; the oldest of all is the last. An id that
        # has gone from `_came` is removed when it is the last.
        self._older: list[tuple[str, int, int]] = []
        # Ids that came after those in `_older` and are not in `_newer_bits`. Empty while `_older` is.
        self._newer: list[str] = []
        # Bits of the other ids that came after those in `_older`, in a filter of the own shape.
        self._newer_bits = 0

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._came

    def __iter__(self) -> Iterator[str]:
        return iter(self._came)

    def note(self, message_id: str, at: int) -> None:
        came = self._came
        if message_id in came:  # and was dropped since
            self.forget(message_id)
        came[message_id] = at
        if len(came) > ARRIVALS_KEPT:
            came.popitem(last=False)
        if self._older:
            self._newer.append(message_id)
            if len(self._newer) > len(came):  # nobody asks
                self._start_anew()

    def forget(self, message_id: str) -> None:
        if self._came.pop(message_id, None) is not None:
            self._start_anew()  # its bits cannot be taken out of sums

    def trim(self, until: int) -> None:
        """Forget the arrivals up to this time: they are no longer fresh."""
        came = self._came
        while came:
            first = next(iter(came))
            if came[first] > until:
                break
            del came[first]

    def bits(self, shape: Shape) -> int:
        """Return all bits that they set in a filter of this shape, which is the same one every time."""
        came, older = self._came, self._older
        while older and came.get(older[-1][0]) != older[-1][1]:  # gone, even where it came again since
            older.pop()
        if not older:
            self._start_anew()
            bits = 0
            for message_id, at in reversed(came.items()):
                bits |= mask(message_id, shape.hashes, shape.bits)
                older.append((message_id, at, bits))
            return bits
        for message_id in self._newer:
            self._newer_bits |= mask(message_id, shape.hashes, shape.bits)
        self._newer.clear()
        return older[-1][2] | self._newer_bits

    def _start_anew(self) -> None:
        self._older.clear()
        self._newer.clear()
        self._newer_bits = 0
