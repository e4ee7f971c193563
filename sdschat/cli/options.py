"""Options that several commands have, and what becomes of them."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

import click

from sdschat.cli.errors import WRONG_USE, Problem

if TYPE_CHECKING:
    from sdschat.cli.setting_sources import Chosen

F = TypeVar("F", bound=Callable[..., Any])

_LOCAL: Final = (
    click.option("--name", metavar="NICK", help="Your nick. Default: your user name."),
    click.option("--profile", metavar="NAME", help="Whose messages and key. Default: the nick."),
    click.option("--data-dir", metavar="DIR", help="Where profiles are kept."),
    click.option("--config", metavar="FILE", help="Read this file instead of ./sdschat.toml and the user's."),
    click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help="A setting; `sdschat config` lists them."),
    click.option("-v", "--verbose", count=True, help="Say more on standard error."),
)
_NETWORK: Final = (
    click.option("--broker", metavar="URL", help="mqtt://host:port, mqtts://, ws:// or wss://."),
    click.option("--wire", type=click.Choice(["spec", "nim"]), help="nim: the bytes of nim-sds; the setting sds.wire."),
    click.option("--timing", type=click.Choice(["spec", "demo"]), help="demo: repair within 2 to 10 s."),
    click.option("--password-file", metavar="FILE", help="Holds the broker's password."),
    click.option("--ca-file", metavar="FILE", help="Trust this authority for TLS, not the system's."),
    click.option("--cert-file", metavar="FILE", help="Our own certificate for TLS."),
    click.option("--key-file", metavar="FILE", help="The key of our certificate."),
    click.option("--allow-clear-password", is_flag=True, default=None, help="Send it even where others can read it."),
)


def local_options(command: F) -> F:
    """For commands that look into a profile. They get one argument `chosen` in place of all these."""
    return _with(command, _LOCAL)


def channel_options(command: F) -> F:
    """For commands that take part in a channel."""
    return _with(command, (*_NETWORK, *_LOCAL))


def _with(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        return command(chosen=_choose(given), **given)

    decorated: Any = wrapped
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _choose(given: dict[str, Any]) -> Chosen:
    """Takes our options out of `given`, and finds everything else that is in force."""
    from sdschat.cli.setting_sources import CONFIG_VARIABLE, GENERAL, PROJECT_FILE, resolve

    sets, verbose = given.pop("sets"), given.pop("verbose")
    if wire := given.pop("wire", None):
        sets = (*sets, f"sds.wire={wire}")
    named = given.pop("config") or os.environ.get(CONFIG_VARIABLE)
    options = {name: given.pop(name) for name in GENERAL if name in given}
    chosen = resolve(
        options, sets, os.environ, config=Path(named).expanduser() if named else None, project=Path(PROJECT_FILE),
        user=user_file(), verbose=verbose,
    )  # fmt: skip
    for warning in chosen.warnings:
        say(f"warning: {warning}")
    return chosen


def user_file() -> Path:
    """The user's configuration file, whether it is there or not."""
    import platformdirs

    return Path(platformdirs.user_config_dir("sdschat", appauthor=False)) / "config.toml"


def say(text: str) -> None:
    """To the person; standard output is for results."""
    print(text, file=sys.stderr, flush=True)


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise Problem("Standard input is closed. Give it something to read.", WRONG_USE)
    return sys.stdin.buffer


def channel_name(text: str) -> str:
    """Raises Problem for what is not a channel's name."""
    from sdschat.transport.topics import normal_channel

    try:
        return normal_channel(text)
    except ValueError as error:
        raise Problem(str(error), WRONG_USE) from error
