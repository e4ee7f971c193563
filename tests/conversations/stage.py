"""The group of engines behind a conversation, which writes a line for each event and packet.

By default periodic sync messages are a day apart and anti-entropy is off, so that only the subject of a conversation
shows. Times are shown since its start.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sdschat.sds.config import Config
from sdschat.sds.describe import describe
from sdschat.sds.history import MemoryHistory
from sdschat.sds.state import Ready
from sdschat.sds.values import Message
from tests.sds.group import CODEC, START, Flight, Group, Node

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def duration(text: str) -> int:
    """Return `30s`, `-5m`, `250ms` or `2h` in milliseconds."""
    number = text.rstrip("dhms")
    return int(float(number) * _UNITS[text[len(number) :]])


def since_start(wall: int) -> str:
    return f"{(wall - START) / 1000:+.3f}s"


def setting(name: str) -> str:
    """Return the field of `Config` for a setting's name."""
    group, _, rest = name.partition(".")
    if group in ("bloom", "push") or name == "repair.enabled":
        return f"{group}_{rest}"
    return rest


def value_of(text: str) -> int | float | bool | str:
    if text in ("yes", "no"):
        return text == "yes"
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return duration(text) if text[:1].isdigit() else text


def configured(config: Config, settings: dict[str, str]) -> Config:
    values = {setting(name): value_of(text) for name, text in settings.items()}
    return replace(config, **values)  # type: ignore[arg-type]


class Stage(Group):
    """A group whose every event and packet becomes a line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.names: dict[str, str] = {}
        self.packets: dict[str, bytes] = {}
        self.sides: list[set[str]] = []
        self.cut: set[tuple[str, str]] = set()
        self.drops: Counter[tuple[str, str]] = Counter()
        self.stalled: set[str] = set()
        self.lost: dict[str, Node] = {}
        self.with_filters = False
        self.ticking = False
        self.passes = self._passes

    def name(self, full: str) -> str:
        return self.names.get(full, full if len(full) < 32 else full[:8])

    def id_of(self, name: str) -> str:
        return next((full for full, known in self.names.items() if known == name), name)

    def describe(self, message: Message) -> str:
        if not self.with_filters:
            message = replace(message, bloom_filter=None)
        return describe(message, self.name, since_start)

    def say_line(self, line: str) -> None:
        self.lines.append(f"[{since_start(self.now.wall)}] {line}" if self.ticking else line)

    def collect(self, name: str) -> Ready:
        """Take the ready output of a node, as a group does, and write a line for each part of it.

        The output of a stalled node stays in it.
        """
        if name in self.stalled:
            return Ready([], [], [])
        ready = self.nodes[name].take()
        for packet in ready.packets:
            self._name(name, packet.raw, packet.kind)
        for event in ready.events:
            self.say_line(f"{name}: {describe(event, self.name, since_start)}")
        for packet in ready.packets:
            message = CODEC.decode(packet.raw)
            assert isinstance(message, Message)
            again = f" again ({packet.kind})" if packet.kind in ("resend", "answer", "push") else ""
            self.say_line(f"{name} sends{again}: {self.describe(message)}")
            for other in self.nodes:
                if other != name and self.passes(flight := Flight(name, other, packet)):
                    self.flying.append(flight)
        return ready

    def _name(self, sender: str, raw: bytes, why: str) -> None:
        message = CODEC.decode(raw)
        assert isinstance(message, Message)
        full = message.message_id
        if why == "sync":
            count = sum(1 for known in self.names.values() if known.startswith(f"{sender}-sync"))
            self.names.setdefault(full, f"{sender}-sync{count + 1}")
        self.packets[self.name(full)] = raw

    def _passes(self, flight: Flight) -> bool:
        way = (flight.sender, flight.receiver)
        apart = bool(self.sides) and not any(set(way) <= side for side in self.sides)
        lost = apart or way in self.cut or not self.nodes[flight.receiver].online
        if not lost and self.drops[way]:
            self.drops[way] -= 1
            lost = True
        if lost:
            self.say_line(f"  lost on the way to {flight.receiver}")
        return not lost

    def log_lines(self, name: str) -> list[str]:
        """Return the log, one line a message, with sender and clock."""
        history: MemoryHistory = self.nodes[name].store.history
        lines = []
        for entry in history.newest(1_000_000):
            clock = since_start(entry.lamport)
            lines.append(f"{self.name(entry.message_id)} of {entry.sender_id}, clock {clock}")
        return lines or ["(empty)"]

    def down(self, name: str) -> None:
        """End the process of a node; everything unsaved is lost."""
        self.lost[name] = self.nodes.pop(name)

    def up(self, name: str) -> None:
        """Start the node again from its saved state."""
        node = self.nodes[name] = self.lost.pop(name)
        self.stalled.discard(name)
        node.open(self.now)
