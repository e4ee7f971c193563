"""Somebody leaves while others leave too, or are let in."""

from __future__ import annotations

from sdschat.timber.states import state_at_compaction
from sdschat.timber.values import Kind, Reason
from tests.timber.world import Participant, genesis, key_of


def exchange(*group: Participant) -> None:
    for one in group:
        one.write()
        for other in group:
            if other is not one:
                other.take_from(one)


def one_left_and_one_came(nonce: int) -> tuple[Participant, Participant, Participant]:
    """Return two members and somebody whom both invited apart, when each named the last words of a third one."""
    data_set, first = genesis(key_of(0), nonce)
    ann, bob, cas, dan = (Participant(number, data_set, first) for number in range(4))
    for number in (1, 2):
        ann.write(ann.event(Kind.INVITE, key=key_of(number)))
    for _ in range(6):
        exchange(ann, bob, cas)
    for one in (ann, bob, cas):
        assert one.replica.compact()
    ann.write()
    bob.write()
    cas.write(cas.event(Kind.LEAVE))
    for one, other in ((ann, bob), (bob, ann), (ann, cas), (bob, cas)):
        one.take_from(other)
    ann.write()
    bob.write()
    cas.take_from(ann)
    cas.write()  # behind its leave: it knows what the others said beside it
    for one, other in ((ann, cas), (bob, cas), (ann, bob), (bob, ann)):
        one.take_from(other)
    for one in (ann, bob):
        one.write(one.event(Kind.INVITE, key=dan.key))
    for _ in range(3):
        ann.write()
        bob.take_from(ann)
        bob.write()
        ann.take_from(bob)
    return ann, bob, dan


def test_whoever_is_let_in_beside_a_leave_gets_a_state() -> None:
    ann, bob, dan = one_left_and_one_came(1)
    assert ann.replica.committee.slot_of(dan.key) is not None
    assert ann.replica.namers, "an operation in front names words that do not count"
    assert not ann.replica.compact()
    assert state_at_compaction(ann.replica) is None
    dan.take_from(ann)
    assert dan.replica.me == 3
    before = ann.replica.mark.number
    for _ in range(4):
        exchange(ann, bob, dan)
    assert ann.replica.mark.number > before
    assert [one.replica.mark.number > before and bool(one.replica.compact()) for one in (ann, bob, dan)] == 3 * [True]


def test_words_of_those_who_left_are_refused_as_such() -> None:
    """Two leave side by side, and say something behind it that names the other's words. The third one takes these for
    needed while it does not know of both ends. After its compaction they are of no use, and no lie either."""
    data_set, first = genesis(key_of(0), 0)
    ann, bob, cas = (Participant(number, data_set, first) for number in range(3))
    for one in (bob, cas):
        ann.write(ann.event(Kind.INVITE, key=one.key))
    for _ in range(6):
        exchange(ann, bob, cas)
    ann.write(ann.event(Kind.LEAVE))
    cas.take_from(ann)
    cas.write()
    bob.take_from(ann)
    bobs_leave = bob.write(bob.event(Kind.LEAVE))
    behind = ann.write()
    bob.take_from(ann)
    names_it = bob.write()
    assert bobs_leave is not None
    assert behind is not None
    assert names_it is not None
    cas.receive(bobs_leave)
    cas.receive(names_it)
    assert [slot.last is None for slot in cas.replica.committee.slots] == [False, True, True]
    cas.write()
    assert [slot.last is None for slot in cas.replica.committee.slots] == [False, False, True]
    cas.write()
    assert cas.replica.compact()
    cas.receive(behind)
    assert {refused.reason for refused in cas.intake.refused} <= {Reason.REMOVED}
    assert cas.intake.refused
