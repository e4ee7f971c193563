"""Two ballots of one turn, made at the same time by two electors about a member who comes back."""

from __future__ import annotations

from collections.abc import Sequence

from sdschat.timber.values import Ballot, Statements
from tests.timber.world import Participant


def _propose(one: Participant, *electors: Participant) -> Ballot:
    """Prepare a ballot, take in the promises of these electors, and write what follows from them."""
    turn, me = one.replica.turn, one.replica.me
    assert me is not None
    ballot = Ballot(turn.highest().number + 1, me)
    one.write(said=Statements(prepare=ballot, promise=ballot))
    for elector in electors:
        elector.take_from(one)
        elector.write()
        one.take_from(elector)
    one.write()
    return ballot


def race(five: Sequence[Participant]) -> bool:
    """ann proposes to remove eve, who comes back; bob, cas and dan decide on a later ballot that she stays.

    Who knows which ballot first is so that two values are decided, if an elector accepts an earlier ballot than it has
    promised. Random steps hardly ever come to this. Return False if others propose something else, so that it cannot be
    played to the end: a planted defect is to be found by a rule, not by that.
    """
    ann, bob, cas, dan, eve = five
    four = [ann, bob, cas, dan]
    for _ in range(8):  # eve is silent
        for one in four[1:]:
            one.write(said=Statements())
            for other in four:
                if other is not one:
                    other.take_from(one)
    first = _propose(ann, bob, cas)
    proposed = ann.replica.turn.proposed.get(first)
    if proposed is None or [slot for slot, _ in proposed.value.removed] != [eve.replica.me]:
        return False
    for one in (bob, cas, dan):
        eve.take_from(one)
    eve.write()
    bob.take_from(eve)
    later = _propose(bob, cas, dan)
    proposed = bob.replica.turn.proposed.get(later)
    if proposed is None or proposed.value.removed:
        return False
    for one in (cas, dan):
        one.take_from(bob)
    cas.write()
    dan.write()
    for one in (bob, cas):  # each knows of two accepts for the later ballot, and hears of the earlier one
        one.take_from(ann)
        one.write()
        one.write()
    ann.take_from(bob)
    ann.take_from(cas)
    dan.take_from(cas)
    return True
