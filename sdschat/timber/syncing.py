"""Synchronization of two replicas, and the state for those who are behind it.

Prose and design compare running hashes of the history. Here a clock names a set of operations exactly, since chains
have no gaps, so two clocks tell what each lacks, whatever the length of the history. The hashes at intervals are for
the one thing that clocks cannot see: that two sets of equal clocks differ, because somebody signed two operations of
one number.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from sdschat.timber import limits
from sdschat.timber.core import EngineState
from sdschat.timber.events import Founded, StateAdopted
from sdschat.timber.pages import DOUBLINGS, StateGiver, StateTaker, goes_on_from
from sdschat.timber.replica import Replica
from sdschat.timber.state_check import check_own_numbers, check_state, is_signed
from sdschat.timber.taking_over import take_over
from sdschat.timber.values import (
    CheckpointMark,
    Operation,
    Packet,
    Reason,
    Refusal,
    State,
    StatePage,
    StateWanted,
    Sync,
    SyncFinished,
    interval_for,
    member_id,
    running_hashes,
)


class SentBefore(NamedTuple):
    """Operations that a peer was sent, and did not take: they were lost, or it refuses them."""

    lacked: dict[int, int]  # the most that it had of each slot
    times: int  # in a row
    again_at: int


class Syncing:
    """Synchronization with all peers: nothing in it must survive a stop."""

    def __init__(self, core: EngineState) -> None:
        self.core = core
        self.assumed: dict[bytes, tuple[int, dict[int, int]]] = {}  # sent to a peer, and until when it is on its way
        self.before: dict[bytes, SentBefore] = {}
        self.bases: dict[bytes, tuple[int, CheckpointMark]] = {}  # what peers said last that they compacted, and when
        # Peers that hold other operations than we do: when they are told again, and how often they were.
        self.shown: dict[bytes, tuple[int, int]] = {}
        self.answered: dict[bytes, tuple[int, int]] = {}  # peers: until when no more is said, and what was held then
        self.giver = StateGiver(core)
        self.taker = StateTaker(core)
        self.next_at = core.mono
        self.turn = 0
        self.contacts: tuple[bytes, ...] = ()  # whom a newcomer asks

    # Sending.

    def push(self) -> None:
        """Send our new operations to everybody."""
        core = self.core
        new, core.unsent = tuple(core.unsent), []
        if not new:
            return
        clock = {operation.body.slot: operation.body.seq for operation in new}
        for operations in limits.in_packets(new):
            message = self._sync(operations)
            for peer in self.audience():
                self._send(peer, message)
        for peer in self.audience():
            self._assume(peer, clock)

    def audience(self) -> list[bytes]:
        """Return the ids of the members and the invited, without our own."""
        committee = self.core.replica.committee
        found = {committee.slots[one].member for one in committee.open}
        return sorted((found | self._invited()) - {self.core.identity.member})

    def _invited(self) -> set[bytes]:
        """Return the ids of the invited: as many as honest members invite at once, whatever others did."""
        keys = itertools.islice(self.core.replica.front.invitations, limits.MAX_INVITATIONS)
        return {member_id(key) for key in keys}

    def begin(self) -> None:
        """Synchronize with the next peer in turn, when it is time."""
        core = self.core
        if core.mono < self.next_at:
            return
        self.next_at = core.mono + core.config.sync_interval
        self.taker.expire()
        if core.replica.tree.first is None:
            if not self.taker.ask_again():
                for peer in self.contacts:  # who answers is asked
                    self._say_clock(peer)
            return
        peers = self.audience() or list(self.contacts)
        if peers:
            self.turn += 1
            self._say_clock(peers[self.turn % len(peers)])

    def greet(self, peer: bytes) -> None:
        """Send a peer our clock. Where we have no state yet, it is asked for one once it answers: strangers get no
        answer, and who is asked in vain lets others go first."""
        if peer in (self.contacts if self.core.replica.tree.first is None else self.audience()):
            self._say_clock(peer)

    def welcome(self) -> None:
        """Tell those who have just been let in that there is a state for them now."""
        core = self.core
        for member in core.admitted:
            if member != core.identity.member:
                self._say_clock(member)
        core.admitted.clear()

    def _say_clock(self, peer: bytes) -> None:
        """Send our clock, without operations."""
        self._send(peer, self._sync(()))

    def _send(self, peer: bytes, sync: Sync) -> None:
        """Send a peer a part of a synchronization. Where we are behind it, it may answer with a page of its state."""
        self.taker.asked.add(peer)
        self.core.packets.append(Packet(peer, sync))

    def _sync(self, operations: tuple[Operation, ...], interval: int = 0) -> Sync:
        core = self.core
        hashes: tuple[bytes, ...] = ()
        if interval:
            hashes = running_hashes((node.id for node in core.replica.in_front()), interval)
        clock = tuple(sorted(core.replica.clock().items()))
        return Sync(core.replica.base, clock, core.digest(), operations, interval if hashes else 0, hashes)

    def _assume(self, peer: bytes, clock: dict[int, int]) -> None:
        until, known = self.assumed.get(peer, (0, {}))
        if until < self.core.mono:
            known = {}
        self.assumed[peer] = (self.core.mono + self.core.config.retry // 4, {**known, **clock})

    # Receiving.

    def receive_sync(self, peer: bytes, sync: Sync) -> None:
        core, replica = self.core, self.core.replica
        if not self._admissible(peer):
            core.refuse(peer, Reason.STRANGER, "sync")
            return
        if replica.tree.first is None:
            # An answer, or the word that we are let in; what is pushed says neither. Another newcomer has no clock.
            if sync.clock and not sync.operations:
                self.taker.ask(peer)
            return
        _, known = self.bases.get(peer, (0, sync.base))
        if sync.base.number >= known.number:  # or it is an old packet, which anybody may send again
            self.bases[peer] = core.mono, sync.base
        before = replica.arrivals
        refused = core.refusals.by_reason[Reason.CHECKSUM]
        for operation in sync.operations:
            core.receive(operation, peer)
        others = self._others(sync.operations)
        if core.refusals.by_reason[Reason.CHECKSUM] > refused:
            others += [one for operation in sync.operations for one in self._named(operation)]
        self._show(peer, others)
        if not goes_on_from(replica, sync.base) and not self._stands():
            self.taker.ask(peer)
        theirs = dict(sync.clock)
        if self._behind(theirs):
            self._offer(peer, nothing=not theirs)
            return
        lacking = self._lacking(peer, theirs)
        more = any(slot.last is None and theirs.get(slot.number, 0) > slot.seq for slot in replica.committee.slots)
        more = more or any(slot >= len(replica.committee.slots) for slot in theirs)
        if lacking:
            if self._may_send(peer, theirs, lacking):
                self._send(peer, self._sync(lacking))
                self._assume(peer, {operation.body.slot: operation.body.seq for operation in lacking})
        elif more:
            if replica.arrivals > before or (not sync.operations and self._may_answer(peer)):
                self._say_clock(peer)
        elif all(theirs.get(one, 0) == replica.committee.slots[one].seq for one in replica.committee.open):
            self.before.pop(peer, None)
            self._compare(peer, sync)

    def _may_send(self, peer: bytes, theirs: dict[int, int], lacking: tuple[Operation, ...]) -> bool:
        """True if it is time to send a peer what it lacks. Where it took nothing since the last time, it may refuse
        all of it, as do two sides who hold different operations of one number: then the time doubles."""
        mono = self.core.mono
        before = self.before.get(peer, SentBefore({}, 0, mono))
        slots = {operation.body.slot for operation in lacking}
        took = any(theirs.get(slot, 0) > had for slot, had in before.lacked.items())
        if not took and mono < before.again_at:
            return False
        times = 0 if took else before.times
        lacked = {slot: max(theirs.get(slot, 0), before.lacked.get(slot, 0)) for slot in slots | before.lacked.keys()}
        wait = self.core.config.retry // 4 << min(times, DOUBLINGS)
        self.before[peer] = SentBefore(lacked, times + 1, mono + wait)
        return True

    def _may_answer(self, peer: bytes) -> bool:
        """True if something came since we answered this peer, or that was a while ago. Otherwise both would go on."""
        core = self.core
        until, arrivals = self.answered.get(peer, (core.mono, -1))
        if core.mono < until and arrivals == core.replica.arrivals:
            return False
        self.answered[peer] = (core.mono + core.config.retry // 4, core.replica.arrivals)
        return True

    def _compare(self, peer: bytes, sync: Sync) -> None:
        """Finish with a peer whose clocks equal ours, or find the operations of one number that differ."""
        core = self.core
        if sync.digest == core.digest():
            if self._may_answer(peer):
                core.packets.append(Packet(peer, SyncFinished(sync.digest)))
            return
        if sync.operations or not (self._may_show(peer) if sync.hashes else self._may_answer(peer)):
            return
        items = list(core.replica.in_front())
        if not sync.hashes:
            self._send(peer, self._sync((), interval_for(len(items))))
            return
        ours = running_hashes((node.id for node in items), sync.interval)
        # Where one has compacted more than the other, the first hashes differ, and what is left of the history is sent.
        pairs = zip(ours, sync.hashes, strict=False)
        first = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(ours), len(sync.hashes)))
        self._show(peer, [node.operation for node in items[first * sync.interval :]])

    def _show(self, peer: bytes, operations: list[Operation]) -> None:
        """Send operations that the peer may hold others in the place of: once in a while, or both would go on. What
        exceeds one packet is sent part by part, the next one each time."""
        if operations and self._may_show(peer):
            parts = list(limits.in_packets(operations))
            _, times = self.shown.get(peer, (0, 0))
            self.shown[peer] = self.core.mono + self.core.config.sync_interval, times + 1
            self._send(peer, self._sync(parts[times % len(parts)]))

    def _may_show(self, peer: bytes) -> bool:
        again_at, _ = self.shown.get(peer, (self.core.mono, 0))
        return again_at <= self.core.mono

    def _others(self, operations: tuple[Operation, ...]) -> list[Operation]:
        """Return what we hold in the place of these operations: whoever signed both may be the peer, and not know it,
        as where its profile was restored."""
        slots = self.core.replica.committee.slots
        names = ((one.body.slot, one.body.seq, one.raw) for one in operations if one.body.slot < len(slots))
        held = ((slots[slot].chain.get(seq), raw) for slot, seq, raw in names)
        return [node.operation for node, raw in held if node is not None and node.operation.raw != raw]

    def _named(self, operation: Operation) -> list[Operation]:
        slots = self.core.replica.committee.slots
        named = [slots[slot].chain.get(seq) for slot, seq in operation.body.delta if slot < len(slots)]
        return [node.operation for node in named if node is not None]

    def _admissible(self, peer: bytes) -> bool:
        core = self.core
        if core.replica.tree.first is None:
            return peer in self.contacts
        return peer in self.contacts or self.knows(peer)

    def knows(self, peer: bytes) -> bool:
        """True if a peer is, or was, a member, or is invited."""
        return self._entitled(peer) or peer in self._invited()

    def _entitled(self, peer: bytes) -> bool:
        """True if a peer is, or was, a member. The invited get no state: they would need another one when they are let
        in, since the others go on without their word until then."""
        return any(slot.member == peer for slot in self.core.replica.committee.slots)

    def _behind(self, theirs: dict[int, int]) -> bool:
        """True if a peer lacks operations that were compacted."""
        return any(theirs.get(slot.number, 0) < slot.settled for slot in self.core.replica.committee.slots)

    def _lacking(self, peer: bytes, theirs: dict[int, int]) -> tuple[Operation, ...]:
        """Return operations that a peer lacks, oldest first: as many as one packet takes.

        Those that no longer count go along, since others may hang below them, but are nothing to send by themselves.
        """
        until, assumed = self.assumed.get(peer, (0, {}))
        if until < self.core.mono:
            assumed = {}
        lacking = []
        for slot in self.core.replica.committee.slots:
            known = max(theirs.get(slot.number, 0), assumed.get(slot.number, 0), slot.base.seq)
            last = min(slot.seq, known + limits.SEND_AT_ONCE)
            lacking += [node for seq in range(known + 1, last + 1) if (node := slot.chain.get(seq)) is not None]
        nodes = sorted(lacking, key=lambda node: node.arrival)
        first = next(limits.in_packets(node.operation for node in nodes), ())
        return () if all(node.dead for node in nodes[: len(first)]) else first

    # States.

    def _offer(self, peer: bytes, *, nothing: bool) -> None:
        """Send the first page of our state to somebody who is not a member, or has not written yet. A member that
        seems to be behind was only slow to say so. Who has nothing asks one of us, when we say that we are here."""
        slot = self.core.replica.committee.member(peer)
        if not self._entitled(peer):
            return
        if nothing:
            if self._may_answer(peer):
                self._say_clock(peer)
        elif slot is None or not slot.seq:
            self.giver.offer(peer)

    def receive_wanted(self, peer: bytes, wanted: StateWanted) -> None:
        core = self.core
        if not self._admissible(peer) or core.replica.tree.first is None:
            core.refuse(peer, Reason.STRANGER, "state")
            return
        if self._entitled(peer):
            self.giver.answer(peer, wanted)

    def receive_page(self, peer: bytes, page: StatePage) -> None:
        core = self.core
        if not self._admissible(peer):
            core.refuse(peer, Reason.STRANGER, "state")
            return
        if page.page == 0 and self._stands():
            core.refuse(peer, Reason.OTHER_STATE, "we are a member")
            return
        raw = self.taker.take(peer, page)
        if raw is None:
            return
        state = core.codec.decode_state(raw)
        if isinstance(state, State) and state.mark != page.mark:
            state = Refusal(Reason.OTHER_STATE, "of another checkpoint than its pages say")
        if isinstance(state, Refusal):
            core.refuse(peer, state.reason, state.detail)
            self.taker.failed(peer)
        elif not self.adopt(peer, state):
            self.taker.failed(peer)

    def _stands(self) -> bool:
        """True if we cannot have been removed: too few electors are left to decide it, without those that went on from
        what we hold and accepted nothing in this turn.

        One of them may lie, and give a state by which we were removed; whoever was removed soon hears of operations
        that it lacks. Of members that said nothing for some rounds of synchronizations nothing is known. Who accepted
        a removal may have decided it without hearing so, and be removed by the next one.
        """
        core, replica = self.core, self.core.replica
        slot = None if replica.me is None else replica.committee.slots[replica.me]
        if slot is None or not slot.seq or slot.leaving is not None:  # who leaves has asked for it
            return False
        since = core.mono - 2 * core.config.sync_interval * len(replica.committee.open)
        others = [one for one in replica.voters() if one in replica.turn.accepted or not self._went_on(one, since)]
        return len(others) < replica.turn.least(replica.committee)

    def _went_on(self, slot: int, since: int) -> bool:
        """True for us, and for a member that said since then that its checkpoint is in the history that we hold."""
        replica = self.core.replica
        heard, base = self.bases.get(replica.committee.slots[slot].member, (since - 1, replica.mark))
        return slot == replica.me or (heard >= since and goes_on_from(replica, base))

    def adopt(self, peer: bytes, state: State) -> bool:
        """Let a peer's state take the place of ours, if it can. A member in good standing is never behind one."""
        core = self.core
        old = core.replica
        if old.tree.first is not None:
            slots = old.committee.slots
            same = all(row.key == slot.key for row, slot in zip(state.slots, slots, strict=False))
            key = core.identity.key
            pairs = zip(state.slots, slots, strict=False)
            ours = any(slot.key == key and slot.seq > 0 and row.last is None for row, slot in pairs)
            if not same or len(state.slots) < len(slots) or ours or self._stands():
                core.refuse(peer, Reason.OTHER_STATE, "not of this data set, or we are a member in it")
                return False
        replica = Replica()
        try:
            check_state(state)
            check_own_numbers(state, core.identity.key)
            replica.load(
                state,
                [core.node_of(operation) for operation in state.operations],
                lambda node, key: is_signed(node.operation, key, replica.committee.slots, core.data_set, core.verify),
            )
        except (ValueError, IndexError):
            core.refuse(peer, Reason.OTHER_STATE, "does not fit together")
            return False
        first = old.tree.first is None
        reworded = take_over(core, replica, state)
        if first:
            core.events.append(Founded(core.data_set))
        again = sum(not core.known(name) for name in core.own)
        mine = [slot for slot in replica.committee.slots if slot.member == core.identity.member]
        returned = any(slot.seq and slot.why != "left" for slot in mine)
        core.events.append(StateAdopted(state.mark, peer, again, returned, reworded))
        self._say_clock(peer)  # what was written since the state was made
        return True
