"""The settings of `--set`: their names, how their values are written, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from sdschat.identity.handwritten import did_you_mean
from sdschat.node.quantities import SIZES as SIZES
from sdschat.node.quantities import Value as Value
from sdschat.node.quantities import duration, size
from sdschat.sds.config import DEMO, SPEC, Config, response_groups
from sdschat.timber.config import Config as TimberConfig
from sdschat.transport.base import DEFAULT_PREFIX, normal_prefix
from sdschat.transport.fault_lane import NONE, Faults

# Short timers, for networks that are not shorter: where packets take 300 ms each way, those who have a message that
# somebody lacks must wait long enough to hear that another one has sent it. Eight nodes that lose 15 % then send a
# third fewer pushes, and nothing comes later (`tests.node.faulty` has the other end: 30 % lost, and sixty at once).
_DEMO: Final = replace(DEMO, resend_possibly_acked=2_000, resend_max=6_000, push_delay_max=3_000)
TIMINGS: Final[Mapping[str, Config]] = {"spec": SPEC, "demo": _DEMO}
TIMBER: Final[Mapping[str, TimberConfig]] = {
    "spec": TimberConfig(),
    "demo": TimberConfig(heartbeat=2_000, stagger=300, retry=2_000, sync_interval=5_000),
}

_LEAST_ROOM: Final = SIZES["M"]


class SettingError(ValueError):
    """A setting cannot be used. The text says which, why and what would do."""


def _integer(text: Value) -> int:
    if isinstance(text, bool) or not re.fullmatch(r"[+-]?\d+", str(text).strip()):
        raise ValueError("must be a whole number")
    return int(text)


def _number(text: Value) -> float:
    try:
        value = float(str(text))
    except ValueError:
        raise ValueError("must be a number such as 0.3") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("must be a number such as 0.3")
    return value


def _boolean(text: Value) -> bool:
    word = str(text).strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise ValueError("must be true or false")


def _one_of(*words: str) -> Callable[[Value], str]:
    def parse(text: Value) -> str:
        if str(text) not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return str(text)

    return parse


def _prefix(text: Value) -> str:
    return normal_prefix(str(text))


class Setting(NamedTuple):
    """`target` is where the value goes: a field of an engine's `Config`, of `Faults` or of `Settings`."""

    parse: Callable[[Value], Value]
    group: Literal["config", "faults", "timber", "node"]
    target: str


def _config(parse: Callable[[Value], Value], target: str) -> Setting:
    return Setting(parse, "config", target)


def _timber(parse: Callable[[Value], Value], target: str) -> Setting:
    return Setting(parse, "timber", target)


