"""Fingerprints that ask: own messages that nobody mentions are acknowledged, whoever joined when."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from sdschat.sds.bloom import compact
from sdschat.sds.bloom.compact import CompactFilter, RangePrint, read_filter
from sdschat.sds.config import Config
from sdschat.sds.events import RangeDiffered
from sdschat.sds.limits import RANGE_IDS
from sdschat.sds.steps.ranges import SECTIONS
from sdschat.sds.values import AckState
from tests.sds.group import START, Group, Node, forge
from tests.sds.late_joiner import BEFORE, KINDS, play, total

CONFIG = Config(id_rule="text", bloom_layout="compact")
INTERVAL = CONFIG.sync_interval
LATER = 3_600_000
SHAPE = compact.shape_for(8, 0.01)
WINDOW = compact.encode_window(0, SHAPE, SHAPE.bits, START + 2 * LATER)  # a filter that covers nothing


def prints(node: Node) -> list[RangePrint]:
    """All fingerprints that it sent."""
    found = [read_filter(message.bloom_filter or b"") for message in node.messages("sync")]
    return [one.range_print for one in found if isinstance(one, CompactFilter) and one.range_print is not None]


def tell(group: Group, sender: str, ids: list[str], low: int, high: int, number: int = 0) -> None:
    """A sync message of a peer that has these ids from `low` to `high`."""
    section = compact.encode_print(RangePrint(low, high, len(ids), compact.fingerprint(ids)))
    sync = forge(
        sender, f"sync-{sender}-{number}", group.now.wall + number, content=None, bloom_filter=WINDOW + section
    )
    group.give("a", sync)


def open_own(group: Group, name: str) -> int:
    return len(group[name].channel.unacknowledged)


@pytest.mark.parametrize("name", KINDS)
def test_whoever_joined_when_all_is_acknowledged_for_as_many_packets(name: str) -> None:
    found, together = total(KINDS[name], 3), total(KINDS[name].together, 3)
    assert (found.unsettled, found.resent_later) == (0, 0)
    assert found.packets <= 1.1 * together.packets


@pytest.mark.parametrize("name", BEFORE)
def test_what_was_said_before_the_horizon_of_a_peer_stands_in_nobodys_way(name: str) -> None:
    assert play(BEFORE[name], 0).resent_later == 0


def later_joiner() -> tuple[Group, list[str]]:
    """a has five messages of z from before b's horizon; b writes three."""
    group = Group("a", config=CONFIG)
    for place in range(5):
        group.give("a", forge("z", f"old-{place}", START + place))
    group.tick(LATER)
    group.add("b")
    group.tick(1000)
    return group, [group.say("b", f"{number}").message_id for number in range(3)]


def test_a_question_begins_with_the_oldest_own_message_not_acknowledged() -> None:
    group, own = later_joiner()
    group["b"].sent.clear()
    group.passes = lambda flight: False
    group.tick(10 * INTERVAL)
    first = group["b"].channel.state.window.entries[own[0]].lamport
    assert first in [one.low for one in prints(group["b"])]
    assert sum(one.low != first for one in prints(group["b"])) >= len(prints(group["b"])) // len(SECTIONS)


def test_a_question_is_answered_with_the_same_range_and_settles_what_is_in_it() -> None:
    group, own = later_joiner()
    group.tick(8 * INTERVAL)
    first = group["b"].channel.state.window.entries[own[0]].lamport
    assert first in [one.low for one in prints(group["a"])]
    assert open_own(group, "b") == 0
    how = {known.evidence["a"].how for known in group["b"].channel.state.outgoing.settled.values()}
    assert "range" in how


def test_no_question_is_asked_once_all_is_acknowledged() -> None:
    group, _ = later_joiner()
    group.tick(10 * INTERVAL)
    for node in group.nodes.values():
        node.sent.clear()
    group.tick(10 * INTERVAL)
    assert {one.low for one in prints(group["a"])} == {group["a"].channel.state.horizon}
    assert {one.low for one in prints(group["b"])} == {group["b"].channel.state.horizon}


