"""A test question to Spark leaves no process behind, however the asking process ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.needs import needs_module

needs_module("pyspark")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up as Linux tells of them")

PATIENCE = 40  # seconds: Spark itself gives up later than this
ASKS = (
    "from sdschat.pipeline.session import SparkTarget; from sdschat.pipeline.doctor import ask; ask(SparkTarget({!r}))"
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_whoever_is_ended_while_he_asks_takes_all_that_he_started_with_him(number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=20) as silent:
        asks = ASKS.format(f"spark://127.0.0.1:{silent.getsockname()[1]}")
        with subprocess.Popen([sys.executable, "-c", asks], stderr=subprocess.DEVNULL) as asking:
            started = _first_child(asking.pid)
            asking.send_signal(number)
            assert asking.wait(PATIENCE) == -number
        deadline = time.monotonic() + PATIENCE
        while _group(started) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert _group(started) == []


def _first_child(parent: int) -> int:
    """Return the first child process that leads a process group of its own; wait for it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            if _group(int(child)):
                return int(child)
        time.sleep(0.02)
    raise AssertionError("it started nothing")


def _group(leader: int) -> list[str]:
    """Return the running processes of a group."""
    found = []
    for process in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, group = process.read_text().rpartition(")")[2].split()[:3]
            if int(group) == leader and state != "Z":
                found.append(process.parent.name)
    return found
