"""`sdschat store` as a process, as somebody starts it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from sdschat.cli import program
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import make_settings
from sdschat.node.store_server.metrics import COUNTS, Counts
from tests.cli.processes import PATIENCE, Pipe, command, environment, run
from tests.transport.worlds import Mosquitto

QUIET = ("--timing", "demo")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = Mosquitto(tmp_path_factory.mktemp("broker"))
    asyncio.run(made.start())
    yield made.url
    made.stop()


class StoreProcess:
    """A Store that runs, and what it said."""

    def __init__(self, home: Path, *arguments: str) -> None:
        home.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            command("store", *arguments),
            cwd=home,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.said.append(line.rstrip())
                self._news.notify_all()

    def until(self, word: str) -> str:
        with self._news:
            assert self._news.wait_for(lambda: any(word in line for line in self.said), PATIENCE), self.said
            return next(line for line in self.said if word in line)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._thread.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("store", "lobby", "--keep", "soon"), "--keep is 'soon'"),
        (("store", "lobby", "--keep", "5s"), "90d for 90 days"),
        (("store", "lobby", "--max-size", "0"), "store.max_size is '0', and must be a size such as 500M or 20G"),
        (("store", "lobby", "--max-size", ""), "such as 500M or 20G"),
        (("store", "lobby", "--metrics", "9464"), "127.0.0.1:9464"),
        (("store", "lobby", "--metrics", "x:1"), "must be an IP address and a port: 127.0.0.1:9464"),
        (("store", "lobby", "--json"), "status"),
        (("store",), "CHANNEL"),
        (("store", "status", "lobby"), "`sdschat store status` takes no channel"),
        (("store", "compact", "lobby"), "`sdschat store compact` takes no channel"),
        (("store", "a\tb"), "control characters"),
        (("store", "status"), "There is no profile store"),
        (("store", "compact", "--name", "ann"), "There is no profile ann"),
    ],
)
def test_wrong_use_is_told_with_what_would_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert program.run(arguments) == 2
    assert words in capsys.readouterr().err


def test_a_store_archives_answers_and_tells_of_it(tmp_path: Path, broker: str) -> None:
    home = tmp_path / "home"
    at = ("--broker", broker, *QUIET)
    limits = ("--max-size", "1G", "--set", "store.max_size=3G")
    store = StoreProcess(home, "#", *at, *limits, "--metrics", "127.0.0.1:0")
    place = store.until("metrics at").split()[-1]
    store.until("listening")
    ann = Pipe(home, "lobby", "--name", "ann", *at)
    ann.say("one", "two", "three")
    store.until("lobby: archiving")
    # Whether ann asks for hints as well depends on whether the Store's sync message, which has them, came first.
    ann.until(lambda lines: any(line.get("state") == "done" and line["nick"] == "store" for line in lines), "no answer")
    assert ann.end() == 0
    with urllib.request.urlopen(place, timeout=PATIENCE) as answer:
        figures = answer.read().splitlines()
    assert {b'sdschat_store_messages{channel="lobby"} 3', b"sdschat_store_max_bytes %d" % 2**30} <= set(figures)
    status = json.loads(run(home, "store", "status", "--json").stdout)
    assert [(one["channel"], one["messages"]) for one in status["channels"]] == [("lobby", 3)]
    taken = run(home, "store", "lobby", *at)
    assert (taken.returncode, "another process" in taken.stderr or "in use" in taken.stderr) == (5, True)
    refused = run(home, "store", "compact")
    assert refused.returncode == 5
    assert "writing" not in refused.stderr
    assert store.end(signal.SIGTERM) == 143
    after = run(home, "store", "status")
    assert "not running" in after.stdout
    assert "archived 3 messages" in after.stdout
    assert run(home, "store", "compact").returncode == 0


def test_the_status_of_a_store_that_cannot_save_is_not_that_of_one_that_is_gone(tmp_path: Path) -> None:
    profile = open_profile(database_path(tmp_path / "data", "store"), make_settings({}))
    counts = asdict(Counts()) | {"started": 0, "saved": int((time.time() - 300) * 1000), "pid": os.getpid()}
    with profile.store.transaction() as transaction:
        transaction.set_value(COUNTS, json.dumps(counts).encode())
    status = ("store", "status", "--data-dir", str(tmp_path / "data"))
    told = run(tmp_path, *status).stdout
    assert "\nrunning, but it has saved nothing for 30" in told
    assert "is its disk full?" in told
    profile.store.close()
    assert "\nnot running; since" in run(tmp_path, *status).stdout  # another process has the number now


def test_a_metrics_port_that_is_taken_is_told_and_nothing_is_archived(tmp_path: Path, broker: str) -> None:
    port = broker.rpartition(":")[2]
    done = run(tmp_path / "home", "store", "lobby", "--broker", broker, "--metrics", f"127.0.0.1:{port}")
    assert done.returncode == 2
    assert f"--metrics 127.0.0.1:{port} cannot be served there" in done.stderr


def _archived(place: str, count: int) -> None:
    """Wait until the Store has so many."""
    wanted = f'sdschat_store_messages{{channel="hall"}} {count}'
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with urllib.request.urlopen(place, timeout=PATIENCE) as answer:
            if wanted in answer.read().decode().splitlines():
                return
        time.sleep(0.1)
    raise AssertionError(f"not {count} archived")


def test_catching_up_goes_on_from_a_peer_when_the_store_is_killed(tmp_path: Path, broker: str) -> None:
    count = 1200
    home, at = tmp_path / "home", ("--broker", broker, "--set", "push.enabled=false")
    store = StoreProcess(home, "hall", *at, "--metrics", "127.0.0.1:0")
    place = store.until("metrics at").split()[-1]
    store.until("keeps the newest 2G; --max-size changes that")
    store.until("hall: archiving")
    ann = Pipe(home, "hall", "--name", "ann", *at)
    texts = [f"number {number} {'long ' * 100}" for number in range(count)]
    ann.say(*texts)
    _archived(place, count)
    carol = Pipe(home, "hall", "--name", "carol", *at)
    carol.until(lambda lines: any(line.get("via") == "store" for line in lines), "nothing from the Store")
    assert store.end(signal.SIGKILL) == -signal.SIGKILL
    carol.until(lambda lines: len(carol.texts(lines)) >= count, "not all")
    delivered = [line for line in carol.lines if line["event"] == "delivered"]
    ids = [line["message"]["message_id"] for line in delivered]
    assert len(ids) == len(set(ids)) == count
    assert {line["via"] for line in delivered} >= {"store", "sync"}
    carol.kill(signal.SIGTERM)
    ann.kill(signal.SIGTERM)
    logs = [run(home, "log", "hall", "--name", name, "--json").stdout for name in ("ann", "carol")]
    order = [[json.loads(line)["message"]["message_id"] for line in log.splitlines()] for log in logs]
    assert order[0] == order[1]
    assert len(order[0]) == count
