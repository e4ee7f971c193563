"""A group of commands that imports a command only when it is used; listing them imports none."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose commands are the attributes `command` of the modules `<package>.<name>`, with - as _.

    `summaries` maps each name to a short description.
    """

    def __init__(self, *arguments: Any, package: str, summaries: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._package = package
        self._summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._summaries:
            return None
        command: click.Command = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))