def test_who_differs_for_ever_does_not_keep_the_others_from_their_questions() -> None:
    """One key in two places: its log is never that of the others, whose filters over the range answer it each time."""
    group = Group("a", "c", config=CONFIG, settle=10_000)
    low = max(node.channel.state.horizon for node in group.nodes.values())
    own = group.say("a", "hello").message_id
    for place, name in product(range(CONFIG.causal_history), group.nodes):  # what is mentioned instead
        group.give(name, forge("z", f"z{place}", group.now.wall + 1 + place))
    for number in range(60 * INTERVAL // 5000):
        section = compact.encode_range(["only here"], low, group.now.wall, 0.001, number)
        for name in group.nodes:
            group.give(name, forge("b", f"s{number}", group.now.wall, content=None, bloom_filter=WINDOW + section))
        group.tick(5000)
    assert group["a"].channel.state.outgoing.known[own].state is AckState.ACKED


@pytest.mark.parametrize("count", [2, 5])
def test_who_wrote_at_one_date_do_not_answer_each_other_for_ever(count: int) -> None:
    """The range begins with a message of each of them, so that each answer could be a question."""
    group = Group(*"abcde"[:count], config=CONFIG, settle=10_000)
    low = group.now.wall
    for name in group.nodes:
        group.send(name, f"{name} writes")
    group.passes = lambda flight: flight.packet.kind != "sync"
    group.tick(8 * INTERVAL)
    group.passes = lambda flight: True
    group.tick(40 * INTERVAL)
    assert [open_own(group, name) for name in group.nodes] == [0] * count
    for node in group.nodes.values():
        node.sent.clear()
    group.tick(40 * INTERVAL)
    told = [one.low for node in group.nodes.values() for one in prints(node)]
    assert len(told) > 40
    assert told.count(low) == 0


def asked(count: int = 3) -> tuple[Group, list[str], int]:
    """a holds some messages of b, and was asked for the range that begins with the first of them."""
    group = Group("a", config=CONFIG, settle=10_000)
    ids = [f"m{number}" for number in range(count)]
    for number, message_id in enumerate(ids):
        group.give("a", forge("b", message_id, START + 5000 + number))
    group.tick(CONFIG.push_grace)
    tell(group, "b", ids, START + 5000, START + 6000)
    return group, ids, START + 5000


def answers(group: Group, low: int) -> int:
    group["a"].sent.clear()
    group.tick(6 * INTERVAL)
    return sum(one.low == low for one in prints(group["a"]))


def test_a_question_is_answered_once() -> None:
    group, _, low = asked()
    assert answers(group, low) == 1


def test_a_question_that_differs_is_not_answered() -> None:
    group, ids, low = asked()
    group["a"].channel.state.ranges.asked = None
    tell(group, "c", [*ids, "another"], low, START + 6000)
    assert group["a"].channel.state.ranges.asked is None


def test_an_answer_is_not_answered() -> None:
    group, ids, low = asked()
    group["a"].channel.state.ranges.asked = None
    tell(group, "c", ids, low, START + 6000)
    assert answers(group, low) == 0


def test_the_answer_of_another_calls_ours_off() -> None:
    group, ids, low = asked()
    tell(group, "c", ids, low, START + 6000)
    assert answers(group, low) == 0


def test_an_answer_for_another_range_does_not() -> None:
    group, ids, low = asked()
    tell(group, "c", ids, low, START + 6001)
    assert answers(group, low) == 1


def test_an_answer_that_is_owed_outlives_a_restart() -> None:
    group, _, low = asked()
    group.crash("a")
    assert group["a"].channel.state.ranges.wanted is None
    assert answers(group, low) == 1


def test_an_answer_says_what_is_here_by_then() -> None:
    """A late message came in between: what is said is true all the same."""
    group, ids, low = asked()
    group.give("a", forge("c", "late", START + 5500))
    group["a"].sent.clear()
    group.tick(6 * INTERVAL)
    told = next(one for one in prints(group["a"]) if one.low == low)
    assert (told.ids, told.fingerprint) == (4, compact.fingerprint([*ids, "late"]))


def test_an_equal_range_acknowledges_below_the_horizon_too() -> None:
    group = Group("a", config=CONFIG, settle=1000)
    own = group.say("a", "one").message_id
    tell(group, "b", [own], 0, START + LATER)
    assert group["a"].channel.state.outgoing.settled[own].state is AckState.ACKED


def test_a_different_range_below_the_horizon_is_not_looked_into() -> None:
    group = Group("a", config=CONFIG, settle=1000)
    own = group.say("a", "one").message_id
    tell(group, "b", [own, "older"], 0, START + LATER)
    assert group["a"].of(RangeDiffered) == []
    assert open_own(group, "a") == 1


def test_a_filter_that_is_owed_goes_before_an_answer() -> None:
    group, ids, low = asked()
    tell(group, "c", ["unknown"], low, START + 6000)
    ranges = group["a"].channel.state.ranges
    assert (ranges.wanted, ranges.asked) == ((low, START + 6000), None)
    tell(group, "b", ids, low, START + 6000, number=CONFIG.push_grace)
    assert ranges.asked is None


def test_a_question_covers_no_more_than_one_range_may() -> None:
    group = Group("a", config=CONFIG, settle=1000)
    group.say("a", "one")
    for place in range(2 * RANGE_IDS):
        group.give("a", forge("z", f"{place:05}", group.now.wall + 1 + place))
    group["a"].sent.clear()
    group.tick(4 * INTERVAL)
    low = group["a"].channel.unacknowledged[0][0]
    assert next(one.ids for one in prints(group["a"]) if one.low == low) == RANGE_IDS


def test_what_a_gone_participant_said_in_between_stands_in_nobodys_way() -> None:
    """a and z wrote by turns before b's horizon, and z is gone without having had anything. b comes to have what a
    wrote, since that is resent, and of z only what a's sync messages name."""
    config = replace(CONFIG, resend_max=120_000)
    group = Group("a", config=config, settle=1000)
    for place in range(4):
        group.say("a", f"{place}")
        group.give("a", forge("z", f"z-{place}", group.now.wall + 1))
        group.tick(1000)
    group.tick(LATER)
    group.add("b")
    group.tick(200 * INTERVAL)
    assert {"z-0", "z-1", "z-2"}.isdisjoint(group["b"].log)
    assert open_own(group, "a") == 0


def test_a_question_for_more_takes_the_place_of_one_for_less() -> None:
    """The walk of a peer may begin with a message of its own by chance, and looks like a question then."""
    group = Group("a", config=CONFIG, settle=10_000)
    for number in range(3):
        group.give("a", forge("b", f"m{number}", START + number))
    group.tick(CONFIG.push_grace)
    for number, low in enumerate((START + 2, START, START + 1)):
        tell(group, "b", [f"m{at}" for at in range(low - START, 3)], low, START + 9, number)
        group.tick(CONFIG.push_grace)
    assert group["a"].channel.state.ranges.asked == (START, START + 9)
