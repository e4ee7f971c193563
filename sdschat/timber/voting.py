"""Rules of a voter: what its next operation says on the ballots of its turn."""

from __future__ import annotations

from sdschat.timber.replica import Replica
from sdschat.timber.values import Accept, Ballot, Proposal, Statements, Value

RETRY_ROUNDS = 2  # a ballot that gets nowhere in so many rounds is tried again with a higher number


def wanted_value(replica: Replica, rounds: int, spared: frozenset[int]) -> Value | None:
    """Return the value that we would propose freely, or None if nothing has to be decided.

    `spared` members are silent by the number of operations alone, and not for long enough yet. The electors must be the
    committee before anybody is removed, and more than half of it must remain.
    """
    members = tuple(sorted(replica.committee.open))
    if frozenset(members) != replica.voters():
        return Value((), members)
    silent = [one for one in replica.committee.silent(replica.held, rounds) if one != replica.me and one not in spared]
    if silent and 2 * (len(members) - len(silent)) > len(members):
        removed = tuple((one, replica.committee.slots[one].seq) for one in silent)
        return Value(removed, tuple(one for one in members if one not in silent))
    return Value((), members) if replica.turn.open_values() else None


def newer_held(replica: Replica, value: Value) -> bool:
    """True if an operation is held here that contradicts a removal, or if the removal is our own."""
    return any(one == replica.me or replica.committee.slots[one].seq > last for one, last in value.removed)


def may_accept(replica: Replica, proposal: Proposal) -> bool:
    """True if we may accept a proposal, as far as it is known here: its proposer may lie."""
    if not proposal.forced and newer_held(replica, proposal.value):
        return False
    return not replica.turn.contradicts(proposal, replica.voters(), replica.turn.least(replica.committee))


def statements(
    replica: Replica, rounds: int, spared: frozenset[int] = frozenset(), put_off: frozenset[int] = frozenset()
) -> Statements:
    """Return what we have to say. Nothing where all is said. Nothing is promised to those who are `put_off`."""
    me, turn = replica.me, replica.turn
    voters = replica.voters()
    if me is None or me not in voters or replica.committee.slots[me].leaving is not None:
        return Statements()
    if (
        turn.idle
        and voters == replica.committee.open
        and spared.issuperset(replica.committee.silent(replica.held, rounds))
    ):
        return Statements()
    promised = turn.promise(me)
    last = turn.last_accept(me)
    mine = max((one for one in turn.prepared if one.slot == me), default=None)
    highest = max((one for one in turn.prepared if one.slot not in put_off), default=promised)
    promise = highest if highest > promised else None
    promised = max(promised, highest)
    accept = None
    for ballot, proposal in sorted(turn.proposed.items()):
        better = ballot >= promised and (last is None or ballot > last[0])
        if better and may_accept(replica, proposal):
            accept, promised = Accept(ballot, proposal.value, replica.need()), ballot
    if promise is not None or accept is not None:
        return Statements(promise=promise, accept=accept)
    if mine is not None and mine == promised and mine not in turn.proposed:
        proposal_now = _proposal(replica, mine, voters, rounds, spared)
        if proposal_now is not None:
            own = None
            if proposal_now.forced or not newer_held(replica, proposal_now.value):
                own = Accept(mine, proposal_now.value, replica.need())
            return Statements(propose=proposal_now, accept=own)
    if _should_prepare(replica, mine, voters, rounds, spared):
        ballot = Ballot(max(turn.highest(), promised).number + 1, me)
        return Statements(prepare=ballot, promise=ballot)
    return Statements()


def _proposal(
    replica: Replica, ballot: Ballot, voters: frozenset[int], rounds: int, spared: frozenset[int]
) -> Proposal | None:
    turn = replica.turn
    if len(turn.promisers(ballot, voters)) < replica.need():
        return None
    forced = turn.forced(ballot, voters, replica.turn.least(replica.committee))
    if forced is not None:
        return Proposal(ballot, forced[1], True)
    free = wanted_value(replica, rounds, spared)
    return Proposal(ballot, free if free is not None else Value((), tuple(sorted(replica.committee.open))), False)


def _should_prepare(
    replica: Replica, mine: Ballot | None, voters: frozenset[int], rounds: int, spared: frozenset[int]
) -> bool:
    """True if it is for us to open a ballot: we have the lowest number of the voters that are not silent."""
    if wanted_value(replica, rounds, spared) is None:
        return False
    silent = set(replica.committee.silent(replica.held, rounds)) - spared
    able = [one for one in voters if one not in silent and replica.committee.slots[one].leaving is None]
    if replica.me != min([*able, replica.me or 0]):
        return False
    turn = replica.turn
    if mine is None:
        return True
    waited = replica.held - turn.prepared[mine]
    if mine == turn.highest():
        return waited >= RETRY_ROUNDS * len(replica.committee.open) and waited > 0
    return True
