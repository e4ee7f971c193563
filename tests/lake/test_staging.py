"""Processes that read files for an ingest."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

import pytest

from tests.needs import needs_module

needs_module("pyarrow")

_STAGED = """
import sys
from pathlib import Path
from sdschat.audit.schemas import Journal
from sdschat.lake import staging
staging._MUCH = 0
folder = Path(sys.argv[1])
sources = [staging.Source(number, str(folder / f"{number}.jsonl"), (Journal,)) for number in range(2)]
staging.stage(sources, folder, "field", 1)
"""


def test_of_a_killed_ingest_no_process_goes_on(tmp_path: Path) -> None:
    pipe = tmp_path / "0.jsonl"
    os.mkfifo(pipe)
    (tmp_path / "1.jsonl").touch()
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen([sys.executable, "-c", _STAGED, str(tmp_path)]))
        written = stack.enter_context(pipe.open("wb", buffering=0))  # waits until a process reads it
        process.kill()
        process.wait()
        with pytest.raises(BrokenPipeError):
            write_for_long(written)


def write_for_long(written: FileIO) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        written.write(b"\n")
        time.sleep(0.05)
