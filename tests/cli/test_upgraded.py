"""A profile of an older program: that its database was upgraded is said, once."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sdschat.store.schema import MIGRATIONS
from tests.cli.processes import ROOT, command, run
from tests.transport.worlds import free_port
from tests.tui.terminal import Terminal

TOLD = f"The database was upgraded from schema 2 to {MIGRATIONS[-1].number}. The old one is kept at "
Command = Callable[..., list[str]]


@pytest.fixture
def with_port(tmp_path: Path) -> Command:
    data = tmp_path / "data" / "sdschat"
    data.mkdir(parents=True)
    with tarfile.open(ROOT / "tests" / "node" / "profiles" / "67f8678.tar.gz") as archive:
        archive.extractall(data, filter="data")
    port = free_port()
    return lambda *arguments: [*arguments, "--name", "ann", "--set", f"embedded.port={port}"]


def copy_of(tmp_path: Path) -> Path:
    (copy,) = (tmp_path / "data" / "sdschat" / "profiles" / "ann").glob("sdschat.db.schema-*")
    return copy


@pytest.mark.parametrize("more", [(), ("--plain",)])
def test_the_chat_says_it_at_the_first_start_and_where_the_old_one_is(
    tmp_path: Path, with_port: Command, more: tuple[str, ...]
) -> None:
    chat = command(*with_port("join", "lobby", *more))
    with Terminal(chat, tmp_path, size=(200, 30)) as terminal:
        terminal.until_text(TOLD)
        terminal.until(lambda: str(copy_of(tmp_path)) in "".join(terminal.text().split()), "where the copy is")
        terminal.enter("/quit")
        assert terminal.wait() == 0
    with Terminal(chat, tmp_path, size=(200, 30)) as terminal:
        terminal.until_text("an answer")
        terminal.until_text("nothing missing" if not more else "connected")
        assert "upgraded" not in terminal.text()


def test_a_command_says_it_on_standard_error(tmp_path: Path, with_port: Command) -> None:
    done = run(tmp_path, *with_port("send", "lobby", "hello"))
    assert [line for line in done.stderr.splitlines() if "upgraded" in line] == [f"{TOLD}{copy_of(tmp_path)}."], done
