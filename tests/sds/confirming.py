"""The time until an author knows of a first holder, of all, and of one who was cut off, and its price, by the size of
the group, on a simulated clock.

python -m tests.sds.confirming
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from sdschat.sds.config import SPEC
from sdschat.sds.events import StateChanged
from sdschat.sds.values import AckState
from tests.sds.group import Group

WAY = 100  # milliseconds that a packet takes
APART = 60_000  # milliseconds between two messages
MESSAGES = 10


class Found(NamedTuple):
    """The result for one size of a group."""

    size: int
    seconds: list[float]  # until each message of the author was acknowledged by a first participant
    everybody: list[float]  # until all others were known to have it; as far as that was within a minute
    syncs: float  # sync messages of the whole group for each message
    bytes: float  # all bytes that were sent for each message


class Late(NamedTuple):
    """The result for one size of a group in which one participant is cut off for a minute when a message is sent."""

    size: int
    late: list[float]  # seconds from the end of the cut until the message came to that participant
    known: list[float]  # seconds from then until the author knew that it has it
    syncs: float  # as above
    bytes: float


def run(size: int, messages: int = MESSAGES) -> Found:
    """Let the first of a quiet group say something once a minute."""
    group = Group(*(f"p{number}" for number in range(size)), config=SPEC)
    _pass(group, 3 * SPEC.sync_interval)
    author = group["p0"]
    began = {name: len(node.sent) for name, node in group.nodes.items()}
    seconds, everybody = [], []
    for number in range(messages):
        message, at = group.send("p0", f"text {number}"), group.now.mono
        while not _known(author.of(StateChanged), message.message_id):
            _pass(group, WAY)
        seconds.append((group.now.mono - at) / 1000)
        while _known(author.of(StateChanged), message.message_id) < size - 1 and group.now.mono - at < APART - WAY:
            _pass(group, WAY)
        everybody.append((group.now.mono - at) / 1000)
        _pass(group, APART - (group.now.mono - at) % APART)
    sent = [packet for name, node in group.nodes.items() for packet in node.sent[began[name] :]]
    syncs = sum(packet.kind == "sync" for packet in sent)
    return Found(size, seconds, everybody, syncs / messages, sum(len(packet.raw) for packet in sent) / messages)


def run_late(size: int, messages: int = MESSAGES) -> Late:
    """Let the first of a quiet group say something every three minutes, while the last one is cut off for a minute."""
    group = Group(*(f"p{number}" for number in range(size)), config=SPEC)
    _pass(group, 3 * SPEC.sync_interval)
    author, last = group["p0"], f"p{size - 1}"
    began = {name: len(node.sent) for name, node in group.nodes.items()}
    late, known = [], []
    for number in range(messages):
        group.passes = lambda flight: last not in (flight.sender, flight.receiver)
        message, at = group.send("p0", f"text {number}"), group.now.mono
        _pass(group, APART)
        group.passes = lambda flight: True
        back = group.now.mono
        while message.message_id not in group[last].delivered():
            _pass(group, WAY)
        came = group.now.mono
        while not _known_of(author.of(StateChanged), message.message_id, last):
            _pass(group, WAY)
        late.append((came - back) / 1000)
        known.append((group.now.mono - came) / 1000)
        _pass(group, 3 * APART - (group.now.mono - at) % (3 * APART))
    sent = [packet for name, node in group.nodes.items() for packet in node.sent[began[name] :]]
    syncs = sum(packet.kind == "sync" for packet in sent)
    return Late(size, late, known, syncs / messages, sum(len(packet.raw) for packet in sent) / messages)


def _known_of(events: list[StateChanged], message_id: str, name: str) -> bool:
    """True once a participant is known to have an acknowledged message."""
    return any(event.message_id == message_id and name in event.by for event in events if event.state is AckState.ACKED)


def _known(events: list[StateChanged], message_id: str) -> int:
    """Return the number of participants that are known to have an acknowledged message."""
    told = (event.by for event in reversed(events) if event.message_id == message_id and event.state is AckState.ACKED)
    return len(next(told, ()))


def _pass(group: Group, millis: int) -> None:
    """Let time pass in steps; what is sent in one arrives at its end."""
    for _ in range(millis // WAY):
        group.tick(WAY, delivering=False)
        group.deliver()


def main() -> None:
    print("size  acked after, median  longest  by all, median  longest  sync messages each  bytes each")
    for size in (2, 3, 4, 5, 6, 9, 10, 20):
        found = run(size)
        line = f"{median(found.seconds):18.1f} s {max(found.seconds):6.1f} s"
        line += f" {median(found.everybody):13.1f} s {max(found.everybody):6.1f} s"
        line += f" {found.syncs:18.1f} {found.bytes:11,.0f}"
        print(f"{size:4d}  {line}")
    print("\nsize  late by, median  longest  then known after, median  longest  sync messages each  bytes each")
    for size in (2, 3, 5, 9, 10):
        one = run_late(size)
        line = f"{median(one.late):15.1f} s {max(one.late):6.1f} s {median(one.known):24.1f} s {max(one.known):6.1f} s"
        line += f" {one.syncs:18.1f} {one.bytes:11,.0f}"
        print(f"{size:4d}  {line}")


if __name__ == "__main__":
    main()
