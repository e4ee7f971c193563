"""A tap beside a stream: it records a broker's packets into the folder that the stream reads."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from sdschat.cli.errors import CommandProblem

_GRACE: Final = 10.0  # seconds to put the last packets into a segment


class TapRecording:
    """A tap in a process of its own, so that a busy Spark cannot delay the recording."""

    def __init__(self, arguments: Sequence[str], said: IO[bytes]) -> None:
        self._said = said
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sdschat", "tap", *arguments], stdin=subprocess.DEVNULL, stderr=said
        )

    def check(self) -> None:
        """Raise Problem if the tap has ended: it does so only if it cannot continue, and its last line says why."""
        code = self._process.poll()
        if code:
            self._said.seek(0)
            lines = self._said.read().decode(errors="replace").strip().splitlines()
            raise CommandProblem(lines[-1].removeprefix("sdschat: ") if lines else f"The tap ended with {code}.", code)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its unfinished packets are in its spool, and the next tap recovers them


@contextlib.contextmanager
def recording(channels: Sequence[str], folder: Path, broker: str | None) -> Iterator[TapRecording]:
    """Run a tap meanwhile. Options not given here come from the settings, the environment and the files they name."""
    at = ("--broker", broker) if broker else ()
    with tempfile.TemporaryFile() as said:
        one = TapRecording((*channels, "--to", str(folder), *at), said)
        try:
            yield one
        finally:
            one.end()
