"""State of an engine, and what follows from each change of its replica: rows, reports, our own events."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from sdschat.timber.config import Config
from sdschat.timber.events import (
    Admitted,
    CheckpointMoved,
    Closed,
    Compacted,
    Decided,
    EventSettled,
    Forked,
    MemberChanged,
    Milestone,
    Placed,
    Replaced,
    Report,
    Settled,
)
from sdschat.timber.front import FrontChat
from sdschat.timber.intake import OperationIntake
from sdschat.timber.pending import Agenda, ChangesByPost, Inbox, RefusalCount, TouchedEvents
from sdschat.timber.replica import Replica
from sdschat.timber.rows import DraftRow, OperationRow, OutboxRow, ReplicaTable, RowCollector, compaction_row
from sdschat.timber.states import state_at_compaction
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import (
    CheckpointMark,
    ClockReading,
    Codec,
    Kind,
    Operation,
    Packet,
    PostId,
    Reason,
    Sign,
    SignedEvent,
    SlotRow,
    State,
    Statements,
    Verify,
    event_id,
    member_id,
    operation_bytes,
    operation_id,
)


class Signer:
    """Our key, and the function that signs with its secret part."""

    def __init__(self, key: bytes, sign: Sign) -> None:
        self.key, self.sign = key, sign
        self.member = member_id(key)


@dataclass(slots=True)
class OwnEvent:
    """An event of ours that is not settled."""

    event: SignedEvent
    id: bytes
    lost: bool = False
    attempts: int = 0


MILESTONE = 8  # operations


class EngineState:
    """State with the few operations that keep it, its indexes and the journal consistent."""

    def __init__(self, config: Config, identity: Signer, codec: Codec, verify: Verify, now: ClockReading) -> None:
        self.config, self.identity, self.codec, self.verify = config, identity, codec, verify
        self.mono, self.wall = now.mono, now.wall
        self.data_set = b""
        self.replica = Replica()
        self.intake = OperationIntake(self.replica, b"", verify, self._added)
        self.own: dict[PostId, OwnEvent] = {}
        self.leave: PostId | None = None  # our newest event by which we leave
        self.routing: Agenda[PostId] = Agenda()  # our own events: when each is sent to the next members
        self.inbox = Inbox()
        self.writing: Agenda[PostId] = Agenda()
        self.touched = TouchedEvents()
        self.drafts: dict[int, DraftRow] = {}
        self.last_draft = 0  # the largest number of a draft: none is given twice in one run
        self.numbers: dict[int, int] = {}  # our last event number, by slot
        self.named: list[PostId] = []  # events that came into the tree in this step
        self.where: dict[PostId, TreeNode] = {}  # the first operation in front of the checkpoint with each event
        self.front = FrontChat(self.replica, self.where, self._own_events)
        self.changes = ChangesByPost()  # that are not settled
        self.texts_gone = False  # an operation behind the checkpoint has, or took away, a text that the state has not
        self.told_mark = CheckpointMark(0, b"")
        self.told_silent: set[int] = set()
        self.silent_since: dict[int, int] = {}  # members that are silent by the number of operations
        self.wrote_at = now.mono  # our newest operation
        self.answer_at: int | None = None  # when the first answer after a start is due, if it was not written yet
        self.prepare_at = now.mono  # when we may open a ballot
        self.promise_at: dict[int, int] = {}  # by slot: when we may promise its next ballot
        self.idle_writes = 0  # empty operations of ours since the last one with an event was held
        self.admitted: list[bytes] = []  # member ids of those let in just now
        self.unsent: list[Operation] = []  # our operations since the last push
        self.saved_slots: dict[int, SlotRow] = {}
        self.journal = RowCollector()
        self.packets: list[Packet] = []
        self.events: list[Report] = []
        self.refusals = RefusalCount(now.mono)

    # Data set.

    def start(self, data_set: bytes, replica: Replica) -> None:
        """Use this replica from now on."""
        replica.committee.shut_out = self.replica.committee.shut_out
        self.data_set, self.replica = data_set, replica
        self.intake = OperationIntake(replica, data_set, self.verify, self._added)
        self.intake.checked = self._checked
        self.touched.add_all()
        self._find_events()
        self.front = FrontChat(replica, self.where, self._own_events)
        self.changes = ChangesByPost()
        for node in self.where.values():
            self.changes.add(node.operation.body.event)
        for own in self.own.values():
            self.changes.add(own.event)
        self.find_slot()

    def _find_events(self) -> None:
        self.where.clear()
        for node in self.replica.in_front():
            if node.operation.body.event is not None and not node.dead and not node.settled:
                self.where.setdefault(node.operation.body.event.name, node)

    def _own_events(self) -> list[SignedEvent]:
        return [self.own[name].event for name in sorted(self.own)]

    def find_slot(self) -> None:
        """Note our own open slot."""
        slot = self.replica.committee.slot_of(self.identity.key)
        number = None if slot is None else slot.number
        if number != self.replica.me:
            self.replica.take_slot(number)

    # Operations.

    def receive(self, operation: Operation, peer: bytes, *, own: bool = False) -> None:
        self.intake.now = self.mono
        self.intake.receive(operation, peer, own=own)
        self.absorb()

    def write(self, event: SignedEvent | None, said: Statements) -> Operation:
        """Write an operation of ours."""
        body = self.replica.draft(event, said)
        raw = self.codec.encode_operation(body)
        operation = Operation(body, raw, self.identity.sign(operation_bytes(self.data_set, raw)))
        self.receive(operation, self.identity.member, own=True)
        self.wrote_at, self.answer_at = self.mono, None
        self.idle_writes = 0 if event is not None else self.idle_writes + 1
        self.unsent.append(operation)
        return operation

    def _added(self, node: TreeNode) -> None:
        body = node.operation.body
        self._save(node)
        self._touch_named()
        event, first = body.event, False
        if event is not None and not node.dead:
            name = event.name
            first = self._is_first(node, name)
            if (held := self.where.get(name)) is None or node.label < held.label:
                self.where[name] = node
                self._note_replaced(held)
            self.named.append(name)
            self.front.add(event, node)
            self.touched.add(event)
            self.changes.add(event)
            self.inbox.drop(name)
            self.writing.cancel(name)
            self.routing.cancel(name)
            if (after := self.inbox.held_after(name)) is not None:
                self.writing.set(after, self.mono)
            if body.slot != self.replica.me:
                self.idle_writes = 0
            if first and event.body.kind is Kind.INVITE:
                self.events.append(MemberChanged(-1, member_id(event.body.key), "invited"))
        self.events.append(Placed(node.id, body.slot, body.seq, event and event.body, first, node.after is None))

    def _note_replaced(self, node: TreeNode | None) -> None:
        """Note what reads otherwise where another event has the place of the one of this operation."""
        event = None if node is None else node.operation.body.event
        if event is not None and (posts := self.front.replaced(event)):
            self.events.append(Replaced(posts))

    def _touch_named(self) -> None:
        """Note the events that the writer of the newest operation is known to have now."""
        for slot, before, seq in self.replica.named:
            chain = self.replica.committee.slots[slot].chain
            for one in range(before + 1, seq + 1):
                node = chain.get(one)
                if node is not None and node.operation.body.event is not None:
                    self.touched.add(node.operation.body.event)

    def _is_first(self, node: TreeNode, name: PostId) -> bool:
        """True if no other operation with this event came before this one, which the checkpoint may have passed."""
        if name in self.where:
            return False
        passed = any(isinstance(one, Settled) and one.node is node and one.counts for one in self.replica.changes)
        return passed or not self.replica.chat.knows(name)

    def _checked(self, name: PostId) -> SignedEvent | None:
        """Return an event that is our own, or that we are to write or hold in the tree."""
        if (own := self.own.get(name)) is not None:
            return own.event
        if (event := self.inbox.get(name)) is not None:
            return event
        node = self.where.get(name)
        return None if node is None else node.operation.body.event

    def _save(self, node: TreeNode) -> None:
        body, raw, signature = node.operation
        self.journal.put(OperationRow(body.slot, body.seq, node.arrival, raw, signature))

    def absorb(self) -> None:
        """Take in what followed from new operations."""
        replica = self.replica
        for change in replica.changes:
            if isinstance(change, Settled):
                self._settled(change)
            elif isinstance(change, Admitted):
                slot = replica.committee.slots[change.slot]
                self.events.append(MemberChanged(slot.number, slot.member, "member"))
                self.admitted.append(slot.member)
                self.touched.add_all()
            elif isinstance(change, Closed):
                self._closed(change)
            else:
                need = max(change.agreed.values(), default=0)
                self.events.append(Decided(change.number, change.value, tuple(sorted(change.agreed)), need))
        if replica.changes:
            replica.changes.clear()
            self.find_slot()
        if replica.mark != self.told_mark:
            self.told_mark = replica.mark
            self.events.append(CheckpointMoved(replica.mark))
        for one in self.intake.refused:
            if one.reason is Reason.FORK:
                body = one.operation.body
                self.events.append(Forked(body.slot, body.seq, one.proof, one.operation))
            self.refuse(one.peer, one.reason, f"operation {one.operation.body.slot}:{one.operation.body.seq}")
        self.intake.refused.clear()

    def _settled(self, change: Settled) -> None:
        if change.mark.number % MILESTONE == 0:
            self.events.append(Milestone(change.mark))
        event = change.node.operation.body.event
        if event is None:
            return
        name = event.name
        self.texts_gone |= self.replica.chat.lacks_text_of(event, change.counts)
        if self.where.get(name) is change.node:
            del self.where[name]
        self.front.settled(event)
        self.touched.add(event)
        self.changes.drop(event)
        if name in self.own and self.own[name].event == event:
            self.drop_own(name)
        self.events.append(EventSettled(name, event.body.kind, event.body.target, change.counts))

    def look_for_silence(self) -> None:
        """Note since when members are silent."""
        silent = self.replica.committee.silent(self.replica.held, self.config.rounds)
        if silent or self.silent_since:
            self.silent_since = {one: self.silent_since.get(one, self.mono) for one in silent}

    def spared(self) -> frozenset[int]:
        """Return the members that have been silent for less than a heartbeat: many operations may come in an instant,
        and an answer takes its time."""
        return frozenset(one for one, since in self.silent_since.items() if self.mono < since + self.config.heartbeat)

    def tell_silent(self) -> None:
        """Report the members that have become silent, and those that have spoken again."""
        self.look_for_silence()
        silent = self.silent_since.keys() - self.spared() - {self.replica.me}
        if silent == self.told_silent:
            return
        slots = self.replica.committee.slots
        for number in sorted(silent - self.told_silent):
            self.events.append(MemberChanged(number, slots[number].member, "silent"))
        for number in sorted(self.told_silent - silent):
            if slots[number].last is None:
                self.events.append(MemberChanged(number, slots[number].member, "reinstated"))
        self.told_silent = silent

    def drop_own(self, name: PostId) -> None:
        del self.own[name]
        self.routing.cancel(name)
        self.journal.drop(ReplicaTable.OUTBOX, name)

    def _closed(self, change: Closed) -> None:
        slot = self.replica.committee.slots[change.slot]
        if self.replica.committee.slot_of(slot.key) is None:  # somebody may be let in who is there
            self.events.append(MemberChanged(slot.number, slot.member, "left" if change.why == "left" else "removed"))
        self.touched.add_all()
        if change.lost:
            self._find_events()
            self.front.forget()
        for node in change.lost:
            self._note_replaced(node)
            event = node.operation.body.event
            if event is None or self.known(event.name):
                continue
            if event.name in self.own:
                self.lose(event.name)
            else:
                self.changes.drop(event)

    def lose(self, name: PostId) -> None:
        """Note that an event of ours is to be written again."""
        own = self.own[name]
        own.lost, own.attempts = True, 0
        self.touched.add(own.event)
        self.journal.put(OutboxRow(name, own.event.raw, own.event.signature, True))
        self.routing.set(name, self.mono)

    def add_own(self, event: SignedEvent, *, lost: bool = False) -> None:
        if event.body.kind is Kind.LEAVE:
            self.leave = event.name
        self.own[event.name] = OwnEvent(event, event_id(self.data_set, event.raw), lost)
        self.front.add(event)
        self.touched.add(event)
        self.changes.add(event)

    def known(self, name: PostId) -> bool:
        """True if an event is in the tree, or had its effect."""
        return name in self.replica.front.placed or self.replica.chat.knows(name)

    # Compaction.

    def compact(self) -> bool:
        """Let the state take the place of the operations behind the checkpoint, if nothing forbids it."""
        replica = self.replica
        dropped = replica.compact()
        if not dropped:
            return False
        for node in dropped:
            self.journal.drop(ReplicaTable.OPERATION, (node.operation.body.slot, node.operation.body.seq))
        wipes = self.texts_gone or any(node.dead and node.operation.body.event is not None for node in dropped)
        self.texts_gone = False
        chat = replica.chat
        for name in chat.changed_posts:
            post = chat.posts.get(name)
            if post is None:
                self.journal.drop(ReplicaTable.POST, name)
            else:
                self.journal.put(post)
        self.save_log({node.operation.body.slot for node in dropped})
        self.events.append(Compacted(replica.base, len(dropped), len(chat.posts), wipes))
        return True

    def save_log(self, changed: set[int]) -> None:
        """Write the rows of the state at the compaction, but for posts. `changed`: slots with dropped operations."""
        state = state_at_compaction(self.replica, posts=False)
        assert state is not None
        for author in state.authors:
            if author.slot in self.replica.chat.changed_authors:
                self.journal.put(author)
        self.replica.chat.clean()
        for slot in self.replica.committee.slots:
            saved = self.saved_slots.get(slot.number)
            if slot.number in changed or saved is None or saved.why != slot.why:
                self.saved_slots[slot.number] = slot.row()
                self.journal.put(self.saved_slots[slot.number])
        self.journal.put(compaction_row(self.data_set, state))

    def save_adopted(self, state: State) -> None:
        """Write the rows of a state that was taken over, but for posts."""
        for author in state.authors:
            self.journal.put(author)
        self.saved_slots = {row.number: row for row in state.slots}
        for row in state.slots:
            self.journal.put(row)
        for node in self.replica.in_front():
            self._save(node)
        self.journal.put(compaction_row(self.data_set, state))

    # Peers.

    def digest(self) -> bytes:
        """Return a hash of the members' newest operations: equal for equal sets of operations."""
        slots = self.replica.committee.slots
        return sha256(b"".join(slots[one].id for one in sorted(self.replica.committee.open))).digest()

    def refuse(self, peer: bytes, reason: Reason, detail: str = "") -> None:
        self.refusals.add(peer, reason, detail)

    def node_of(self, operation: Operation) -> TreeNode:
        return TreeNode(operation_id(self.data_set, operation.raw), operation)
