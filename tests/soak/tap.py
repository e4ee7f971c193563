"""A `sdschat tap` beside a soak, which receives everything and sends nothing."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from tests.cli.processes import command, environment

_PATIENCE = 60.0


class Tap:
    """Records all packets from the beginning of the block to its end."""

    def __init__(self, home: Path, folder: Path, port: int) -> None:
        self._process = subprocess.Popen(
            command("tap", "soak", "--to", str(folder), "--broker", f"mqtt://127.0.0.1:{port}"),
            cwd=home,
            env=environment(home),
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Tap:
        assert self._process.stderr is not None
        said = self._process.stderr.readline()
        assert said.startswith(b"recording from"), said
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=_PATIENCE)
