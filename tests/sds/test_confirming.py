"""A message is confirmed soon in a small group, by mostly one of those who have it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import pytest

from sdschat.sds.config import SPEC
from sdschat.sds.events import StateChanged
from sdschat.sds.state import Peer
from sdschat.sds.steps.timing import SMALL_GROUP
from tests.sds.confirming import run, run_late
from tests.sds.group import Group


def test_in_a_chat_of_two_the_author_knows_within_three_seconds() -> None:
    assert max(run(2, messages=5).seconds) <= 3


def test_in_a_group_of_five_too_and_the_others_stay_silent() -> None:
    found, larger = run(5, messages=5), run(SMALL_GROUP + 2, messages=2)
    assert max(found.seconds) <= 4
    assert found.syncs <= larger.syncs + 3


@pytest.mark.parametrize("size", [3, 5, SMALL_GROUP + 1])
def test_in_a_small_group_the_author_knows_of_all_soon(size: int) -> None:
    assert max(run(size, messages=5).everybody) * 1000 <= SPEC.sync_interval * 7 // 12 + 1000


@pytest.mark.parametrize("size", [2, 3, 5])
def test_what_comes_late_after_a_cut_is_confirmed_as_soon(size: int) -> None:
    assert median(run_late(size, messages=9).known) <= 4


def test_of_each_message_its_author_knows_who_has_it_also_of_one_that_another_has_acknowledged() -> None:
    """Equal logs said nothing of messages that somebody else had acknowledged already: who had been away stayed without
    a word of all but the last one, which its sync messages mention."""
    group = Group("a", "b", "c", config=SPEC, settle=90_000)
    group.offline("c")
    for number in range(4):
        group.say("a", f"line {number}")
        group.tick(2_000)
    group.tick(20_000)
    group.crash("c")
    group.online("c")
    group.tick(2 * SPEC.sync_interval)
    assert len(group["c"].delivered()) == 4
    has: dict[str, set[str]] = {}
    for event in group["a"].of(StateChanged):
        has.setdefault(event.message_id, set()).update(event.by)
    assert [*has.values()] == [{"b", "c"}] * 4


def due_in(group: Group, name: str) -> int:
    """Return the time until the next sync message of this node."""
    return group[name].channel.state.sync.due - group.now.mono


def test_a_large_group_confirms_as_its_sync_messages_come() -> None:
    names = [f"p{number}" for number in range(SMALL_GROUP + 2)]
    group = Group(*names, config=SPEC, settle=90_000)
    group.say("p0", "hello")
    assert median(due_in(group, name) for name in names) > SPEC.sync_interval // 4


def test_who_answers_sends_nothing_more() -> None:
    group = Group("a", "b", config=SPEC, settle=90_000)
    group.say("a", "hello")
    assert due_in(group, "b") <= SPEC.sync_interval // 8
    group.say("b", "hello yourself")
    assert due_in(group, "b") >= SPEC.sync_interval // 2


def test_where_another_confirms_ours_is_put_off() -> None:
    group = Group("a", "b", "c", config=SPEC, settle=90_000)
    group.say("a", "hello")
    first, second = sorted("bc", key=lambda name: due_in(group, name))
    group.tick(due_in(group, first))
    assert due_in(group, second) > SPEC.sync_interval // 8


def test_those_who_confirm_do_not_all_speak_at_once() -> None:
    group = Group("a", "b", "c", "d", "e", config=SPEC, settle=90_000)
    group.say("a", "hello")
    assert len({due_in(group, name) for name in "bcde"}) > 1


def test_a_monologue_is_confirmed_a_few_times_and_not_line_by_line() -> None:
    group = Group("a", "b", config=SPEC, settle=90_000)
    before = len(group["b"].messages("sync"))
    for number in range(60):
        group.say("a", f"line {number}")
        group.tick(500)
    assert 3 <= len(group["b"].messages("sync")) - before <= 30_000 // (SPEC.sync_interval // 8) + 1


class CountingTable(dict[str, Peer]):
    """Participants by id, and how many of them somebody has looked at by going through the table."""

    seen = 0

    def values(self) -> Iterator[Peer]:  # type: ignore[override]
        for peer in super().values():
            self.seen += 1
            yield peer


def test_a_message_in_a_crowd_costs_no_look_at_everybody() -> None:
    names = [f"p{number}" for number in range(40)]
    group = Group(*names, config=SPEC, settle=90_000)
    peers = group["p1"].channel.state.peers
    peers.known = table = CountingTable(peers.known)
    for number in range(20):
        group.say("p0", f"line {number}")
    assert table.seen <= 2 * len(names)
