"""Ids that others told: they are in the log, and give way to the message whatever they said."""

from __future__ import annotations

from hashlib import sha256

from sdschat.sds.events import Delivered, DuplicateReceived, KeptAsId, Rejected
from sdschat.sds.limits import IDS_KEPT
from sdschat.sds.values import TOLD, Message
from tests.sds.group import START, Group

CONTENT = b"what was said"
ID = sha256(CONTENT).hexdigest()


def genuine(lamport: int) -> Message:
    return Message("b", ID, "lobby", lamport, content=CONTENT)


def tell(group: Group, lamport: int, sender_id: str = "b", message_id: str = ID) -> None:
    node = group["a"]
    node.channel.receive_told(node.shifted(group.now), lamport, message_id, sender_id)
    group.collect("a")


def test_a_told_id_is_in_the_log_and_is_not_named() -> None:
    group = Group("a")
    tell(group, START + 1)
    assert group["a"].log == [ID]
    assert [event.told for event in group["a"].of(KeptAsId)] == [True]
    assert not group.say("a", "hello").causal_history


def test_the_message_takes_its_place_whatever_date_and_sender_were_told() -> None:
    for lamport, sender in ((START + 1, "b"), (START + 500, "eve")):
        group = Group("a")
        tell(group, lamport, sender)
        group.crash("a")
        group.give("a", genuine(START + 1))
        assert [told.message.message_id for told in group["a"].of(Delivered)] == [ID]
        entry = group["a"].channel.state.delivered(ID)
        assert entry is not None
        assert (entry.lamport, entry.sender_id, entry.bare) == (START + 1, "b", False)
        group.give("a", genuine(START + 1))
        assert group["a"].log == [ID]
        assert len(group["a"].of(DuplicateReceived)) == 1


def test_content_that_does_not_make_the_id_takes_no_place() -> None:
    group = Group("a")
    tell(group, START + 1)
    group.give("a", Message("b", ID, "lobby", START + 1, content=b"something else"))
    assert not group["a"].of(Delivered)
    entry = group["a"].channel.state.delivered(ID)
    assert entry is not None
    assert entry.generation == TOLD


def test_what_is_here_or_of_no_date_changes_nothing() -> None:
    group = Group("a")
    group.give("a", genuine(START + 1))
    tell(group, START + 7)
    tell(group, group.now.wall + 10**9, "b", "d" * 64)
    assert group["a"].log == [ID]
    assert not group["a"].of(KeptAsId)
    assert not group["a"].of(Rejected)


def test_an_id_is_taken_while_it_is_kept_and_up_to_the_most_that_a_clock_may_be_ahead() -> None:
    group = Group("a")
    now, ahead = group.now.wall, group["a"].channel.state.config.max_skew
    dates = (now - IDS_KEPT - 1, now - IDS_KEPT, now + ahead, now + ahead + 1)
    for place, lamport in enumerate(dates):
        tell(group, lamport, message_id=f"{place:064}")
    assert group["a"].log == [f"{1:064}", f"{2:064}"]
