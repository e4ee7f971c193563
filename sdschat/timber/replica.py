"""One replica of the operation log: the tree, the committee, the ballots and the checkpoint.

Everything here follows from the set of operations that are held, whatever the order in which they came. The checkpoint
never goes back: what it passes, every set that contains this one passes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from sdschat.timber.ballots import Turn, check_statements
from sdschat.timber.chat import Chat, FrontEvents, Posts, SavedPosts
from sdschat.timber.committee import Committee, Slot, SlotState
from sdschat.timber.events import Admitted, Change, Closed, Settled, TurnEnded, Wait
from sdschat.timber.tree import Tree, TreeNode
from sdschat.timber.values import (
    CheckpointMark,
    Kind,
    Operation,
    OperationBody,
    Reason,
    SignedEvent,
    State,
    Statements,
    Value,
    chained,
    checksum,
)

_label = attrgetter("label")


class Replica:
    """`add` takes operations in; `changes` collects what follows from them."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.committee = Committee()
        self.chat = Chat()
        self.turn = Turn(0, ())
        self.mark = CheckpointMark(0, b"")  # the checkpoint
        self.base = CheckpointMark(0, b"")  # the compaction, at or before it
        self.settled: TreeNode | None = None  # the last operation behind the checkpoint
        self.settled_seq: dict[int, int] = {}  # by slot, behind the checkpoint
        self.ends_passed = 0  # memberships that whoever has this checkpoint knows to have ended
        self.leaves_passed = 0
        self.ends_told = 0  # of these, as told by operations behind the checkpoint
        self.proven: set[int] = set()  # slots that have a `proof`
        self.front = FrontEvents()
        self.held = 0  # operations of open slots
        self.me: int | None = None  # our own open slot
        self.fresh: set[int] = set()  # slots with operations that our newest one does not name
        self.arrivals = 0
        self.named: tuple[tuple[int, int, int], ...] = ()  # by the newest operation: slot, and seq before and now
        self.namers: list[tuple[int, int]] = []  # operations that name some that do not count
        self.changes: list[Change] = []

    # Operations.

    def found(self, node: TreeNode, key: bytes) -> None:
        """Take in the first operation of all."""
        self.committee.admit(key, SlotState(0, b"", {}, 0, 0))
        self.turn = Turn(0, (0,))
        self.tree.plant(node)
        self._enter(node, self.committee.slots[0])
        self._advance()

    def check(self, operation: Operation) -> Wait | Reason | None:
        """Return the operation to wait for, or a reason to refuse this one, or None if it can be added.

        The next number of its slot, and neither signature nor place are looked at here.
        """
        body = operation.body
        found = self.committee.check(body, self.turn.number)
        voting = any(body.statements) and body.turn == self.turn.number and body.slot in self.turn.electors
        return check_statements(self.turn, self.committee, body) if found is None and voting else found

    def place(self, operation: Operation) -> TreeNode | Reason:
        """Return the parent of an operation that passed `check`: the last item of the history that its clock names."""
        body = operation.body
        slot = self.committee.slots[body.slot]
        named = [slot.chain.get(slot.seq), *(self.committee.slots[o].chain.get(q) for o, q in body.delta)]
        ids = [slot.id, *(self.committee.slots[o].id_of(q) for o, q in body.delta)]
        # Ids from before the compaction are gone; whoever started from a state takes the word of its giver for them.
        if None not in ids and checksum(one for one in ids if one is not None) != body.checksum:
            return Reason.CHECKSUM
        here = [node for node in named if node is not None]
        if not slot.seq:
            # A newcomer knows the prefix that admitted it, though its clock does not say so again.
            here += [
                node for o, q in slot.base.clock.items() if (node := self.committee.slots[o].chain.get(q)) is not None
            ]
        last = max(here, key=_label, default=self.tree.first)
        if last is None or last.id != body.parent:
            return Reason.PARENT
        return last

    def add(self, node: TreeNode, parent: TreeNode) -> None:
        """Put an operation into the tree, and find what follows from it."""
        slot = self.committee.slots[node.operation.body.slot]
        self.tree.add(node, parent)
        self._enter(node, slot)
        self._advance()

    def clock(self) -> dict[int, int]:
        """Return what is held: the newest operation of every slot."""
        return {slot.number: slot.seq for slot in self.committee.slots if slot.seq}

    def take_slot(self, number: int | None) -> None:
        """Write with this slot from now on; None: with no slot.

        Whoever knows a slot that was never used has passed its invitation, and all leaves before it. So its first
        operation names no last words of leavers, which the others may not hold, and have compacted around.
        """
        self.me = number
        self.fresh = {slot.number for slot in self.committee.slots if slot.number != number}
        if number is not None and not self.committee.slots[number].seq:
            for one in sorted(self.proven):
                slot = self.committee.slots[one]
                if slot.why == "left" and slot.last is not None and self.settled_seq.get(one, 0) >= slot.last:
                    slot.proof = 0
                    self.proven.discard(one)

    def draft(self, event: SignedEvent | None, statements: Statements) -> OperationBody:
        """Return our next operation: behind the last item of all that is held here and named by it.

        Of somebody who is no longer a member we name what members have named, and nothing else: only members that did
        not know of the end may bring such operations in, so that all of them are there once all members know.
        """
        assert self.me is not None
        slots = self.committee.slots
        mine = slots[self.me]
        news = self._unnamed(mine)
        delta = tuple((one, seq) for one, seq, _ in news)
        ids = [mine.id, *(known for _, _, known in news)]
        parent = self.tree.last
        while parent is not None and parent.dead and parent.before is not None:
            body = parent.operation.body
            if body.seq <= self.committee.nameable(slots[body.slot]):
                break
            parent = parent.before
        assert parent is not None
        turn, ended = self.turn.number, self.committee.ended
        return OperationBody(self.me, mine.seq + 1, parent.id, delta, checksum(ids), turn, ended, event, statements)

    def _unnamed(self, mine: Slot) -> list[tuple[int, int, bytes]]:
        """Return the slot, number and id of each operation that our next one names anew."""
        slots = self.committee.slots
        named = [(one, self.committee.nameable(slots[one])) for one in sorted(self.fresh)]
        found = ((one, seq, slots[one].id_of(seq)) for one, seq in named if seq > mine.clock.get(one, 0))
        return [(one, seq, known) for one, seq, known in found if known is not None]

    def compact(self) -> list[TreeNode]:
        """Drop the operations behind the checkpoint, and return them.

        Operations of somebody who is no longer a member may still be named by members that do not know of it, and
        hang anywhere. So nothing is dropped until all members have shown that they know, and that they hold what
        names such operations.
        """
        if self.settled is None or self.settled.released:
            return []
        if any(self.committee.slots[one].closed < self.committee.ended for one in self.committee.open):
            return []
        self.namers = [(slot, seq) for slot, seq in self.namers if not self.committee.named_by_all(slot, seq)]
        if self.namers:
            return []
        dropped = [node for node in self.tree.drop_through(self.settled) if not node.released]
        withered = self.committee.compact(dropped)
        for node in withered:
            self.tree.remove(node)
        self.base = self.mark
        self.settled.release()
        return [*dropped, *withered]

    def in_front(self, last: TreeNode | None = None) -> Iterator[TreeNode]:
        """Yield the items behind `last` in linear order, or behind the first one: all that a compaction left."""
        nodes = self.tree.walk(last)
        next(nodes, None)
        return nodes

    def load(
        self,
        state: State,
        operations: Iterable[TreeNode],
        may_enter: Callable[[TreeNode, bytes], bool],
        saved: SavedPosts | None = None,
    ) -> None:
        """Start from a state and operations in front of it, oldest first. Raise ValueError if they do not fit together.

        `may_enter` is asked with the writer's key before an operation is taken in. `saved` has posts of the state.
        """
        self.committee.load(state.slots)
        for row in state.slots:
            self.held += row.seq if row.last is None else 0
            settled = row.seq if row.last is None else min(row.seq, row.last)
            if settled:  # a clock has no entry for somebody of whom no operation counts
                self.settled_seq[row.number] = settled
        self.chat = Chat(Posts(state.posts, saved), ((row.slot, row.done) for row in state.authors))
        left = [row for row in state.slots if row.why == "left"]
        self.leaves_passed = sum(row.last is not None and row.seq >= row.last for row in left)
        self.ends_told = max(*(row.closed for row in state.slots), 0)
        self.ends_passed = max(self.leaves_passed, self.ends_told)
        self.turn = Turn(state.turn, state.electors)
        self.turn.load(state.votes, self.held)
        self.mark = self.base = state.mark
        self.arrivals = state.mark.number
        self.fresh = {slot.number for slot in self.committee.slots}
        edge = TreeNode(state.newest, Operation(OperationBody(0, 0, b"", (), b"", 0, 0), b"", b""))
        edge.settled = edge.released = True
        self.tree.plant(edge)
        self.settled = edge
        nodes = list(operations)
        by_name = {(node.operation.body.slot, node.operation.body.seq): node for node in nodes}
        if not all(name in by_name for name in state.order):
            raise ValueError("an operation of the state is missing")
        listed = [by_name[name] for name in state.order]
        self.tree.restore(listed)
        placed = set(state.order)
        for node in nodes:
            body = node.operation.body
            if body.slot >= len(self.committee.slots):
                raise ValueError("an operation of the state is of no member")
            slot = self.committee.slots[body.slot]
            counts = slot.last is None or body.seq <= slot.last  # of the others, some are compacted
            if body.seq <= slot.seq or (counts and body.seq != slot.seq + 1):
                raise ValueError("operations of the state are out of order")
            if not may_enter(node, slot.key):
                raise ValueError("an operation of the state is not signed by its writer")
            if (body.slot, body.seq) not in placed:
                parent = self.tree.nodes.get(body.parent)
                if parent is None:
                    raise ValueError("an operation hangs below nothing")
                self.tree.add(node, parent)
            self._enter(node, slot)
            self._advance()

    # What follows.

    def _enter(self, node: TreeNode, slot: Slot) -> None:
        body = node.operation.body
        self.arrivals += 1
        node.arrival = self.arrivals
        slots = self.committee.slots
        self.named = tuple((one, max(slot.clock.get(one, 0), slots[one].base.seq), seq) for one, seq in body.delta)
        slot.advance(node, self.committee.open)
        if body.slot == self.me:  # it may come from a copy of this profile, which did not know all that we do
            self.fresh = {one for one, _, _ in self._unnamed(slot)}
        else:
            self.fresh.add(body.slot)
        if slot.last is not None and body.seq > slot.last:
            node.dead = True
            return
        self.held += slot.last is None
        if self.committee.ended and self.committee.names_uncounted(body.delta):
            self.namers.append((body.slot, body.seq))
        if body.turn == self.turn.number:
            self.turn.add(body.slot, body.statements, self.held)
        if body.event is not None:
            self.front.add(node, body.event)
            if body.event.body.kind is Kind.LEAVE and body.event.body.author == slot.number:
                slot.leaving = body.seq

    def _advance(self) -> None:
        """Take decisions, and move the checkpoint one operation at a time."""
        while True:
            value = self.turn.decided()
            if value is not None:
                self._decide(value)
                continue
            node = self.next()
            if node is None or not self._passable(node):
                return
            self._pass(node)

    def next(self) -> TreeNode | None:
        """Return the first item in front of the checkpoint that counts."""
        node = self.tree.first if self.settled is None else self.settled.after
        while node is not None and node.dead:
            node = node.after
        return node

    def _passable(self, node: TreeNode) -> bool:
        body = node.operation.body
        return self.committee.named_by_all(body.slot, body.seq) and not self.turn.may_remove_before(body.slot, body.seq)

    def _pass(self, node: TreeNode) -> None:
        body = node.operation.body
        node.settled = True
        self.settled = node
        self.settled_seq[body.slot] = body.seq
        self.ends_told = max(self.ends_told, body.closed)
        self.ends_passed = max(self.ends_passed, body.closed)
        self.mark = CheckpointMark(self.mark.number + 1, chained(self.mark.hash, node.id))
        if node is self.front.newest:
            self.front.newest = None
        event = body.event
        counts = False
        if event is not None:
            self.front.drop(event)
            counts = event.body.author < len(self.committee.slots) and not self.chat.knows(event.name)
        self.changes.append(Settled(node, counts, self.mark))
        if counts and event is not None:
            self.chat.note(event.name)
            self._effect(event, body.slot, body.seq)
        if self.proven and self.ends_told >= self.committee.ended:
            # Whoever comes to this checkpoint has what all ends rest on, so that none has to be proven any more.
            for number in self.proven:
                self.committee.slots[number].proof = 0
            self.proven.clear()

    def _effect(self, event: SignedEvent, writer: int, seq: int) -> None:
        body = event.body
        if body.kind is Kind.INVITE:
            if self.committee.may_admit(body.key, body.life):
                held = dict(self.settled_seq)
                slot = self.committee.admit(body.key, SlotState(0, b"", held, 0, self.ends_passed))
                self.changes.append(Admitted(slot.number))
        elif body.kind is Kind.LEAVE:
            slot = self.committee.slots[writer]
            if body.author == writer:
                self.leaves_passed += 1
                self.ends_passed = max(self.ends_passed, self.leaves_passed)
            if body.author == writer and slot.last is None:
                self._prove(slot, self._words_needed(slot, seq))  # others lack them, and we came here by them
                self._close(slot, seq, "left")
        else:
            self.chat.apply(body, self.mark.number, self.committee.same_person)

    def _close(self, slot: Slot, last: int, why: str) -> None:
        lost = [node for seq, node in sorted(slot.chain.items()) if seq > last]
        self.held -= slot.seq
        self.turn.wait_anew(self.held)
        self.committee.close(slot, last, why)
        for node in lost:
            node.dead = True
            if node.operation.body.event is not None:
                self.front.drop(node.operation.body.event)
        if lost:
            self.front.find_newest(self.next())
            bodies = (node.operation.body for node in self.tree.walk() if not node.dead and not node.released)
            self.namers += [(body.slot, body.seq) for body in bodies if self.committee.names_uncounted(body.delta)]
        self.changes.append(Closed(slot.number, last, why, tuple(lost)))
        if why == "left" and not self.voters():  # the last words of all electors are known, and decide nothing
            self._end_turn(None, self.committee.open)

    def _prove(self, slot: Slot, proof: int) -> None:
        """Name what this member said up to `proof`, until everybody knows of its end: what follows here rests on it.
        Nothing beyond is named: it may be here alone, as with the member itself once it is back."""
        if proof:
            slot.proof = proof
            self.proven.add(slot.number)

    def _words_needed(self, slot: Slot, last: int) -> int:
        """Return the newest operation after the leave by which the member named something behind the checkpoint."""
        known, needed = dict(slot.base.clock), 0
        for seq, node in sorted(slot.chain.items()):
            delta = node.operation.body.delta
            if seq > last and any(known.get(one, 0) < self.settled_seq.get(one, 0) for one, _ in delta):
                needed = seq
            known.update(delta)
        return needed

    def _accepting(self, slot: Slot, value: Value) -> int:
        """Return the member's newest operation with an accept of a value."""
        for seq, node in sorted(slot.chain.items(), reverse=True):
            accept = node.operation.body.statements.accept
            if accept is not None and accept.value == value:
                return seq
        return 0

    def _decide(self, value: Value) -> None:
        by_their_word = self.turn.needs_removed(value)
        self._end_turn(value, value.electors)
        for number, last in value.removed:
            slot = self.committee.slots[number]
            if slot.last is None:
                if by_their_word:
                    self._prove(slot, self._accepting(slot, value))
                if slot.leaving is not None and slot.leaving <= last:
                    self._close(slot, slot.leaving, "left")  # as where the checkpoint passes the leave first
                else:
                    self._close(slot, last, "removed")
        if not self.voters():
            self._end_turn(None, self.committee.open)

    def _end_turn(self, value: Value | None, electors: Iterable[int]) -> None:
        agreed = {} if value is None else self.turn.agreed(value)
        self.changes.append(TurnEnded(self.turn.number, value, agreed))
        self.turn = Turn(self.turn.number + 1, electors)

    # Questions.

    def voters(self) -> frozenset[int]:
        """Return the electors that have not left, as far as the checkpoint tells."""
        return frozenset(one for one in self.turn.electors if self.committee.slots[one].why != "left")

    def need(self) -> int:
        """Return how many accepts decide: more than half of the voters."""
        return len(self.voters()) // 2 + 1
