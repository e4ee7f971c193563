"""Members in two parts: two of five apart from the other three for an hour, and two who were told another story."""

from __future__ import annotations

from typing import Any

from sdschat.timber.config import MINUTE
from sdschat.timber.events import Compacted, Forked, Rewritten
from sdschat.timber.values import CheckpointMark, EventBody, Kind, Statements, Sync
from tests.timber.group import Group
from tests.timber.world import signed_event, signed_operation

SMALLER, LARGER = ("ann", "bob"), ("cas", "dan", "eve")
DEFAULTS: dict[str, Any] = {
    "rounds": 8,
    "heartbeat": 30_000,
    "stagger": 2_000,
    "retry": 10_000,
    "sync_interval": 20_000,
}


def _compactions(group: Group) -> dict[str, int]:
    return {name: len(node.heard(Compacted)) for name, node in group.nodes.items()}


def test_t_050_t_051_the_smaller_part_never_compacts_and_nothing_is_lost() -> None:
    """T-050: "unless your partition controls the majority, you cannot evict peers, and therefore you cannot run
    compaction."

    T-051: "You can integrate them upstream or rebase them after the compaction point. No data gets lost."
    """
    group = Group(*SMALLER, *LARGER, **DEFAULTS)
    group.settle(5 * MINUTE)
    before = _compactions(group)
    started = group["ann"].engine.checkpoint.number
    group.sides = dict.fromkeys(SMALLER, 1) | dict.fromkeys(LARGER, 2)
    said = []
    for minute in range(60):
        for name, node in group.nodes.items():
            said.append(f"{name} {minute}")
            node.engine.say(said[-1], group.now)
            group.carry(node)
        group.settle(MINUTE)
    after = _compactions(group)
    for name in SMALLER:
        engine = group[name].engine
        assert after[name] == before[name]
        assert (len(engine.members()), engine.checkpoint.number) == (5, started)
    for name in LARGER:
        engine = group[name].engine
        assert after[name] > before[name]
        assert len(engine.members()) == 3
        assert engine.checkpoint.number > started + 180, "the posts of three members, and more"

    group.sides = {}
    group.settle(2 * MINUTE)
    for name in SMALLER:
        assert group[name].engine.me is None, "it was put out"
        group["cas"].engine.invite(group[name].key, group.now)
        group.carry(group["cas"])
    group.settle(10 * MINUTE)
    for node in group.nodes.values():
        assert sorted(node.texts()) == sorted(said), "each once"
        assert node.texts() == group["cas"].texts()
    assert len({node.engine.checkpoint for node in group.nodes.values()}) == 1
    assert [len(group[name].heard(Rewritten)) for name in SMALLER] == [60, 60]


def test_two_operations_of_one_number_that_are_told_to_equal_halves_are_named_and_settle_nothing() -> None:
    """Neither half can remove the other, so both stand still, at the same checkpoint; and all know who it was."""
    group = Group("ann", "bob", "cas", "dan", "liar")
    group.settle()
    halves, liar = (("ann", "bob"), ("cas", "dan")), group["liar"]
    liar.up = False
    for half in halves:
        body = EventBody(Kind.SAY, 4, 1, 0, f"for {half[0]}")
        draft = liar.engine._core.replica.draft(signed_event(group.data_set, liar.key, body), Statements())
        told = Sync(CheckpointMark(0, b""), (), bytes(32), (signed_operation(group.data_set, liar.key, draft),))
        for name in half:
            group.deliver(name, told, "liar")
    group.sides = {"cas": 1, "dan": 1}
    group.say("ann", "one")
    group.say("cas", "two")
    group.sides = {}
    for number in range(12):
        for name in ("ann", "bob", "cas", "dan"):
            group.say(name, f"{number} of {name}")
    group.settle(60_000)
    honest = [group[name] for half in halves for name in half]
    assert all({fork.slot for fork in node.heard(Forked)} == {4} for node in honest)
    assert len({node.engine.checkpoint for node in honest}) == 1
    assert all(len(node.engine.members()) == 5 for node in honest)
    for one, other in halves:
        assert group[one].texts() == group[other].texts()
