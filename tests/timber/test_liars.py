"""Members that lie on ballots: others refuse what breaks a promise, or rests on what nobody said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sdschat.timber.values import Accept, Ballot, Kind, OperationBody, Proposal, Reason, Statements, Value
from tests.timber.defects import nobody_checks
from tests.timber.runs import Judge
from tests.timber.world import Participant, genesis, key_of, signed_operation


def gathered(count: int) -> list[Participant]:
    """Return members who are all electors."""
    data_set, first = genesis(key_of(0))
    everybody = [Participant(number, data_set, first) for number in range(count)]
    for number in range(1, count):
        everybody[0].write(everybody[0].event(Kind.INVITE, key=key_of(number)))
    for _ in range(count + 3):
        exchange(everybody)
    assert everybody[0].replica.turn.electors == frozenset(range(count))
    return everybody


def exchange(everybody: list[Participant]) -> None:
    for one in everybody:
        one.write()
        share(one, *everybody)


def share(one: Participant, *others: Participant) -> None:
    for other in others:
        if other is not one:
            other.take_from(one)


def lie(liar: Participant, **said: object) -> OperationBody:
    """Let a member write what it may not say: it takes its own operation in, whatever it says."""
    with nobody_checks():
        operation = liar.write(said=Statements(**said))  # type: ignore[arg-type]
    assert operation is not None
    return operation.body


def refusals(one: Participant) -> set[Reason]:
    return {refused.reason for refused in one.intake.refused}


def alone(liar: Participant) -> tuple[Ballot, Value]:
    """Return a ballot of a member, and a value by which it would be the only elector."""
    assert liar.replica.me is not None
    return Ballot(liar.replica.turn.highest().number + 1, liar.replica.me), Value((), (liar.replica.me,))


def without_promises(liar: Participant, others: list[Participant]) -> None:
    ballot, value = alone(liar)
    lie(liar, prepare=ballot, promise=ballot)
    lie(liar, propose=Proposal(ballot, value, False), accept=Accept(ballot, value, 1))


def promised(liar: Participant, others: list[Participant]) -> Ballot:
    """Let all others promise a ballot of the liar."""
    ballot, _ = alone(liar)
    liar.write(said=Statements(prepare=ballot, promise=ballot))
    for one in others:
        one.take_from(liar)
        one.write()
        liar.take_from(one)
    return ballot


def by_one_accept(liar: Participant, others: list[Participant]) -> None:
    ballot = promised(liar, others)
    value = Value(((0, liar.replica.committee.slots[0].seq),), (1, 2, 3, 4))
    lie(liar, propose=Proposal(ballot, value, False), accept=Accept(ballot, value, 1))


def only_elector(liar: Participant, others: list[Participant]) -> None:
    ballot, (_, value) = promised(liar, others), alone(liar)
    lie(liar, propose=Proposal(ballot, value, False))


def half_of_them(liar: Participant, others: list[Participant]) -> None:
    ballot = promised(liar, others)
    removed = tuple((one, liar.replica.committee.slots[one].seq) for one in (0, 1, 2))
    lie(liar, propose=Proposal(ballot, Value(removed, (3, 4)), False))


def forced_by_nothing(liar: Participant, others: list[Participant]) -> None:
    ballot = promised(liar, others)
    lie(liar, propose=Proposal(ballot, Value(((0, 1),), (1, 2, 3, 4)), True))


def largest_ballot(liar: Participant, others: list[Participant]) -> None:
    assert liar.replica.me is not None
    ballot = Ballot(2**32 - 2, liar.replica.me)
    lie(liar, prepare=ballot, promise=ballot)


def accept_of_nothing(liar: Participant, others: list[Participant]) -> None:
    ballot, value = alone(liar)
    lie(liar, accept=Accept(ballot, value, 3))


def promise_of_nothing(liar: Participant, others: list[Participant]) -> None:
    lie(liar, promise=Ballot(7, 1))


LIES = (
    without_promises,
    by_one_accept,
    only_elector,
    half_of_them,
    forced_by_nothing,
    largest_ballot,
    accept_of_nothing,
    promise_of_nothing,
)


@pytest.mark.parametrize("told", LIES)
def test_a_lie_on_a_ballot_is_refused_by_everybody(told: Callable[[Participant, list[Participant]], None]) -> None:
    *others, liar = gathered(5)
    turn = others[0].replica.turn.number
    told(liar, others)
    share(liar, *others)
    assert all(refusals(one) == {Reason.BALLOT} for one in others)
    for one in others:
        one.intake.refused.clear()
    for _ in range(30):
        exchange(others)
    for one in others:
        assert one.replica.committee.open == {0, 1, 2, 3}, "the liar is silent for them, and nobody else was removed"
        assert one.replica.turn.number == turn + 1
        assert one.replica.next() is None or one.replica.mark.number > 50, "checkpoints go on"


def test_a_value_with_members_that_nobody_knows_waits() -> None:
    *others, liar = gathered(4)
    ballot = promised(liar, others)
    value = Value(((99, 1),), (0, 1, 2))
    lie(liar, propose=Proposal(ballot, value, False))
    with pytest.raises(IndexError):
        liar.write()
    share(liar, *others)
    exchange(others)
    assert all(len(one.intake.waiting) == 1 for one in others)


def test_a_promise_is_not_broken_by_a_later_operation() -> None:
    """One of three accepts a later ballot and then an earlier one: each has a majority with it."""
    ann, bob, liar = gathered(3)
    first, second = Ballot(1, 0), Ballot(2, 1)
    ann.write(said=Statements(prepare=first, promise=first))
    share(ann, bob, liar)
    bob.write(said=Statements(prepare=second, promise=second))
    liar.take_from(bob)
    liar.write()
    assert liar.replica.turn.promise(2) == second
    lie(liar, promise=first)
    ann.take_from(bob)
    ann.take_from(liar)
    assert refusals(ann) == {Reason.BALLOT}
    assert ann.replica.turn.promisers(first, frozenset({0, 1, 2})) == {0}


def test_an_elector_does_not_accept_what_contradicts_a_value_that_may_be_decided() -> None:
    """Ann and the liar decide that nobody is removed. Then the liar proposes to carl, who has not heard from ann since,
    that she be removed."""
    ann, carl, liar = gathered(3)
    ballot = promised(liar, [ann])
    nobody, removed = Value((), (0, 1, 2)), Value(((0, ann.replica.committee.slots[0].seq),), (1, 2))
    liar.write(said=Statements(propose=Proposal(ballot, nobody, False), accept=Accept(ballot, nobody, 2)))
    carl.take_from(liar)
    ann.take_from(liar)
    ann.write()
    assert ann.replica.turn.number == liar.replica.turn.number + 1, "decided for ann"
    later = promised(liar, [carl])
    assert carl.replica.turn.promise(1) == later
    lie(liar, propose=Proposal(later, removed, False), accept=Accept(later, removed, 2))
    carl.take_from(liar)
    carl.intake.refused.clear()
    carl.write()
    assert not any(value == removed for _, value in carl.replica.turn.supporters() if carl.replica.turn.accepted.get(1))
    for one in (carl, liar):
        ann.take_from(one)
    carl.take_from(ann)
    for one in (ann, carl):
        assert one.replica.committee.open == {0, 1, 2}


def test_whoever_left_is_not_counted_by_an_elector_that_starts_again() -> None:
    """A value that the fewer who are left may have decided is forced, though the leave is compacted: two were decided
    where the proposer had started from its rows since."""
    everybody = gathered(6)
    *five, leaver = everybody
    leaver.write(leaver.event(Kind.LEAVE))
    for _ in range(4):
        exchange(everybody)
    ann, bob, cas, dan, eve = five
    assert ann.replica.voters() == {0, 1, 2, 3, 4}
    assert ann.replica.turn.electors == {0, 1, 2, 3, 4, 5}
    dan.adopt(dan)
    assert dan.replica.turn.least(dan.replica.committee) == 3
    four = [ann, bob, cas, dan]
    for _ in range(8):  # eve is silent
        for one in four[1:]:
            one.write(said=Statements())
            share(one, *four)
    ballot = promised(ann, [bob, cas])
    ann.write()
    assert [slot for slot, _ in ann.replica.turn.proposed[ballot].value.removed] == [4]
    share(ann, bob, cas)
    bob.write()
    cas.write()
    ann.take_from(bob)
    ann.take_from(cas)
    assert 4 not in ann.replica.committee.open, "decided by ann, bob and cas"
    eve.take_from(cas)
    dan.take_from(cas)
    later = promised(dan, [cas, eve])
    dan.write()
    assert dan.replica.turn.proposed[later].forced
    judge = Judge()
    for _ in range(4):
        for one in five:
            share(one, *five)
            judge.look(one)
        exchange(five)
    assert dan.replica.committee.open == ann.replica.committee.open


def test_only_what_was_signed_by_its_writer_counts() -> None:
    """A ballot of a turn that is over, said again in the next one by somebody else, is no vote."""
    *others, liar = gathered(4)
    before = others[0].replica.turn
    ballot = promised(liar, others)
    value = Value((), (0, 1, 2, 3))
    liar.write(said=Statements(propose=Proposal(ballot, value, False), accept=Accept(ballot, value, 3)))
    share(liar, *others)
    exchange([*others, liar])
    assert others[0].replica.turn.number == before.number + 1
    body = lie(liar, accept=Accept(ballot, value, 3))
    share(liar, *others)
    assert body.turn == others[0].replica.turn.number
    assert refusals(others[0]) == {Reason.BALLOT}
    old = signed_operation(liar.data_set, liar.key, body._replace(turn=before.number))
    others[1].intake.refused.clear()
    others[1].receive(old)
    assert others[1].replica.turn.idle, "of a turn that is over, nothing is said any more"


def test_a_ballot_is_tried_again_two_rounds_after_others_have_left() -> None:
    """Ann accepted that dan be removed, who then wrote. Two leave, and their operations count no more: the checkpoint
    waited until as many others were written."""
    ann, bob, cas, dan = everybody = gathered(4)
    for _ in range(12):
        for one in (bob, cas):
            one.write(said=Statements())
            share(one, ann, bob, cas)
    ballot = promised(ann, [bob, cas])
    for one in (bob, cas):
        one.write(one.event(Kind.LEAVE))
        share(one, ann, bob, cas)
    ann.write()
    assert {slot for slot, _ in ann.replica.turn.proposed[ballot].value.removed} == {3}
    share(ann, dan)
    dan.write()
    newest = dan.replica.committee.slots[3].seq
    for _ in range(3):
        exchange(everybody)
    assert ann.replica.committee.open == {0, 3}
    assert ann.replica.settled_seq[3] < newest, "the accept holds what it would remove"
    for _ in range(4):
        exchange([ann, dan])
    for one in (ann, dan):
        assert one.replica.settled_seq[3] >= newest, "decided: dan stays"
