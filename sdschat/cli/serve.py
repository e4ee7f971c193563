"""`sdschat serve`: the chat in browsers."""

from __future__ import annotations

import asyncio
import errno
import signal
import sys
import tempfile
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sdschat.cli import join
from sdschat.cli.errors import INTERRUPTED, PROFILE, TERMINATED, WRONG_USE, CommandProblem, channel_name, say
from sdschat.cli.listening import LAST_PORT, listening_place, reachable_hosts
from sdschat.cli.options import Chosen, channel_options
from sdschat.cli.signals import stopped_by
from sdschat.transport.address import Address
from sdschat.transport.tasks import first

if TYPE_CHECKING:
    from sdschat.cli.web.server import Visitor

_PORT: Final = 8000
_PLACES: Final = 8
_OWN: Final = ("name", "profile", "data_dir")  # options that each visitor has for itself


@click.command("serve")
@click.argument("channels", metavar="CHANNEL...", nargs=-1, required=True)
@click.option("--listen", default="127.0.0.1", show_default=True, metavar="IP[:PORT]", help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, LAST_PORT), metavar="N", help="Default: 8000. 0: any that is free.")
@click.option("--allow-remote", is_flag=True, help="Listen at an address that others reach.")
@click.option("--visitors", type=click.IntRange(1, 100), default=_PLACES, show_default=True, help="At most, at a time.")
@channel_options
def command(
    chosen: Chosen, channels: tuple[str, ...], listen: str, port: int | None, allow_remote: bool, visitors: int
) -> int:
    """Let others chat from their browsers, until it is interrupted.

    \b
    Examples:
      sdschat serve lobby
      sdschat serve lobby --broker mqtts://broker.example:8883 --port 8080
      sdschat serve lobby --listen 0.0.0.0 --allow-remote

    Each open page is a participant of its own, with a key and a history in the folder `visitors`; a browser that comes
    back has its own again. http://127.0.0.1:8000/?name=ann chooses a name. The keys are on this machine, so whoever
    runs it can read and write everything. Visitors reach no files or programs of it (join --guest).
    """
    from sdschat.cli.web.server import ChatServer, Visitors, serve

    host, number = listening_place(listen, _PORT if port is None else port)
    if port not in (None, number):
        raise CommandProblem(f"--listen says port {number}, --port says {port}. Leave out one.", WRONG_USE)
    names = list(dict.fromkeys(map(channel_name, channels)))
    remote = not Address("http", host, number).loopback
    if remote and not allow_remote:
        raise CommandProblem(
            f"Everybody who reaches {host} could chat and read what is said. --allow-remote if that is wanted.",
            WRONG_USE,
        )
    if remote:
        say("warning: anybody who reaches this address can chat here, and the way to it is not encrypted")
    given = [*names, *_given(click.get_current_context())]

    def arguments(visitor: Visitor) -> list[str]:
        named = (f"--name={visitor.name}",) if visitor.name else ()
        own = (*named, "--profile=visitor", f"--data-dir={visitor.folder}")
        return [sys.executable, "-m", "sdschat", "join", "--guest", *own, *given]

    def ready(taken: int) -> None:
        say("each page that is opened is a participant of its own; Ctrl+C ends")
        for each in reachable_hosts(host):
            print(f"serving at {Address('http', each, taken)}/", flush=True)

    folder = chosen.data_dir / "visitors"
    _require_folder(folder)
    seats = Visitors(folder, visitors)
    server = ChatServer(arguments, seats, is_open=remote, title=names[0])
    try:
        return asyncio.run(_until_stopped(serve(server, host, number, ready)))
    except OSError as error:
        raise CommandProblem(_why_not(error, host, number), WRONG_USE) from error


def _require_folder(folder: Path) -> None:
    """Make the folder for profiles of visitors. Raises CommandProblem if nothing can be written there: the first
    visitor would meet an error of the server."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass  # permissions alone do not tell: the disk may be read-only
    except OSError as error:
        raise CommandProblem(
            f"{folder} cannot be written: {error.strerror}. Visitors have their keys and histories there: choose "
            "another folder with --data-dir.",
            PROFILE,
        ) from error


def _why_not(error: OSError, host: str, port: int) -> str:
    """Return why nothing can listen there, and what to do about it."""
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} on {host} is taken. Choose another one with --port; 0 is any that is free."
        case errno.EADDRNOTAVAIL | None:  # asyncio leaves the number out, from Python 3.13 on
            return f"{host} is no address of this machine. Choose one of its own, or 0.0.0.0 for all, with --listen."
        case errno.EACCES:
            return f"Port {port} is for the superuser. Choose one above 1023 with --port."
    return f"{host}, port {port}, cannot be listened at: {error.strerror}. Choose another with --listen or --port."


def _given(context: click.Context) -> Iterator[str]:
    """Yield the options of broker and settings that were given, for the programs of the visitors."""
    theirs = {option.name for option in join.command.params} - set(_OWN)
    for option in context.command.params:
        if not isinstance(option, click.Option) or option.name not in theirs:
            continue
        assert option.name is not None
        value, name = context.params.get(option.name), option.opts[-1]
        for each in value if isinstance(value, tuple) else (value,):
            if option.is_flag or option.count:
                yield from [name] * int(each or 0)
            elif each is not None:
                yield f"{name}={each}"


async def _until_stopped(body: Coroutine[Any, Any, None]) -> int:
    stopped = stopped_by({signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED, signal.SIGHUP: TERMINATED})
    return await first(stopped, body) or 0
