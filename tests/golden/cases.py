"""The commands whose output is kept, and the profile that they read."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
from click.testing import CliRunner

from sdschat.cli.program import program
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import make_settings
from sdschat.transport.memory import MemoryNetwork
from tests.cli.processes import run
from tests.node.worlds import InMemory

PACKETS = Path(__file__).parent / "packets.hex"
_FORMATS = ("text", "json", "md")


class Case(NamedTuple):
    """One call of the program."""

    name: str
    arguments: tuple[str, ...]
    stdin: bytes = b""


def _named(*arguments: str, stdin: bytes = b"") -> Case:
    return Case("_".join(re.sub(r"[^\w.]+", "-", one).strip("-") or "-" for one in arguments), arguments, stdin)


def cases() -> list[Case]:
    """Return every case, in the order of the files."""
    found = [
        _named("--help"),
        _named("config", "--name", "ann"),
        _named("config", "--name", "ann", "--timing", "demo"),
        _named("channels", "--name", "ann"),
        _named("inspect", "lobby", "--name", "ann"),
        _named("inspect", "nowhere", "--name", "ann"),
        _named("log", "nowhere", "--name", "ann"),
        _named("log", "lobby", "--name", "ann", "--search", "release"),
        _named("log", "lobby", "--name", "nobody"),
        _named("join"),
        _named("joni"),
        _named("send", "lobby"),
        _named("log", "lobby", "--since", "yesterdai"),
        _named("config", "--set", "sds.sync_interval=never"),
        _named("config", "--set", "no.such=1"),
        _named("decode", "-", stdin=PACKETS.read_bytes()),
        _named("decode", "no-such-file"),
        _named("completions", "bash"),
        _named("man"),
    ]
    found += [_named("log", "lobby", "--name", "ann", "--format", form) for form in _FORMATS]
    found += [_named(*path, "--help") for path in paths(program)]
    return found


def paths(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the names that lead to each command below a group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from paths(command, (*above, name))
        if command is not None:
            yield (*above, name)


def make_home(folder: Path) -> Path:
    """Make a machine on which ann said three things in two channels."""

    async def talk() -> None:
        settings = make_settings({})
        profile = open_profile(database_path(folder / "data" / "sdschat", "ann"), settings)
        loop = asyncio.get_running_loop()
        node = Node(profile, "ann", settings, InMemory(MemoryNetwork(loop.call_soon), settings))
        for name in ("lobby", "späti"):
            node.join(name)
        node.send("lobby", "the release is out")
        node.send("lobby", "line one\nline two")
        node.send("späti", "hallo")
        await node.close()

    asyncio.run(talk())
    return folder


_CHANGING = (
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{16,}(?![0-9a-f])"), "hex"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "moment"),
    (re.compile(r"(?<!\d)1[6-9]\d{11}(?!\d)"), "ms"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "time"),
    (re.compile(r"(?<![0-9a-f])(?=[0-9a-f]*\d)[0-9a-f]{8}(?![0-9a-f])"), "short"),
)


def stable(text: str, home: Path) -> str:
    """Replace what differs from run to run: paths, ids and times, each by its kind."""
    text = text.replace(str(home), "HOME")
    for pattern, kind in _CHANGING:
        text = pattern.sub(f"<{kind}>", text)
    return re.sub(r"(?<=\S) {2,}", "  ", text)  # columns are as wide as what was replaced


def output(case: Case, home: Path) -> str:
    """Run a case and return what it printed and how it ended."""
    if case.arguments[-1] == "--help":
        return _helps()[case.name].replace(str(home), "HOME")
    done = run(home, *case.arguments, stdin=case.stdin)
    return _record(done.returncode, stable(done.stdout, home), stable(done.stderr, home))


def _record(code: int, out: str, err: str) -> str:
    return "\n".join(part.rstrip("\n") for part in (f"exit {code}", "--- out", out, "--- err", err)) + "\n"


@functools.cache
def _helps() -> dict[str, str]:
    """Run every case of help in one new process: a command keeps the help option of its first caller."""
    done = subprocess.run([sys.executable, "-m", "tests.golden.cases"], capture_output=True, check=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def print_helps() -> None:
    """Print what every case of help prints, as JSON."""
    found = {}
    for case in cases():
        if case.arguments[-1] == "--help":
            shown = CliRunner().invoke(program, case.arguments, prog_name="sdschat", terminal_width=100)
            found[case.name] = _record(shown.exit_code, stable(shown.stdout, Path("/no/home")), shown.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    print_helps()
