"""The log behind a small interface, and the log in memory.

The engine keeps the newest `RECENT_WINDOW` entries itself (`window.py`) and asks a `History` only for what is older.
In the node that is SQLite; here is one that lives in memory, for tests, simulations and benchmarks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, deque
from typing import Protocol

from sdschat.sds.values import Entry, LogRow

_CHUNK = 512


class History(Protocol):
    """Questions of the engine to the log. Answers need not show what the last `Ready` has not yet made true."""

    def entry(self, message_id: str) -> Entry | None:
        """Return the entry of a delivered message; known long after its body is gone."""
        ...

    def row(self, message_id: str) -> LogRow | None:
        """Return the entry with its body, if that is still kept. Bodies of own messages that are not acknowledged
        always are: they are sent again from here."""
        ...

    def newest(self, count: int) -> list[Entry]:
        """Return the last entries in log order."""
        ...

    def before(self, lamport: int, count: int) -> list[Entry]:
        """Return the last entries dated before `lamport`, in log order."""
        ...

    def between(self, low: int, high: int, limit: int) -> list[Entry]:
        """Return the first `limit` entries dated from `low` to `high`, both included, in log order."""
        ...

    def recently_added(self, count: int) -> list[Entry]:
        """Return the entries that were put in last, whatever their dates."""
        ...


class OrderedEntries:
    """Entries in log order in chunks, so that an insert costs the same in a log of a thousand and of a million."""

    __slots__ = ("_chunks", "_lasts", "count")

    def __init__(self) -> None:
        # Entries in log order, in chunks of at most twice `_CHUNK`, none of them empty.
        self._chunks: list[list[Entry]] = []
        # The last entry of each chunk.
        self._lasts: list[Entry] = []
        # Number of entries in all chunks.
        self.count = 0

    def add(self, entry: Entry) -> None:
        self.count += 1
        if not self._chunks:
            self._chunks.append([entry])
            self._lasts.append(entry)
            return
        at = len(self._chunks) - 1
        if entry > self._lasts[at]:  # nearly always
            chunk = self._chunks[at]
            chunk.append(entry)
            self._lasts[at] = entry
        else:
            at = bisect_left(self._lasts, entry)
            chunk = self._chunks[at]
            insort(chunk, entry)
        if len(chunk) > 2 * _CHUNK:
            # Splitting off a full chunk keeps appends cheap: the last chunk is the one that grows.
            self._chunks[at : at + 1] = [chunk[:_CHUNK], chunk[_CHUNK:]]
            self._lasts[at : at + 1] = [chunk[_CHUNK - 1], chunk[-1]]

    def discard(self, entry: Entry) -> None:
        """Take out the entry with the same date and id."""
        at = bisect_left(self._lasts, entry[:2])
        chunk = self._chunks[at]
        del chunk[bisect_left(chunk, entry[:2])]
        self.count -= 1
        if chunk:
            self._lasts[at] = chunk[-1]
        else:
            del self._chunks[at], self._lasts[at]

    def last_before(self, bound: tuple[int, str] | None, count: int) -> list[Entry]:
        """Return the last `count` entries below `bound` (of all, if it is None), in order."""
        found: deque[Entry] = deque()
        at = len(self._chunks) - 1 if bound is None else bisect_left(self._lasts, bound)
        at = min(at, len(self._chunks) - 1)
        while at >= 0 and len(found) < count:
            chunk = self._chunks[at]
            end = len(chunk) if bound is None else bisect_left(chunk, bound)
            found.extendleft(reversed(chunk[max(0, end - (count - len(found))) : end]))
            at -= 1
        return list(found)

    def between(self, low: int, high: int, limit: int) -> list[Entry]:
        found: list[Entry] = []
        first, last = (low, ""), (high + 1, "")
        at = bisect_left(self._lasts, first)
        while at < len(self._chunks) and len(found) < limit:
            chunk = self._chunks[at]
            if chunk[0] >= last:
                break
            found.extend(chunk[bisect_left(chunk, first) : bisect_right(chunk, last)][: limit - len(found)])
            at += 1
        return found


class MemoryHistory:
    """A log in memory. Bodies beyond the newest `bodies` added are forgotten, those of own messages only once they are
    acknowledged; ids never are."""

    __slots__ = ("_added", "_bodies", "_index", "_kept", "_order", "_unacked")

    def __init__(self, bodies: int | None = None) -> None:
        # Number of bodies kept; None: all.
        self._kept = bodies
        # By message id: the entries of `_order`, without dependencies where `_kept` is a number.
        self._index: dict[str, Entry] = {}
        self._order = OrderedEntries()
        # By message id, the oldest first: the bodies kept, without those in `_unacked`. An OrderedDict, because
        # finding the oldest key of a plain dict takes longer with every key deleted before it.
        self._bodies: OrderedDict[str, LogRow] = OrderedDict()
        # By message id: bodies of own messages that are not acknowledged.
        self._unacked: dict[str, LogRow] = {}
        # Ids in the order in which they were put in.
        self._added: deque[str] = deque(maxlen=16_384)

    def __len__(self) -> int:
        return self._order.count

    def append(self, row: LogRow) -> None:
        entry = row.entry
        message_id = entry.message_id
        if self._kept is not None:
            # What is kept for good is small: whom the message depends on goes with its body.
            slim = Entry(entry.lamport, message_id, entry.sender_id)
            self._index[message_id] = slim
            self._order.add(slim)
        else:
            self._index[message_id] = entry
            self._order.add(entry)
        self._added.append(message_id)
        if not row.raw:
            return
        if row.own and row.source == "live":
            self._unacked[message_id] = row
        else:
            self._keep(message_id, row)

    def withdraw(self, entry: Entry) -> None:
        """Take out an entry, with its body."""
        self._order.discard(entry)
        self._bodies.pop(entry.message_id, None)
        del self._index[entry.message_id]

    def acknowledged(self, message_id: str) -> None:
        """Keep an own message like any other from now on: it is acknowledged."""
        row = self._unacked.pop(message_id, None)
        if row is not None:
            self._keep(message_id, row)

    def _keep(self, message_id: str, row: LogRow) -> None:
        self._bodies[message_id] = row
        if self._kept is not None and len(self._bodies) > self._kept:
            self._bodies.popitem(last=False)

    def _full(self, entry: Entry) -> Entry:
        row = self.row(entry.message_id)
        return entry if row is None else row.entry

    def entry(self, message_id: str) -> Entry | None:
        return self._index.get(message_id)

    def row(self, message_id: str) -> LogRow | None:
        return self._bodies.get(message_id) or self._unacked.get(message_id)

    def newest(self, count: int) -> list[Entry]:
        return [self._full(entry) for entry in self._order.last_before(None, count)]

    def before(self, lamport: int, count: int) -> list[Entry]:
        return [self._full(entry) for entry in self._order.last_before((lamport, ""), count)]

    def between(self, low: int, high: int, limit: int) -> list[Entry]:
        return [self._full(entry) for entry in self._order.between(low, high, limit)]

    def recently_added(self, count: int) -> list[Entry]:
        ids = list(self._added)[-count:]
        return [self._full(self._index[message_id]) for message_id in ids]
