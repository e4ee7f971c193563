"""Operations a second of three real processes, and the way to the checkpoint: `python -m tests.timber.throughput`.

Three `sdschat pipe` are members of a channel. First they talk in turn, and it is counted how many rounds pass from a
post to its checkpoint. Then each writes its posts as fast as it can, until all three have taken all of them in: every
operation is signed, saved and sent by its writer, and checked and saved by the two others.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.timber.processes import Group, Pipe, admit

TALK = 30  # posts in turn
DEFAULTS: tuple[str, ...] = ()


def talk(people: tuple[Pipe, ...]) -> list[float]:
    """Let each say something in turn. Return for each post the rounds until its author told that it is settled."""
    for at in range(TALK):
        people[at % len(people)].write(say=f"talk {at}")
        for pipe in people:
            pipe.until_text(f"talk {at}")
    return [_rounds(people[at % len(people)], f"talk {at}", len(people)) for at in range(TALK - 2 * len(people))]


def _rounds(author: Pipe, text: str, members: int) -> float:
    message_id = author.until_text(text)
    placed = author.until("operation", lambda one: bool(one["event_id"] == message_id))
    settled = author.until("state", lambda one: bool((one["message_id"], one["state"]) == (message_id, "settled")))
    between = author.events[author.events.index(placed) : author.events.index(settled)]
    return len([one for one in between if one["event"] == "operation"]) / members


def rush(people: tuple[Pipe, ...], count: int) -> tuple[float, float, int]:
    """Let each write `count` posts at once. Return the seconds until all three have all of them, those of the
    processor that the three took, and the number of operations."""
    starts, used = [len(pipe.events) for pipe in people], sum(map(_used, people))

    def write(pipe: Pipe) -> None:
        for at in range(count):
            pipe.write(say=f"{pipe.name} {at}")

    began = time.monotonic()
    for pipe in people:
        threading.Thread(target=write, args=(pipe,), daemon=True).start()
    for pipe, start in zip(people, starts, strict=True):
        _until_delivered(pipe, count * len(people), start)
    took = time.monotonic() - began
    operations = sum(one["event"] == "operation" for one in people[0].events[starts[0] :])
    return took, sum(map(_used, people)) - used, operations


def _until_delivered(pipe: Pipe, count: int, start: int) -> None:
    found: list[None] = []

    def is_last(_: dict[str, Any]) -> bool:
        found.append(None)
        return len(found) == count

    pipe.until("delivered", is_last, start=start)


def _used(pipe: Pipe) -> float:
    """Return the seconds of the processor that a process has taken."""
    fields = Path(f"/proc/{pipe.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def out_of_order(group: Group, people: tuple[Pipe, ...]) -> int:
    """Return how many posts of the log stand behind a later one of the same author."""
    highest = dict.fromkeys((pipe.name for pipe in people), -1)
    found = 0
    for line in group.local(people[0].name, "log", "garden").splitlines():
        author, _, number = line.rpartition(": ")[2].partition(" ")
        if author in highest:
            found += int(number) < highest[author]
            highest[author] = max(highest[author], int(number))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.timber.throughput", description=__doc__)
    parser.add_argument("--posts", type=int, default=2000, help="of each of the three")
    parser.add_argument("--broker", default="", help="instead of the embedded one")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        group = Group(Path(folder), DEFAULTS, chosen.broker)
        try:
            people = admit(group)
            rounds = talk(people)
            print(f"rounds to the checkpoint: {statistics.median(rounds):.1f} at the median, {max(rounds):.1f} at most")
            took, used, operations = rush(people, chosen.posts)
            print(
                f"{operations:,} operations with {3 * chosen.posts:,} posts in {took:.1f} s, {used:.1f} s of processor"
            )
            print(f"{operations / took:,.0f} operations a second")
            print(f"posts behind a later one of their author: {out_of_order(group, people):,}")
        finally:
            group.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
