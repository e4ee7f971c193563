"""What a slash command is, and finding one."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from sdschat.tui.host import Host

# Each has a tuple COMMANDS. The second group may be absent.
_MODULES: Final = ("chat", "talk", "reading", "history", "channels", "screen")
_OPTIONAL: Final = ("sdschat.tui.lens.commands",)


class CommandError(Exception):
    """It cannot be done. The text says what, why and what to do; what was typed stays in the input."""


class Command(NamedTuple):
    """A command, and everything that its help says."""

    name: str  # without the slash
    usage: str  # "/goto TIME"
    summary: str  # one line
    run: Callable[[Host, str], Awaitable[None] | None]  # gets what stands behind the name, stripped
    aliases: tuple[str, ...] = ()
    details: str = ""
    complete: Callable[[Host, str], Iterable[str]] | None = None  # gets the argument so far; gives whole last words
    group: str = "chat"

    @property
    def needs_argument(self) -> bool:
        words = self.usage.split()[1:]
        return bool(words) and not words[0].startswith("[")


class Registry:
    """All commands by name and alias. They are looked at when one of them is first asked for, and not before."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self._given = commands

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        return tuple(self._given)

    @cached_property
    def _named(self) -> dict[str, Command]:
        named: dict[str, Command] = {}
        for command in self.commands:
            for name in (command.name, *command.aliases):
                if name in named:
                    raise ValueError(f"two commands are called /{name}")
                named[name] = command
        return named

    def names(self) -> list[str]:
        """Of all commands, without aliases."""
        return sorted(command.name for command in self.commands)

    def find(self, name: str) -> Command:
        """Raises CommandError."""
        found = self._named.get(name.lower())
        if found is not None:
            return found
        near = difflib.get_close_matches(name.lower(), self._named, 1, 0.5)
        hint = f"Did you mean /{near[0]}?" if near else "/help lists all of them."
        raise CommandError(f"There is no command /{name}. {hint} To send it as a message, write //{name}.")

    def get(self, name: str) -> Command | None:
        return self._named.get(name.lower())


def load() -> Registry:
    """Everything that is installed."""
    return Registry(_all())


def _all() -> Iterator[Command]:
    for name in _MODULES:
        yield from import_module(f"sdschat.tui.commands.{name}").COMMANDS
    for name in _OPTIONAL:
        if _exists(name):
            yield from import_module(name).COMMANDS


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def expanded(line: str, aliases: Mapping[str, str]) -> str:
    """A command line with its alias replaced by what it stands for; `$*` is where the argument goes."""
    name, _, argument = line.partition(" ")
    stands_for = aliases.get(name.lower())
    if stands_for is None:
        return line
    if "$*" in stands_for:
        return stands_for.replace("$*", argument)
    return f"{stands_for} {argument}".strip()
