"""Completion in a shell: commands, options, and values that are on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from sdschat.cli.lazy import COMPLETE
from sdschat.cli.program import program
from tests.audit.field import talk


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("talked"), ("ann", "bob"), ("hello",))


@pytest.fixture
def home(talked: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(COMPLETE, "bash_complete")
    monkeypatch.setenv("SDSCHAT_DATA_DIR", str(talked))
    return talked


def offered(line: str) -> list[str]:
    """Return the values offered for the last word of a line; `file` stands for files."""
    *before, last = line.split(" ")
    found = ShellComplete(program, {}, "sdschat", COMPLETE).get_completions(before, last)
    return [item.value if item.type == "plain" else item.type for item in found]


@pytest.mark.parametrize(
    "command", ["log", "inspect", "tail", "export", "join x", "tap", "timber status", "log --name ann"]
)
def test_channels_are_those_that_are_here(home: Path, command: str) -> None:
    assert offered(f"{command} ") == offered(f"{command} lo") == ["lobby"]
    assert offered(f"{command} x") == []


@pytest.mark.parametrize("command", ["verify lobby", "remove lobby", "send lobby --to", "log --name bob --to"])
def test_nicks_are_those_that_were_met(home: Path, command: str) -> None:
    assert offered(f"{command} ") == offered(f"{command} an") == ["ann"]
    assert offered(f"{command} x") == []


def test_commands_are_offered_with_the_words_of_the_help() -> None:
    found = ShellComplete(program, {}, "sdschat", COMPLETE).get_completions([], "de")
    assert [(item.value, item.help) for item in found] == [
        ("demo", "Watch a channel whose participants talk and fail."),
        ("decode", "Explain a packet, and the rules that it breaks."),
    ]


def test_a_new_channel_and_a_profile_that_is_not_there_have_none(home: Path) -> None:
    assert offered("create ") == offered("log --name cleo ") == []


def test_a_damaged_database_hides_no_other(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(home, tmp_path / "copy")
    next(copy.rglob("ann/sdschat.db")).write_bytes(b"nothing")
    monkeypatch.setenv("SDSCHAT_DATA_DIR", str(copy))
    assert offered("log ") == ["lobby"]


def test_profiles_settings_and_topics(home: Path) -> None:
    assert offered("log --name ") == offered("doctor --profile ") == ["ann", "bob"]
    assert offered("join --set repair.t_m") == ["repair.t_max=", "repair.t_min="]
    assert offered("help jo") == ["join"]
    assert "json" in offered("help ")


@pytest.mark.parametrize(
    "line", ["decode ", "decode a ", "audit ", "replay ", "join x --ca-file ", "pipeline ingest ", "tap x --to "]
)
def test_files(home: Path, line: str) -> None:
    assert offered(line) == ["file"]
