"""A wall clock that was wrong and is put right, while the engine runs or while it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds.config import Config
from sdschat.sds.events import Delivered, RepairRequested
from sdschat.sds.state import Peers
from sdschat.sds.values import Append, Now, PeerRow
from tests.sds.group import QUIET, START, Group, forge

HOUR = 3_600_000
CHATTY = replace(Config(), id_rule="text")


def shown(group: Group, name: str) -> list[bytes | None]:
    return [event.message.content for event in group[name].of(Delivered)]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_deferred_is_due_by_the_wall_clock_however_that_came_to_show_its_date(restarted: bool) -> None:
    group = Group(config=CHATTY)
    group.add("b")
    group.add("a", skew=-48 * HOUR)
    group.tick(2000)
    group.say("b", "dated two days ahead, by the clock of a")
    group.tick(60_000)
    assert shown(group, "a") == []
    group["a"].skew = 0
    if restarted:
        group.crash("a")
    group.tick(120_000)
    assert shown(group, "a") == [b"dated two days ahead, by the clock of a"]


def test_what_is_missing_is_not_lost_at_once_where_the_clock_was_put_forward_before_a_restart() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "child", group.now.wall, "parent"))
    group.tick(5000)
    group["a"].skew = HOUR
    group.tick(20_000)
    group["a"].open(group.now)
    group.tick(1000)
    assert group["a"].log == []
    group.tick(QUIET.lost_after)
    assert group["a"].log == ["child"]


def test_who_joined_with_a_fast_clock_gets_what_was_lost_once_it_is_put_right() -> None:
    group = Group("b", "c", config=CHATTY, settle=60_000)
    group.add("a", skew=2 * HOUR)
    group.tick(60_000)
    group["a"].skew = 0
    group.tick(60_000)
    group.passes = lambda flight: flight.receiver != "a"
    lost = group.say("b", "lost")
    group.passes = lambda flight: True
    for minute in range(10):
        group.say("c", f"minute {minute}")
        group.tick(60_000)
    assert lost.message_id in group["a"].log


def test_a_clock_that_is_wrong_by_years_does_not_move_the_join_horizon() -> None:
    group = Group("a", settle=2000)
    horizon = group["a"].channel.state.horizon
    group["a"].skew = -20 * 365 * 24 * HOUR
    group.tick(60_000)
    assert group["a"].channel.state.horizon == horizon


def test_a_repair_request_is_not_put_off_by_a_clock_that_was_put_right_before_a_restart() -> None:
    """Its T_req stands on disk by the wall clock that was fast."""
    group = Group("a", settle=2000)
    group["a"].skew = HOUR
    group.give("a", forge("b", "child", group.now.wall, "parent"))
    group["a"].skew = 0
    group.send("a", "the first write by the right clock")
    group.crash("a")
    group.tick(QUIET.t_max)
    assert [event.message_ids for event in group["a"].of(RepairRequested)] == [("parent",)]


@pytest.mark.parametrize(("ahead", "written"), [(HOUR, True), (0, False), (-HOUR, False)])
def test_a_peer_heard_ahead_of_a_clock_that_was_set_back_gets_the_time_that_is_taken_instead(
    ahead: int, written: bool
) -> None:
    """Otherwise each restart takes a later one, and puts off the next look at the peer's filter."""
    peers, now = Peers(), Now(START, 10 * HOUR)
    at = START + ahead
    peers.restore(PeerRow("b", START, START, at, at, 0, b"", b"", 0, "compact"), now)
    assert ("b" in peers.changed) == written
    assert peers.row(peers.known["b"], now).reviewed_at == min(at, START)


def test_what_was_dated_ahead_is_received_when_its_date_has_come() -> None:
    """An audit compares both, and knows no other time at which a node took a message."""
    group = Group("a", settle=2000)
    dated = group.now.wall + QUIET.max_skew + 5000
    group.give("a", forge("b", "m", dated))
    group.tick(10_000)
    (row,) = [one.row for one in group["a"].writes if isinstance(one, Append) and one.row.entry.message_id == "m"]
    assert row.received_at >= dated - QUIET.max_skew
