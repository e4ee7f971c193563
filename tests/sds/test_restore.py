"""Stopping after any step and restoring equals never having stopped."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from sdschat.sds.config import DEMO, Config
from sdschat.sds.events import DependenciesLost, RepairResponded
from sdschat.sds.limits import RECENT_WINDOW
from sdschat.sds.state import Peers
from sdschat.sds.values import Now
from sdschat.sim.generate import limits
from tests.sds.group import QUIET, START, Flight, Group, Node, forge
from tests.sds.machine import outcome

HOUR = 3_600_000
BUSY = replace(DEMO, id_rule="text", bloom_capacity=16, lost_after=12_000)
LAYOUTS = [BUSY, replace(BUSY, bloom_layout="waku"), replace(BUSY, causal_history=1, num_response_groups=2)]


def lossy(flight: Flight) -> bool:
    """Every third packet or so is lost, always the same ones; for a while c hears nothing at all."""
    cut = flight.receiver == "c" and flight.packet.message_id[-1] in "01234567"
    return not cut and (flight.packet.raw[-1] + ord(flight.receiver)) % 3 != 0


def same_future(node: Node, now: Now, inputs: list[bytes]) -> None:
    """Two copies, one of them restored from disk, are given the same time and packets."""
    going, restored = copy.deepcopy(node), copy.deepcopy(node)
    restored.open(now)
    for place in range(30):
        then = Now(now.wall + 700 * place, now.mono + 700 * place)
        for one in (going, restored):
            one.channel.advance(then)
            if place < len(inputs):
                one.channel.receive(then, inputs[place])
        there, here = outcome(going), outcome(restored)
        assert there == here, f"{node.name} differs {700 * place} ms after its restart"
        assert going.channel.next_wake() == restored.channel.next_wake()


@pytest.mark.parametrize("config", LAYOUTS, ids=["compact", "waku", "groups"])
def test_a_restored_engine_goes_on_as_if_it_had_never_stopped(config: Config) -> None:
    group = Group("a", "b", "c", config=config)
    group.passes = lossy
    for step in range(36):
        if step % 4 < 2:
            group.send("abc"[step % 3], f"message {step}")
        group.tick(900)
        group.give("b", forge("z", f"z{step}", group.now.wall + 1, f"z{step - 1 if step % 5 else step + 99}"))
        group.give("c", forge("y", f"y{step}", START - 9000 + step, f"never-{step}"))
        group["a"].channel.learn_hint(group["a"].log[-1], b"hint %d" % step)
        group.collect("a")
        heard = [packet.raw for node in group.nodes.values() for packet in node.sent[-8:]]
        for node in group.nodes.values():
            same_future(node, group.now, heard)


def test_the_walk_through_a_long_history_goes_on_where_it_was() -> None:
    group = Group("a", config=BUSY)
    for place in range(700):
        group.give("a", forge("b", f"m{place}", START - 60_000 + place))
    while not group["a"].channel.state.ranges.cursor:
        group.tick(1000)
    same_future(group["a"], group.now, [])


def test_time_without_a_transport_does_not_count_against_what_is_missing() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "child", START + 2, "parent"))
    group.offline("a")
    group.tick(2 * QUIET.lost_after)
    group.online("a")
    group.tick(QUIET.lost_after - 1000)
    assert group["a"].of(DependenciesLost) == []
    group.tick(1001)
    assert group["a"].of(DependenciesLost) == [DependenciesLost(("parent",))]


def test_a_crash_in_the_middle_of_everything_loses_no_message() -> None:
    group = Group("a", "b", "c", config=BUSY)
    sent = []
    for step in range(40):
        sent.append(group.send("abc"[step % 3], f"message {step}").message_id)
        if step % 3:
            group.lose()
        group.crash("abc"[step % 2])
        group.tick(300)
    group.tick(120_000)
    logs = [node.log for node in group.nodes.values()]
    assert logs[0] == logs[1] == logs[2]
    assert sorted(logs[0]) == sorted(sent)


def asked_again_after(pause: int) -> int:
    """Count how often a message is sent, asked for once, and a second time so long after the answer."""
    group = Group("a", settle=2000)
    message = group.send("a", "one")
    for place in range(2):
        group.give("a", forge("c", f"s{place}", group.now.wall, content=None, requests=(message.message_id,)))
        group.tick(pause)
    return len(group["a"].of(RepairResponded))


def test_who_asks_again_at_once_is_not_answered_again() -> None:
    assert asked_again_after(QUIET.t_max // 2 - 1) == 1


def test_who_asks_again_later_is() -> None:
    assert asked_again_after(QUIET.t_max // 2 + 1) == 2


def test_a_restart_does_not_refill_the_budget_for_answers() -> None:
    group = Group("a", settle=2000)
    for place in range(6):
        message = group["a"].channel.send(group.now, b"x" * 20_000 + bytes([65 + place]))
        group.collect("a")
        group.give("a", forge("c", f"s{place}", START + 9, content=None, requests=(message.message_id,)))
    group.tick(0)
    before = len(group["a"].of(RepairResponded))
    group.crash("a")
    group.tick(100)
    assert len(group["a"].of(RepairResponded)) == before == 4


@pytest.mark.parametrize("restarted", [False, True])
def test_time_offline_before_something_was_missing_does_not_put_off_when_it_is_given_up(restarted: bool) -> None:
    """The child is deferred, falls due while there is no transport, and only then names what is not there."""
    group = Group("a", settle=2000)
    group.give("a", forge("b", "child", group.now.wall + QUIET.max_skew + 5 * HOUR, "parent"))
    group.offline("a")
    group.tick(9 * HOUR)
    group.online("a")
    if restarted:
        group.crash("a")
    state = group["a"].channel.state
    assert state.requests.missing["parent"].lost_at - state.now.mono == QUIET.lost_after


def test_heads_are_the_same_after_a_restart_where_a_child_came_before_its_parent_and_is_long_gone() -> None:
    def mentioned(restarted: bool) -> list[str]:
        group = Group("a", settle=2000)
        group.give("a", forge("c", "child", group.now.wall - 4000, "parent"))
        group.tick(QUIET.lost_after + 1000)  # the parent is given up, and the child shown without it
        now = group.now.wall
        group.give("a", forge("d", "parent", now - 1000))  # dated after its child, by a clock or a liar
        for number in range(RECENT_WINDOW):
            group.give("a", forge("b", f"n{number}", now - 2000 + number, *([f"n{number - 1}"] if number else [])))
        if restarted:
            group.crash("a")
        return [entry.message_id for entry in group.send("a", "next").causal_history]

    assert "parent" in mentioned(restarted=False)
    assert mentioned(restarted=False) == mentioned(restarted=True)


@pytest.mark.parametrize("restarted", [False, True], ids=["going on", "restarted"])
def test_who_is_charged_for_what_was_dropped_is_the_same_after_a_restart(restarted: bool) -> None:
    """Charge the sender whose waiting message is first in the log; not whose came first, which no disk tells."""
    group = Group("a", settle=2000)
    now = group.now.wall
    group.give("a", forge("f", "from the future", now + QUIET.max_skew + 5000, "dropped"))
    group.give("a", forge("z", "dropped", now + 1, "its parent"))
    group.give("a", forge("d", "child", now + 2, "dropped"))
    group.tick(6000)
    if restarted:
        group.crash("a")
    with limits((("BUFFERED_PER_SENDER", 1),)):
        group.give("a", forge("z", "older", now, "nowhere"))
    assert group["a"].channel.state.requests.missing["dropped"].charged_to == "d"


def test_what_came_just_now_is_known_after_a_restart_even_where_it_is_more_than_the_recent_window() -> None:
    """Otherwise it would be pushed to those to whom it is still on its way."""
    group = Group("a", settle=2000)
    with limits((("RECENT_WINDOW", 8),)):
        for number in range(30):
            group.give("a", forge("b", f"n{number:02}", group.now.wall + number))
        before = set(group["a"].channel.state.recent_arrivals)
        group.crash("a")
        assert set(group["a"].channel.state.recent_arrivals) == before == {f"n{number:02}" for number in range(30)}


def test_of_what_came_just_now_a_restart_remembers_no_more_than_was_known() -> None:
    """Waiting messages are on the disk beside the log, and were counted in addition to what is kept of that."""
    group = Group("a", settle=2000)
    with limits((("ARRIVALS_KEPT", 4),)):
        for number in range(6):
            parent = ["not here"] if number >= 4 else []
            group.give("a", forge("b", f"n{number}", group.now.wall + number, *parent))
            group.tick(1)
        before = list(group["a"].channel.state.recent_arrivals)
        group.crash("a")
        assert list(group["a"].channel.state.recent_arrivals) == before == ["n2", "n3", "n4", "n5"]


def test_what_was_missing_while_repair_was_off_is_asked_for_once_it_is_on() -> None:
    group = Group("a", config=replace(QUIET, repair_enabled=False), settle=2000)
    group.give("a", forge("b", "child", group.now.wall, "parent"))
    group["a"].config = QUIET
    dues = []
    for _ in range(2):
        group.crash("a")
        group.collect("a")
        dues.append(group["a"].channel.state.requests.requests.get("parent"))
        group.tick(1000)
    assert dues[0] is not None
    assert dues[0] <= group.now.mono + QUIET.t_max
    assert dues[0] == dues[1]


def test_a_peer_behind_since_the_first_moment_of_a_clock_is_so_after_a_restart() -> None:
    begun = Now(START, 0)
    peers, restored = Peers(), Peers()
    peer = peers.heard("b", 7, 0)
    peer.reviewed_at = peer.behind_since = 0
    restored.restore(peers.row(peer, begun), begun)
    again = restored.known["b"]
    assert (again.reviewed_at, again.behind_since) == (0, 0)
    peer.reviewed_at = peer.behind_since = -1  # never
    restored.restore(peers.row(peer, begun), begun)
    again = restored.known["b"]
    assert (again.reviewed_at, again.behind_since) == (-1, -1)
