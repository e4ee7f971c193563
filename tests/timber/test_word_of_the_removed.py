"""A removal that is decided only with the accept of the member that it removes: whoever relied on that names it."""

from __future__ import annotations

from sdschat.timber.values import Accept, Ballot, Kind, Operation, Proposal, Statements, Value
from tests.timber.test_leaving import exchange
from tests.timber.world import Participant, genesis, key_of

SILENT = 50  # rounds: nobody is found silent by counting


def five_members() -> list[Participant]:
    data_set, first = genesis(key_of(0), 0)
    five = [Participant(number, data_set, first, rounds=SILENT) for number in range(5)]
    for one in five[1:]:
        five[0].write(five[0].event(Kind.INVITE, key=one.key))
    for _ in range(8):
        exchange(*five)
    return five


def open_ballot(ann: Participant, *others: Participant) -> Ballot:
    """Let ann prepare a ballot, and these promise it."""
    ballot = Ballot(ann.replica.turn.highest().number + 1, 0)
    ann.write(said=Statements(prepare=ballot, promise=ballot))
    for one in others:
        one.take_from(ann)
        one.write(said=Statements(promise=ballot))
        ann.take_from(one)
    return ballot


def removed_by_its_own_word() -> tuple[list[Participant], Operation, Operation]:
    """Let ann, bob and eve accept that eve is removed; dan hears eve's accept, one more operation of hers, and bob's
    accept, which does not name them. Return all, and both operations of eve."""
    five = five_members()
    ann, bob, cas, dan, eve = five
    value = Value(((4, eve.replica.committee.slots[4].seq),), (0, 1, 2, 3))
    for forced in (False, True):  # nobody accepts its own removal unless it may have been decided
        ballot = open_ballot(ann, bob, cas)
        ann.write(said=Statements(propose=Proposal(ballot, value, forced), accept=Accept(ballot, value, 3)))
    for one in (bob, cas, dan, eve):
        one.take_from(ann)
    accepting, behind = eve.write(said=Statements(accept=Accept(ballot, value, 3))), eve.write(said=Statements())
    dan.take_from(eve)
    bob.write(said=Statements(accept=Accept(ballot, value, 3)))
    assert dan.replica.committee.slots[4].last is None
    dan.take_from(bob)
    assert accepting is not None
    assert behind is not None
    assert [one.intake.refused for one in five] == [[]] * 5
    return five, accepting, behind


def test_whoever_relied_on_the_accept_of_the_removed_names_it_and_nothing_behind_it() -> None:
    (*_, dan, _), accepting, behind = removed_by_its_own_word()
    assert dan.replica.committee.slots[4].why == "removed"
    assert dan.replica.committee.slots[4].seq == behind.body.seq
    written = dan.write(said=Statements())
    assert written is not None
    assert dict(written.body.delta)[4] == accepting.body.seq


def test_who_lacks_that_accept_waits_for_it_and_refuses_nothing() -> None:
    (ann, bob, cas, dan, _), accepting, _ = removed_by_its_own_word()
    written = dan.write(said=Statements())
    assert written is not None
    cas.take_from(bob)
    cas.receive(written)
    assert list(cas.intake.waiting.values()) == [(4, accepting.body.seq)]
    cas.receive(accepting)
    assert cas.intake.waiting == {}
    assert cas.replica.committee.slots[4].why == "removed"
    assert cas.replica.committee.slots[3].seq == written.body.seq
    assert cas.intake.refused == ann.intake.refused == []
