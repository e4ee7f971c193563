"""Slash commands: one command, and the table to find it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from sdschat.node.view.values import did_you_mean
from sdschat.tui.errors import CommandError
from sdschat.tui.host import Host


class Command(NamedTuple):
    """A command, and everything that its help says."""

    name: str  # without the slash
    usage: str  # "/goto TIME"
    summary: str  # one line
    run: Callable[[Host, str], Awaitable[None] | None]  # gets the argument: the text after the name, stripped
    aliases: tuple[str, ...] = ()
    details: str = ""
    complete: Callable[[Host, str], Iterable[str]] | None = None  # gets the argument so far; gives whole last words
    group: str = "chat"

    @property
    def needs_argument(self) -> bool:
        words = self.usage.split()[1:]
        return bool(words) and not words[0].startswith("[")


class CommandRegistry:
    """All commands by name and alias. The commands given are first iterated when one is looked up."""

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
        """Return the names of all commands, without aliases."""
        return sorted(command.name for command in self.commands)

    def find(self, name: str) -> Command:
        """Return the command with this name or alias. Raises CommandError."""
        found = self._named.get(name.lower())
        if found is not None:
            return found
        hint = did_you_mean(name.lower(), self._named, "/help lists all of them.", prefix="/")
        raise CommandError(f"There is no command /{name}. {hint} To send it as a message, write //{name}.")

    def get(self, name: str) -> Command | None:
        return self._named.get(name.lower())


def expanded(line: str, aliases: Mapping[str, str]) -> str:
    """Return a command line with its alias replaced by the line it stands for; `$*` marks the place of the argument."""
    name, _, argument = line.partition(" ")
    stands_for = aliases.get(name.lower())
    if stands_for is None:
        return line
    if "$*" in stands_for:
        return stands_for.replace("$*", argument)
    return f"{stands_for} {argument}".strip()
