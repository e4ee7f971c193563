"""The time until an author knows of a first holder and of all, and its price, by the size of the group, on a simulated
clock.

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


if __name__ == "__main__":
    main()
