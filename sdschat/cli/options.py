"""Options that several commands have, and the settings that follow from them."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem

if TYPE_CHECKING:
    from sdschat.cli.setting_sources import Chosen

F = TypeVar("F", bound=Callable[..., Any])

_LOCAL: Final = (
    click.option("--name", metavar="NICK", help="Your nick. Default: your user name."),
    click.option("--profile", metavar="NAME", help="The profile: messages and key. Default: the nick."),
    click.option("--data-dir", metavar="DIR", help="The folder of all profiles."),
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
_SETTING_OF: Final = {"wire": "sds.wire", "max_size": "store.max_size"}  # options that set a setting


def data_set_option(command: F) -> F:
    """Add --dataset, for commands that may join a members' channel."""
    return click.option("--dataset", metavar="ID", help="Join only the members' channel with this data set.")(command)


def local_options(command: F) -> F:
    """Add the options of a profile. The command gets one argument `chosen` in place of all of them."""
    return _with(command, _LOCAL)


def channel_options(command: F) -> F:
    """Add the options of a profile and of a broker, for commands that take part in a channel."""
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
    """Remove these options from `given`, and return all values in force, with those of files and variables."""
    from sdschat.cli.setting_sources import CONFIG_VARIABLE, GENERAL, PROJECT_FILE, resolve

    sets, verbose = given.pop("sets"), given.pop("verbose")
    sets += tuple(
        f"{name}={value}" for each, name in _SETTING_OF.items() if (value := given.pop(each, None)) is not None
    )
    named = given.pop("config") or os.environ.get(CONFIG_VARIABLE)
    options = {name: given.pop(name) for name in GENERAL if name in given}
    chosen = resolve(
        options,
        sets,
        os.environ,
        config=Path(named).expanduser() if named else None,
        project=Path(PROJECT_FILE),
        user=user_file(),
        verbose=verbose,
    )
    for warning in chosen.warnings:
        say(f"warning: {warning}")
    return chosen


def user_file() -> Path:
    """Return the path of the user's configuration file, which may not exist."""
    import platformdirs

    return Path(platformdirs.user_config_dir("sdschat", appauthor=False)) / "config.toml"


def say(text: str) -> None:
    """Print a sentence for the user on standard error; standard output is for results."""
    print(text, file=sys.stderr, flush=True)


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise CommandProblem("Standard input is closed. Give it something to read.", WRONG_USE)
    return sys.stdin.buffer


def channel_name(text: str) -> str:
    """Return the name in its normal form, or a link to a private channel as it is. Raises Problem if it is neither."""
    from sdschat.transport.base import normal_channel

    if text.strip().startswith("sdschat:"):
        return _checked_link(text.strip())
    try:
        return normal_channel(text)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error


def _checked_link(text: str) -> str:
    import time

    from sdschat.identity.private.link import LinkError, read_link

    try:
        read_link(text, time.time_ns() // 1_000_000)
    except LinkError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    return text


def time_option(option: str, text: str, ending: str = ".") -> int:
    """Return the time given with an option in milliseconds. Raises CommandProblem for a text that is no time.

    `ending` ends the sentence of the error: an example, or another value that the option takes.
    """
    from sdschat.node.settings import duration

    try:
        return duration(text)
    except ValueError as error:
        raise CommandProblem(f"{option} is {text!r}, and {error}{ending}", WRONG_USE) from error
