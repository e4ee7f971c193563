"""Worlds that `generate` does not make, by one to three twists of one that it makes.

The stories of `generate` stay what they are, so that a seed that ever failed goes on telling the same one; a varied
seed is another story, with a name of its own (`regress.txt` marks them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from sdschat.sds.bloom import compact, waku
from sdschat.sds.config import DEMO, SPEC, Config
from sdschat.sim.generate import TIGHT, generate
from sdschat.sim.scenario import START, WRONG_BY, Action, Scenario, Settings
from sdschat.sim.strangers import CROWDS, FILTERS, MALFORMED

Twist = Callable[[Random, Scenario], Scenario]

_SECONDS = 5_000
_SMALL_WINDOW = 64  # ids; a larger window holds all that a scenario without a crowd says
_COARSE_RANGE_BYTES = 48  # head of a range filter, and the coarsest one over a hundred ids
_TIMERS = (
    "sync_interval",
    "sweep_interval",
    "resend_unacked",
    "resend_possibly_acked",
    "resend_max",
    "lost_after",
    "t_min",
    "t_max",
    "push_grace",
    "push_delay_min",
    "push_delay_max",
)
_BYTES = (  # with how many packets that is, of long messages
    ("BUFFERED_BYTES_PER_SENDER", 3_000, 1),
    ("BUFFERED_BYTES_PER_CHANNEL", 4_500, 2),
    ("FUTURE_DATED_BYTES_PER_SENDER", 3_000, 1),
    ("FUTURE_DATED_BYTES_PER_CHANNEL", 3_800, 1),
    ("ANSWER_BYTES_PER_MINUTE", 6_000, 2),
    ("PUSH_BYTES_PER_MINUTE", 12_000, 5),
)
_TIGHTER = tuple({**dict(TIGHT), "PUSHES_PER_SENDER": 3, "FUTURE_DATED_PER_CHANNEL": 5}.items())
_MEMORY = (
    ("MAX_PEERS", 3),
    ("MAX_EVIDENCE", 2),
    ("EPHEMERAL_SEEN", 2),
    ("ARRIVALS_KEPT", 4),
    ("WANTED_BY", 1),
    ("FUTURE_DATED_PER_CHANNEL", 4),
    ("UNACKED_KEPT", 8),
    ("REMEMBERED_MISSES", 4),
)


def varied(seed: int) -> Scenario:
    scenario = generate(seed)
    draw = Random(f"varied {seed}")
    twists = draw.sample(TWISTS, draw.choice((1, 1, 1, 2, 2, 3)))
    for twist in sorted(twists, key=TWISTS.index):
        scenario = twist(draw, scenario)
    actions = tuple(sorted(scenario.actions, key=lambda action: action.at))
    return replace(scenario, actions=actions, variant="varied")


def _plan(scenario: Scenario, at: int, **changes: object) -> Scenario:
    plans = list(scenario.plans)
    plans[at] = replace(plans[at], **changes)  # type: ignore[arg-type]
    return replace(scenario, plans=tuple(plans))


def _more(scenario: Scenario, *actions: Action) -> Scenario:
    return replace(scenario, actions=(*scenario.actions, *actions))


def _without(scenario: Scenario, node: int, *verbs: str) -> Scenario:
    kept = tuple(action for action in scenario.actions if action.node != node or action.verb not in verbs)
    return replace(scenario, actions=kept)


def _two_and_one_later(draw: Random, scenario: Scenario) -> Scenario:
    """Return a group of two, the second of whom comes later: after seconds, minutes, or when most is said."""
    while len(scenario.plans) > 2:
        scenario = scenario.without_last()
    return _joins_later(draw, scenario, 1)


def _joins_later(draw: Random, scenario: Scenario, node: int) -> Scenario:
    if scenario.plans[node].joins:
        return scenario
    at = draw.choice((1_000, 5_000, draw.randint(1, scenario.heal_at), scenario.heal_at))
    return _more(_plan(scenario, node, joins=True), Action(min(at, scenario.heal_at), "join", node))


def _clocks_apart(draw: Random, scenario: Scenario) -> Scenario:
    """Let clocks differ by seconds, as they do."""
    if scenario.skew or scenario.wrong_clock:
        return scenario
    for at in range(len(scenario.plans)):
        scenario = _plan(scenario, at, skew=draw.randint(-_SECONDS, _SECONDS))
    return scenario


def _own_settings(draw: Random, scenario: Scenario) -> Scenario:
    for at in range(len(scenario.plans)):
        if draw.random() < 0.7:
            scenario = _plan(scenario, at, settings=_settings(draw, scenario.config))
    return scenario


def _settings(draw: Random, config: Config) -> Settings:
    """Draw the settings that one participant may have set otherwise than the others."""
    changes: dict[str, object] = {}

    def sometimes(chance: float, name: str, *values: object) -> None:
        if draw.random() < chance:
            changes[name] = draw.choice(values)

    sometimes(0.4, "bloom_capacity", 8, 16, 64, 256, 1024)
    sometimes(0.3, "bloom_error_rate", 0.05, 0.01, 0.001, 0.00001)
    sometimes(0.1, "bloom_layout", "compact", "waku", "auto")
    sometimes(0.2, "id_rule", "text", "content")
    sometimes(0.2, "causal_history", 1, 3, 10)
    sometimes(0.15, "repair_enabled", False)
    sometimes(0.2, "num_response_groups", 1, 2, 5)
    sometimes(0.2, "max_requests", 1, 8, 16)
    if draw.random() < 0.2:  # the timers of the other world
        other = SPEC if config.sync_interval == DEMO.sync_interval else DEMO
        changes |= {name: getattr(other, name) for name in _TIMERS}
    elif draw.random() < 0.3:
        changes["sync_interval"] = config.sync_interval * draw.choice((1, 2, 3)) // draw.choice((1, 2))
    return tuple(sorted(changes.items()))


def _settings_later(draw: Random, scenario: Scenario) -> Scenario:
    """Let a participant stop and come back with other settings."""
    for _ in range(draw.randint(1, 2)):
        node, at = draw.randrange(len(scenario.plans)), draw.randint(0, scenario.heal_at - 1)
        scenario = _plan(scenario, node, later=_settings(draw, scenario.config))
        back = min(at + draw.randint(1, scenario.longest_interval), scenario.heal_at)
        scenario = _more(scenario, Action(at, "crash", node, 0, "idle"), Action(back, "restart", node))
    return scenario


def _history_on_join(draw: Random, scenario: Scenario) -> Scenario:
    """Let joiners catch up from the beginning, from some time on, or not at all (`history.on_join` all, 24h, none)."""
    config = replace(scenario.config, max_skew=draw.choice((1_000, 20_000, 600_000)))
    plans = tuple(replace(plan, skew=0) for plan in scenario.plans)
    actions = tuple(action for action in scenario.actions if action.verb != "jump")
    scenario = replace(scenario, config=config, plans=plans, actions=actions)
    for node in range(len(plans)):
        if node and draw.random() < 0.5:
            scenario = _joins_later(draw, scenario, node)
        joined = max((action.at for action in scenario.actions if action[1:3] == ("join", node)), default=0)
        horizon = joined - config.max_skew
        since = draw.choice((-START, draw.randint(min(0, horizon), horizon), None))
        if since is not None:
            at = min(joined + draw.randint(1, 2 * scenario.longest_interval), scenario.heal_at)
            scenario = _more(scenario, Action(at, "fetch", node, since))
    return scenario


def _literal_peers(draw: Random, scenario: Scenario) -> Scenario:
    """Replace one or two of the group by a peer that is the specification and no more."""
    if scenario.limits or scenario.wrong_clock or scenario.hostile:  # it has no bounds, and follows every clock
        return scenario
    for node in draw.sample(range(len(scenario.plans)), draw.randint(1, min(2, len(scenario.plans) - 1))):
        scenario = _without(
            scenario, node, "crash", "restart", "offline", "online", "jump", "leave", "hint", "ephemeral", "fetch"
        )
        literal = draw.choice(("waku", "none"))
        scenario = _plan(scenario, node, literal=literal, layout="auto", batch=0, settings=(), later=None)
    return scenario


def _older_backup(draw: Random, scenario: Scenario) -> Scenario:
    """Let a profile come back from a backup that is older than what it has told others."""
    node = draw.choice([at for at, plan in enumerate(scenario.plans) if not plan.literal])
    times = sorted(draw.randint(1, scenario.heal_at) for _ in range(3))
    verbs = ("backup", "rollback", "restart")
    return _more(scenario, *(Action(at, verb, node) for at, verb in zip(times, verbs, strict=True)))


def _one_key_twice(draw: Random, scenario: Scenario) -> Scenario:
    """Copy a profile to a second machine, and let both go on."""
    node = draw.choice([at for at, plan in enumerate(scenario.plans) if not plan.literal])
    config = replace(scenario.config, id_rule="content")
    plan = scenario.plans[node]
    plans = tuple(
        replace(other, settings=_but(other.settings), later=other.later and _but(other.later))
        for other in scenario.plans
    )
    twin = replace(plans[node], name=f"{plan.name}2", key_of=plan.name, joins=True, batch=0)
    scenario = replace(scenario, config=config, plans=(*plans, twin))
    at, place = draw.randint(1, scenario.heal_at), len(scenario.plans) - 1
    sends = [Action(draw.randint(at, scenario.heal_at), "send", place, 5000 + n) for n in range(draw.randint(0, 5))]
    return _more(scenario, Action(at, "join", place), *sends)


def _but(settings: Settings) -> Settings:
    return tuple(item for item in settings if item[0] != "id_rule")


def _malformed(draw: Random, scenario: Scenario) -> Scenario:
    """Let packets come that break a rule each."""
    for number in range(draw.randint(2, 8)):
        node, at = draw.randrange(len(scenario.plans)), draw.randint(1, scenario.heal_at - 1)
        scenario = _more(scenario, Action(at, "malformed", node, number, draw.choice(MALFORMED)))
    return scenario


def _small_in_bytes(scenario: Scenario) -> Settings:
    """Return bounds that hold a packet or a few: no packet exceeds the bounds as they are, and with a waku filter it is
    longer."""
    layouts = {config.bloom_layout for config in scenario.configs}
    speaks_waku = "waku" in layouts or any(plan.literal == "waku" for plan in scenario.plans)
    longer = waku.BYTES if speaks_waku else 0
    return tuple((name, size + packets * longer) for name, size, packets in _BYTES)


def _tight_bytes(draw: Random, scenario: Scenario) -> Scenario:
    """Make buffers small in bytes, and messages long."""
    if scenario.limits:
        return scenario
    actions = tuple(
        action._replace(point="long") if action.verb == "send" and action.number % 3 else action
        for action in scenario.actions
    )
    return replace(scenario, limits=_small_in_bytes(scenario), actions=actions)


def _tight_memory(draw: Random, scenario: Scenario) -> Scenario:
    """Leave room for three peers, two witnesses and a handful of own messages."""
    if scenario.limits:
        return scenario
    typing = [
        Action(draw.randint(1, scenario.heal_at - 1), "ephemeral", draw.randrange(len(scenario.plans)), 7000 + number)
        for number in range(6)
    ]
    return _more(replace(scenario, limits=_MEMORY), *typing)


def _strangers(draw: Random, scenario: Scenario) -> Scenario:
    """Add strangers who ask, lack, write orphans and future dates, and send filters that nobody can believe."""
    small = _small_in_bytes(scenario)
    limits = scenario.limits or draw.choice((TIGHT, _TIGHTER, _TIGHTER, small, small, ()))
    for _ in range(draw.randint(2, 5)):
        kind = draw.choice((*CROWDS, *CROWDS, *FILTERS))
        if "future" in kind and (scenario.skew or any(plan.skew for plan in scenario.plans)):
            continue
        if kind == "rings" and any(plan.literal for plan in scenario.plans):
            continue  # who does what the specification says, and no more, waits in them for ever
        at, count = draw.randint(1, scenario.heal_at - 1), draw.randint(1, 24) if kind in CROWDS else 1
        scenario = _more(scenario, Action(at, "flood", -1, count, kind))
    return replace(scenario, limits=limits)


def _forgetful(draw: Random, scenario: Scenario) -> Scenario:
    """Let the disk of one participant keep few packets: it knows that it had a message, and cannot send it."""
    if scenario.losing or scenario.limits:
        return scenario
    return _plan(scenario, draw.randrange(len(scenario.plans)), bodies=draw.randint(1, 8))


def _coarse_ranges(draw: Random, scenario: Scenario) -> Scenario:
    """Leave little room for a filter over a range, and never none behind a small window, which does not reach back by
    itself. No settings lead to none: `RANGE_LIMIT` ids take 0.2 KiB, and the smallest limit of packets that is allowed
    is 1.6 KiB."""
    if scenario.limits or scenario.crowded:
        return scenario
    small = [config for config in scenario.configs if config.bloom_capacity <= _SMALL_WINDOW]
    shapes = [compact.shape_for(config.bloom_capacity, config.bloom_error_rate) for config in small]
    room = max((compact.WINDOW_HEAD_BYTES + (shape.bits >> 3) + _COARSE_RANGE_BYTES for shape in shapes), default=0)
    return replace(scenario, limits=(("MAX_FILTER_BYTES", max(125, room)),))


def _waku_leaves(draw: Random, scenario: Scenario) -> Scenario:
    """Let a peer of the waku format be there for a while."""
    if scenario.limits or scenario.wrong_clock or scenario.hostile or len(scenario.plans) < 3:
        return scenario
    limits = (("WAKU_REMEMBERED", 2 * scenario.longest_interval),)
    node = draw.randrange(len(scenario.plans))
    leave = Action(draw.randint(1, max(1, scenario.heal_at // 2)), "leave", node)
    return _more(replace(_plan(scenario, node, layout="waku"), limits=limits), leave)


def _many_resends(draw: Random, scenario: Scenario) -> Scenario:
    """Let a participant whose burst nobody heard come back when all of it is due at once."""
    node, count = draw.randrange(len(scenario.plans)), draw.randint(17, 40)
    at = draw.randint(0, scenario.heal_at // 2)
    burst = [Action(at, "send", node, 6000 + number) for number in range(count)]
    alone = Action(max(0, at - 1), "partition", groups=((node,), tuple(set(range(len(scenario.plans))) - {node})))
    away = Action(at + 1, "offline", node)
    back = Action(min(at + 2 * scenario.config.resend_unacked, scenario.heal_at), "online", node)
    return _more(scenario, alone, *burst, away, back)


def _clock_put_right(draw: Random, scenario: Scenario) -> Scenario:
    """Let a joiner's clock be fast beyond what others bear, and be put right later."""
    if scenario.skew or scenario.wrong_clock or any(plan.literal for plan in scenario.plans):
        return scenario
    node = draw.randrange(len(scenario.plans))
    fast = scenario.config.max_skew + WRONG_BY + draw.randint(0, scenario.longest_interval)
    at = draw.randint(1, scenario.heal_at)
    return _more(_plan(scenario, node, skew=fast), Action(at, "jump", node, 0))


TWISTS: tuple[Twist, ...] = (
    _two_and_one_later,
    _clocks_apart,
    _own_settings,
    _settings_later,
    _history_on_join,
    _literal_peers,
    _older_backup,
    _one_key_twice,
    _malformed,
    _tight_bytes,
    _tight_memory,
    _strangers,
    _forgetful,
    _coarse_ranges,
    _waku_leaves,
    _many_resends,
    _clock_put_right,
)
