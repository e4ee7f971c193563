"""Messages put under the id of another one before that came: what makes the id takes the place of what does not."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.events import Delivered, Rejected
from sdschat.sds.values import HistoryEntry, Message, Reason
from tests.sds.group import CODEC, START, Group

CONTENT = b"what was said"
ID = sha256(CONTENT).hexdigest()
FALSE = Message("nobody", ID, "lobby", START + 5, content=b"what nobody said")
TRUE = Message("b", ID, "lobby", START + 2, content=CONTENT)


def hear(group: Group, message: Message, way: str) -> None:
    node = group["a"]
    if way == "live":
        group.give("a", message)
        return
    node.channel.receive_history(node.shifted(group.now), message, CODEC.encode(message), way)
    group.collect("a")


@pytest.mark.parametrize("way", ["live", "store"])
def test_the_true_one_takes_the_place_of_the_false_one(way: str) -> None:
    group = Group("a")
    group.give("a", Message("c", "other", "lobby", START + 3, content=b"other"))
    group.give("a", FALSE)
    assert group["a"].log == ["other", ID]
    hear(group, TRUE, way)
    assert group["a"].log == [ID, "other"]
    assert [told.message.content for told in group["a"].of(Delivered)][-1] == CONTENT
    hear(group, FALSE, way)
    assert [refused.reason for refused in group["a"].of(Rejected)] == [Reason.ID_CONFLICT]
    group.crash("a")
    assert group["a"].log == [ID, "other"]
    assert group["a"].channel.state.packet_of(ID) == (CODEC.encode(TRUE), "b")
    heads = [entry.message_id for entry in group.say("a", "hello").causal_history]
    assert heads == [ID, "other"]


def test_one_that_waits_for_what_it_names_goes_too() -> None:
    group = Group("a")
    group.give("a", Message("c", "first", "lobby", START + 1, content=b"first"))
    group.give("a", Message("nobody", ID, "lobby", START + 5, (HistoryEntry("nowhere"),), content=b"what nobody said"))
    assert group["a"].log == ["first"]
    group.give("a", TRUE)
    assert group["a"].log == ["first", ID]
    assert [told.message.content for told in group["a"].of(Delivered)] == [b"first", CONTENT]


def test_of_two_that_do_not_make_the_id_the_first_one_stands() -> None:
    group = Group("a")
    group.give("a", FALSE)
    group.give("a", Message("b", ID, "lobby", START + 2, content=b"neither"))
    assert [refused.reason for refused in group["a"].of(Rejected)] == [Reason.ID_CONFLICT]
    assert group["a"].channel.state.packet_of(ID) == (CODEC.encode(FALSE), "nobody")


def test_the_true_one_is_in_the_filter_though_the_false_one_was_too_old_for_it() -> None:
    """Others would send it again for ever."""
    group = Group("a")
    hear(group, replace(FALSE, lamport_timestamp=START - 700_000), "store")
    group.give("a", TRUE)
    received = read_filter(group.say("a", "hello").bloom_filter or b"")
    assert not isinstance(received, str)
    assert received.floor < START
    assert received.holds(ID)


@pytest.mark.parametrize("way", ["live", "store"])
def test_what_waits_for_a_false_one_is_delivered_though_the_true_one_is_refused(way: str) -> None:
    group = Group("a")
    group.give("a", Message("c", "late", "lobby", START + 9, content=b"late"))
    group.give("a", Message("nobody", ID, "lobby", START + 5, (HistoryEntry("nowhere"),), content=b"what nobody said"))
    group.give("a", Message("c", "child", "lobby", START + 10, (HistoryEntry(ID),), content=b"child"))
    hear(group, Message("b", ID, "lobby", START + 2, (HistoryEntry("late"),), content=CONTENT), way)
    assert [refused.reason for refused in group["a"].of(Rejected)] == [Reason.CLOCK_NOT_ABOVE_PARENT]
    assert not group["a"].channel.state.holds(ID)
    group.tick(2 * group.config.lost_after)
    assert group["a"].log == ["late", "child"]
