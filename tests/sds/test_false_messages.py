"""Messages put under the id of another one before that came: what makes the id takes the place of what does not."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.config import Config
from sdschat.sds.events import Delivered, Rejected, RepairRequested
from sdschat.sds.limits import DOUBTED_AT_A_TIME, DOUBTED_TRIES
from sdschat.sds.values import AckState, HistoryEntry, Message, Reason
from tests.sds.group import CODEC, START, Group, forge

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


@pytest.mark.parametrize("unproven", [False, True])
def test_the_true_one_acknowledges_what_it_names_and_ends_our_answer(unproven: bool) -> None:
    group = Group("a")
    own = group.send("a", "one").message_id
    group.give("a", replace(FALSE, lamport_timestamp=group.now.wall + 100))
    asked = Message("c", "asks", "lobby", group.now.wall + 101, repair_request=(HistoryEntry(ID),))
    group.give("a", asked)
    true = replace(TRUE, lamport_timestamp=group.now.wall + 102, causal_history=(HistoryEntry(own),))
    group["a"].channel.receive_message(group.now, true, CODEC.encode(true), unproven=unproven)
    group.collect("a")
    state = group["a"].channel.state
    assert state.outgoing.known[own].state is (AckState.UNACKED if unproven else AckState.ACKED)
    assert state.answers.entries[ID].due is None


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
    assert group["a"].channel.state.packet_of(ID) is None
    assert group["a"].log == [ID, "late", "child"]


def test_a_doubted_message_is_asked_for_until_the_true_one_is_here() -> None:
    """Everybody takes us to have it, so that nobody sends it unless asked."""
    group = Group("a", "c", config=Config(sync_interval=4000, t_min=500, t_max=2000))
    group.give("c", TRUE)
    group.lose()
    group.give("a", replace(FALSE, lamport_timestamp=TRUE.lamport_timestamp))
    group.tick(60_000)
    assert [told.message.content for told in group["a"].of(Delivered)] == [FALSE.content]
    group["a"].channel.doubt(group.now, ID)
    group.tick(60_000)
    assert [told.message.content for told in group["a"].of(Delivered)] == [FALSE.content, CONTENT]
    assert not group["a"].channel.state.refetch


def test_it_is_asked_for_as_often_as_a_missing_one_however_many_requests_are_lost() -> None:
    """It was given up after six requests, of which 4 of 10 were lost, and 4 of 10 answers."""
    config = Config(sync_interval=400, t_min=500, t_max=2000)
    group = Group("a", config=config)
    group.give("a", FALSE)
    group.give("a", forge("c", "says", START + 6, "missing"))
    group["a"].channel.doubt(group.now, ID)
    group.tick(60_000)
    requests = [told.message_ids for told in group["a"].of(RepairRequested)]
    doubted, missing = (sum(name in ids for ids in requests) for name in (ID, "missing"))
    assert doubted >= missing > DOUBTED_TRIES
    assert ID in group["a"].channel.state.refetch


def test_what_was_asked_for_in_vain_gives_its_place_to_another_one() -> None:
    state = Group("a")["a"].channel.state
    for name in ("one", "two"):
        state.refetch.want(HistoryEntry(name), state.now.mono, tries=2)
    assert not state.refetch.has_room(2)
    for _ in range(2):
        state.refetch.asked("two", state.now.mono, state.config.t_max)
    assert state.refetch.has_room(2)
    state.refetch.make_room(2)
    assert "one" in state.refetch
    assert "two" not in state.refetch


def test_only_for_a_false_one_another_one_gives_its_place() -> None:
    """Whoever named true ones under other senders made us forget what we asked for."""
    group = Group("a")
    group.give("a", TRUE)
    group.give("a", replace(FALSE, message_id=sha256(b"another").hexdigest()))
    state = group["a"].channel.state
    for number in range(DOUBTED_AT_A_TIME):
        state.refetch.want(HistoryEntry(f"{number}"), state.now.mono, tries=1)
        state.refetch.asked(f"{number}", state.now.mono, state.config.t_max)
    assert group["a"].channel.doubt(group.now, ID)
    assert "0" in state.refetch
    assert group["a"].channel.doubt(group.now, sha256(b"another").hexdigest())
    assert "0" not in state.refetch
    assert len(state.refetch) == DOUBTED_AT_A_TIME
    assert group["a"].channel.doubt(group.now, sha256(b"another").hexdigest())
    assert "1" in state.refetch


def test_what_the_log_has_let_go_of_is_asked_for_no_more() -> None:
    group = Group("a", config=Config(sync_interval=400, t_min=500, t_max=2000))
    group.give("a", FALSE)
    group["a"].channel.doubt(group.now, ID)
    group["a"].channel.forget_bodies(group.now, [ID])
    group.tick(60_000)
    assert not group["a"].of(RepairRequested)
    assert not group["a"].channel.state.refetch


def test_nobody_is_asked_for_what_makes_its_id() -> None:
    group = Group("a", config=Config(sync_interval=4000, t_min=500, t_max=2000))
    group.give("a", Message("c", "no digest", "lobby", START + 6, content=b"foreign"))
    other = Message("c", sha256(b"other").hexdigest(), "lobby", START + 7, content=b"other")
    group.give("a", other)
    for message_id in ("no digest", other.message_id, "unknown"):
        group["a"].channel.doubt(group.now, message_id)
    assert not group["a"].channel.state.refetch


def test_the_true_one_may_come_before_the_false_one_is_saved() -> None:
    group = Group("a")
    node = group["a"]
    for message in (FALSE, TRUE, TRUE):
        node.channel.receive(group.now, CODEC.encode(message))
    group.collect("a")
    group.tick(10)
    assert [told.message.content for told in node.of(Delivered)] == [FALSE.content, CONTENT]
    assert not node.of(Rejected)
