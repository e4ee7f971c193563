"""The start: work before the first frame, and work after it."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual import events

from sdschat.tui.startup import PIECES, Startup
from tests.cli.processes import PATIENCE, command, environment
from tests.transport.worlds import free_port
from tests.tui.stage import stage
from tests.tui.terminal import Terminal

# Runs the program, and writes down what is loaded when the head of the first frame goes to the terminal.
FIRST_FRAME = """
import json, sys
from textual.drivers.linux_driver import LinuxDriver
from sdschat.cli.program import run
write, kept = LinuxDriver.write, sys.argv[1]
def watched(driver, data):
    if "F1 help" in data and LinuxDriver.write is watched:
        LinuxDriver.write = write
        with open(kept, "w") as file:
            json.dump(sorted(sys.modules), file)
    write(driver, data)
LinuxDriver.write = watched
sys.exit(run(sys.argv[2:]))
"""
# Loads the view, as the interface does, and piece by piece what a channel needs; joins one, and says what came in only
# then.
JOINING = """
import asyncio, json, sys
from pathlib import Path
from sdschat.cli.session import _install
from sdschat.node.network import MqttNetwork
from sdschat.tui.startup import load
from sdschat.node.node import Node
from sdschat.node.profile import open_profile
import sdschat.node.view.conversations
from sdschat.node.settings import make_settings
from sdschat.transport.address import parse_url
from sdschat.transport.mqtt_options import MqttOptions
async def story():
    settings = make_settings({})
    network = MqttNetwork(MqttOptions(parse_url(f"mqtt://127.0.0.1:{sys.argv[2]}")[0]), settings, embedded=False)
    node = Node(open_profile(Path(sys.argv[1]), settings), "ann", settings, network)
    node.prepare(lambda: _install(node, True))
    for piece in load():
        pass
    before = set(sys.modules)
    node.join("lobby")
    print(json.dumps(sorted(name for name in set(sys.modules) - before if name.startswith("sdschat"))))
    await node.close(0)
asyncio.run(story())
"""
# The engine, the clients and the embedded broker, what passes between two, Stores, commands, migrations.
NOT_BEFORE = (
    *PIECES,
    "paho",
    "http",
    "email",
    "sqlite_utils",
    "sdschat.transport.broker",
    "sdschat.mvds",
    "sdschat.catchup",
    "sdschat.timber.engine",
    "sdschat.store.timber",
    "sdschat.wire.timber_codec",
    "sdschat.tui.commands.chat",
    "sdschat.tui.commands.reading",
    "sdschat.tui.lens.panel",
    "sdschat.tui.palette",
)


def test_what_only_a_channel_needs_is_loaded_after_the_first_frame(tmp_path: Path) -> None:
    port = f"embedded.port={free_port()}"
    kept = tmp_path / "loaded.json"
    arguments = command("join", "lobby", "--name", "ann", "--set", port)[3:]
    for _ in range(2):  # the first time makes the profile, and for that more is needed
        with Terminal([sys.executable, "-c", FIRST_FRAME, str(kept), *arguments], tmp_path) as terminal:
            terminal.until_text("hosting the broker")
            terminal.kill(signal.SIGTERM)
            terminal.wait()
    loaded = set(json.loads(kept.read_text()))
    assert "sdschat.tui.app" in loaded
    assert not loaded.intersection(NOT_BEFORE)


def test_the_pieces_are_all_that_joining_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", JOINING, str(tmp_path / "profile" / "sdschat.db"), str(free_port())],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert json.loads(done.stdout) == []


@pytest.fixture(autouse=True)
def _garbage_as_it_was() -> Iterator[None]:
    yield
    gc.enable()


class Later:
    """A stand-in for the event loop: keeps the calls that are due a moment later."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, _delay: float, callback: Callable[[], None]) -> None:
        self.waiting.append(callback)

    def turn(self) -> None:
        self.waiting.pop(0)()


def test_one_piece_is_loaded_between_two_looks_at_the_keys() -> None:
    later, joined = Later(), list[str]()
    opening = Startup(["lobby", "dev"], joined.append, later)
    opening.begin()
    for _ in PIECES:
        later.turn()
    assert joined == []
    later.turn()
    assert joined == ["lobby"]
    later.turn()
    assert joined == ["lobby", "dev"]
    later.turn()
    assert opening.done
    assert not later.waiting


def test_letters_do_not_hurry_it_and_everything_else_has_the_channels_joined_first() -> None:
    later, joined = Later(), list[str]()
    opening = Startup(["lobby"], joined.append, later)
    opening.begin()
    opening.before(events.Key("a", "a"))
    assert not joined
    opening.before(events.Key("enter", "\r"))
    assert joined == ["lobby"]
    assert opening.done
    later.turn()
    assert joined == ["lobby"]
    assert not later.waiting


def test_a_step_that_fails_is_the_last_one() -> None:
    def join(name: str) -> None:
        raise OSError(name)

    later = Later()
    opening = Startup(["lobby", "dev"], join, later)
    opening.begin()
    with pytest.raises(OSError, match="lobby"):
        opening.before(events.Key("enter", "\r"))
    assert opening.done
    later.turn()
    assert not later.waiting


def test_garbage_is_collected_again_once_everything_is_loaded() -> None:
    gc.disable()
    opening = Startup(["lobby"], lambda name: name, Later())
    assert not gc.isenabled()
    opening.finish()
    assert gc.isenabled()
    gc.unfreeze()


def test_a_machine_that_is_busy_at_the_wrong_moment_loses_no_step_and_no_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(0, 0.01)  # ten milliseconds pass between any two looks at the clock
    monkeypatch.setattr("textual._time.get_time", lambda: next(clock))

    async def story() -> None:
        async with stage(tmp_path, peers=("bob",)) as made:
            assert made.app.opening is not None
            assert made.app.opening.done
            made.say("a line")
            async with asyncio.timeout(PATIENCE):
                while "a line" not in made.text():  # without `until`, which draws by itself
                    await asyncio.sleep(0.01)

    asyncio.run(story())
