"""Start the program, and wait for its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
Line = dict[str, Any]


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return an environment with a home of its own: no file of the user is read or written. It says nothing of the
    terminal in which the tests run."""
    others = ("SDSCHAT_", "XDG_", "TMUX", "TERM_PROGRAM", "VTE_VERSION")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(others)}
    places = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("DATA", "CONFIG", "STATE", "CACHE")}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": path, "HOME": str(home), "COLUMNS": "100", **places, **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "sdschat", *arguments]


def run_with_full_disk(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end, with its output on a disk without room."""
    with open("/dev/full", "wb") as full:
        return subprocess.run(
            command(*arguments),
            cwd=home,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )


def run(
    home: Path, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        command(*arguments),
        cwd=home,
        env=environment(home, **(env or {})),
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


class Pipe:
    """A running `sdschat pipe`."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            command("pipe", *arguments),
            cwd=home,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[Line] = []
        self.said: list[str] = []
        self._news = threading.Condition()
        self._ended = 0
        self._threads = [
            threading.Thread(target=self._read, args=(stream, take), daemon=True)
            for stream, take in ((self.process.stdout, self._take), (self.process.stderr, self.said.append))
        ]
        for thread in self._threads:
            thread.start()

    def _take(self, line: str) -> None:
        if line.endswith("\n"):  # an incomplete line was cut off by a kill
            self.lines.append(json.loads(line))

    def _read(self, stream: IO[bytes] | None, take: Callable[[str], None]) -> None:
        assert stream is not None
        for line in stream:
            with self._news:
                take(line.decode())
                self._news.notify_all()
        with self._news:
            self._ended += 1
            self._news.notify_all()

    def say(self, *texts: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{text}\n" for text in texts).encode())
        self.process.stdin.flush()

    def until(self, condition: Callable[[list[Line]], bool], what: str, patience: float = PATIENCE) -> None:
        """Wait until the condition holds for the lines so far."""
        with self._news:
            self._news.wait_for(lambda: condition(self.lines) or self._ended == 2, patience)
            assert condition(self.lines), f"{what}: {self.lines} {self.said}"

    def until_event(self, event: str, **fields: object) -> None:
        self.until(
            lambda lines: any(
                line["event"] == event and all(line.get(key) == value for key, value in fields.items())
                for line in lines
            ),
            f"no {event} {fields}",
        )

    def until_texts(self, *texts: str) -> None:
        self.until(lambda lines: sorted(self.texts(lines)) == sorted(texts), f"not {texts}")

    def texts(self, lines: list[Line] | None = None) -> list[str]:
        found = self.lines if lines is None else lines
        return [line["message"]["text"] for line in found if line["event"] == "delivered"]

    def end(self) -> int:
        """Close the input of the process, and wait for its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self._drain()
        return code

    def kill(self, number: int) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._drain()
        return code

    def _drain(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue
