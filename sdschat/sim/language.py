"""A scenario as a conversation: one line a fact or happening, so that a failing seed can be read by a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from sdschat.sds.config import DEMO, SPEC, Config
from sdschat.sim.scenario import START, Action, Scenario


def describe(scenario: Scenario) -> list[str]:
    """The whole scenario, settings first, then what happens, with `tick` for the time between."""
    lines = [f"# {scenario.variant} seed {scenario.seed}".replace("  ", " "), f"timing {scenario.timing}"]
    lines += _settings(scenario.config, SPEC if scenario.timing == "spec" else DEMO)
    lines += [f"limit {name} {value}" for name, value in scenario.limits]
    rates = scenario.rates
    for name, share in (("drop", rates.loss), ("duplicate", rates.duplicate)):
        if share:
            lines.append(f"{name} {share:.1%}")
    lines.append(f"delay {rates.latency}ms jitter {rates.jitter}ms")
    if rates.tail:
        lines.append(f"delay {rates.tail_ms}ms for {rates.tail:.1%}")
    for plan in scenario.plans:
        notes = [f"bloom {plan.layout}"] if plan.layout != "auto" else []
        notes += [f"skew {plan.skew / 1000:+.1f}s"] if plan.skew else []
        notes += [f"slow {plan.batch}ms"] if plan.batch else []
        notes += [f"key of {plan.key_of}"] if plan.key_of else []
        notes += [f"keeps {plan.bodies} packets"] if plan.bodies else []
        notes += [f"the specification alone, filter {plan.literal}"] if plan.literal else []
        notes += [f"{name} {value}" for name, value in plan.settings]
        if plan.later is not None:
            notes += ["after a restart", *(f"{name} {value}" for name, value in plan.later)]
        lines.append(" ".join(("later" if plan.joins else "peer", plan.name, *notes)))
    time = 0
    for action in scenario.actions:
        lines += _tick(action.at - time)
        time = action.at
        lines.append(_action(scenario, action))
    return [*lines, *_tick(scenario.heal_at - time), "heal"]


def _settings(config: Config, base: Config) -> Iterable[str]:
    for item in fields(Config):
        value = getattr(config, item.name)
        if value != getattr(base, item.name):
            yield f"set {item.name} {value}"


def _tick(duration: int) -> list[str]:
    if duration <= 0:
        return []
    return [f"tick {duration}ms" if duration < 1000 or duration % 100 else f"tick {duration / 1000:g}s"]


def _action(scenario: Scenario, action: Action) -> str:
    def names(group: tuple[int, ...]) -> str:
        return " ".join(scenario.plans[node].name for node in group)

    who = scenario.plans[action.node].name if action.node >= 0 else ""
    verb = action.verb
    if verb in ("send", "ephemeral"):
        return f"{verb} {who} {action.number}{' ' + action.point if action.point else ''}"
    if verb == "flood":
        return f"flood {action.number} {action.point}"
    if verb in ("crash", "malformed"):
        return f"{verb} {who} {action.point}"
    if verb == "fetch":
        return f"fetch {who} {'all' if action.number == -START else f'from {action.number / 1000:.1f}s on'}"
    if verb == "partition":
        return "partition " + " | ".join(names(group) for group in action.groups)
    if verb == "oneway":
        return f"mute {names(action.groups[0])} > {names(action.groups[1])}"
    if verb == "jump":
        return f"clock {who} {action.number / 1000:+.1f}s"
    return " ".join(part for part in (verb, who, str(action.number) if action.number else "") if part)