SETTINGS: Final[Mapping[str, Setting]] = {
    "sds.causal_history": _config(_integer, "causal_history"),
    "sds.resend_unacked": _config(duration, "resend_unacked"),
    "sds.resend_possibly_acked": _config(duration, "resend_possibly_acked"),
    "sds.resend_max": _config(duration, "resend_max"),
    "sds.sync_interval": _config(duration, "sync_interval"),
    "sds.sweep_interval": _config(duration, "sweep_interval"),
    "sds.lost_after": _config(duration, "lost_after"),
    "sds.max_skew": _config(duration, "max_skew"),
    "sds.max_message_bytes": _config(_integer, "max_message_bytes"),
    "sds.wire": Setting(_one_of("spec", "nim"), "node", "wire"),
    "bloom.layout": _config(_one_of("auto", "compact", "waku"), "bloom_layout"),
    "bloom.capacity": _config(_integer, "bloom_capacity"),
    "bloom.error_rate": _config(_number, "bloom_error_rate"),
    "repair.enabled": _config(_boolean, "repair_enabled"),
    "repair.t_min": _config(duration, "t_min"),
    "repair.t_max": _config(duration, "t_max"),
    "repair.max_requests": _config(_integer, "max_requests"),
    "repair.num_response_groups": _config(_integer, "num_response_groups"),
    "repair.expected_participants": Setting(_integer, "node", "expected_participants"),
    "push.enabled": _config(_boolean, "push_enabled"),
    "push.grace": _config(duration, "push_grace"),
    "push.delay_min": _config(duration, "push_delay_min"),
    "push.delay_max": _config(duration, "push_delay_max"),
    "timber.rounds": _timber(_integer, "rounds"),
    "timber.heartbeat": _timber(duration, "heartbeat"),
    "timber.redundancy": _timber(_integer, "redundancy"),
    "timber.stagger": _timber(duration, "stagger"),
    "timber.retry": _timber(duration, "retry"),
    "timber.sync_interval": _timber(duration, "sync_interval"),
    "timber.compact_after": _timber(_integer, "compact_after"),
    "mqtt.qos": Setting(_integer, "node", "qos"),
    "mqtt.topic_prefix": Setting(_prefix, "node", "topic_prefix"),
    "content.format": Setting(_one_of("chat", "text"), "node", "content_format"),
    "trust.unsigned": Setting(_one_of("mark", "count"), "node", "trust_unsigned"),
    "trust.messages_per_minute": Setting(_integer, "node", "messages_per_minute"),
    "trust.messages_at_once": Setting(_integer, "node", "messages_at_once"),
    "trust.strangers_share": Setting(size, "node", "strangers_share"),
    "history.on_join": Setting(_one_of("all", "24h", "none"), "node", "history_on_join"),
    "journal.keep": Setting(duration, "node", "journal_keep"),
    "store.max_size": Setting(size, "node", "max_size"),
    "embedded.port": Setting(_integer, "node", "embedded_port"),
    "fault.loss": Setting(_number, "faults", "loss"),
    "fault.duplicate": Setting(_number, "faults", "duplicate"),
    "fault.reorder": Setting(_number, "faults", "reorder"),
    "fault.delay": Setting(duration, "faults", "delay"),
    "fault.corrupt": Setting(_number, "faults", "corrupt"),
    "fault.seed": Setting(_integer, "node", "fault_seed"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides how a node behaves, checked."""

    timing: str = "spec"
    config: Config = SPEC
    faults: Faults = NONE
    timber: TimberConfig = TIMBER["spec"]
    expected_participants: int = 0  # 0: not said; `repair.num_response_groups` counts
    qos: int = 1
    topic_prefix: str = DEFAULT_PREFIX
    content_format: str = "chat"
    trust_unsigned: str = "mark"  # "count": what participants without a key say they have counts as acknowledged
    messages_per_minute: int = 100  # kept in full of one sender, once it has said `messages_at_once`; 0: no limit
    messages_at_once: int = 2000  # a text that is pasted or piped stays whole
    strangers_share: int = 32 * 2**20  # bytes of what strangers who wait say together; 0: no limit
    wire: str = "spec"  # of channels that were not used before
    history_on_join: str = "all"  # how far back the history is fetched when a channel is joined for the first time
    journal_keep: int = 30 * 24 * 3600 * 1000
    max_size: int = 2 * 2**30  # bytes of the database in use; 0: no limit
    embedded_port: int = 1883
    fault_seed: int = 0
    explicit: frozenset[str] = field(default_factory=frozenset)  # names that somebody set

    @property
    def unsigned_counts(self) -> bool:
        """True if what participants without a key say is taken for proof. Nobody signs bare text."""
        return self.trust_unsigned == "count" or self.content_format == "text"

    def value(self, name: str) -> Value:
        """Return the value in force for the setting of this name; durations in milliseconds, sizes in bytes."""
        setting = SETTINGS[name]
        if setting.group in ("config", "timber"):
            found: Value = getattr(self.config if setting.group == "config" else self.timber, setting.target)
        elif setting.target == "delay":
            found = round(self.faults.delay * 1000)
        else:
            found = getattr(self.faults if setting.group == "faults" else self, setting.target)
        return found


def parse(name: str, text: Value) -> Value:
    """Return the value of one setting. Raises SettingError."""
    setting = SETTINGS.get(name)
    if setting is None:
        hint = did_you_mean(name, SETTINGS, "`sdschat config` lists them.")
        raise SettingError(f"There is no setting {name}. {hint}")
    try:
        return setting.parse(text)
    except ValueError as error:
        problem = str(error).removeprefix(f"{name} is {text!r}, and ")
        raise SettingError(f"{name} is {str(text)!r}, and {problem}.") from None


def make_settings(values: Mapping[str, Value], timing: str = "spec") -> Settings:
    """Return the settings from values by name, parsed or as written. Raises SettingError, also for values that do not
    go together."""
    if timing not in TIMINGS:
        raise SettingError(f"timing is {timing!r}, and must be one of {', '.join(TIMINGS)}.")
    groups: dict[str, dict[str, Any]] = {"config": {}, "faults": {}, "timber": {}, "node": {}}
    for name, text in values.items():
        value = parse(name, text)
        setting = SETTINGS[name]
        groups[setting.group][setting.target] = value / 1000 if name == "fault.delay" else value  # type: ignore[operator]
    config, node = groups["config"], groups["node"]
    if "num_response_groups" not in config and (expected := node.get("expected_participants")):
        config["num_response_groups"] = response_groups(max(0, expected))
    config["id_rule"] = "text" if node.get("content_format") == "text" else "content"
    _check(node)
    try:
        return Settings(
            timing,
            replace(TIMINGS[timing], **config),
            Faults(**groups["faults"]),
            replace(TIMBER[timing], **groups["timber"]),
            explicit=frozenset(values),
            **node,
        )
    except ValueError as error:
        raise SettingError(f"{error}.") from None


def _check(node: Mapping[str, Any]) -> None:
    bounds = {"qos": (0, 1), "embedded_port": (1, 65535), "expected_participants": (0, 1_000_000)}
    bounds["messages_per_minute"] = (0, 60_000)
    bounds["messages_at_once"] = (1, 1_000_000)
    names = {setting.target: name for name, setting in SETTINGS.items()}
    for target, (low, high) in bounds.items():
        value = node.get(target, low)
        if not low <= value <= high:
            raise SettingError(f"{names[target]} is {value}, and must be from {low} to {high}.")
    if 0 < (room := node.get("max_size", 0)) < _LEAST_ROOM:  # without its unit, 20G would leave nothing of others
        raise SettingError(f"store.max_size is {room} bytes, and must be at least 1M, such as 500M or 20G, or none.")
