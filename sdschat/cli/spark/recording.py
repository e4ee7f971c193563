"""A tap beside a stream: what passes over a broker's topics into the folder that the stream reads."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from sdschat.cli.problem import Problem

_GRACE: Final = 10.0  # seconds to put the last packets into a segment


class Recording:
    """A process of its own, so that nothing that Spark does keeps it from taking what the broker sends."""

    def __init__(self, arguments: Sequence[str], said: IO[bytes]) -> None:
        self._said = said
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sdschat", "tap", *arguments], stdin=subprocess.DEVNULL, stderr=said
        )

    def check(self) -> None:
        """It only ends by itself where it cannot go on. Its last line says why."""
        code = self._process.poll()
        if code:
            self._said.seek(0)
            lines = self._said.read().decode(errors="replace").strip().splitlines()
            raise Problem(lines[-1].removeprefix("sdschat: ") if lines else f"The tap ended with {code}.", code)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()  # what it heard is in its spool, for the next one


@contextlib.contextmanager
def recording(channels: Sequence[str], folder: Path, broker: str | None) -> Iterator[Recording]:
    """Where else is as for every command: settings, environment, and the files that they name."""
    at = ("--broker", broker) if broker else ()
    with tempfile.TemporaryFile() as said:
        one = Recording((*channels, "--to", str(folder), *at), said)
        try:
            yield one
        finally:
            one.end()
