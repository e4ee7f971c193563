"""Dependencies that only unsigned packets name are waited for, but never called lost."""

from __future__ import annotations

import pytest

from sdschat.sds.events import DependenciesLost, RepairCancelled
from sdschat.sds.values import Message
from tests.sds.group import CODEC, QUIET, START, Group, forge


def hear(group: Group, message: Message, *, unproven: bool) -> None:
    node = group["a"]
    node.channel.receive_message(group.now, message, CODEC.encode(message), unproven=unproven)
    group.collect("a")


def test_what_only_unsigned_packets_name_is_given_up_without_a_word() -> None:
    group = Group("a")
    hear(group, forge("b", "m", START + 1, "nowhere"), unproven=True)
    group.tick(QUIET.lost_after + 1000)
    assert group["a"].log == ["m"]
    assert not group["a"].of(DependenciesLost)
    assert [event.reason for event in group["a"].of(RepairCancelled)] == ["unproven"]
    assert group["a"].channel.state.gaps["nowhere"].reason == "unproven"


def test_what_only_unsigned_packets_name_is_never_called_lost_after_a_restart() -> None:
    group = Group("a")
    hear(group, forge("b", "m", START + 1, "nowhere"), unproven=True)
    group["a"].open(group.now)
    group.tick(QUIET.lost_after + 1000)
    assert not group["a"].of(DependenciesLost)
    assert group["a"].channel.state.gaps["nowhere"].reason == "unproven"


@pytest.mark.parametrize("restarted", [False, True])
def test_one_signed_packet_that_names_it_is_enough(restarted: bool) -> None:
    group = Group("a")
    hear(group, forge("b", "m", START + 1, "nowhere"), unproven=True)
    hear(group, forge("c", "n", START + 2, "nowhere"), unproven=False)
    hear(group, forge("b", "o", START + 3, "nowhere"), unproven=True)
    if restarted:
        group["a"].open(group.now)
    group.tick(QUIET.lost_after + 1000)
    assert group["a"].of(DependenciesLost) == [DependenciesLost(("nowhere",))]


DATED_AHEAD = START + QUIET.max_skew + 60_000


def after_a_message_dated_ahead(*, unproven: bool, restarted: bool) -> Group:
    """Return the group long after the date of a message that names what is nowhere. The packet that was heard last
    before it was due is signed where the message is not, and the other way round."""
    group = Group("a")
    hear(group, forge("b", "m", DATED_AHEAD, "nowhere"), unproven=unproven)
    hear(group, forge("c", "sync", START + 1, content=None), unproven=not unproven)
    if restarted:
        group["a"].open(group.now)
    group.tick(60_000 + QUIET.lost_after + 1000)
    return group


@pytest.mark.parametrize("restarted", [False, True])
def test_what_an_unsigned_message_dated_ahead_names_is_never_called_lost_whoever_spoke_last(restarted: bool) -> None:
    group = after_a_message_dated_ahead(unproven=True, restarted=restarted)
    assert group["a"].log == ["m"]
    assert not group["a"].of(DependenciesLost)
    assert group["a"].channel.state.gaps["nowhere"].reason == "unproven"


@pytest.mark.parametrize("restarted", [False, True])
def test_what_a_signed_message_dated_ahead_names_is_called_lost_whoever_spoke_last(restarted: bool) -> None:
    group = after_a_message_dated_ahead(unproven=False, restarted=restarted)
    assert group["a"].of(DependenciesLost) == [DependenciesLost(("nowhere",))]


@pytest.mark.parametrize("unproven", [False, True])
def test_fetched_messages_dated_ahead_are_as_proven_as_they_came(unproven: bool) -> None:
    group = Group("a")
    message = forge("b", "m", DATED_AHEAD, "nowhere")
    hear(group, forge("c", "sync", START + 1, content=None), unproven=not unproven)
    group["a"].channel.receive_history(group.now, message, CODEC.encode(message), unproven=unproven)
    group.collect("a")
    group.tick(60_000 + QUIET.lost_after + 1000)
    assert bool(group["a"].of(DependenciesLost)) != unproven
