"""One decree of Paxos for each turn, carried in operations.

The electors of a turn are fixed: they are part of the decision that ended the turn before. Nobody who is admitted
meanwhile takes part, and whoever has left is no longer counted, since its last word is known to all who passed its
leave. Statements are a set: adding one again, or in another order of writers, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.timber.values import Accept, Ballot, Proposal, Statements, Value, VoteRow

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

    def forced(self, ballot: Ballot, voters: frozenset[int], least: int) -> Value | None:
        """Return the value that the proposer of `ballot` must propose: that of the highest earlier ballot in which one
        may have been decided. `least` is the smallest number of accepts that can decide."""
        for (earlier, value), needs in sorted(self.supporters().items(), reverse=True):
            if earlier >= ballot:
                continue
            silent = {slot for slot in voters if slot not in needs and self.promise(slot) <= earlier}
            if len(needs) + len(silent) >= least:
                return value
        return None


def _enough(needs: Iterable[int]) -> bool:
    return any(count >= need for count, need in enumerate(sorted(needs), 1))
