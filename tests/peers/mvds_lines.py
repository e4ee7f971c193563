"""A node of MVDS driven by lines of text: packets in hex digits, and commands. It has no I/O and no clock."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from sdschat.mvds import Config, Engine, Message, Mode, Now, Refusal
from sdschat.mvds.events import Delivered, Event
from sdschat.mvds.limits import MAX_PACKET_BYTES
from sdschat.mvds.memory import MemoryStore
from sdschat.wire.mvds_codec import Dialect, MvdsCodec

PEER: Final = "peer"
LONGEST: Final = 2 * MAX_PACKET_BYTES + 2  # the longest packet in hex digits, and the end of the line
_HEX: Final = re.compile(rb"[0-9a-fA-F]+")
_WORDS: Final = "say TEXT, ephemeral TEXT, mode interactive|batch, online, offline, epoch [COUNT], quit"


class BadLine(ValueError):
    """A line that cannot be read; it has changed nothing."""


class End(Exception):
    """The line asks for the end."""


class Said(NamedTuple):
    """Output to print: packets in hex digits, and events."""

    packets: list[str]
    events: list[dict[str, Any]]


class MvdsLines:
    """The node. Its caller calls `take` after every `hear` and `advance`."""

    def __init__(self, config: Config, dialect: Dialect, group: bytes, now: Now) -> None:
        self.config = config
        self._codec = MvdsCodec(dialect)
        self._store = MemoryStore()
        self._group = group
        self._mode: Mode | None = None
        self._engine = Engine(config, b"tests.peers.mvds", self._store, now)
        self._engine.join(group, (PEER,))

    def hear(self, line: bytes, now: Now) -> int:
        """Carry out a line. Return the number of epochs that time has to advance. Raises BadLine, or End."""
        line = line.strip()
        if not line or line.startswith(b"#"):
            return 0
        if _HEX.fullmatch(line):
            self._packet(line, now)
            return 0
        try:
            word, _, rest = line.decode().partition(" ")
        except UnicodeDecodeError:
            raise BadLine(f"neither hex digits nor UTF-8. {_help()}") from None
        return self._command(word, rest.strip(), now)

    def _packet(self, digits: bytes, now: Now) -> None:
        if len(digits) % 2:
            raise BadLine(f"{len(digits)} hex digits: a byte has two of them. Was the line cut?")
        found = self._codec.decode(bytes.fromhex(digits.decode()))
        if isinstance(found, Refusal):
            raise BadLine(_why(found))
        self._engine.receive(PEER, found, now)

    def _command(self, word: str, rest: str, now: Now) -> int:
        match word:
            case "say" | "ephemeral" if rest:
                self.say(rest, now, ephemeral=word == "ephemeral")
            case "mode" if rest in [*Mode]:
                self._mode = Mode(rest)
            case "online" if not rest:
                self._engine.peer_online(PEER, now)
            case "offline" if not rest:
                self._engine.peer_offline(PEER, now)
            case "epoch" if not rest or (rest.isdecimal() and 0 < int(rest) <= 100_000):
                return int(rest or 1)
            case "quit" if not rest:
                raise End
            case _:
                raise BadLine(f"{f'{word} {rest}'.strip()[:60]!r} is neither a packet nor a command. {_help()}")
        return 0

    def say(self, text: str, now: Now, *, ephemeral: bool = False) -> None:
        try:
            self._engine.send(self._group, text.encode(), now, mode=self._mode, ephemeral=ephemeral)
        except ValueError as problem:
            raise BadLine(f"{problem}. Say it in parts.") from None

    def advance(self, now: Now) -> None:
        self._engine.advance(now)

    def next_wake(self) -> int | None:
        return self._engine.next_wake()

    def take(self) -> Said:
        ready = self._engine.take()
        self._store.apply(ready.writes)
        packets = [self._codec.encode(packet.payload).hex() for packet in ready.packets]
        return Said(packets, [told(event) for event in ready.events])


def _help() -> str:
    return f"A line is a packet in hex digits, a comment (#), or one of: {_WORDS}."


def _why(refusal: Refusal) -> str:
    text = f"the packet is refused: {refusal.reason} {refusal.detail}".rstrip()
    return f"{text}. Try --dialect {refusal.detail}." if refusal.reason == "foreign_dialect" else f"{text}."


def told(event: Event) -> dict[str, Any]:
    """Return an event as a JSON object: ids and bodies as hex digits, and bodies as text too."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    if isinstance(event, Delivered) and not event.peer:
        name = "said"
    found: dict[str, Any] = {"event": name}
    for key, value in event._asdict().items():
        if isinstance(value, Message):
            found |= {"text": value.body.decode("utf-8", "replace"), "body": value.body.hex()}
        elif key != "peer":
            found[key] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
