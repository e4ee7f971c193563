"""The graph that the `parents` of messages make (4/MVDS-META, Usage): heads, and messages that wait for parents.

Indexes only: the caller writes the rows and the events.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from sdschat.mvds import limits
from sdschat.mvds.values import Head, Message, WaitingRow


def memory_cost(message: Message) -> int:
    """Return the bytes of memory charged for a waiting message."""
    return limits.WAITING_ROW_BYTES + limits.WAITING_PARENT_BYTES * len(message.parents) + len(message.body)


def _age(row: WaitingRow) -> tuple[int, bytes]:
    return (row.message.timestamp, row.message_id)


@dataclass(slots=True, eq=False)
class WaitingMessages:
    """Messages that wait for parents, indexed by parent and by the epoch at which the parents are given up."""

    # By message id. Each has at least one missing parent, except inside `Release.add`.
    rows: dict[bytes, WaitingRow] = field(default_factory=dict, init=False)
    # Ids of the waiting children of each missing parent: an index of `rows`; no set is empty.
    _children: defaultdict[bytes, set[bytes]] = field(default_factory=lambda: defaultdict(set), init=False)
    # Heap of (give_up_epoch, message id). It has every row with such an epoch; other entries are out of date.
    _due: list[tuple[int, bytes]] = field(default_factory=list, init=False)
    # Sum of `memory_cost` over the rows of each peer, in bytes; no entry is 0.
    _bytes: Counter[str] = field(default_factory=Counter, init=False)
    # Sum of `_bytes`.
    _total: int = field(default=0, init=False)

    def room(self, peer: str) -> int:
        """Return the bytes left for messages of a peer. Overflow hurts the peer that causes it: only many peers
        together reach the total."""
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

    def children(self, parent: bytes) -> list[WaitingRow]:
        """Return the messages that wait for this one, oldest first."""
        return sorted((self.rows[one] for one in self._children.get(parent, ())), key=_age)

    def has_children(self, parent: bytes) -> bool:
        """True if a message waits for this one."""
        return parent in self._children

    def resolve_parent(self, parent: bytes, *, lost: bool) -> list[WaitingRow]:
        """Remove a parent that was delivered or `lost` from its children. Return the changed rows, oldest first; the
        caller writes them."""
        changed = []
        for child in self.children(parent):
            self.remove(child.message_id)
            missing = tuple(one for one in child.missing if one != parent)
            row = child._replace(missing=missing, gap=(*child.gap, parent) if lost else child.gap)
            self.add(row)
            changed.append(row)
        return changed

    def next_epoch(self) -> int | None:
        """Return the epoch at which the next message stops waiting, or None."""
        while self._due:
            epoch, message_id = self._due[0]
            row = self.rows.get(message_id)
            if row is not None and row.give_up_epoch == epoch:
                return epoch
            heappop(self._due)
        return None

    def overdue(self, epoch: int) -> list[WaitingRow]:
        """Return the messages that have waited too long, oldest first. They stay here until resolved or removed."""
        found: dict[bytes, WaitingRow] = {}
        while (due := self.next_epoch()) is not None and due <= epoch:
            message_id = heappop(self._due)[1]
            found[message_id] = self.rows[message_id]
        return sorted(found.values(), key=_age)


class Release:
    """Messages that become deliverable as others are delivered: parents before children, to any depth, no recursion."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, waiting: WaitingMessages) -> None:
        self._waiting = waiting
        self._free: deque[WaitingRow] = deque()

    def add(self, rows: Iterable[WaitingRow]) -> list[WaitingRow]:
        """Take the rows without missing parents out of the buffer, to be delivered; return the others."""
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


@dataclass(slots=True, eq=False)
class Heads:
    """The messages of each group that have no children (4/MVDS-META, parents)."""

    # Timestamps of the heads by message id, by group: in order of delivery, at most `MAX_HEADS` for each group.
    by_group: dict[bytes, dict[bytes, int]] = field(default_factory=dict, init=False)
    # Ids that a delivered message names as parents and that are not delivered; at most `AHEAD_TOTAL`. When such a
    # message comes it is no head, because its child is here.
    absent_parents: set[bytes] = field(default_factory=set, init=False)

    def parents(self, group: bytes, nodes: int) -> tuple[Head, ...]:
        """Return the parents for a new message: "any message before a new message that a node is aware of that has no
        children", bound by the number of nodes in the conversation. If there are more, the newest; the others stay
        heads."""
        return self.all(group)[-min(nodes, limits.MAX_HEADS) :]

    def all(self, group: bytes) -> tuple[Head, ...]:
        return tuple(Head(*one) for one in self.by_group.get(group, {}).items())

    def extend(self, message_id: bytes, message: Message) -> None:
        """Add a delivered message: its parents are no heads any more; it is one, unless a child of it is delivered."""
        heads = self.by_group.setdefault(message.group_id, {})
        for parent in message.parents:
            heads.pop(parent, None)
        if message_id not in self.absent_parents:
            heads[message_id] = message.timestamp
        if len(heads) > limits.MAX_HEADS:
            del heads[next(iter(heads))]

    def note_absent_parent(self, parent: bytes) -> bool:
        """Note a parent that is not delivered. False if it is known, or the table is full (then it will count as a
        head when it comes, which is one parent too many)."""
        if parent in self.absent_parents or len(self.absent_parents) >= limits.AHEAD_TOTAL:
            return False
        self.absent_parents.add(parent)
        return True
