"""`sdschat demo`: watch a channel whose participants talk, fail and recover."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sdschat.cli.errors import DONE, FILE, UNEXPECTED, UNREACHABLE, WRONG_USE, CommandProblem, say
from sdschat.cli.signals import stopped_by
from sdschat.cli.terminal import has_signs, require_screen
from sdschat.transport.tasks import first

if TYPE_CHECKING:
    from sdschat.tui.demo.director import Director

_CHANNEL: Final = "demo"
_PEERS: Final = 4
_SYNC_INTERVAL: Final = 2000  # milliseconds
QUICK: Final = {  # timers of members' channels, in milliseconds; a member is silent after three rounds
    "timber.heartbeat": 400,
    "timber.stagger": 50,
    "timber.retry": 400,
    "timber.sync_interval": 400,
    "timber.rounds": 3,
}
_TALKING: Final = 0.6  # share of the time without a screen; in the rest, missing messages are repaired


@click.command("demo")
@click.option(
    "--peers", type=int, default=_PEERS, show_default=True, metavar="N", help="Participants beside you, 2 to 16."
)
@click.option("--loss", default="30%", show_default=True, metavar="SHARE", help="Packets lost in bad times.")
@click.option("--seconds", type=float, metavar="N", help="End after so long. Default: when you quit.")
@click.option("--theatre", is_flag=True, help="Four participants on one screen: cut and mend the links between them.")
@click.option(
    "--members", is_flag=True, help="Three members: a post vanishes from all disks; one is put out, and back."
)
@click.option("--headless", is_flag=True, help="Show nothing; print a summary as JSON at the end.")
@click.option("--ascii", "ascii_only", is_flag=True, help="No sign beyond ASCII.")
@click.option("--theme", type=click.Choice(["dark", "light", "contrast", "plain"]), help="Colours.")
@click.option("--record", type=FILE, help="Keep what you see, for `sdschat replay`.")
def command(
    peers: int,
    loss: str,
    seconds: float | None,
    theatre: bool,
    members: bool,
    headless: bool,
    ascii_only: bool,
    theme: str | None,
    record: str | None,
) -> int:
    """Watch a channel whose participants talk, lose packets, go offline and come back.

    \b
    Examples:
      sdschat demo
      sdschat demo --theatre
      sdschat demo --members
      sdschat demo --peers 2 --loss 50%
      sdschat demo --headless --seconds 20 | jq .equal_logs

    Every participant is a real node with its own database, on an embedded broker with a port of its own. Everything
    lives in this process and a temporary folder, and is deleted at the end. You can write, too; F2 opens the Lens.
    """
    share = _share(loss)
    if not 2 <= peers <= 16:
        raise CommandProblem(f"--peers is {peers}, and must be from 2 to 16.", WRONG_USE)
    if seconds is not None and not 1 <= seconds <= 86_400:
        raise CommandProblem(f"--seconds is {seconds:g}, and must be from 1 to 86400.", WRONG_USE)
    if theatre and (headless or record is not None or peers != _PEERS):
        text = "--theatre has four participants on one screen: leave out --headless, --record and --peers."
        raise CommandProblem(text, WRONG_USE)
    ascii_only = ascii_only or not has_signs()
    if members:
        if theatre or record is not None or peers != _PEERS:
            text = "--members has three participants on one screen: leave out --theatre, --record and --peers."
            raise CommandProblem(text, WRONG_USE)
        if not headless:
            require_screen("demo needs a terminal. Use --headless for a summary as JSON.")
        theme = "plain" if os.environ.pop("NO_COLOR", "") else theme
        return asyncio.run(_until_stopped(_members(seconds, ascii_only, theme, headless=headless)))
    if headless:
        return asyncio.run(_until_stopped(_headless(peers, share, 30.0 if seconds is None else seconds, record)))
    require_screen("demo needs a terminal. Use --headless for a summary as JSON.")
    theme = "plain" if os.environ.pop("NO_COLOR", "") else theme
    if theatre:
        return asyncio.run(_in_theatre(share, seconds, ascii_only, theme))
    return asyncio.run(_on_screen(peers, share, seconds, record, ascii_only, theme))


def _share(text: str) -> float:
    """Read a share: 30% or 0.3. Raises CommandProblem."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise CommandProblem(
            f"--loss is {text!r}, and must be a share such as 30% or 0.3, less than everything.", WRONG_USE
        )
    return value


