"""Old messages from a Store or another's log, and how a log begins."""

from __future__ import annotations

import random

import pytest

from sdschat.sds import limits
from sdschat.sds.config import MINUTE, Config, FilterFormat
from sdschat.sds.events import Delivered, GapClosed
from sdschat.sds.values import Message, Reason
from tests.sds.group import CODEC, QUIET, START, Group, forge

LONG_AGO = START - 100 * QUIET.max_skew
PUSHING = Config(sync_interval=QUIET.sync_interval, push_delay_max=1000, id_rule="text")


def old(place: int, *parents: str, sender: str = "b", lamport: int | None = None) -> Message:
    return forge(sender, f"m{place:05}", LONG_AGO + place if lamport is None else lamport, *parents)


def take_in(group: Group, message: Message, via: str = "store") -> bool:
    here = group["a"].channel.receive_history(group.now, message, CODEC.encode(message), via)
    group.collect("a")
    return here


def chain(length: int) -> list[Message]:
    return [old(place, *([f"m{place - 1:05}"] if place else [])) for place in range(length)]


def test_history_is_delivered_below_the_horizon_and_says_by_which_way_it_came() -> None:
    group = Group("a")
    assert all(take_in(group, message) for message in chain(3))
    assert [(event.source, event.gap) for event in group["a"].of(Delivered)] == [("store", ())] * 3


def test_thousands_in_any_order_are_the_same_log() -> None:
    messages = chain(3000)
    random.Random(7).shuffle(messages)
    group = Group("a")
    group.give("a", forge("b", "newest", START))
    assert all(take_in(group, message) for message in messages)
    assert group["a"].log == [*(f"m{place:05}" for place in range(3000)), "newest"]
    window = [entry.message_id for entry in group["a"].channel.state.window.order]
    assert window == group["a"].log[-limits.RECENT_WINDOW :]


def test_many_at_once_are_as_many_one_by_one() -> None:
    messages = chain(2500)
    group = Group("a")
    for message in reversed(messages):
        assert group["a"].channel.receive_history(group.now, message, CODEC.encode(message))
    assert group["a"].channel.receive_history(group.now, messages[0], CODEC.encode(messages[0]))  # known by now
    group.collect("a")
    assert group["a"].log == [message.message_id for message in messages]


def test_history_counts_no_more_as_on_its_way_to_others_after_a_restart() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "live", group.now.wall))
    take_in(group, forge("b", "history", group.now.wall - 1))
    for _ in range(2):
        assert list(group["a"].channel.state.recent_arrivals) == ["live"]
        group.crash("a")


def test_what_a_store_gave_for_the_asking_is_on_its_way_to_nobody() -> None:
    group = Group("a", settle=2000)
    given = forge("b", "given", group.now.wall)
    group["a"].channel.receive(group.now, CODEC.encode(given), "store")
    group.collect("a")
    for _ in range(2):
        assert list(group["a"].channel.state.recent_arrivals) == []
        group.crash("a")


def test_history_closes_the_gap_it_fills() -> None:
    group = Group("a")
    take_in(group, old(2, "m00001"))
    take_in(group, old(1))
    assert group["a"].of(Delivered)[0].gap == ("m00001",)
    assert group["a"].of(GapClosed) == [GapClosed("m00001")]


def test_history_releases_what_waited_for_it() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "child", START + 1, "m1"))
    assert take_in(group, forge("b", "m1", START))
    assert group["a"].delivered() == ["m1", "child"]
    assert not group["a"].channel.state.requests.missing


def waiting_and_given() -> Group:
    """A group in which two messages wait, the second for the first, and a Store gives both, without what is older."""
    group = Group("a", settle=2000)
    waiting = [forge("b", "m1", START + 1, "m0"), forge("c", "m2", START + 2, "m1")]
    for message in waiting:
        group.give("a", message)
    assert all(take_in(group, message) for message in waiting)
    return group


