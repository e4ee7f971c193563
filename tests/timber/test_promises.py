"""Two ballots of one turn that could both be decided, if an elector accepted an earlier one than it has promised."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from sdschat.timber.values import Ballot, Statements
from tests.timber import defects
from tests.timber.runs import Broken, Judge, Run
from tests.timber.world import Participant


def _prepare(one: Participant) -> Ballot:
    turn, me = one.replica.turn, one.replica.me
    assert me is not None
    ballot = Ballot(turn.highest().number + 1, me)
    one.write(said=Statements(prepare=ballot, promise=ballot))
    return ballot


def _seed_of_five() -> int:
    return next(seed for seed in range(100) if (run := Run(seed)).count == 5 and run.stormy)


def _race() -> list[Participant]:
    """ann proposes to remove eve, who comes back; bob, cas and dan decide on a later ballot that she stays."""
    run = Run(_seed_of_five())
    run._gather()
    ann, bob, cas, dan, eve = run.all
    four = [ann, bob, cas, dan]
    for _ in range(8):  # eve is silent
        for one in four[1:]:
            one.write(said=Statements())
            for other in four:
                if other is not one:
                    other.take_from(one)
    first = _prepare(ann)
    for one in (bob, cas):
        one.take_from(ann)
        one.write()
        ann.take_from(one)
    ann.write()
    proposed = ann.replica.turn.proposed[first]
    assert [slot for slot, _ in proposed.value.removed] == [eve.replica.me]
    for one in (bob, cas, dan):
        eve.take_from(one)
    eve.write()
    bob.take_from(eve)
    later = _prepare(bob)
    for one in (cas, dan):
        one.take_from(bob)
        one.write()
        bob.take_from(one)
    bob.write()
    assert bob.replica.turn.proposed[later].value.removed == ()
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
    return run.all


def _agree(planted: Callable[[], Any]) -> bool:
    with planted():
        judge = Judge()
        try:
            everybody = _race()
            for _ in range(6):
                for one in everybody:
                    for other in everybody:
                        if other is not one:
                            other.take_from(one)
                            judge.look(other)
                    one.write()
        except Broken:
            return False
    return True


def test_an_elector_accepts_no_earlier_ballot_than_it_has_promised() -> None:
    """T-034: "It would open a race condition where contributors could reach two different states" one decree of Paxos a
    turn.

    T-040: "Each member only gets one vote: acknowledge silence or submit an endorsement." an elector accepts one value
    a ballot.

    T-044: "If you receive an update that exonerates a supposedly inactive peer but you've already declared silence, you
    aren't allowed to write an endorsement." an accept is not taken back; the next ballot leaves the member out.
    """
    assert _agree(contextlib.nullcontext)


def test_without_that_rule_two_values_are_decided() -> None:
    """T-034: "It would open a race condition where contributors could reach two different states"

    T-048: "Endorsements and eviction phases work around the race condition by explicitly representing both cases in the
    protocol." ballots of one turn are all in the operations; defects `one_accept_decides` and `promises_are_not_kept`.
    """
    assert not _agree(defects.promises_are_not_kept)
