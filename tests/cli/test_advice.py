"""Commands and options that an error message advises exist, and do what it says."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from sdschat.audit.errors import install_command
from sdschat.cli.broker import places
from sdschat.cli.program import program, run
from sdschat.node.events import MessageDelivered
from sdschat.store.errors import StoreDamaged
from sdschat.transport.address import Address
from sdschat.transport.broker import BrokerConfig, BrokerTls
from tests.cli.processes import ROOT, environment
from tests.node.worlds import world

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Packages whose words with two dashes are options. Pages and style sheets of the others have such words too.
_TALKING = ("transport", "store", "identity", "node", "cli")


def _options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from parameter.opts
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _options(found)


def _named() -> Iterator[tuple[str, str]]:
    for package in _TALKING:
        for path in (ROOT / "sdschat" / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield from ((path.name, option) for option in _OPTION.findall(node.value))


def test_every_option_that_a_text_names_is_one_of_a_command() -> None:
    known = {*_options(program), "--help", "--version"}
    named = list(_named())
    assert len(named) > 100
    assert [(file, option) for file, option in named if option not in known] == []


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return the error of a command that is used wrongly, without reading any file of the user."""
    monkeypatch.chdir(tmp_path)
    for kind in ("DATA", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))

    def ask(*arguments: str) -> str:
        assert run([*arguments, "--data-dir", "there"]) == 2
        return capsys.readouterr().err

    return ask


def test_a_damaged_profile_is_salvaged_by_what_the_message_says(tmp_path: Path) -> None:
    data = tmp_path / "my data"

    async def story() -> None:
        async with world(data) as w:
            ann = w.start("ann")
            ann.node.send("lobby", "kept")
            await ann.until(MessageDelivered)

    asyncio.run(story())
    advice = str(StoreDamaged(data / "profiles" / "ann" / "sdschat.db", "for a test")).partition("with: sdschat ")[2]
    assert run(shlex.split(advice.replace("NEW", "rescued"))) == 0
    assert (data / "profiles" / "rescued" / "sdschat.db").exists()


def test_a_damaged_copy_elsewhere_is_no_profile_to_salvage() -> None:
    assert "salvage" not in str(StoreDamaged(Path("/field/ann.db"), "for a test"))


def test_where_a_profile_is_not_there_those_that_are_there_are_named(said: Callable[..., str], tmp_path: Path) -> None:
    assert "There is none at all" in said("log", "lobby", "--name", "zoe")
    for level in ("ann", "bob%2F2"):
        (tmp_path / "there" / "profiles" / level).mkdir(parents=True)
        (tmp_path / "there" / "profiles" / level / "sdschat.db").touch()
    assert "There are ann, bob/2." in said("log", "lobby", "--name", "zoe")


def test_a_folder_given_as_the_configuration_is_not_said_to_be_missing(
    said: Callable[..., str], tmp_path: Path
) -> None:
    assert f"{tmp_path} is no file." in said("config", "--config", str(tmp_path))


@pytest.mark.parametrize("given", ["--ephemeral", "--wait possibly-acked"])
def test_send_says_which_option_does_not_go_with_to(said: Callable[..., str], given: str) -> None:
    assert f"Leave out {given}." in said("send", "lobby", "hello", "--to", "bob", *given.split())


def test_the_broker_says_every_address_that_can_be_given() -> None:
    clear, secret = BrokerConfig("::1", 1, port_websocket=2), BrokerTls(Path("cert"), Path("key"))
    assert [*map(str, places(clear, Address("mqtt", "::1", 1)))] == ["mqtt://[::1]:1", "ws://[::1]:2/mqtt"]
    assert [*map(str, places(replace(clear, tls=secret), Address("mqtts", "::1", 1)))][1] == "wss://[::1]:2/mqtt"
    assert len([*places(replace(clear, port_websocket=None), Address("mqtt", "::1", 1))]) == 1


def test_a_package_of_the_extra_that_is_not_there_is_named_with_how_to_get_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['numpy'] = None; from sdschat.cli.program import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "simulate", "--with", "participants=10"],
        cwd=tmp_path,
        env={**os.environ, **environment(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert install_command("pipeline") in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (None, "sdschat[web]"),
        ("{}", "sdschat[web]"),
        ("no json", "sdschat[web]"),
        ('{"url": "https://example.org/sdschat.whl"}', "sdschat[web]"),
        ('{"url": "file:///opt/my%20chat", "dir_info": {}}', "/opt/my chat[web]"),
        ('{"url": "file:///opt/chat", "dir_info": {"editable": true}}', "-e /opt/chat[web]"),
    ],
)
def test_an_extra_is_installed_from_where_the_program_is_from(
    told: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: SimpleNamespace(read_text=lambda file: told))
    command = shlex.split(install_command("web"))
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert " ".join(command[4:]) == words
