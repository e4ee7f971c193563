"""One run: faults, then healing, then convergence, then quiet, then old traffic again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sdschat.sds.bloom import waku
from sdschat.sds.limits import PUSH_BYTES_PER_MINUTE
from sdschat.sim.actions import act
from sdschat.sim.check_end import check_end, check_replay
from sdschat.sim.generate import limits
from sdschat.sim.liveness import check_liveness
from sdschat.sim.scenario import Plan, Scenario, Violation, config_for
from sdschat.sim.world import ACTION, Trace, World


@dataclass(slots=True)
class Outcome:
    """Result of a run. `rule` is empty if every invariant held."""

    seed: int
    rule: str = ""
    what: str = ""
    timing: str = ""
    variant: str = ""  # of the scenario: the same seeds tell other stories
    usual: bool = False  # default settings, so that its time of convergence may be compared
    healed_for: int = 0  # from healing to convergence
    delivered: int = 0
    frames: int = 0
    refusals: int = 0
    evidence: int = 0
    false_positives: int = 0
    trace: str = ""
    rare: dict[str, int] = field(default_factory=dict)  # rare situations that it met
    steps: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.rule


def patience(scenario: Scenario, lacking: int = 0) -> int:
    """Return the time after healing within which everybody must have everything: five minutes with the spec's timers,
    in proportion with others, and after what is gone for good was given up. `lacking` is the most that one of them
    lacks then."""
    interval, lost_after = scenario.longest_interval, scenario.lost_after
    # Small windows and buffers take more rounds: through a buffer of six, four at a time, about one in each.
    bound = (30 + lacking if scenario.limits else 10) * interval
    if any(
        plan.layout == "waku" or plan.literal == "waku" for plan in scenario.plans
    ):  # what exceeds the budget of pushes waits for it
        bound += max(0, lacking * waku.BYTES * 60_000 // PUSH_BYTES_PER_MINUTE - 60_000)
    budget = dict(scenario.limits).get("PUSH_BYTES_PER_MINUTE", 0)
    if budget:  # long messages
        size = 3_000 + (waku.BYTES if any("waku" in (plan.layout, plan.literal) for plan in scenario.plans) else 0)
        bound += lacking * size * 60_000 // budget
    if scenario.wrong_clock:
        bound += scenario.wrong_clock  # until its messages are due
    silent = not all(config.repair_enabled for config in scenario.configs)
    # Without repair, parents from before joining are waited for. So they are where their author no longer has the
    # packet, and the others, who are not in its response group, answer only when they are asked again.
    if scenario.losing or silent or scenario.forgetful:
        bound += lost_after + 4 * interval
    if scenario.forgetful and any(plan.literal for plan in scenario.plans):
        # A chain of which only the specification alone has the packets: one request at a time.
        bound += lacking * interval
    if scenario.torn:
        # Who came back from an older backup may date its packets before what it sent under a faster clock: until its
        # own clock is there, its filters look old. And what is dated before a small filter begins reaches who missed it
        # only once the others gave up what it waits for, so that it is waited for twice.
        bound += scenario.spread + lost_after
        if scenario.limits:  # in a small buffer there is no room for what follows until the first of it was given up,
            bound += 2 * lost_after  # and what is sent again comes in any order, the later ones first
    if scenario.hostile:  # what waited for such a parent may be refused when that comes, and is given up as well then
        bound += lost_after
    return bound


def run(scenario: Scenario, full_trace: bool = False, replace_every: int = 0) -> Outcome:
    """Run a scenario. Every exception of the engine is a violation too: it must not raise."""
    trace = Trace(full_trace)
    outcome = Outcome(scenario.seed, timing=scenario.timing, variant=scenario.variant, usual=scenario.usual)
    world = None
    try:
        with limits(scenario.limits):
            configs = [config_for(scenario.config, plan.layout, plan.settings) for plan in scenario.plans]
            world = World(scenario, configs, trace, replace_every)
            outcome.healed_for = _live(world)
    except Violation as violation:
        outcome.rule, outcome.what = violation.rule, violation.what
    except Exception as error:
        outcome.rule, outcome.what = "I13", _where(error)
    if world is not None:
        oracle = world.oracle
        outcome.delivered, outcome.frames, outcome.refusals = oracle.delivered, world.frames, oracle.refusals
        outcome.rare = dict(oracle.rare.met)
        outcome.evidence, outcome.false_positives = oracle.evidence, oracle.false_positives
        if outcome.rule:
            outcome.what += f" (at {world.time / 1000:.1f} s)"
    outcome.trace, outcome.steps = trace.digest(), trace.steps
    return outcome


def _where(error: Exception) -> str:
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{at.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{at.tb_lineno}" if at else "?"
    return f"{type(error).__name__} in {place}: {error}"


def _live(world: World) -> int:
    scenario = world.scenario
    for node in world.nodes:
        if not node.gone:
            world.boot(node)
    for action in scenario.actions:
        world.schedule(action.at, ACTION, -1, action)
    world.run(scenario.heal_at, act)
    _heal(world)
    within = patience(scenario, max(map(len, world.oracle.convergence.lacking().values()), default=0))
    _settle(world, within)
    took = world.time - scenario.heal_at
    interval = scenario.longest_interval
    rates = scenario.rates
    stragglers = scenario.heal_at + 2 * rates.tail_ms + rates.latency if rates.tail or rates.duplicate else 0
    world.run(max(world.time, stragglers) + 2 * interval, act)
    _settle(world, within)  # what is left of somebody who has left may reach a log only now, and then all must get it
    check_end(world)
    _note_rare(world)
    if not scenario.hostile:
        check_liveness(world)
    check_replay(world)
    return took


def _note_rare(world: World) -> None:
    """Count the rare situations that are seen at the end."""
    met = world.oracle.rare.met
    for node in world.nodes:
        if node.literal is not None and node.literal.answered:
            met["a peer that is the specification asked, and was answered"] += 1
    dates = Counter(origin.lamport for origin in world.oracle.origins.values() if origin.author >= 0)
    met["two messages of one date"] += sum(count > 1 for count in dates.values())


def _settle(world: World, within: int) -> None:
    world.until_settled = True
    world.run(world.scenario.heal_at + within, act)
    _give_up_what_is_gone(world)
    if world.oracle.convergence.outstanding:
        raise Violation("I5", not_converged(world, within))
    world.until_settled = False


def _give_up_what_is_gone(world: World) -> None:
    """Owe nobody what has no packet left: of disks that keep few, who left may have taken the only one along, or
    those who have it are the specification and no more: these push nothing, and a chain of messages takes minutes for
    each that is asked for. Who waits for its parents has the packet, and not the message."""
    if not world.scenario.forgetful:
        return
    present = [node for node in world.nodes if not node.gone and node.literal is None]
    records = world.oracle.records
    for message_id in {message_id for ids in world.oracle.convergence.lacking().values() for message_id in ids}:
        if not any(node.has_packet(message_id) and message_id in records[node.index].log for node in present):
            world.oracle.convergence.gone(message_id)


def not_converged(world: World, within: int) -> str:
    parts = [
        f"{world.nodes[node].plan.name} lacks {', '.join(message_id[:8] for message_id in ids[:4])}"
        for node, ids in world.oracle.convergence.lacking().items()
    ]
    return f"not converged {within / 1000:.0f} s after healing: {'; '.join(parts)}"


def _heal(world: World) -> None:
    """End every network fault, and start everyone who has not left."""
    scenario = world.scenario
    world.network.calm = True
    world.network.blocked = frozenset()
    for node in world.nodes:
        if node.gone:
            continue
        node.armed = ""
        if node.literal is not None:
            continue
        if node.channel is None:
            node.online = True
            world.boot(node)
        elif not node.online:
            node.online = True
            node.channel.connected(node.now(world.time))
            world.flush(node)
    seen = world.oracle.records
    owed = [node.index for node in world.nodes if not node.gone and _is_owed(scenario, node.plan)]
    world.oracle.convergence.begin(
        world.time,
        {index: seen[index].horizon for index in owed},
        silent=[node.index for node in world.nodes if node.literal is not None],
        refuses=world.oracle.refuses if scenario.torn else None,
    )


def _is_owed(scenario: Scenario, plan: Plan) -> bool:
    """True for a participant that is to get everything: who sends no filter cannot say what it lacks, and of two
    places with one key each calls off what the other one is sent."""
    return plan.literal != "none" and plan.participant not in scenario.twins