def test_what_waits_goes_on_waiting_while_others_may_give_what_it_waits_for() -> None:
    group = waiting_and_given()
    assert group["a"].delivered() == []
    take_in(group, forge("b", "m0", START))
    assert [(event.message.message_id, event.gap) for event in group["a"].of(Delivered)] == [
        ("m0", ()),
        ("m1", ()),
        ("m2", ()),
    ]


def test_what_was_given_waits_no_more_for_what_nobody_gave() -> None:
    group = waiting_and_given()
    group["a"].channel.end_history(group.now)
    group.collect("a")
    assert [(event.message.message_id, event.gap) for event in group["a"].of(Delivered)] == [
        ("m1", ("m0",)),
        ("m2", ()),
    ]


def test_what_nobody_gave_is_asked_for_and_waited_for_as_before() -> None:
    group = waiting_and_given()
    group["a"].channel.end_history(group.now)
    group.give("a", forge("d", "live", START + 3, "m0"))
    assert "live" not in group["a"].delivered()
    group.tick(QUIET.t_max + 60_000)
    assert [entry.message_id for message in group["a"].messages() for entry in message.repair_request] == ["m0"]
    group.give("a", forge("b", "m0", START))
    assert group["a"].log == ["m0", "m1", "m2", "live"]
    assert group["a"].of(GapClosed) == [GapClosed("m0")]


def test_what_was_not_given_as_history_goes_on_waiting() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m1", START + 1, "m0"))
    group["a"].channel.end_history(group.now)
    group.collect("a")
    assert group["a"].delivered() == []


def test_history_acknowledges_answers_and_sends_nothing() -> None:
    group = Group("a", config=PUSHING, settle=60_000)
    mine = group.send("a", "mine")
    packets, state = len(group["a"].sent), group["a"].channel.state
    told = forge("b", "m1", group.now.wall + 1, mine.message_id, requests=(mine.message_id,), bloom_filter=b"\xc4")
    assert take_in(group, told)
    group.tick(5000)
    assert mine.message_id in state.outgoing.open
    assert (len(group["a"].sent), len(state.answers.entries), "b" in state.peers.known) == (packets, 0, False)


def test_old_history_stays_out_of_the_filter_and_new_history_goes_in() -> None:
    group = Group("a")
    take_in(group, old(1))
    assert group["a"].channel.state.filter.count == 0
    take_in(group, old(2, lamport=START))
    assert group["a"].channel.state.filter.count == 1


def test_the_filter_is_the_same_after_a_restart_with_history() -> None:
    group = Group("a")
    group.give("a", forge("b", "now", START))
    for message in chain(500):
        take_in(group, message)
    before = group["a"].channel.state.filter.to_bytes()
    group.crash("a")
    assert group["a"].channel.state.filter.to_bytes() == before


def test_history_dated_ahead_is_deferred_and_moves_no_clock() -> None:
    group = Group("a", settle=2000)
    clock = group["a"].channel.state.clock.value
    assert take_in(group, forge("b", "m1", START + 10 * QUIET.max_skew))
    assert (group["a"].log, group["a"].channel.state.clock.value) == ([], clock)


def test_own_messages_of_before_come_back_as_own() -> None:
    group = Group("a")
    assert take_in(group, old(1, sender="a"))
    assert [event.own for event in group["a"].of(Delivered)] == [True]
    assert not group["a"].channel.state.outgoing.open


def test_what_is_no_history_is_refused_with_a_reason() -> None:
    group = Group("a")
    take_in(group, old(5))
    refused = [
        forge("b", "x1", START, channel="other"),
        forge("b", "x2", None),
        forge("b", "x3", START, content=None),
        forge("b", "x4", 0),
        forge("b", "x5", limits.MAX_LAMPORT),
        forge("b", "m00005", LONG_AGO + 5, content=b"other"),
    ]
    assert not any(take_in(group, message) for message in refused)
    assert group["a"].refused() == [
        Reason.OTHER_CHANNEL,
        Reason.NO_KIND,
        Reason.NO_KIND,
        Reason.CLOCK_ZERO,
        Reason.CLOCK_TOO_LARGE,
        Reason.ID_CONFLICT,
    ]


