"""An audit of simulated groups under faults: it accuses nobody who did nothing wrong, and whoever did.

SDSCHAT_AUDIT_SEEDS: how many groups; SDSCHAT_AUDIT_FIRST: the first of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sdschat.audit.compare import compare
from sdschat.audit.schemas import FAULTS
from sdschat.audit.verdict import DEFAULT, LOST, Audit, Rules
from sdschat.sds.state import Ready
from sdschat.sds.values import Append, Now
from sdschat.sim.generate import limits
from sdschat.sim.node import CHANNEL, SimNode
from sdschat.sim.phases import _live
from sdschat.sim.runner import story
from sdschat.sim.scenario import Action, Scenario, config_for
from sdschat.sim.world import Trace, World
from sdschat.store.journal import journal_of
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.store import Store
from sdschat.wire.sds_codec import SdsCodec

FIRST = int(os.environ.get("SDSCHAT_AUDIT_FIRST", "0"))
# A clock ahead, a log with a hole, what an author took along, one who got nothing, a clock set back between two runs.
ONCE_FALSE = (50057, 50035, 50075, 50025, 60038)
SEEDS = (*ONCE_FALSE, *range(FIRST, FIRST + int(os.environ.get("SDSCHAT_AUDIT_SEEDS", "20"))))
GIVEN_UP = "the node gave it up"
OWN = "it is its own message, and not in its log"
FORGOTTEN = "the node does not know of it"
NEVER_CONNECTED = "nothing in it says whose it is: it never connected"
QUICK = DEFAULT._replace(settle=5_000)


class Turn(NamedTuple):
    boot: int
    now: Now
    ready: Ready


class KeptWorld(World):
    """A world that remembers what each disk was given, step by step."""

    def __init__(self, scenario: Scenario) -> None:
        configs = [config_for(scenario.config, plan.layout, plan.settings) for plan in scenario.plans]
        super().__init__(scenario, configs, _Steps(self))
        self.turns: list[list[Turn]] = [[] for _ in self.nodes]
        self.copies: dict[int, list[Turn]] = {}

    def run(self, until: int, act: Any = None) -> None:
        def kept(world: World, action: Action) -> None:
            node = self.nodes[action.node]
            before = node.backup
            if action.verb == "join" and node.plan.key_of and node.gone and not node.boots:
                self.turns[node.index] = list(self.turns[self.oracle.index[node.plan.key_of]])
            if action.verb == "rollback" and before is not None and not node.gone:
                self.turns[node.index] = list(self.copies[node.index])
            act(world, action)
            if node.backup is not before:
                self.copies[node.index] = list(self.turns[node.index])

        super().run(until, kept)

    def keep(self, node: SimNode, ready: Ready) -> None:
        self.turns[node.index].append(Turn(node.boots, node.now(self.time), ready))

    def _dies(self, node: SimNode, ready: Ready) -> bool:
        written = node.armed != "before-writes"
        died = super()._dies(node, ready)
        if died and written:
            self.keep(node, ready)
        return died


class _Steps(Trace):
    def __init__(self, world: KeptWorld) -> None:
        super().__init__()
        self._world = world

    def step(self, time: int, node: int, ready: Ready) -> None:
        self._world.keep(self._world.nodes[node], ready)


def lived(seed: int) -> KeptWorld:
    scenario = story(seed, "mixed")
    with limits(scenario.limits):
        world = KeptWorld(scenario)
        _live(world)
    return world


def write(world: KeptWorld, node: SimNode, folder: Path, without: str = "") -> Path:
    """Write the database of a node. `without`: a message that it lost, and of which it says nothing."""
    path = folder / f"{node.plan.name}.db"
    turns = world.turns[node.index]
    for boot in dict.fromkeys(turn.boot for turn in turns):
        journal = JournalSettings(node.plan.participant, f"{node.plan.name} {boot}")
        with Store.open(path, SdsCodec(), journal=journal) as store:
            for _, now, ready in (turn for turn in turns if turn.boot == boot):
                rows = [row for row in journal_of(CHANNEL, ready, now) if without not in (row.message_id, "")]
                rows = rows if without else journal_of(CHANNEL, ready, now)
                kept = [each for each in ready.writes if not (isinstance(each, Append) and _id(each) == without)]
                store.commit([(CHANNEL, kept)], rows)
    return path


def _id(write: Append) -> str:
    return write.row.entry.message_id


def audited(folder: Path, rules: Rules = DEFAULT) -> Audit:
    found = compare(sorted(folder.glob("*.db")), 1, rules)
    assert {row.reason for row in found.quarantine} <= {NEVER_CONNECTED}
    return found.audit


def accused(world: KeptWorld, found: Audit) -> Iterator[str]:
    """Yield what an audit may not say of these nodes."""
    scenario = world.scenario
    there = {row.node for row in found.nodes}
    twins = {plan.key_of for node in world.nodes if (plan := node.plan).key_of and node.boots}
    wrong = {plan.participant for plan in scenario.plans if abs(plan.skew) > scenario.config.max_skew}
    for row in found.missing:
        given_up = row.detail == GIVEN_UP and (scenario.losing or scenario.forgetful or scenario.wrong_clock)
        torn = row.detail == OWN and row.node in scenario.torn
        stranger = scenario.hostile and row.sender not in world.oracle.participants
        if row.reason == LOST and not given_up and not torn and not stranger:
            yield f"{row.node} lacks {row.message_id}: {row.detail}"
    for finding in found.findings:
        true = finding.kind == "apart" and finding.node in twins
        true |= finding.kind == "extra" and bool(scenario.torn)  # from before the backup of its sender was put back
        true |= finding.kind == "clock" and (finding.node not in there or finding.node in wrong)
        if finding.kind in FAULTS and not true:
            yield f"{finding.node} {finding.kind}: {finding.detail}"
    if twins != {finding.node for finding in found.findings if finding.kind == "apart"}:
        yield "not all databases that went apart are named"


def test_nobody_is_accused_who_did_nothing_wrong(tmp_path: Path) -> None:
    for seed in SEEDS:
        world = lived(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        for node in world.nodes:
            if world.turns[node.index]:
                write(world, node, folder)
        assert list(accused(world, audited(folder))) == [], seed
        shutil.rmtree(folder)


def _losable(world: KeptWorld) -> Iterator[tuple[SimNode, str]]:
    """Yield nodes, each with a message of another that it had long before the end."""
    scenario = world.scenario
    if scenario.losing or scenario.forgetful or scenario.wrong_clock:
        return
    for node in world.nodes:
        turns = world.turns[node.index]
        for turn in turns:
            late = turns[-1].now.mono - turn.now.mono if turns[-1].boot == turn.boot else 0
            rows = [each.row for each in turn.ready.writes if isinstance(each, Append)]
            if late > 10 * QUICK.settle and (ids := [row.entry.message_id for row in rows if not row.own]):
                yield node, ids[0]
                break


def test_whoever_lost_a_message_is_accused_of_that_alone(tmp_path: Path) -> None:
    done = 0
    for seed in SEEDS:
        world = lived(seed)
        for liar, lost in list(_losable(world))[:1]:
            folder = tmp_path / str(seed)
            folder.mkdir()
            for node in world.nodes:
                if world.turns[node.index]:
                    write(world, node, folder, lost if node is liar else "")
            said = list(accused(world, audited(folder, QUICK)))
            assert said == [f"{liar.plan.participant} lacks {lost}: {FORGOTTEN}"], seed
            shutil.rmtree(folder)
            done += 1
    assert done
