"""A part of the random runs: what must be shown of Timber, at every step of every run."""

from __future__ import annotations

from collections import Counter

import pytest

from sdschat.timber import states
from sdschat.timber.replica import Replica
from tests.timber.runs import outcome


@pytest.mark.parametrize("first", [0, 40])
def test_random_runs(first: int) -> None:
    """T-006: "Each operation holds a reference to the last one, kind of like a linked list." defect
    `parents_are_not_checked_and_chosen_by_age`.

    T-007: "When you add an operation you always append to the most "recent" item." to the last item of the whole
    history that its clock names.

    T-011: "Merging with other peers is as simple as a union between two sets of operations." everything follows from
    the set: equal sets have equal outcomes.

    T-013: "if you throw away the old ones, how will you know if you've seen them before?" numbers of events that had
    their effect are kept as spans; defect `events_count_twice`.

    T-014: "That shared point in history is the checkpoint, and any operations before it can be replaced with the state
    they produce." one operation at a time; defect `majority_is_enough`.

    T-015: "we can use the clock to establish the lower bound." the lowest clock of all members.

    T-017: "Given the same tree, everyone sees the same clock."

    T-018: "Lower: 5, Upper: 7" a clock names the newest operation of each member; the lower bound is taken for each
    writer.

    T-019: "Establishing that global lower bound assumes our clock captures everyone." newcomers count from their
    invitation on; defect `newcomers_do_not_count`.

    T-028: "Waiting for acknowledgement ensures everyone has time to update their vector clocks, which prevents the
    premature compaction problem." defect `newcomers_start_with_all`.

    T-035: "The eviction phase is a period of suspended compaction." only what the ballot would remove is held back;
    defect `no_stop_rule`.

    T-043: "Any operation that doesn't include an endorsement is considered an acknowledgement of silence." differs:
    only an accept is one.

    T-047: "if the peer is evicted, those pending updates can safely be purged." they have no effect, and stay as empty
    places while others hang below them; defect `lost_operations_count`.

    T-058: "If you get a duplicate operation signed by another member, keep the one with the more similar member ID."
    differs: the first in the history counts.
    """
    facts: Counter[str] = Counter()
    for seed in range(first, first + 40):
        problem, found = outcome(seed)
        assert problem == "", f"seed {seed}"
        facts += found
    assert facts["removed"] > 0
    assert facts["settled"] > 1000


@pytest.mark.parametrize("seed", [100015, 102029, 106387, 108149])
def test_a_removal_after_a_leave_ends_the_membership_where_the_leave_does(seed: int) -> None:
    """One replica passes the leave, another learns first that the leaver was removed at a later operation."""
    problem, _ = outcome(seed)
    assert problem == ""


@pytest.mark.parametrize("seed", [100301, 107789])
def test_somebody_let_in_again_after_a_leave_gets_the_state(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody compacts before the newcomer has shown that it knows of the leave; its invitation comes after it.

    Here no newcomer gets a state before the compaction: that would let it show so, if its invitation did not.
    """
    monkeypatch.setattr(states, "_only_newcomers_wait", lambda replica, member: False)
    problem, _ = outcome(seed)
    assert problem == ""


def test_who_came_to_a_leave_by_the_last_words_of_the_leaver_names_them() -> None:
    """Others cannot see the end of that membership without them, and would refuse what knows of it."""
    problem, _ = outcome(408453)
    assert problem == ""


@pytest.mark.parametrize("seed", [417232, 418224])
def test_last_words_that_the_checkpoint_does_not_rest_on_are_not_named(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leaver, once it is back, holds some that no other has: others have compacted what these hang below.

    Here newcomers may name last words: those in these runs would otherwise name none at all.
    """

    def take_slot(replica: Replica, number: int | None) -> None:
        replica.me = number
        replica.fresh = {slot.number for slot in replica.committee.slots if slot.number != number}

    monkeypatch.setattr(Replica, "take_slot", take_slot)
    problem, _ = outcome(seed)
    assert problem == ""


@pytest.mark.parametrize("seed", [245, 104198, 109058])
def test_somebody_let_in_again_names_no_more_of_its_old_operations_than_others_did(seed: int) -> None:
    """It holds some that prove its removal to it alone; others compact as soon as its invitation is settled."""
    problem, _ = outcome(seed)
    assert problem == ""


def test_a_ballot_does_not_wait_for_as_many_operations_as_the_leavers_wrote() -> None:
    """Four of six leave while one that stays has accepted the removal of the other, who is heard."""
    problem, _ = outcome(3004429)
    assert problem == ""


@pytest.mark.parametrize("first", [0, 20])
def test_members_who_leave_often(first: int) -> None:
    """Groups of three to five, where most who leave are let in again."""
    found = [outcome(seed, restless=True) for seed in range(first, first + 20)]
    assert [problem for problem, _ in found if problem] == []
    assert sum(facts["left"] for _, facts in found) > 0


def test_what_waits_when_a_membership_ends_gets_what_it_waits_for() -> None:
    """It names an operation that does not count any more since then."""
    problem, _ = outcome(6013452, restless=True)
    assert problem == ""


def test_whoever_comes_back_to_a_channel_of_two_gets_a_state() -> None:
    """The other one names operations that the newcomer has to name before anything is compacted."""
    problem, _ = outcome(4092882)
    assert problem == ""


def test_whoever_is_outside_gets_states_alone() -> None:
    """Some of them are ahead of the compaction of their giver."""
    found = [outcome(seed, by_state=True) for seed in range(40)]
    assert [problem for problem, _ in found if problem] == []
    assert sum(facts["states ahead"] for _, facts in found) > 10


def test_fifty_members() -> None:
    """All are members from the start; partitions move often, and nearly half of them crash for good."""
    problem, facts = outcome(1, members=50)
    assert not problem
    assert facts["slots"] >= 50
    assert facts["removed"] > 0
