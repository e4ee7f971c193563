"""Three `sdschat pipe`s say twenty messages each through faults: how long until three logs are equal?

    python -m tests.node.faulty [--messages 20] [--within 40] [--seed N]

Loses 30 % of the packets, doubles 10 %, delays by up to 200 ms, each way, with `--timing demo`. The logs are compared
from disk afterwards, by `sdschat log --json`. Ends with 1 if they differ or it took longer than --within.
"""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cli.processes import Line, Pipe, run
from tests.transport.worlds import free_port

NAMES = ("ann", "bob", "eve")
FAULTS = ("fault.loss=0.3", "fault.duplicate=0.1", "fault.delay=200ms")


def converse(home: Path, messages: int, patience: float, settings: Sequence[str]) -> tuple[float, list[list[str]]]:
    """Seconds from the first line written until every pipe has told every message, and the logs on disk."""
    options = ["--timing", "demo", "--linger", "forever"]
    for setting in (f"embedded.port={free_port()}", *settings):
        options += ["--set", setting]
    pipes = [Pipe(home, "lobby", "--name", name, *options) for name in NAMES]
    try:
        for pipe in pipes:
            pipe.until(lambda lines: any(map(_connected, lines)), "not connected", patience)
        began = time.monotonic()
        for number in range(messages):
            for name, pipe in zip(NAMES, pipes, strict=True):
                pipe.say(f"{name} {number}")
        total = messages * len(pipes)
        for pipe in pipes:
            pipe.until(lambda lines: delivered(lines) >= total, "not everything arrived", patience)
        took = time.monotonic() - began
    finally:
        for pipe in pipes:
            pipe.kill(signal.SIGTERM)
    logs = [run(home, "log", "lobby", "--json", "--name", name).stdout.splitlines() for name in NAMES]
    return took, [[json.loads(line)["message"]["message_id"] for line in log] for log in logs]


def _connected(line: Line) -> bool:
    return bool(line["event"] == "connection" and line["state"] == "connected")


def delivered(lines: list[Line]) -> int:
    return sum(line["event"] == "delivered" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--within", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = [*FAULTS, f"fault.seed={given.seed}"]
        took, logs = converse(Path(folder), given.messages, 3 * given.within, settings)
    equal = all(log == logs[0] for log in logs) and len(set(logs[0])) == given.messages * len(NAMES)
    print(f"{took:.1f} s until all had everything; {len(logs)} logs of {len(logs[0])} {'equal' if equal else 'DIFFER'}")
    return 0 if equal and took <= given.within else 1


if __name__ == "__main__":
    raise SystemExit(main())
