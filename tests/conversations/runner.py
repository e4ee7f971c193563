"""Reading, playing and writing the files of conversations. README.md, beside this file, describes their language."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from sdschat.sds.describe import describe
from tests.conversations.forging import forged_packet
from tests.conversations.stage import Stage, configured, duration, since_start
from tests.sds.group import QUIET, Flight

SEPARATOR = "----"
REWRITE = os.environ.get("SDSCHAT_REWRITE") == "1"


@dataclass
class Block:
    """A paragraph of a conversation: prose alone, or commands with the lines expected of them."""

    prose: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    line: int = 0


def read(text: str) -> list[Block]:
    blocks = []
    line = 1
    for paragraph in re.split(r"\n{2,}", text.strip("\n")):
        lines = paragraph.split("\n")
        block = Block(line=line)
        line += len(lines) + 1
        if all(item.startswith("#") for item in lines):
            block.prose = lines
        else:
            assert SEPARATOR in lines, f"line {block.line}: commands without a line {SEPARATOR}"
            at = lines.index(SEPARATOR)
            block.commands, block.expected = lines[:at], lines[at + 1 :]
        blocks.append(block)
    return blocks


def write(blocks: list[Block]) -> str:
    parts = [block.prose or [*block.commands, SEPARATOR, *block.expected] for block in blocks]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def run(path: Path) -> None:
    """Play a conversation, and compare the lines of each block with the file."""
    blocks = read(path.read_text(encoding="utf-8"))
    director = Director()
    for block in blocks:
        if not block.commands:
            continue
        for command in block.commands:
            director.do(command)
        found = director.stage.lines or ["ok"]
        director.stage.lines = []
        if REWRITE:
            block.expected = found
        assert found == block.expected, f"{path.name}, line {block.line}"
    if REWRITE:
        path.write_text(write(blocks), encoding="utf-8")


class Director:
    """Carries out the commands of a conversation."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.config = QUIET

    def do(self, line: str) -> None:
        if line.startswith("#"):
            return
        verb, _, rest = line.partition(" ")
        if verb == "quietly":
            kept = list(self.stage.lines)
            self.do(rest)
            self.stage.lines = kept
            return
        command = getattr(self, f"do_{verb}", None)
        assert command is not None, f"unknown command: {line}"
        command(rest)

    def do_config(self, rest: str) -> None:
        self.config = configured(self.config, _pairs(rest.split()))

    def do_peer(self, rest: str) -> None:
        name, *settings = rest.split()
        pairs = _pairs(settings)
        skew = duration(pairs.pop("skew", "0s"))
        self.stage.add(name, configured(self.config, pairs), skew)

    def do_send(self, rest: str) -> None:
        peer, text, name = _said(rest)
        node = self.stage[peer]
        message = node.channel.send(node.shifted(self.stage.now), text.encode())
        self.stage.names[message.message_id] = name
        self.stage.collect(peer)

    def do_whisper(self, rest: str) -> None:
        peer, text, name = _said(rest)
        node = self.stage[peer]
        message = node.channel.send_ephemeral(node.shifted(self.stage.now), text.encode())
        self.stage.names[message.message_id] = name
        self.stage.collect(peer)

    def do_deliver(self, rest: str) -> None:
        if not rest:
            self.stage.deliver()
            return
        for flight in self._taken(rest):
            self.stage.give(flight.receiver, flight.packet.raw)

    def do_drop(self, rest: str) -> None:
        if found := re.fullmatch(r"next from (\S+) to (\S+)", rest):
            self.stage.drops[(found[1], found[2])] += 1
            return
        for flight in self._taken(rest):
            name = self.stage.name(flight.packet.message_id)
            self.stage.say_line(f"{name} is lost on the way to {flight.receiver}")

    def _taken(self, which: str) -> list[Flight]:
        """Remove packets in flight and return them: all, those of one name, or those to one peer."""
        found = re.fullmatch(r"(?:(?!to )(\S+))? ?(?:to (\S+))?", which)
        assert found, f"cannot read: {which}"
        chosen = [
            flight
            for flight in self.stage.flying
            if (not found[1] or self.stage.name(flight.packet.message_id) == found[1])
            and (not found[2] or flight.receiver == found[2])
        ]
        assert chosen, f"nothing like that is in flight: {which}"
        self.stage.flying = [flight for flight in self.stage.flying if flight not in chosen]
        return chosen

    def do_cut(self, rest: str) -> None:
        sender, receiver = rest.split(" to ")
        self.stage.cut.add((sender, receiver))

    def do_partition(self, rest: str) -> None:
        self.stage.sides = [set(side.split()) for side in rest.split("|")]

    def do_heal(self, _: str) -> None:
        self.stage.sides = []
        self.stage.cut.clear()

    def do_tick(self, rest: str) -> None:
        self.stage.ticking = True
        self.stage.tick(duration(rest))
        self.stage.ticking = False

    def do_repeat(self, rest: str) -> None:
        name, receiver = rest.split(" to ")
        self.stage.give(receiver, self.stage.packets[name])

    def do_inject(self, rest: str) -> None:
        _, receiver, *fields = rest.split()
        self.stage.give(receiver, forged_packet(self.stage, _pairs(fields)))

    def do_stall(self, rest: str) -> None:
        self.stage.stalled.add(rest)

    def do_crash(self, rest: str) -> None:
        """Stop a peer: until its restart it receives nothing, and no timer of it fires."""
        self.stage.down(rest)

    def do_restart(self, rest: str) -> None:
        self.stage.up(rest)

    def do_offline(self, rest: str) -> None:
        self.stage.offline(rest)

    def do_online(self, rest: str) -> None:
        self.stage.online(rest)

    def do_state(self, rest: str) -> None:
        self.stage.say_line(f"{rest}: {describe(self.stage[rest].channel.state, self.stage.name, since_start)}")

    def do_log(self, rest: str) -> None:
        for line in self.stage.log_lines(rest):
            self.stage.say_line(f"{rest}: {line}")

    def do_clock(self, rest: str) -> None:
        """Move the wall clock of a peer: `clock PEER TIME`."""
        peer, by = rest.split()
        self.stage[peer].skew += duration(by)

    def do_show(self, _: str) -> None:
        self.stage.with_filters = True


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


def _said(rest: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"(\S+) (.+) as (\S+)", rest)
    assert found, f"cannot read: {rest}"
    return found[1], found[2], found[3]
