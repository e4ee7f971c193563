"""Operations on their way into the tree: each is checked, waits for what it needs, and is added or refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import NamedTuple

from sdschat.timber import limits
from sdschat.timber.events import Wait
from sdschat.timber.replica import Replica
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import (
    Operation,
    OperationBody,
    PostId,
    Reason,
    SignedEvent,
    Verify,
    event_bytes,
    operation_bytes,
    operation_id,
)


class RefusedOperation(NamedTuple):
    """An operation that was refused. `proof`: the other operation of the same number, where it is a fork."""

    operation: Operation
    reason: Reason
    peer: bytes
    proof: Operation | None = None


class MissingOperation(NamedTuple):
    """An operation that others name, and that is not held: it is lost on its way, or kept back by its author."""

    slot: int  # of its author
    seq: int
    since: int  # when it was first missed, on the clock that never jumps
    waiting: int  # number of operations that wait for it now


class _Waiting(NamedTuple):
    operation: Operation
    id: bytes
    peer: bytes
    verified: bool
    since: int


class OperationIntake:
    """`receive` adds an operation and all that waited for it, and calls `added` for each. It never raises."""

    def __init__(self, replica: Replica, data_set: bytes, verify: Verify, added: Callable[[TreeNode], None]) -> None:
        self.replica = replica
        self.data_set = data_set
        self.verify = verify
        self.added = added
        self.checked: Callable[[PostId], SignedEvent | None] = lambda name: None  # events whose signature was checked
        self.now = 0  # when operations are received, for `expire`
        self.refused: list[RefusedOperation] = []
        self.waiting: dict[bytes, Wait] = {}  # by operation id
        self._by_need: defaultdict[Wait, list[_Waiting]] = defaultdict(list)
        # Since when what is waited for was missed. An entry stays when all that waited for it has expired.
        self._missed: dict[Wait, int] = {}
        self._count: Counter[bytes] = Counter()
        self._bytes: Counter[bytes] = Counter()

    def receive(self, operation: Operation, peer: bytes = b"", *, own: bool = False) -> None:
        """Take in an operation. One of our `own` has no signatures to be checked."""
        todo = [_Waiting(operation, operation_id(self.data_set, operation.raw), peer, own, self.now)]
        replica = self.replica
        while todo:
            one = todo.pop()
            slots_before = len(replica.committee.slots)
            if self._take(one):
                body = one.operation.body
                self._missed.pop(Wait(body.slot, body.seq), None)
                for number in range(slots_before, len(replica.committee.slots)):
                    todo += self._released(Wait(number, 0))
                todo += self._released(Wait(body.slot, body.seq))

    def expire(self, before: int) -> None:
        """Drop the operations that wait since before a time: a synchronization brings those that are still wanted."""
        for need in [need for need, waiting in self._by_need.items() if waiting[0].since < before]:
            self._released(need)

    def missing(self) -> list[MissingOperation]:
        """Return what others name and is not held, the longest missed first, without what ended members wrote."""
        committee = self.replica.committee
        for need in [need for need in self._missed if need.slot < len(committee.slots)]:
            if need.slot not in committee.open or need.seq <= committee.slots[need.slot].seq:
                del self._missed[need]
        found = (
            MissingOperation(*need, since, len(self._by_need.get(need, ()))) for need, since in self._missed.items()
        )
        return sorted((one for one in found if one.seq), key=lambda one: (one.since, one))

    def _released(self, need: Wait) -> list[_Waiting]:
        found = self._by_need.pop(need, [])
        for one in found:
            self.waiting.pop(one.id, None)
            self._count[one.peer] -= 1
            self._bytes[one.peer] -= len(one.operation.raw)
        return found

    def _take(self, one: _Waiting) -> bool:
        """Add an operation, or let it wait, or refuse it. True if it was added."""
        replica, operation, body = self.replica, one.operation, one.operation.body
        if one.id in self.waiting:
            return False
        if body.slot < len(replica.committee.slots):
            slot = replica.committee.slots[body.slot]
            if body.seq <= slot.seq:
                self._duplicate(one)
                return False
            if not one.verified:
                if not self.verify(slot.key, operation_bytes(self.data_set, operation.raw), operation.signature):
                    return self._refuse(one, Reason.SIGNATURE)
                one = one._replace(verified=True)
            if slot.last is not None and max(slot.last, slot.needed) < body.seq and self._needs(body):
                slot.needed = body.seq
        found = replica.check(operation)
        if isinstance(found, Wait):
            return self._wait(one, found)
        if found is not None:
            return self._refuse(one, found)
        own = one.verified and body.slot == replica.me
        if body.event is not None and not own and (wrong := self._event_wrong(body.event)) is not None:
            return self._refuse(one, wrong)
        parent = replica.place(operation)
        if isinstance(parent, Reason):
            return self._refuse(one, parent)
        node = TreeNode(one.id, operation)
        replica.add(node, parent)
        self.added(node)
        return True

    def _needs(self, body: OperationBody) -> bool:
        """True if something that waits for this operation, since before its membership ended, may still be added."""
        slots = self.replica.committee.slots
        for one in self._by_need.get(Wait(body.slot, body.seq), ()):
            slot = slots[one.operation.body.slot]
            if slot.last is None or one.operation.body.seq <= max(slot.last, slot.needed):
                return True
        return False

    def _event_wrong(self, event: SignedEvent) -> Reason | None:
        slots = self.replica.committee.slots
        if event.body.author >= len(slots):
            return Reason.NOT_AUTHOR
        if self.checked(event.name) == event:
            return None
        key = slots[event.body.author].key
        if not self.verify(key, event_bytes(self.data_set, event.raw), event.signature):
            return Reason.SIGNATURE
        return None

    def _duplicate(self, one: _Waiting) -> None:
        body = one.operation.body
        slot = self.replica.committee.slots[body.slot]
        node = slot.chain.get(body.seq)
        held = node.id if node is not None else slot.base.id if body.seq == slot.base.seq else one.id
        if held == one.id:
            return
        if not self.verify(slot.key, operation_bytes(self.data_set, one.operation.raw), one.operation.signature):
            self._refuse(one, Reason.SIGNATURE)
        else:
            self._refuse(one, Reason.FORK, node.operation if node is not None else None)

    def _wait(self, one: _Waiting, need: Wait) -> bool:
        size = len(one.operation.raw)
        full = self._count[one.peer] >= limits.WAITING_PER_PEER
        if full or self._bytes[one.peer] + size > limits.WAITING_BYTES_PER_PEER:
            return self._refuse(one, Reason.BUFFER_FULL)
        self.waiting[one.id] = need
        self._by_need[need].append(one)
        if len(self._missed) < limits.MISSING_REMEMBERED:
            self._missed.setdefault(need, self.now)
        self._count[one.peer] += 1
        self._bytes[one.peer] += size
        return False

    def _refuse(self, one: _Waiting, reason: Reason, proof: Operation | None = None) -> bool:
        self.refused.append(RefusedOperation(one.operation, reason, one.peer, proof))
        return False
