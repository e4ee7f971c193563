"""Somebody leaves while others leave too, or are let in."""

from __future__ import annotations

from sdschat.timber.states import state_at_compaction
from sdschat.timber.values import Ballot, Kind, Reason, Statements
from tests.timber.world import Participant, genesis, key_of, signed_operation


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


def test_where_all_electors_have_left_those_who_are_there_are_electors() -> None:
    """Otherwise no ballot could ever remove one of them who is silent."""
    data_set, first = genesis(key_of(0), 0)
    ann, bob, cas = (Participant(number, data_set, first) for number in range(3))
    silent = Statements()
    for one in (bob, cas):
        ann.write(ann.event(Kind.INVITE, key=one.key), silent)
    for leaves in (False, True):
        ann.write(ann.event(Kind.LEAVE) if leaves else None, silent)
        for _ in range(3):
            for one in (bob, cas):
                for other in (ann, bob, cas):
                    one.take_from(other)
                one.write(None, silent)
            ann.take_from(bob)
            ann.take_from(cas)
    for one in (bob, cas):
        assert one.replica.committee.slots[0].why == "left"
        assert one.replica.voters() == {1, 2}


def test_whoever_has_left_has_no_say_on_a_ballot() -> None:
    data_set, first = genesis(key_of(0), 0)
    ann, bob = (Participant(number, data_set, first) for number in range(2))
    ann.write(ann.event(Kind.INVITE, key=bob.key))
    for _ in range(3):
        exchange(ann, bob)
    ann.write(ann.event(Kind.LEAVE))
    bob.take_from(ann)
    bob.receive(signed_operation(data_set, ann.key, ann.replica.draft(None, Statements(prepare=Ballot(1, 0)))))
    assert [refused.reason for refused in bob.intake.refused] == [Reason.AFTER_LEAVE]


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


def _heard_by_the_absent_alone(nonce: int) -> tuple[list[Participant], Participant]:
    """Let dan leave, and say what he knows to eve alone, who has left before and is invited again.

    Return ann, bob and cas, who put dan out for silence, and eve, who came to dan's leave by his last words.
    """
    data_set, first = genesis(key_of(0), nonce)
    ann, bob, cas, dan, eve = everybody = [Participant(number, data_set, first, rounds=3) for number in range(5)]
    staying = [ann, bob, cas]
    for one in everybody[1:]:
        ann.write(ann.event(Kind.INVITE, key=one.key))
    for _ in range(8):
        exchange(*everybody)
    eve.write(eve.event(Kind.LEAVE))
    for _ in range(8):
        exchange(*everybody)
    for _ in range(3):
        exchange(*staying, dan)
    for one in everybody:
        for other in (*staying, dan):
            one.take_from(other)
        one.replica.compact()
    beside = bob.write()
    leave = dan.write(dan.event(Kind.LEAVE))
    assert beside is not None
    assert leave is not None
    for one in (*staying, eve):
        one.receive(beside)
        one.receive(leave)
    dan.receive(beside)
    last_word = dan.write()
    assert last_word is not None
    eve.receive(last_word)
    ann.write(ann.event(Kind.INVITE, key=eve.key), Statements())
    for one in (bob, cas, ann):
        for other in staying:
            one.take_from(other)
        one.write(said=Statements())
    for one in staying:
        eve.take_from(one)
    assert eve.replica.me == 5
    while ann.replica.committee.slots[3].last is None:
        exchange(*staying)
    for _ in range(2):
        exchange(*staying)
    return staying, eve


def test_whoever_is_let_in_behind_a_leave_does_not_name_the_last_words_of_the_leaver() -> None:
    """Whoever knows its slot has passed that leave too, perhaps without these words, and has compacted."""
    staying, eve = _heard_by_the_absent_alone(0)
    slots = eve.replica.committee.slots
    assert slots[3].last is not None
    assert slots[3].seq > slots[3].last, "she holds words behind the leave"
    first_word = eve.write()
    assert first_word is not None
    for one in staying:
        assert one.replica.committee.slots[3].seq == slots[3].last, "the others do not"
        assert one.replica.compact()
        one.take_from(eve)
        assert one.replica.committee.slots[5].seq == first_word.body.seq
        assert {refused.reason for refused in one.intake.refused} <= {Reason.REMOVED}
