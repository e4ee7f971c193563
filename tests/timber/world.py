"""Replicas of one data set without a network: what one holds is handed to another, in part or as a whole."""

from __future__ import annotations

import random
from collections.abc import Callable
from hashlib import sha256

from sdschat.timber.events import Settled
from sdschat.timber.intake import OperationIntake
from sdschat.timber.replica import Replica
from sdschat.timber.state_check import is_signed
from sdschat.timber.states import state_for
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import (
    EventBody,
    Kind,
    Operation,
    OperationBody,
    PostId,
    SignedEvent,
    Statements,
    event_bytes,
    member_id,
    operation_bytes,
    operation_id,
)
from sdschat.timber.voting import statements
from sdschat.wire.timber_codec import TimberCodec

CODEC = TimberCodec()


class Broken(AssertionError):
    """A rule does not hold."""


def key_of(name: int) -> bytes:
    return sha256(b"key %d" % name).digest()


def sign_with(key: bytes) -> Callable[[bytes], bytes]:
    """Return a stand-in for signing: whoever knows the key can check it, and the tests forge nothing by it."""
    return lambda message: sha256(b"signed" + key + message).digest() * 2


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    return signature == sha256(b"signed" + key + message).digest() * 2


def signed_event(data_set: bytes, key: bytes, body: EventBody) -> SignedEvent:
    raw = CODEC.encode_event(body)
    return SignedEvent(body, raw, sign_with(key)(event_bytes(data_set, raw)))


def signed_operation(data_set: bytes, key: bytes, body: OperationBody) -> Operation:
    raw = CODEC.encode_operation(body)
    return Operation(body, raw, sign_with(key)(operation_bytes(data_set, raw)))


def genesis(key: bytes, nonce: int = 0) -> tuple[bytes, Operation]:
    event = signed_event(b"", key, EventBody(Kind.GENESIS, 0, 1, text=str(nonce), key=key))
    operation = signed_operation(b"", key, OperationBody(0, 1, b"", (), sha256().digest(), 0, 0, event))
    return operation_id(b"", operation.raw), operation


class Participant:
    """A replica with the key of its owner."""

    def __init__(self, name: int, data_set: bytes, first: Operation, rounds: int = 2) -> None:
        self.name, self.key, self.data_set, self.rounds = name, key_of(name), data_set, rounds
        self.replica = Replica()
        self.intake = OperationIntake(self.replica, data_set, verify, lambda node: None)
        self.replica.found(TreeNode(data_set, first), first.body.event.body.key if first.body.event else b"")
        self.prefix: list[bytes] = []  # ids behind the checkpoint
        self.counted: list[PostId] = []  # events that had their effect, in order
        self.number = 1  # of the next event
        self.slot_then = -1
        self.look()

    def may_adopt(self, other: Participant) -> bool:
        """True if a member would give its state to somebody who would take it, by the rules of the engine."""
        mine, theirs, member = self.replica, other.replica, member_id(self.key)
        slots = theirs.committee.slots
        entitled = any(slot.member == member for slot in slots)
        open_slot = theirs.committee.member(member)
        ahead = theirs.mark.number > mine.mark.number and len(slots) >= len(mine.committee.slots)
        return entitled and ahead and (open_slot is None or not open_slot.seq)

    def adopt(self, other: Participant, *, compact: bool = True) -> None:
        """Start again from the state of `other`."""
        if compact:
            other.replica.compact()
        state = state_for(other.replica, member_id(self.key))
        if state is None:
            return
        again = CODEC.decode_state(CODEC.encode_state(state))
        assert again == state
        self.replica = Replica()
        nodes = [TreeNode(operation_id(self.data_set, one.raw), one) for one in state.operations]
        slots = self.replica.committee.slots
        self.replica.load(state, nodes, lambda node, key: is_signed(node.operation, key, slots, self.data_set, verify))
        self.intake = OperationIntake(self.replica, self.data_set, verify, lambda node: None)
        self.prefix = list(other.prefix)
        self.counted = list(other.counted)
        self.look()

    def look(self) -> None:
        replica = self.replica
        slot = replica.committee.slot_of(self.key)
        now = None if slot is None else slot.number
        if now is not None and now != self.slot_then:
            self.slot_then, self.number = now, 2 if now == 0 else 1
        if now != replica.me:
            replica.take_slot(now)
        for change in replica.changes:
            if isinstance(change, Settled):
                self.prefix.append(change.node.id)
                if change.counts and change.node.operation.body.event is not None:
                    self.counted.append(change.node.operation.body.event.name)
        replica.changes.clear()
        for accepts in replica.turn.accepted.values():
            for value, _ in accepts.values():
                if any(replica.settled_seq.get(one, 0) > last for one, last in value.removed):
                    raise Broken("what a ballot may remove was settled")

    def write(self, event: SignedEvent | None = None, said: Statements | None = None) -> Operation | None:
        replica = self.replica
        if replica.me is None:
            return None
        if replica.committee.slots[replica.me].leaving is not None:
            event, said = None, Statements()
        if said is None:
            said = statements(replica, self.rounds)
        operation = signed_operation(self.data_set, self.key, replica.draft(event, said))
        self.receive(operation)
        return operation

    def event(self, kind: Kind, text: str = "", key: bytes = b"", target: PostId | None = None) -> SignedEvent | None:
        if self.replica.me is None:
            return None
        life = self.replica.committee.lives.get(key, 0)
        body = EventBody(kind, self.replica.me, self.number, 0, text, target, key, life)
        self.number += 1
        return signed_event(self.data_set, self.key, body)

    def receive(self, operation: Operation) -> None:
        self.intake.receive(operation)
        self.look()

    def lacks(self, other: Participant) -> list[Operation]:
        """Return what `other` holds and this one does not, oldest first."""
        mine = self.replica.clock()
        found: list[TreeNode] = []
        for slot in other.replica.committee.slots:
            known = mine.get(slot.number, 0)
            found += [node for seq, node in slot.chain.items() if seq > known]
        return [node.operation for node in sorted(found, key=lambda node: node.arrival)]

    def take_from(self, other: Participant, rng: random.Random | None = None) -> None:
        mine = self.replica.clock()
        if any(mine.get(slot.number, 0) < slot.settled for slot in other.replica.committee.slots):
            self.adopt(other)
        lacking = self.lacks(other)
        if rng is not None and lacking and rng.random() < 0.3:
            lacking = lacking[: rng.randint(1, len(lacking))]
        for operation in lacking:
            self.receive(operation)
        if self.intake.waiting:
            for operation in self.lacks(other):
                self.receive(operation)
