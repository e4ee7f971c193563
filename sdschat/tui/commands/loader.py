"""All commands of the application. Their modules are imported when the first command is looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdschat.tui.host import Command, CommandRegistry


def load(more: Iterable[Command] = (), *, guest: bool = False) -> CommandRegistry:
    """Return a registry of all commands, and of `more` that only this application has. `guest`: without those that
    reach files or programs of this machine."""
    return CommandRegistry(_all(more), guest=guest)


def _all(more: Iterable[Command]) -> Iterator[Command]:
    from sdschat.tui.commands import (
        channels,
        chat,
        choices,
        history,
        members,
        people,
        private,
        reading,
        replies,
        screen,
        searching,
        sharing,
        strangers,
        talk,
        text_logs,
        verify,
    )
    from sdschat.tui.lens import commands as lens

    for module in (
        chat,
        talk,
        people,
        strangers,
        reading,
        replies,
        searching,
        sharing,
        text_logs,
        history,
        channels,
        private,
        members,
        verify,
        screen,
        choices,
        lens,
    ):
        yield from module.COMMANDS
    yield from more
