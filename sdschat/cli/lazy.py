"""A group of commands that imports a command only when it is used; listing them imports none."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

COMPLETE: Final = "_SDSCHAT_COMPLETE"  # the variable with which a shell asks for completions


class LazyGroup(click.Group):
    """A group whose commands are the attributes `command` of the modules `<package>.<name>`, with - as _.

    `sections` maps the title of a section of the help to its commands, each with a short description.
    """

    def __init__(
        self, *arguments: Any, package: str, sections: Mapping[str, Mapping[str, str]], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._package = package
        self._sections = sections
        self._names = [name for section in sections.values() for name in section]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names:
            return None
        command: click.Command = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}").command
        if COMPLETE in os.environ:
            from sdschat.cli.completing import offer_values

            offer_values(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = {name: summary for section in self._sections.values() for name, summary in section.items()}
        found = [CompletionItem(name, help=about) for name, about in commands.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]  # that of a group imports all commands

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self._names))
        for title, commands in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), summary) for name, summary in commands.items()])
