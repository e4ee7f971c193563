"""Members and what each is known to hold: one slot for each membership."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sdschat.timber import limits
from sdschat.timber.events import Wait
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import Clock, OperationBody, Reason, SlotRow, member_id


class SlotState(NamedTuple):
    """The word of a slot's newest operation, of those compacted so far or of all held here."""

    seq: int
    id: bytes
    clock: dict[int, int]  # by slot; its own seq included
    turn: int
    closed: int  # memberships that its writer knew to have ended


def moved_past(standing: SlotState, node: TreeNode) -> SlotState:
    """Return the word of a slot after one more operation. The clock of `standing` is changed."""
    body = node.operation.body
    if node.dead:  # its number is known, so that it is known after a restart too
        return standing._replace(seq=body.seq, id=node.id)
    clock = standing.clock
    clock[body.slot] = body.seq
    clock.update(body.delta)
    return SlotState(body.seq, node.id, clock, body.turn, body.closed)


class Slot:
    """One membership. `seq`, `id`, `clock` and `turn` follow the newest operation held here."""

    def __init__(self, number: int, key: bytes, standing: SlotState) -> None:
        self.number = number
        self.key = key
        self.member = member_id(key)
        self.base = standing  # as of the compaction
        self.chain: dict[int, TreeNode] = {}  # operations since then, by seq
        self.seq, self.id, _, self.turn, self.closed = standing
        self.clock = dict(standing.clock)
        self.names = 0  # operations of open slots that `clock` names
        self.last: int | None = None  # the last operation that counts, of a slot that is closed
        self.why = ""  # "left" or "removed" where it is closed
        self.leaving: int | None = None  # seq of the leave held here, settled or not
        self.proof = 0  # operations up to this one prove the removal, and are named for it
        self.needed = 0  # operations after `last` that others hang below: held as empty places up to this one

    def advance(self, node: TreeNode, members: set[int]) -> None:
        """Take in the slot's next operation."""
        body = node.operation.body
        clock = self.clock
        for slot, seq in ((self.number, body.seq), *body.delta):
            if slot in members:
                self.names += seq - clock.get(slot, 0)
            clock[slot] = seq
        self.seq, self.id, self.turn, self.closed = body.seq, node.id, body.turn, body.closed
        self.chain[body.seq] = node

    def compact(self, node: TreeNode) -> None:
        """Move the base past an operation that is dropped."""
        self.base = moved_past(self.base, node)
        self.chain.pop(node.operation.body.seq, None)

    @property
    def settled(self) -> int:
        """Return the last operation that counts and was compacted."""
        return self.base.seq if self.last is None else min(self.base.seq, self.last)

    def id_of(self, seq: int) -> bytes | None:
        """Return the id of an operation; None if it is gone behind the compaction, or not held."""
        node = self.chain.get(seq)
        return node.id if node is not None else self.base.id if seq == self.base.seq else None

    def row(self, standing: SlotState | None = None) -> SlotRow:
        """Return the row of this slot, as of the compaction or of another place."""
        seq, newest, clock, turn, closed = standing or self.base
        known = tuple(sorted(clock.items()))
        return SlotRow(self.number, self.key, seq, newest, known, turn, closed, self.last, self.why)