def test_the_horizon_moves_down_only_and_is_kept() -> None:
    group = Group("a")
    channel = group["a"].channel
    channel.lower_horizon(group.now, LONG_AGO)
    channel.lower_horizon(group.now, START)
    group.collect("a")
    group.crash("a")
    assert group["a"].channel.state.horizon == LONG_AGO


def test_a_newcomer_is_not_kept_waiting_for_what_was_said_before() -> None:
    group = Group("a", config=PUSHING, settle=2000)
    group.give("a", forge("b", "m5", START + 1, "m3", "m4"))
    group.give("a", forge("b", "m6", START + 2, "m4", "m5"))
    assert [event.gap for event in group["a"].of(Delivered)] == [("m3", "m4"), ("m4",)]


def test_what_a_newcomer_went_without_is_asked_for_all_the_same() -> None:
    group = Group("a", config=PUSHING, settle=2000)
    group.give("a", forge("b", "m5", START + 1, "m4"))
    group.crash("a")
    group.give("a", forge("b", "m6", START + 2, "m4", "m5"))
    group.tick(PUSHING.t_max + 60_000)
    asked = [entry.message_id for message in group["a"].messages() for entry in message.repair_request]
    assert asked[:1] == ["m4"]
    group.give("a", forge("b", "m4", START))
    assert group["a"].log == ["m4", "m5", "m6"]


def test_without_anti_entropy_a_newcomer_waits() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m5", START + 1, "m4"))
    assert group["a"].delivered() == []


@pytest.mark.parametrize("layout", ["waku", "auto"])
def test_history_that_a_joiner_fetched_is_not_pushed_to_it_without_end_because_its_foreign_filter_lacks_it(
    layout: FilterFormat,
) -> None:
    """A filter of the waku format does not say since when it is complete, so a joiner is served the minutes before it
    came. What it has of these from elsewhere has to be in its filter."""
    group = Group("a", config=Config(bloom_layout="waku", id_rule="text"))
    said = group.say("a", "said before b came")
    group.tick(15 * MINUTE)
    group.add("b", config=Config(bloom_layout=layout, id_rule="text"))
    assert group["b"].channel.receive_history(group.now, said, CODEC.encode(said))
    group.collect("b")
    group.tick(10 * MINUTE)
    group.crash("b")
    group.tick(50 * MINUTE)
    assert [packet.message_id for packet in group["a"].sent if packet.kind == "push"] == []


@pytest.mark.parametrize(("before", "held"), [(0, 1), (1, 0)])
def test_history_is_in_the_filter_from_the_date_on_at_which_the_filter_begins(before: int, held: int) -> None:
    group = Group("a")
    state = group["a"].channel.state
    take_in(group, old(2, lamport=state.filter.floor - before))
    assert state.filter.count == held


def test_a_message_from_the_future_is_here_only_if_there_was_room_for_it() -> None:
    group = Group("a")
    first = START + 2 * QUIET.max_skew
    made = [old(place, lamport=first + place) for place in range(limits.FUTURE_DATED_PER_SENDER + 1)]
    assert [take_in(group, message) for message in made] == [True] * limits.FUTURE_DATED_PER_SENDER + [False]
    assert group["a"].refused() == [Reason.FUTURE_QUOTA]


def test_a_message_dated_before_its_parent_is_here_by_its_id_alone() -> None:
    group = Group("a")
    assert take_in(group, old(5))
    assert take_in(group, old(4, "m00005"))
    assert group["a"].refused() == [Reason.CLOCK_NOT_ABOVE_PARENT]
    assert group["a"].log == ["m00004", "m00005"]
    assert group["a"].channel.state.packet_of("m00004") is None
