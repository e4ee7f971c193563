"""The graph of messages that `parents` make (4/MVDS-META, Usage): heads, and messages that wait for parents.

Pure bookkeeping. Whoever uses it writes the rows and tells the world.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from sdschat.mvds import limits
from sdschat.mvds.rows import Head, WaitingRow
from sdschat.mvds.values import Message


def memory_cost(message: Message) -> int:
    """Bytes that a message takes up while it waits."""
    return limits.WAITING_ROW_BYTES + limits.WAITING_PARENT_BYTES * len(message.parents) + len(message.body)


def _age(row: WaitingRow) -> tuple[int, bytes]:
    return (row.message.timestamp, row.message_id)


class Waiting:
    """Messages that wait for parents, and which parent each waits for."""

    __slots__ = ("_bytes", "_children", "_due", "_total", "rows")

    def __init__(self) -> None:
        self.rows: dict[bytes, WaitingRow] = {}
        self._children: defaultdict[bytes, set[bytes]] = defaultdict(set)
        self._due: list[tuple[int, bytes]] = []
        self._bytes: Counter[str] = Counter()
        self._total = 0

    def room(self, peer: str) -> int:
        """Bytes that are left for messages of a peer. Overflow hurts the peer that causes it: the total is only
        reached by many of them together."""
        return min(limits.WAITING_BYTES_PER_PEER - self._bytes[peer], limits.WAITING_BYTES_TOTAL - self._total)

    def add(self, row: WaitingRow) -> None:
        self.rows[row.message_id] = row
        for parent in row.missing:
            self._children[parent].add(row.message_id)
        if row.give_up_epoch:
            heappush(self._due, (row.give_up_epoch, row.message_id))
        self._account(row, 1)

    def remove(self, message_id: bytes) -> WaitingRow:
        row = self.rows.pop(message_id)
        for parent in row.missing:
            self._children[parent].discard(message_id)
            if not self._children[parent]:
                del self._children[parent]
        self._account(row, -1)
        return row

    def _account(self, row: WaitingRow, sign: int) -> None:
        size = sign * memory_cost(row.message)
        self._bytes[row.peer] += size
        self._total += size
        if not self._bytes[row.peer]:
            del self._bytes[row.peer]

    def of(self, parent: bytes) -> list[WaitingRow]:
        """The messages that wait for this one, oldest first."""
        return sorted((self.rows[one] for one in self._children.get(parent, ())), key=_age)

    def wanted(self, parent: bytes) -> bool:
        """Whether a message waits for this one."""
        return parent in self._children

    def settle(self, parent: bytes, *, lost: bool) -> list[WaitingRow]:
        """A parent came, or was given up: its children as they are now, oldest first. The caller writes them."""
        changed = []
        for child in self.of(parent):
            self.remove(child.message_id)
            missing = tuple(one for one in child.missing if one != parent)
            row = child._replace(missing=missing, gap=(*child.gap, parent) if lost else child.gap)
            self.add(row)
            changed.append(row)
        return changed

    def next_epoch(self) -> int | None:
        """When the next message gives up waiting."""
        while self._due:
            epoch, message_id = self._due[0]
            row = self.rows.get(message_id)
            if row is not None and row.give_up_epoch == epoch:
                return epoch
            heappop(self._due)
        return None

    def overdue(self, epoch: int) -> list[WaitingRow]:
        """Messages whose time to give up has come, oldest first. They stay until settled or removed."""
        found: dict[bytes, WaitingRow] = {}
        while (due := self.next_epoch()) is not None and due <= epoch:
            message_id = heappop(self._due)[1]
            found[message_id] = self.rows[message_id]
        return sorted(found.values(), key=_age)


class Release:
    """Walks what becomes free when messages are handed over: parents before children, to any depth, no recursion."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._free: deque[WaitingRow] = deque()

    def add(self, rows: Iterable[WaitingRow]) -> list[WaitingRow]:
        """Take the rows that have nothing more to wait for out of the buffer; give back the others."""
        still = []
        for row in rows:
            if row.missing:
                still.append(row)
            else:
                self._free.append(self._waiting.remove(row.message_id))
        return still

    def __iter__(self) -> Iterator[WaitingRow]:
        while self._free:
            yield self._free.popleft()


class Heads:
    """The messages of each group that have no children (4/MVDS-META, parents)."""

    __slots__ = ("ahead", "of")

    def __init__(self) -> None:
        self.of: dict[bytes, dict[bytes, int]] = {}  # group -> message -> timestamp
        self.ahead: set[bytes] = set()  # named as parents, not here

    def parents(self, group: bytes, nodes: int) -> tuple[Head, ...]:
        """Parents for a new message: "any message before a new message that a node is aware of that has no children",
        bound by the number of nodes in the conversation. Of more, the newest are taken; the others stay heads."""
        return self.all(group)[-min(nodes, limits.MAX_HEADS) :]

    def all(self, group: bytes) -> tuple[Head, ...]:
        return tuple(Head(*one) for one in self.of.get(group, {}).items())

    def extend(self, message_id: bytes, message: Message) -> None:
        """A message was handed over: its parents are heads no more; it is one, unless a child of it is here."""
        heads = self.of.setdefault(message.group_id, {})
        for parent in message.parents:
            heads.pop(parent, None)
        if message_id not in self.ahead:
            heads[message_id] = message.timestamp
        if len(heads) > limits.MAX_HEADS:
            del heads[next(iter(heads))]

    def note_ahead(self, parent: bytes) -> bool:
        """A parent that is not here was named. When the table is full it is not noted: a head too many later."""
        if parent in self.ahead or len(self.ahead) >= limits.AHEAD_TOTAL:
            return False
        self.ahead.add(parent)
        return True
