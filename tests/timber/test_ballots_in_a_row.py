"""A member that opens ballot after ballot: others promise one of them in half a heartbeat, and go on with others'."""

from __future__ import annotations

from sdschat.timber.events import Decided
from sdschat.timber.values import Ballot, Statements
from tests.timber.group import SETTINGS, Group

EVERY = 100  # milliseconds


def written(group: Group, name: str) -> int:
    me = group[name].engine._core.replica.committee.member(group[name].id)
    return 0 if me is None else me.seq


def open_one(group: Group, name: str) -> None:
    core = group[name].engine._core
    assert core.replica.me is not None
    core.prepare_at = core.mono
    ballot = Ballot(core.replica.turn.highest().number + 1, core.replica.me)
    core.write(None, Statements(prepare=ballot, promise=ballot))
    group[name].engine._sync.push()
    group.carry(group[name])


def test_others_write_no_more_for_them_than_in_half_a_heartbeat() -> None:
    """Each made every other member write twice."""
    group, spell = Group("alice", "bob", "carol", rounds=8), 20_000
    before = written(group, "alice")
    for _ in range(0, spell, EVERY):
        open_one(group, "carol")
        group.settle(EVERY)
    assert written(group, "carol") >= spell // EVERY
    assert written(group, "alice") - before <= 2 * (2 * spell // SETTINGS["heartbeat"])


def test_the_last_of_them_is_promised_at_last() -> None:
    group = Group("alice", "bob", "carol", rounds=8)
    for _ in range(3):
        open_one(group, "carol")
        group.settle(EVERY)
    turns = len(group["alice"].heard(Decided))
    group.settle(SETTINGS["heartbeat"])
    assert len(group["alice"].heard(Decided)) == turns + 1


def test_a_silent_member_is_put_out_all_the_same() -> None:
    group = Group("alice", "bob", "carol", "dave", "erin")
    group["erin"].up = False
    for _ in range(0, 60_000, EVERY):
        open_one(group, "dave")
        group.settle(EVERY)
        if any(told.value.removed for told in group["alice"].heard(Decided)):
            return
    raise AssertionError("nobody was put out")
