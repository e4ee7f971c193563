"""Values that a shell completes: channels and profiles that are here, settings, topics, files."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from sdschat.store.reader import Reader

Known = Callable[[click.Context, str], Iterable[str]]
_PLAIN: Final = re.compile(r"[\w@#.+~=-]+")  # a shell would take any other name for several words, or for a command


class _Word(click.types.StringParamType):
    """Any text. `known` gives those that are offered, of the values before it and the beginning of this one."""

    def __init__(self, known: Known) -> None:
        self._known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = dict.fromkeys(self._known(ctx, incomplete))
        except Exception:  # a line that is being typed is no place for an error
            return []
        return [CompletionItem(name) for name in found if name.startswith(incomplete) and _PLAIN.fullmatch(name)]


def _given(ctx: click.Context, option: str) -> str:
    value = ctx.params.get(option) or os.environ.get(f"SDSCHAT_{option.upper()}")
    return str(value) if value else ""


def _data_dir(ctx: click.Context) -> Path:
    from sdschat.node.profile import default_data_dir

    given = _given(ctx, "data_dir")
    return Path(os.path.expanduser(given)) if given else default_data_dir()


def _profiles(ctx: click.Context, _: str) -> Iterable[str]:
    from sdschat.node.profile import profile_names

    return profile_names(_data_dir(ctx))


def _readers(ctx: click.Context) -> Iterator[Reader]:
    """Yield the database of the profile that is named before, else those of all profiles."""
    from sdschat.node.profile import database_path
    from sdschat.store.errors import StoreError
    from sdschat.store.reader import Reader
    from sdschat.wire.sds_codec import SdsCodec

    named = _given(ctx, "profile") or _given(ctx, "name")
    for profile in [named] if named else _profiles(ctx, ""):
        path = database_path(_data_dir(ctx), profile)
        if path.exists():
            with contextlib.suppress(StoreError), Reader.open(path, SdsCodec()) as reader:
                yield reader


def _channels(ctx: click.Context, _: str) -> Iterator[str]:
    for reader in _readers(ctx):
        yield from (info.channel for info in reader.channels())


def _nicks(ctx: click.Context, _: str) -> Iterator[str]:
    for reader in _readers(ctx):
        yield from sorted(nick for _, nick, _ in reader.keys() if nick)  # noqa: SIM118


def _settings(_: click.Context, incomplete: str) -> Iterator[str]:
    from sdschat.node.settings import SETTINGS

    return (f"{name}=" for name in sorted(SETTINGS))


def _topics(ctx: click.Context, _: str) -> Iterable[str]:
    from sdschat.tui.manual import TOPICS

    root = ctx.find_root()
    group = root.command
    return [*TOPICS, *(group.list_commands(root) if isinstance(group, click.Group) else ())]


_VALUES: Final = {
    "channel": _Word(_channels),
    "channels": _Word(_channels),
    "name": _Word(_profiles),
    "nick": _Word(_nicks),
    "profile": _Word(_profiles),
    "sets": _Word(_settings),
    "to": _Word(_nicks),
    "topic": _Word(_topics),
}
_FILES: Final = ("FILE", "DIR", "[FILE]…")


def offer_values(command: click.Command) -> None:
    """Let the parameters of a command, or of those in a group, complete their values, by their names."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        offer_values(inner)
    for param in command.params:
        if isinstance(param.type, click.types.StringParamType):
            if param.metavar in _FILES:
                param.type = click.Path()
            elif param.name in _VALUES and command.name != "create":  # which makes a channel of a new name
                param.type = _VALUES[param.name]