@contextlib.asynccontextmanager
async def _local_group(
    peers: int, loss: float, tell: Callable[[str], None], record: str | None
) -> AsyncIterator[Director]:
    """Start all participants but the user's own; at the end, stop them and delete their files."""
    from sdschat.node.settings import make_settings
    from sdschat.node.tools.local_group import LocalGroup
    from sdschat.tui.demo.director import Director

    with tempfile.TemporaryDirectory(prefix="sdschat-demo-") as folder:
        group = LocalGroup(Path(folder), make_settings({"sds.sync_interval": _SYNC_INTERVAL}, "demo"), _CHANNEL)
        director = Director(group, peers, loss, tell, None if record is None else Path(record))
        try:
            await director.open()
        except TimeoutError as error:
            raise CommandProblem(
                "The demonstration cannot begin: its broker did not start in time.", UNREACHABLE
            ) from error
        except OSError as error:
            text = f"{record} cannot be recorded to: {error.strerror}. Choose another file."
            raise CommandProblem(text, WRONG_USE) from error
        try:
            yield director
        finally:
            await director.close()


async def _until_stopped(body: Coroutine[Any, Any, int]) -> int:
    """Run `body` until it is done or a signal comes, so that its clean-up always runs. Return the exit code."""
    stopped = stopped_by({number: 128 + number for number in (signal.SIGTERM, signal.SIGHUP)})
    return await first(stopped, body)


async def _headless(peers: int, loss: float, seconds: float, record: str | None) -> int:
    """Talk for most of the time, then wait until no message is missing any more or the time is over."""
    started = time.monotonic()

    async def talk() -> None:
        await director.join()
        await director.play(seconds * _TALKING)
        await director.settle(max(0.0, seconds - (time.monotonic() - started)))

    async with _local_group(peers, loss, say if sys.stderr.isatty() else lambda _: None, record) as director:
        await first(*director.failed, talk())
        summary = director.summary(time.monotonic() - started)
    print(json.dumps(summary, ensure_ascii=False))
    return DONE


async def _on_screen(
    peers: int, loss: float, seconds: float | None, record: str | None, ascii_only: bool, theme: str | None
) -> int:
    from sdschat.tui.demo.stage import show

    told: list[str] = []
    async with _local_group(peers, loss, told.append, record) as director:
        return await show(director, seconds, ascii_only=ascii_only, theme=theme)


async def _in_theatre(loss: float, seconds: float | None, ascii_only: bool, theme: str | None) -> int:
    from sdschat.node.settings import make_settings
    from sdschat.node.tools.local_group import LocalGroup
    from sdschat.tui.theatre.app import show
    from sdschat.tui.theatre.group import TheatreGroup

    with tempfile.TemporaryDirectory(prefix="sdschat-theatre-") as folder:
        settings = make_settings({"sds.sync_interval": _SYNC_INTERVAL}, "demo")
        watched = TheatreGroup(LocalGroup(Path(folder), settings, _CHANNEL))
        try:
            await watched.open()
        except TimeoutError as error:
            raise CommandProblem("The theatre cannot begin: its broker did not start in time.", UNREACHABLE) from error
        try:
            return await show(watched, loss, seconds, ascii_only=ascii_only, theme=theme)
        finally:
            await watched.close()


async def _members(seconds: float | None, ascii_only: bool, theme: str | None, *, headless: bool) -> int:
    from sdschat.node.settings import make_settings
    from sdschat.node.tools.local_group import LocalGroup
    from sdschat.tui.theatre.members import MembersGroup, MembersPlayer, good
    from sdschat.tui.theatre.members_app import show

    with tempfile.TemporaryDirectory(prefix="sdschat-members-") as folder:
        watched = MembersGroup(LocalGroup(Path(folder), make_settings(QUICK, "demo"), "garden"), Path(folder))
        try:
            await watched.open()
        except TimeoutError as error:
            raise CommandProblem(
                "The members cannot begin: their broker did not start in time.", UNREACHABLE
            ) from error
        try:
            if not headless:
                return await show(watched, seconds, ascii_only=ascii_only, theme=theme)
            player = MembersPlayer(watched, say if sys.stderr.isatty() else lambda _: None)
            await player.play_once(0.0)
            summary = player.summary()
        finally:
            await watched.close()
    print(json.dumps(summary, ensure_ascii=False))
    return DONE if good(summary) else UNEXPECTED
