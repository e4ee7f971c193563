"""Speed of the application: `python -m tests.tui.bench [--messages 1000000] [--in DIR] [--rate 500]`.

First frame: from starting the process to the first frame on the terminal, beside that of a bare Textual application
started the same way, in turns. Opening: the same with a long history. Scrolling: from the key to the drawn lines.
Keys: from the key to its letter on the screen, while so many messages a second arrive.

The program runs as when installed: Python files are compiled before, by a round that does not count. If other programs
use the machine, only the processor time of the program itself is reliable; it is printed beside the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sdschat.node.profile import database_path
from tests.cli.processes import command, environment
from tests.node.opening import CHANNEL, NAME, make
from tests.transport.worlds import free_port
from tests.tui.terminal import Terminal

BARE = """
from textual.app import App, ComposeResult
from textual.widgets import Static
class Bare(App[int]):
    def compose(self) -> ComposeResult:
        yield Static("bare is here")
Bare().run()
"""
_LETTERS = "QWERTZUIOPASDFGHJKLYXCVBNM"


class Taken(NamedTuple):
    """A duration in milliseconds."""

    wall: float
    cpu: float  # of the process alone, whatever else the machine was doing


def compiled(folder: Path) -> dict[str, str]:
    """Return variables with which Python keeps compiled files, whatever the environment here says."""
    return {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}


def first_frame(arguments: list[str], home: Path, marker: str) -> Taken:
    """Measure the time from the start of a process until a text is on its screen."""
    began = time.perf_counter()
    with Terminal(arguments, home, env=compiled(home.parent)) as terminal:
        wanted = marker.encode()
        while wanted not in terminal.written:
            terminal.read(1.0)
        wall = 1000 * (time.perf_counter() - began)
        used = Path(f"/proc/{terminal.process.pid}/stat").read_text().rpartition(")")[2].split()
        return Taken(wall, 1000 * (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK"))


def join(channel: str, name: str, port: int, *more: str) -> list[str]:
    return command("join", channel, "--name", name, "--set", f"embedded.port={port}", *more)


def compare_first_frames(home: Path, rounds: int) -> None:
    bare, ours = [], []
    for _ in range(rounds + 1):
        bare.append(first_frame([sys.executable, "-c", BARE], home, "bare is here"))
        ours.append(first_frame(join("lobby", "ann", free_port()), home, "F1 help"))
    mine, theirs = (
        Taken(*(statistics.median(each) for each in zip(*found[1:], strict=True))) for found in (ours, bare)
    )
    print(
        f"first frame: {mine.wall:.0f} ms, of a bare Textual application {theirs.wall:.0f} ms, "
        f"{mine.wall - theirs.wall:+.0f} ms (at most +300); medians of {rounds} in turns"
    )
    print(f"  of it computing: {mine.cpu:.0f} ms and {theirs.cpu:.0f} ms, {mine.cpu - theirs.cpu:+.0f} ms")


def long_history(home: Path, messages: int) -> None:
    path = database_path(home / "data" / "sdschat", NAME)
    if not path.exists():
        make(path, messages)
    last = f"message number {messages - 1} of many"
    taken = [first_frame(join(CHANNEL, NAME, free_port()), home, last) for _ in range(4)][1:]
    print(
        f"{messages:,} messages: the newest on the screen after {min(taken).wall:.0f} ms (< 500), the best of three; "
        f"{min(each.cpu for each in taken):.0f} ms computing"
    )
    with Terminal(join(CHANNEL, NAME, free_port()), home, env=compiled(home.parent)) as terminal:
        terminal.until_text(last)
        _calm(terminal)
        waits = [_answer(terminal, "\x1b[5~") for _ in range(60)]
        print(f"scrolling by pages: {_spread(waits)} from key to lines")
        began = time.perf_counter()
        terminal.enter("/start")
        terminal.until_text("message number 0 of many")
        print(f"to the oldest message: {1000 * (time.perf_counter() - began):.0f} ms")
        print(f"memory of the process after that: {_resident(terminal):.0f} MiB")


def _resident(terminal: Terminal) -> float:
    """Return the memory of the process in MiB, as the system counts it."""
    lines = Path(f"/proc/{terminal.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _calm(terminal: Terminal, quiet: float = 0.6) -> None:
    """Read until the text of the screen no longer changes: cursors blink."""
    before = ""
    while (text := terminal.text()) != before:
        before = text
        _drain(terminal, quiet)


def _answer(terminal: Terminal, keys: str) -> float:
    """Return the milliseconds from a key until the screen begins to change for it."""
    before = terminal.text()
    began = time.perf_counter()
    terminal.press(keys)
    while terminal.text() == before:
        terminal.read(1.0)
    taken = 1000 * (time.perf_counter() - began)
    _calm(terminal, 0.05)
    return taken


def _spread(waits: list[float]) -> str:
    waits.sort()
    return (
        f"{statistics.median(waits):.0f} ms in the median, {waits[int(0.95 * len(waits))]:.0f} ms at 95 %, "
        f"{waits[-1]:.0f} ms at most"
    )


def keys_under_load(home: Path, rate: int, seconds: float) -> None:
    port, kept = free_port(), home / "turns.json"
    watched = [sys.executable, "-m", "tests.tui.turns", str(kept), *join("flood", "reader", port)[3:]]
    with Terminal(watched, home, env=compiled(home.parent)) as terminal:
        terminal.until_text("F1 help")
        sender = subprocess.Popen(
            command("pipe", "flood", "--name", "flooder", "--linger", "0", "--set", f"embedded.port={port}"),
            cwd=home,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        stopped = threading.Event()
        pace = threading.Thread(target=_pace, args=(sender, rate, seconds + 5, stopped), daemon=True)
        pace.start()
        terminal.until(lambda: "line 00" in terminal.text(), "the flood did not begin")
        waits: list[float] = []
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            waits.append(_echo(terminal, _LETTERS[len(waits) % len(_LETTERS)]))
            _drain(terminal, 0.1)
        first = _newest(terminal)
        stopped.set()
        pace.join()
        sender.terminate()
        sender.wait(30)
        print(
            f"keys while {first / (time.perf_counter() - began):.0f} messages a second came in: {_spread(waits)} "
            f"(< 100), {len(waits)} keys"
        )
        terminal.kill(signal.SIGTERM)
        terminal.wait()
    found = json.loads(kept.read_text())
    print(f"  of it computing, from the key read to the letter written: {_spread(found['letters'])}")
    turns = found["turns"]
    print(f"  turns of the loop, computing: {turns[int(0.99 * len(turns))]:.0f} ms at 99 %, {turns[-1]:.0f} ms at most")


def _pace(sender: subprocess.Popen[bytes], rate: int, seconds: float, stopped: threading.Event) -> None:
    assert sender.stdin is not None
    began, number = time.perf_counter(), 0
    while not stopped.is_set() and time.perf_counter() - began < seconds:
        due = int((time.perf_counter() - began) * rate)
        lines = b"".join(b"line %08d\n" % at for at in range(number, due))
        if lines:
            sender.stdin.write(lines)
            sender.stdin.flush()
        number = max(number, due)
        time.sleep(0.01)


def _newest(terminal: Terminal) -> int:
    words = terminal.text().split()  # in a frame that is half drawn, a number may be missing behind its word
    return max((int(word) for before, word in pairwise(words) if before == "line" and word.isdecimal()), default=0)


def _echo(terminal: Terminal, letter: str) -> float:
    """Return the milliseconds from a key until its letter is drawn. No message contains this letter."""
    mark = len(terminal.written)
    began = time.perf_counter()
    terminal.press(letter)
    while letter.encode() not in _drawn(bytes(terminal.written[mark:])):
        terminal.read(1.0)
    return 1000 * (time.perf_counter() - began)


def _drawn(written: bytes) -> bytes:
    """Return the text without escape sequences, which contain capital letters too."""
    import re

    return re.sub(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]", b"", written)


def _drain(terminal: Terminal, seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        terminal.read(0.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--in", dest="directory", type=Path)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("frame", "history", "keys"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.only in (None, "frame"):
            compare_first_frames(Path(folder) / "first", given.rounds)
        if given.only in (None, "history"):
            long_history(given.directory or Path(folder) / "long", given.messages)
        if given.only in (None, "keys"):
            keys_under_load(Path(folder) / "keys", given.rate, 10.0)


if __name__ == "__main__":
    main()
