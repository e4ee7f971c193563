"""Bodies of messages that were kept as ids: each takes its place, whatever the id said."""

from __future__ import annotations

from sdschat.sds.events import Delivered, Rejected
from sdschat.sds.limits import RECENT_WINDOW
from sdschat.sds.values import Entry, Message, Reason
from tests.sds.group import CODEC, START, Group, forge
from tests.sds.test_id_only import keep_id


def body(group: Group, name: str, message: Message) -> bool:
    node = group[name]
    done = node.channel.receive_body(node.shifted(group.now), message, CODEC.encode(message), "sync")
    group.collect(name)
    return done


def test_the_body_takes_the_place_of_the_id() -> None:
    group = Group("a")
    group.give("a", forge("c", "first", START + 1))
    message = forge("b", "m", START + 2, "first")
    keep_id(group, "a", message)
    group.give("a", forge("c", "last", START + 3))
    assert body(group, "a", message)
    assert group["a"].log == ["first", "m", "last"]
    assert [(told.message.message_id, told.late) for told in group["a"].of(Delivered)][-1] == ("m", True)
    assert group["a"].channel.state.packet_of("m") == (CODEC.encode(message), "b")


def test_it_is_named_and_answered_for_from_then_on_also_after_a_restart() -> None:
    group = Group("a")
    message = forge("b", "m", START + 2)
    keep_id(group, "a", message)
    assert body(group, "a", message)
    group.crash("a")
    said = group.say("a", "hello")
    assert [entry.message_id for entry in said.causal_history] == ["m"]
    assert group["a"].log == ["m", said.message_id]


def test_nothing_comes_twice_and_a_message_in_full_stays_as_it_is() -> None:
    group = Group("a")
    message = forge("b", "m", START + 2)
    keep_id(group, "a", message)
    assert body(group, "a", message)
    assert not body(group, "a", message)
    assert not body(group, "a", forge("b", "unknown", START + 2))
    assert len(group["a"].of(Delivered)) == 1


def test_an_id_with_another_date_was_wrong() -> None:
    group = Group("a")
    group.give("a", forge("c", "first", START + 5))
    keep_id(group, "a", forge("b", "m", START + 9))
    assert body(group, "a", forge("b", "m", START + 2))
    assert group["a"].log == ["m", "first"]
    assert group["a"].channel.state.window.order == [
        entry for entry in group["a"].channel.state.window.order if entry.lamport != START + 9
    ]
    group.crash("a")
    assert group["a"].log == ["m", "first"]


def test_the_window_is_the_newest_of_the_log_whatever_moves() -> None:
    group = Group("a")
    for number in range(RECENT_WINDOW):
        group.give("a", forge("c", f"{number:05}", START + 10 + number))
    keep_id(group, "a", forge("b", "m", START + 60_000))
    assert body(group, "a", forge("b", "m", START + 1))
    state = group["a"].channel.state
    assert len(state.window.order) == RECENT_WINDOW
    assert state.window.order == sorted(state.window.order)
    assert [entry[:2] for entry in state.window.order] == [entry[:2] for entry in state.history.newest(RECENT_WINDOW)]


def test_what_is_refused_changes_nothing() -> None:
    group = Group("a")
    group.give("a", forge("c", "parent", START + 5))
    keep_id(group, "a", forge("b", "m", START + 9))
    assert not body(group, "a", forge("b", "m", START + 2, "parent"))
    assert not body(group, "a", forge("b", "m", group.now.wall + 10**9))
    assert [refused.reason for refused in group["a"].of(Rejected)] == [
        Reason.CLOCK_NOT_ABOVE_PARENT,
        Reason.OVER_LIMIT,
    ]
    assert group["a"].channel.state.delivered("m") == Entry(START + 9, "m", "b", (), -3)
