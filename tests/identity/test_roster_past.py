"""Operations on the members of a private channel, and all that they build upon, also by way of others."""

from __future__ import annotations

from sdschat.identity.private.link import make_removal
from sdschat.identity.private.roster import WAITS, Rank, fold
from tests.identity.channels import Person, channel, everybody


def test_a_removal_that_the_creator_had_seen_by_way_of_another_operation_stands() -> None:
    _, persons = channel(4)
    ann, bob, carol, dora = persons
    ann.appoint(bob)
    everybody(persons)
    removal = bob.remove(dora)
    everybody(persons)
    ann.appoint(carol)
    ann.appoint(bob, False)  # builds upon the appointment of carol alone
    everybody(persons)
    assert carol.roster.outcomes[removal] == ""
    assert dora.key not in carol.roster.members


def test_a_removal_that_one_device_of_the_creator_had_seen_falls_by_the_word_of_another_one_that_had_not() -> None:
    world, persons = channel(4)
    ann, bob, carol, dora = persons
    ann.appoint(bob)
    everybody(persons)
    other_device = Person(world, ann.identity, dict(ann.here))
    removal = bob.remove(dora)
    everybody(persons)
    ann.appoint(carol)
    other_device.appoint(bob, False)
    everybody([*persons, other_device])
    assert carol.roster.outcomes[removal] == "its author had no right to it"
    assert dora.key in carol.roster.members


def test_an_operation_may_be_dated_before_all_that_it_builds_upon() -> None:
    world, (ann, bob) = channel(2)
    moment = world.now
    world.now += 10
    ann.appoint(bob)
    ann.appoint(bob, False)
    dated_back = ann.appoint(bob, lamport=moment + 1)
    assert ann.roster.outcomes[dated_back] == ""
    assert ann.roster.rank(bob.key) is Rank.MEMBER


def test_an_operation_waits_for_what_the_operations_that_it_builds_upon_wait_for() -> None:
    world, (ann, bob) = channel(2)
    moment = world.now
    world.now += 10
    first = ann.appoint(bob)
    second = ann.appoint(bob, False)
    third = ann.appoint(bob, lamport=moment + 1)
    outcomes = fold(world.genesis, [each for key, each in world.log.items() if key != first]).outcomes
    assert (outcomes[second], outcomes[third]) == (WAITS, WAITS)


def test_a_key_with_which_nobody_can_have_signed_keeps_no_other_member_from_the_new_secret() -> None:
    world, (_, bob, carol) = channel(3)
    removal = make_removal(carol.key, (), [bytes(32), bob.key], world.fresh())
    assert [share.member_key for share in removal.shares] == [bob.key]
