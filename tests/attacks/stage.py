"""The stage of an attack: a broker, honest processes and an attacker, all on loopback and all ended at the end."""

from __future__ import annotations

import argparse
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sdschat.node.profile import database_path
from tests.attacks.attacker import LOOPBACK, Attacker
from tests.cli.processes import Line, Pipe, command, environment, run
from tests.transport.worlds import free_port, listens

CHANNEL = "lobby"
PATIENCE = 120.0
_BROKER_PATIENCE = 15.0


class Stage:
    """The broker, the processes and the keys of one attack. `saw` prints a figure."""

    def __init__(self, home: Path, *, quiet: bool = False) -> None:
        self.home = home
        self._quiet = quiet
        self._ends = ExitStack()
        self.port = self.broker()
        self.attacker = Attacker(self.port, CHANNEL)
        self._ends.callback(self.attacker.close)

    @property
    def options(self) -> tuple[str, ...]:
        return ("--timing", "demo", "--broker", f"mqtt://{LOOPBACK}:{self.port}")

    def broker(self) -> int:
        """Start a broker, and return its port."""
        port = free_port()
        self._start(command("broker", "--listen", f"{LOOPBACK}:{port}"))
        until = time.monotonic() + _BROKER_PATIENCE
        while not listens(LOOPBACK, port):
            if time.monotonic() > until:
                raise TimeoutError("the broker does not start")
            time.sleep(0.05)
        return port

    def private(self, name: str, creator: str) -> str:
        """Make a private channel of this name, and return its link."""
        done = run(self.home, "create", name, "--private", "--name", creator, *self.options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def pipe(self, name: str, *more: str, channel: str = CHANNEL) -> Pipe:
        """Start an honest `sdschat pipe`, and wait for its connection."""
        pipe = Pipe(self.home, channel, "--name", name, "--linger", "forever", *self.options, *more)
        self._ends.callback(_end_pipe, pipe)
        pipe.until_event("connection", state="connected")
        return pipe

    def store(self) -> None:
        """Start a Store of the channel."""
        self._start(command("store", CHANNEL, *self.options))

    def _start(self, arguments: list[str]) -> None:
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(
            arguments, cwd=self.home, env=environment(self.home), stdin=quiet, stdout=quiet, stderr=quiet
        )
        self._ends.callback(_end, process)

    def database(self, name: str) -> Path:
        return database_path(self.home / "data" / "sdschat", name)

    def count(self, name: str, sql: str) -> int:
        """Return a number from the database of a running node."""
        connection = sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True)
        try:
            return int(connection.execute(sql).fetchone()[0])
        finally:
            connection.close()

    def text(self, name: str, sql: str) -> str:
        """Return a text from the database of a running node."""
        connection = sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True)
        try:
            return str(connection.execute(sql).fetchone()[0])
        finally:
            connection.close()

    def saw(self, what: str, figure: object) -> None:
        if not self._quiet:
            print(f"  {what:<64} {figure}", flush=True)

    def close(self) -> None:
        self._ends.close()


def _end_pipe(pipe: Pipe) -> None:
    if pipe.process.returncode is None:
        pipe.kill(signal.SIGTERM)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


Attack = Callable[[Stage, int], bool]


@contextmanager
def stage(home: Path, *, quiet: bool = False) -> Iterator[Stage]:
    made = Stage(home, quiet=quiet)
    try:
        yield made
    finally:
        made.close()


def main(attack: Attack, size: int, what: str) -> None:
    """Run an attack as a program. Exit with 0 if it was defended, with 1 if it succeeded, with 2 if an honest process
    did not get ready in time."""
    parser = argparse.ArgumentParser(description=attack.__doc__)
    parser.add_argument("--size", type=int, default=size, help=f"{what}; default: {size}")
    size = parser.parse_args().size
    print(f"{(attack.__doc__ or '').splitlines()[0]}\n  {what}: {size}", flush=True)
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as made:
        try:
            defended = attack(made, size)
        except (AssertionError, TimeoutError) as error:
            print(f"not ready in time, which says nothing of the attack: {error}", file=sys.stderr)
            sys.exit(2)
    print("defended" if defended else "NOT DEFENDED")
    sys.exit(0 if defended else 1)


def seconds_until(pipe: Pipe, condition: Callable[[list[Line]], bool], patience: float = PATIENCE) -> float:
    """Return the seconds until the condition holds; `patience` if it never does."""
    began = time.monotonic()
    with suppress(AssertionError):
        pipe.until(condition, "not in time", patience)
        return time.monotonic() - began
    return patience


def has_text(pipe: Pipe, text: str) -> Callable[[list[Line]], bool]:
    """Return a condition: this text was delivered. Each call looks only at the lines that came since the last one."""
    seen, found = 0, False

    def holds(lines: list[Line]) -> bool:
        nonlocal seen, found
        fresh, seen = lines[seen:], len(lines)
        found = found or any(line["event"] == "delivered" and line["message"].get("text") == text for line in fresh)
        return found

    return holds


def is_here(line: Line, nick: str) -> bool:
    """True if a line tells that somebody has come."""
    return bool(line["event"] == "presence" and line["nick"] == nick and line["online"])


def is_acked(line: Line) -> bool:
    """True if a line tells that a message is acknowledged."""
    return bool(line["event"] == "state" and line["state"] == "acked")
