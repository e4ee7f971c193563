"""A program in a terminal of its own: what it draws is read by an emulator, keys are bytes."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

from tests.cli.processes import environment

PATIENCE = 30.0


class Terminal:
    """Give it a command, type, and look at the screen."""

    def __init__(
        self, command: Sequence[str], home: Path, *, size: tuple[int, int] = (100, 30),
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        home.mkdir(exist_ok=True, parents=True)
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.written = bytearray()  # everything that came, as it came
        self._drawn = 0  # how much of it the emulator has seen: it is slow, and only asked when somebody looks
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        variables = {**environment(home), "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
        variables.pop("COLUMNS", None)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            command, cwd=home, env=variables, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        self._slave = slave
        self.descriptor = master
        self._open: tuple[int, ...] = (master, slave)

    def read(self, patience: float = 0.05) -> bytes:
        """What has come, waiting for it that long."""
        if not select.select([self.descriptor], [], [], patience)[0]:
            return b""
        try:
            found = os.read(self.descriptor, 1 << 16)
        except OSError:
            return b""
        self.written += found
        return found

    def press(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def enter(self, text: str) -> None:
        self.press(f"{text}\r")

    def text(self) -> str:
        """What is on the screen now, as far as it was read."""
        self._stream.feed(bytes(self.written[self._drawn :]))
        self._drawn = len(self.written)
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"{what}; the screen was:\n{self.text()}"
            self.read()

    def until_text(self, *texts: str) -> None:
        """Wherever lines break."""
        self.until(lambda: all(text in " ".join(self.text().split()) for text in texts), f"no {texts}")

    def wait(self) -> int:
        """For its end. Gives the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end; the screen was:\n{self.text()}"
            self.read()
        while self.read(0.01):
            pass
        return int(self.process.returncode)

    def restored(self) -> bool:
        """Whether the terminal is as it was before: its modes, its cursor, the screen behind the full-screen one."""
        last = bytes(self.written)
        seen = last.rfind(b"\x1b[?1049l") > last.rfind(b"\x1b[?1049h") and last.rfind(b"\x1b[?25h") > last.rfind(
            b"\x1b[?25l"
        )
        return seen and termios.tcgetattr(self._slave)[3] == self.before[3]

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def hang_up(self) -> None:
        """The window is closed. With it come the signals that the kernel sends to whom a terminal belongs; the second
        one once the first was heard, at which Textual begins to read the terminal anew. Sizes make it draw."""
        before = self._threads()
        self._close_descriptors()
        self.process.send_signal(signal.SIGCONT)
        deadline = time.monotonic() + PATIENCE
        while self._threads() <= before:
            assert time.monotonic() < deadline, "SIGCONT is not heard"
            time.sleep(0.01)
        for _ in range(40):
            self.process.send_signal(signal.SIGWINCH)
            time.sleep(0.005)
        self.process.send_signal(signal.SIGHUP)

    def _threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def close(self) -> None:
        self.kill()
        self.process.wait()
        self._close_descriptors()

    def _close_descriptors(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)
        self._open = ()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
