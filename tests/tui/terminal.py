"""A program in a terminal of its own: an emulator reads its output, keys are bytes."""

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

_ESCAPE_ALONE = 0.3  # seconds
PATIENCE = 30.0


class Terminal:
    """A terminal that runs one command."""

    def __init__(
        self,
        command: Sequence[str],
        home: Path,
        *,
        size: tuple[int, int] = (100, 30),
        env: Mapping[str, str] | None = None,
        controlling: bool = False,
    ) -> None:
        """`controlling`: the terminal sends signals, such as that of Ctrl+C, while it reads lines."""
        home.mkdir(exist_ok=True, parents=True)
        self.home = home
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.written = bytearray()  # everything that came, as it came
        self._drawn = 0  # how much of it the emulator has seen: it is slow, and only asked when somebody looks
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        variables = {**environment(home), "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
        for size_of_another in ("COLUMNS", "LINES"):
            variables.pop(size_of_another, None)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            command,
            cwd=home,
            env=variables,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if controlling else None,
        )
        self._slave = slave
        self.descriptor = master
        self._open: tuple[int, ...] = (master, slave)

    def read(self, patience: float = 0.05) -> bytes:
        """Return the bytes that arrive within this time."""
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

    def resize(self, columns: int, lines: int) -> None:
        self.text()  # what was drawn for the size of before
        self.screen.resize(lines, columns)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGWINCH)

    def enter(self, text: str) -> None:
        self.press(f"{text}\r")

    def escape(self) -> None:
        """Press Esc, and nothing else for as long as a key that follows would belong to it."""
        self.press("\x1b")
        over = time.monotonic() + _ESCAPE_ALONE
        while time.monotonic() < over:
            self.read()

    def text(self) -> str:
        """Return the text of the screen, as far as its bytes were read."""
        self._stream.feed(bytes(self.written[self._drawn :]))
        self._drawn = len(self.written)
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"{what}; the screen was:\n{self.text()}"
            self.read()

    def until_text(self, *texts: str) -> None:
        """Wait until all of these texts are on the screen, wherever lines break."""
        self.until(lambda: all(text in " ".join(self.text().split()) for text in texts), f"no {texts}")

    def wait(self) -> int:
        """Wait for the end of the program. Return the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end; the screen was:\n{self.text()}"
            self.read()
        while self.read(0.01):
            pass
        return int(self.process.returncode)

    def restored(self) -> bool:
        """True if the terminal is as before: its modes, its cursor, the screen behind the full-screen one."""
        last = bytes(self.written)
        seen = last.rfind(b"\x1b[?1049l") > last.rfind(b"\x1b[?1049h") and last.rfind(b"\x1b[?25h") > last.rfind(
            b"\x1b[?25l"
        )
        return seen and self.restored_modes()

    def restored_modes(self) -> bool:
        """True if the terminal edits and shows lines as before."""
        return bool(termios.tcgetattr(self._slave)[3] == self.before[3])

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the window. Also send the signals of the kernel to the owner of a terminal; the second one after the
        first was handled, because then Textual begins to read the terminal again. Changes of size make it draw, and
        come until it has ended."""
        before = self._threads()
        self.take_away()
        self.process.send_signal(signal.SIGCONT)
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and not self._threads() - before:  # it may end before, by itself
            assert time.monotonic() < deadline, "SIGCONT is not heard"
            time.sleep(0.01)
        for _ in range(40):
            self.process.send_signal(signal.SIGWINCH)
            time.sleep(0.005)
        self.process.send_signal(signal.SIGHUP)
        while self.process.poll() is None and time.monotonic() < deadline:
            self.process.send_signal(signal.SIGWINCH)
            time.sleep(0.001)

    def _threads(self) -> set[str]:
        return set(os.listdir(f"/proc/{self.process.pid}/task"))

    def close(self) -> None:
        self.kill()
        self.process.wait()
        self.take_away()

    def take_away(self) -> None:
        """Let the terminal vanish. Where it is not the program's own one, the kernel sends no signal."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open = ()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