class Committee:
    """All slots ever given, and those that are open: the members in force."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.open: set[int] = set()
        self.lives: dict[bytes, int] = {}  # slots that a key has had
        self.shut_out: frozenset[bytes] = frozenset()  # ids of those from whom nobody takes anything any more
        self._floor: dict[int, int] = {}  # for each writer, operations that every member names
        self._behind: dict[int, int] = {}  # for each writer, a member that named no more than that

    def may_admit(self, key: bytes, life: int) -> bool:
        """True if an invitation with this `life` counts: once, and while operations can name the slot."""
        return self.lives.get(key, 0) == life and len(self.slots) < limits.MAX_SLOTS

    def admit(self, key: bytes, standing: SlotState) -> Slot:
        slot = Slot(len(self.slots), key, standing)
        self.slots.append(slot)
        self.open.add(slot.number)
        self._recount(slot)
        self.lives[key] = self.lives.get(key, 0) + 1
        self._forget()
        return slot

    def load(self, rows: Iterable[SlotRow]) -> None:
        for row in rows:
            slot = self.admit(row.key, SlotState(row.seq, row.newest, dict(row.clock), row.turn, row.closed))
            if row.last is not None:
                self.close(slot, row.last, row.why)
        for slot in self.slots:
            self._recount(slot)

    def close(self, slot: Slot, last: int, why: str) -> None:
        slot.last, slot.why = last, why
        if why == "left":
            slot.leaving = last  # after a start from a state, its leave is not among the operations
        if slot.number in self.open:
            self.open.discard(slot.number)
            for other in self.slots:
                other.names -= other.clock.get(slot.number, 0)
        self._forget()

    def slot_of(self, key: bytes) -> Slot | None:
        """Return the open slot of a key."""
        return next((self.slots[one] for one in self.open if self.slots[one].key == key), None)

    def member(self, member: bytes) -> Slot | None:
        """Return the open slot of a member id."""
        return next((self.slots[one] for one in self.open if self.slots[one].member == member), None)

    def same_person(self, one: int, other: int) -> bool:
        """True if both slots are of one key."""
        return one == other or (max(one, other) < len(self.slots) and self.slots[one].key == self.slots[other].key)

    def named_by_all(self, slot: int, seq: int) -> bool:
        """True if every member's newest operation names `(slot, seq)`."""
        if self._floor.get(slot, 0) >= seq:
            return True
        behind = self._behind.get(slot)
        if behind is not None and self.slots[behind].clock.get(slot, 0) < seq:
            return False
        if not self.open:
            return False
        low, who = min((self.slots[one].clock.get(slot, 0), one) for one in self.open)
        self._floor[slot], self._behind[slot] = low, who
        return low >= seq

    def check(self, body: OperationBody, turn: int) -> Wait | Reason | None:
        """Return the operation to wait for before this one, or a reason to refuse it; None if slots and clocks fit."""
        slots = self.slots
        if body.slot >= len(slots):
            return Wait(body.slot, 0)
        slot = slots[body.slot]
        if slot.leaving is not None and body.seq > slot.leaving and (body.event or any(body.statements)):
            return Reason.AFTER_LEAVE
        if slot.last is not None and body.seq > max(slot.last, slot.needed):
            return Reason.REMOVED
        if body.seq > slot.seq + 1:
            return Wait(body.slot, body.seq - 1)
        for other, seq in body.delta:
            if other >= len(slots):
                return Wait(other, 0)
            if seq > slots[other].seq:
                if (last := slots[other].last) is not None and seq > last:
                    slots[other].needed = max(slots[other].needed, seq)
                return Wait(other, seq)
            if seq <= slot.clock.get(other, 0) or other == body.slot:
                return Reason.CLOCK
        known = body.turn <= turn and body.closed <= self.ended
        if not known or body.turn < slot.turn or body.closed < slot.closed:
            return Reason.TURN
        return None

    def nameable(self, slot: Slot) -> int:
        """Return the last operation of a slot that ours may name."""
        if slot.last is None:
            return slot.seq
        named = (self.slots[one].clock.get(slot.number, 0) for one in self.open)
        return min(slot.seq, max(slot.proof, *named, 0))

    def names_uncounted(self, delta: Clock) -> bool:
        """True if an operation that names `delta` names one behind the end of its writer."""
        return any((last := self.slots[one].last) is not None and seq > last for one, seq in delta)

    def compact(self, dropped: Iterable[TreeNode]) -> list[TreeNode]:
        """Move the bases of the slots past operations that are dropped. Return those in front of them that may go, too:
        the last one first."""
        for node in dropped:
            self.slots[node.operation.body.slot].compact(node)
        withered = self._withered()
        for node in reversed(withered):
            self.slots[node.operation.body.slot].compact(node)
        for slot in self.slots:
            slot.needed = 0  # what hangs below more of them hangs below what is gone
        return withered

    def _withered(self) -> list[TreeNode]:
        """Return the operations that count no more, that no member has named, and that nothing hangs below: of those
        whose operations that count are all gone. All members know of the ends, and name no more than they have."""
        chains: dict[int, list[TreeNode]] = {}
        for slot in self.slots:
            if slot.last is not None and min(slot.chain, default=0) > max(slot.last, self.nameable(slot)):
                chains[slot.number] = list(slot.chain.values())
        while True:
            ids = {node.id for chain in chains.values() for node in chain}
            for number, chain in list(chains.items()):
                if any(child.id not in ids for node in chain for child in node.children):
                    del chains[number]
                    break
            else:
                nodes = [node for chain in chains.values() for node in chain]
                return sorted(nodes, key=lambda node: node.label, reverse=True)

    @property
    def ended(self) -> int:
        """Return the number of memberships that have ended."""
        return len(self.slots) - len(self.open)

    def lacking(self, slot: int, seq: int) -> list[int]:
        """Return the members whose newest operation does not name `(slot, seq)`."""
        return sorted(one for one in self.open if self.slots[one].clock.get(slot, 0) < seq)

    def _recount(self, slot: Slot) -> None:
        slot.names = sum(seq for other, seq in slot.clock.items() if other in self.open)

    def _forget(self) -> None:
        """Forget what followed from the old set of members."""
        self._floor.clear()
        self._behind.clear()

    def silent(self, held: int, rounds: int) -> list[int]:
        """Return the members whose newest operation does not know `rounds` whole rounds of the `held` operations, and
        those that are shut out."""
        most = held - rounds * len(self.open)
        slots = self.slots
        return sorted(one for one in self.open if slots[one].names <= most or slots[one].member in self.shut_out)
