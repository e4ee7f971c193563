"""Start `sdschat demo` again and again while every core is busy, and see that messages come.

    python -m tests.tui.busy_demo [--starts 10] [--per-core 1] [--within 20]

Each start is the real program in a terminal of its own, beside one process for each core that does nothing but count.
Prints the seconds from the start to the first frame and to the first message on the screen. Ends with 1 if a start
showed no message in time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cli.processes import command
from tests.tui.terminal import Terminal

MOST = 120.0  # seconds that a busy process lives at most, whatever becomes of this one
COUNT = f"import time; end = time.monotonic() + {MOST}\nwhile time.monotonic() < end: pass"
FRAME, MESSAGE = "A demonstration.", "hello, all"


@contextlib.contextmanager
def busy(per_core: int) -> Iterator[None]:
    """Keep all cores busy meanwhile."""
    counting = [subprocess.Popen([sys.executable, "-c", COUNT]) for _ in range(per_core * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in counting:
            process.kill()
            process.wait()


def start(home: Path, within: float) -> tuple[float | None, float | None]:
    """Return the seconds to the first frame and to the first message; None for one that did not come in time."""
    began = time.monotonic()
    seen: dict[str, float] = {}
    with Terminal(command("demo"), home) as terminal:
        while len(seen) < 2 and time.monotonic() < began + within:
            terminal.read()
            shown = terminal.text()
            for text in (FRAME, MESSAGE):
                if text in shown:
                    seen.setdefault(text, time.monotonic() - began)
        if MESSAGE in seen:  # otherwise its end is not waited for either: what is typed too early may be lost
            terminal.enter("/quit")
            terminal.wait()
    return seen.get(FRAME), seen.get(MESSAGE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--per-core", type=int, default=1, help="busy processes for each core")
    parser.add_argument("--within", type=float, default=20.0, help="seconds until the first message")
    given = parser.parse_args()
    good = 0
    for number in range(given.starts):
        with tempfile.TemporaryDirectory(prefix="busy-demo-") as home, busy(given.per_core):
            frame, message = start(Path(home), given.within)
        good += message is not None
        told = [
            f"{what} {'never' if at is None else f'{at:.1f} s'}"
            for what, at in (("frame", frame), ("message", message))
        ]
        print(f"start {number + 1}: {', '.join(told)}", flush=True)
    print(f"{good} of {given.starts} showed messages within {given.within:g} s")
    return 0 if good == given.starts else 1


if __name__ == "__main__":
    raise SystemExit(main())
