"""One `sdschat pipe` of the soak: start it, read its events, measure it, end it and start it again."""

from __future__ import annotations

import collections
import contextlib
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, NamedTuple

from sdschat.node.profile import database_path
from tests.cli.processes import command, environment
from tests.soak.account import Account, Entry, Log, Run
from tests.soak.liveness import Rest, read_rest

PROGRAM = [sys.executable, "-m", "tests.soak.program"]
_EXPECTED = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}
_PATIENCE = 120.0  # seconds; the machine may be busy with other things
_LONG_LOG = 600.0
_SAID_KEPT = 20
_WRONG = ("trouble", "identity_used_elsewhere", "saving_failed")  # events that no node of a soak may report


class Use(NamedTuple):
    """Memory and descriptors of a process at one moment."""

    memory: float  # MiB
    descriptors: int


class Member:
    """A node of the soak: counts its events, and keeps the account of its lines."""

    def __init__(self, home: Path, name: str, options: list[str]) -> None:
        self.name = name
        self.restarts = 0
        self._joined = self._catching_up = False
        self.account = Account(name)
        self.events: collections.Counter[str] = collections.Counter()
        self.problems: list[str] = []
        self._home = home
        self.options = options  # options of the next process
        self._errors: collections.deque[str] = collections.deque(maxlen=_SAID_KEPT)
        self._threads: list[threading.Thread] = []
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self.process is not None

    @property
    def joined(self) -> bool:
        """True if the process runs and has joined. Before that a signal ends it without a clean end."""
        return self.running and self._joined

    @property
    def caught_up(self) -> bool:
        """True if the process has shown all its lines as messages, and has fetched the history."""
        return self.account.runs[-1].caught_up and not self._catching_up

    def start(self) -> None:
        self.account.runs.append(Run())
        self._joined = self._catching_up = False
        self.process = subprocess.Popen(
            [*PROGRAM, "pipe", "soak", "--name", self.name, "--linger", "forever", *self.options],
            cwd=self._home,
            env=environment(self._home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._threads = [
            threading.Thread(target=self._count, args=(self.process.stdout, self.account.runs[-1]), daemon=True),
            threading.Thread(target=self._note, args=(self.process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _count(self, stream: IO[bytes], run: Run) -> None:
        for line in stream:
            if not line.endswith(b"\n"):
                return  # a kill cut the line off
            fact = json.loads(line)
            event = fact["event"]
            self.events[event] += 1
            self._joined = self._joined or event == "joined"
            if event == "delivered" and fact["message"]["own"]:
                run.shown[fact["message"]["message_id"]] = fact["message"]["text"]
            elif event == "lost":
                self.account.given_up.update(fact["dependencies"])
            elif event == "catching_up":
                self._catching_up = fact["state"] != "done"
            elif event in _WRONG:
                self.problems.append(f"{self.name}: {line.decode().strip()}")

    def _note(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._errors.append(line.decode(errors="replace").strip())

    def say(self, text: str) -> None:
        if self.process is None or self.process.stdin is None:
            return
        self.account.runs[-1].written.append(text)
        try:
            self.process.stdin.write(f"{text}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            self.problems.append(f"{self.name} ended by itself")

    def calm(self) -> None:
        """End the faults of the process."""
        if self.process is not None:
            self.process.send_signal(signal.SIGUSR1)

    def rest(self) -> Rest:
        """Return the work that the node still has, from its database on disk."""
        return read_rest(database_path(self._home / "data" / "sdschat", self.name), "soak")

    def use(self) -> Use | None:
        if self.process is None:
            return None
        place = Path(f"/proc/{self.process.pid}")
        try:
            status = (place / "status").read_text().splitlines()
            memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
            return Use(memory, len(list((place / "fd").iterdir())))
        except (OSError, StopIteration):
            self.problems.append(f"{self.name} ended by itself: {' | '.join(self._errors)}")
            return None

    def log(self) -> Log:
        """Return the log on disk."""
        printed = subprocess.run(
            command("log", "soak", "--json", "--name", self.name),
            cwd=self._home,
            env=environment(self._home),
            capture_output=True,
            timeout=_LONG_LOG,
            check=True,
        ).stdout
        messages = [json.loads(line)["message"] for line in printed.splitlines()]
        return [Entry(message["message_id"], message["text"]) for message in messages]

    def end(self, how: signal.Signals) -> None:
        """End the process, and note a problem if it ends with the wrong code."""
        process, self.process = self.process, None
        if process is None:
            return
        self.account.runs[-1].ended = True
        process.send_signal(how)
        code = process.wait(_PATIENCE)
        if code != _EXPECTED[how]:
            self.problems.append(f"{self.name} ended with {code} on {how.name}: {' | '.join(self._errors)}")
        for thread in self._threads:
            thread.join(_PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
