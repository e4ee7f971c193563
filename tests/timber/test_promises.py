"""Two ballots of one turn that could both be decided, if an elector accepted an earlier one than it has promised."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tests.timber import defects
from tests.timber.race import race
from tests.timber.runs import Judge, Run
from tests.timber.world import Broken, Participant


def _seed_of_five() -> int:
    return next(seed for seed in range(100) if (run := Run(seed)).count == 5 and run.stormy)


def _race() -> list[Participant]:
    run = Run(_seed_of_five())
    run._gather()
    assert race(run.all)
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
