"""One decree of Paxos for each turn, carried in operations.

The electors of a turn are fixed: they are part of the decision that ended the turn before. Nobody who is admitted
meanwhile takes part, and whoever has left is no longer counted, since its last word is known to all who passed its
leave. Statements are a set: adding one again, or in another order of writers, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdschat.timber.committee import Committee
from sdschat.timber.events import Wait
from sdschat.timber.values import Accept, Ballot, OperationBody, Proposal, Reason, Statements, Value, VoteRow

Accepted = tuple[Ballot, Value]


class Turn:
    """The decree of one turn, as far as it is known."""

    def __init__(self, number: int, electors: Iterable[int]) -> None:
        self.number = number
        self.electors = frozenset(electors)
        self.prepared: dict[Ballot, int] = {}  # with the number of operations held then
        self.proposed: dict[Ballot, Proposal] = {}
        self.promised: dict[int, dict[Ballot, Accepted | None]] = {}  # by slot: what it had accepted by then
        self.accepted: dict[int, dict[Ballot, tuple[Value, int]]] = {}  # by slot, with the accepts that it needs

    @property
    def idle(self) -> bool:
        return not (self.prepared or self.proposed or self.promised or self.accepted)

    def add(self, slot: int, said: Statements, held: int) -> None:
        """Take in what an operation of an elector says. `held` is the number of operations held."""
        if slot not in self.electors:
            return
        if said.prepare is not None:
            self.prepared.setdefault(said.prepare, held)
        if said.promise is not None:
            self.promised.setdefault(slot, {}).setdefault(said.promise, self.last_accept(slot))
        if said.propose is not None:
            self.proposed.setdefault(said.propose.ballot, said.propose)
        if said.accept is not None:
            ballot, value, need = said.accept
            self.accepted.setdefault(slot, {}).setdefault(ballot, (value, need))

    def wait_anew(self, held: int) -> None:
        """Count the rounds after which a ballot is tried again from now on, where fewer operations are held than when
        it was prepared: those of a member that has gone count no more. This changes when a ballot begins, and never
        what it may decide."""
        self.prepared = {ballot: min(then, held) for ballot, then in self.prepared.items()}

    def may_say(self, slot: int, said: Statements, clock: Mapping[int, int], least: int) -> bool:
        """Return False if an operation of an elector lies: if it breaks its own promise, or rests on what nobody said.

        `clock` is that of the operation, `least` the smallest number of accepts that can decide. What is true for its
        writer stays true for all who know more, so that nobody refuses an honest one.
        """
        prepare, promise, propose, accept = said
        bound = self.promise(slot)
        if prepare is not None and prepare.number > self.highest().number + 1:
            return False
        if promise is not None:
            if promise <= bound or (promise not in self.prepared and promise != prepare):
                return False
            bound = promise
        if propose is not None and not self._may_propose(propose, bound, least):
            return False
        if accept is None:
            return True
        proposal = propose if propose is not None else self.proposed.get(accept.ballot)
        if proposal is None or (proposal.ballot, proposal.value) != accept[:2]:
            return False
        newer = any(clock.get(one, 0) > last for one, last in accept.value.removed)
        return accept.ballot >= bound and accept.need >= least and (proposal.forced or not newer)

    def _may_propose(self, propose: Proposal, bound: Ballot, least: int) -> bool:
        ballot, value, forced = propose
        if ballot not in self.prepared or ballot < bound or ballot in self.proposed:
            return False
        earlier = any(before < ballot and one == value for before, one in self.supporters())
        return len(self.promisers(ballot, self.electors)) >= least and (earlier or not forced)

    def rows(self) -> tuple[VoteRow, ...]:
        """Return all statements, for `load`."""
        rows = [VoteRow(ballot.slot, prepare=ballot) for ballot in self.prepared]
        rows += [VoteRow(ballot.slot, propose=proposal) for ballot, proposal in self.proposed.items()]
        for slot, promises in self.promised.items():
            rows += [VoteRow(slot, promise=ballot, before=before) for ballot, before in promises.items()]
        for slot, accepts in self.accepted.items():
            rows += [VoteRow(slot, accept=Accept(ballot, *accept)) for ballot, accept in accepts.items()]
        return tuple(sorted(rows, key=repr))

    def load(self, rows: Iterable[VoteRow], held: int) -> None:
        for row in rows:
            if row.promise is not None:
                self.promised.setdefault(row.slot, {}).setdefault(row.promise, row.before)
            said = Statements(row.prepare, None, row.propose, row.accept)
            self.add(row.slot, said, held)

    def last_accept(self, slot: int) -> Accepted | None:
        accepts = self.accepted.get(slot)
        if not accepts:
            return None
        ballot = max(accepts)
        return ballot, accepts[ballot][0]

    def promise(self, slot: int) -> Ballot:
        """Return the highest ballot that `slot` has promised or accepted."""
        ballots = [*self.promised.get(slot, ()), *self.accepted.get(slot, ())]
        return max(ballots, default=Ballot(0, -1))

    def highest(self) -> Ballot:
        ballots = [*self.prepared, *self.proposed, *(self.promise(slot) for slot in self.electors)]
        return max(ballots, default=Ballot(0, -1))

    def supporters(self) -> dict[Accepted, dict[int, int]]:
        """Return who accepted what, with the accepts that each needs."""
        found: dict[Accepted, dict[int, int]] = {}
        for slot, accepts in self.accepted.items():
            for ballot, (value, need) in accepts.items():
                found.setdefault((ballot, value), {})[slot] = need
        return found

    def decided(self) -> Value | None:
        """Return the value that is decided: some of its accepts are as many as the largest number that they need."""
        for (_, value), needs in sorted(self.supporters().items()):
            if _enough(needs.values()):
                return value
        return None

    def agreed(self, decided: Value) -> dict[int, int]:
        """Return who accepted the value that is decided, each with the accepts that it needs."""
        found = (needs for (_, value), needs in sorted(self.supporters().items()) if value == decided)
        return next((needs for needs in found if _enough(needs.values())), {})

    def needs_removed(self, decided: Value) -> bool:
        """True if a value is decided only by the word of members that it removes."""
        gone = {slot for slot, _ in decided.removed}
        for (_, value), needs in self.supporters().items():
            if value == decided and _enough(need for slot, need in needs.items() if slot not in gone):
                return False
        return True

    def may_remove_before(self, slot: int, seq: int) -> bool:
        """True if somebody accepted a value by which `(slot, seq)` would not count."""
        for accepts in self.accepted.values():
            for value, _ in accepts.values():
                if any(one == slot and last < seq for one, last in value.removed):
                    return True
        return False

    def open_values(self) -> bool:
        return bool(self.accepted or self.proposed)

    def promisers(self, ballot: Ballot, voters: frozenset[int]) -> frozenset[int]:
        return frozenset(slot for slot in voters if ballot in self.promised.get(slot, ()))

    def least(self, committee: Committee) -> int:
        """Return the smallest number of accepts that can decide, whoever counts them: of the electors, some may be
        known to have left."""
        leaving = sum(committee.slots[one].leaving is not None for one in self.electors)
        return max(1, (len(self.electors) - leaving) // 2 + 1)

    def forced(self, ballot: Ballot, voters: frozenset[int], least: int) -> Accepted | None:
        """Return the value that `ballot` must propose, with the highest earlier ballot in which one may have been
        decided. `least` is the smallest number of accepts that can decide."""
        for (earlier, value), needs in sorted(self.supporters().items(), reverse=True):
            if earlier >= ballot:
                continue
            silent = {slot for slot in voters if slot not in needs and self.promise(slot) <= earlier}
            if len(needs) + len(silent) >= least:
                return earlier, value
        return None

    def contradicts(self, proposal: Proposal, voters: frozenset[int], least: int) -> bool:
        """True if another value may have been decided, and in a later ballot than the one from which a proposal has
        its value: an honest proposer, who has the promises of a quorum, would have known it."""
        must = self.forced(proposal.ballot, voters, least)
        if must is None or must[1] == proposal.value:
            return False
        before = (one for one, value in self.supporters() if value == proposal.value and one < proposal.ballot)
        return max(before, default=Ballot(0, -1)) < must[0]


def check_statements(turn: Turn, committee: Committee, body: OperationBody) -> Wait | Reason | None:
    """Return the operation to wait for before what an elector says on a ballot, or a reason to refuse it."""
    said, slots = body.statements, committee.slots
    if said.propose is not None:
        value = said.propose.value
        newest = max((*(one for one, _ in value.removed), *value.electors), default=0)
        if newest >= len(slots):
            return Wait(newest, 0)
        if not _is_sound(value, turn.electors, committee):
            return Reason.BALLOT
    clock = {**slots[body.slot].clock, **dict(body.delta), body.slot: body.seq}
    return None if turn.may_say(body.slot, said, clock, turn.least(committee)) else Reason.BALLOT


def _is_sound(value: Value, electors: frozenset[int], committee: Committee) -> bool:
    """True if a value leaves more than half of the electors, takes the vote from nobody but those it removes, and gives
    it to nobody who was removed."""
    gone, slots = {one for one, _ in value.removed}, committee.slots
    stay = (electors & committee.open) - gone
    voters = gone.isdisjoint(value.electors) and all(slots[one].why != "removed" for one in value.electors)
    return gone <= electors and 2 * len(gone) < len(electors) and voters and stay.issubset(value.electors)


def _enough(needs: Iterable[int]) -> bool:
    return any(count >= need for count, need in enumerate(sorted(needs), 1))
