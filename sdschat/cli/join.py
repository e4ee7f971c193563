"""`sdschat join`: the chat."""

from __future__ import annotations

import functools
import gc
import os
import shlex
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, channel_name, say
from sdschat.cli.options import channel_options, data_set_option, user_file
from sdschat.cli.terminal import has_signs, require_screen

if TYPE_CHECKING:
    from sdschat.cli.options import Chosen
    from sdschat.node.node import Node

_THEMES: Final = ("dark", "light", "contrast", "plain")


@click.command("join")
@click.argument("channels", metavar="CHANNEL...", nargs=-1, required=True)
@click.option("--plain", is_flag=True, help="Line after line, for screen readers and simple terminals.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Use ASCII signs only.")
@click.option("--theme", type=click.Choice(_THEMES), help="Colours, for this time.")
@click.option("--record", type=FilePath(), help="Keep all of it for `sdschat replay`.")
@click.option("--guest", is_flag=True, help="No command reaches files or programs of this machine.")
@data_set_option
@channel_options
def command(
    chosen: Chosen,
    channels: tuple[str, ...],
    plain: bool,
    ascii_only: bool,
    theme: str | None,
    record: Path | None,
    guest: bool,
    dataset: str | None,
) -> int:
    """Chat in one or more channels.

    \b
    Examples:
      sdschat join lobby --name ann
      sdschat join lobby dev --broker mqtts://broker.example:8883
      sdschat join lobby --timing demo --set fault.loss=0.3
      sdschat join lobby --plain              line after line, for screen readers
      sdschat join lobby --record run.jsonl   for sdschat replay run.jsonl

    Without --broker, the broker of this machine is used, and started if there is none. The chat opens without a
    connection as well: your messages are saved, and sent once there is one. F1 shows help.
    """
    # Modules never become garbage, and collecting while they load takes 50 ms before the first frame. The application
    # enables collection again after that frame.
    gc.disable()

    names = list(dict.fromkeys(map(channel_name, channels)))
    first_run = not chosen.database.exists()
    if guest and (plain or record is not None):
        raise CommandProblem("--guest is for the chat on a screen, without --plain and --record.", WRONG_USE)

    def told(node: Node) -> list[str]:  # asked once the profile is open: it may be another than was chosen
        recording = [] if record is None else [f"Everything that happens here is recorded into {record}."]
        return [*_told(chosen, node, first_run, guest), *recording]

    if plain or (os.environ.get("TERM") == "dumb" and not guest):
        return _run(
            chosen,
            names,
            dataset,
            lambda node: recorded(node, record, _plain(node, names, told(node))),
        )
    require_screen("join needs a terminal. Use --plain for line after line, or `sdschat pipe` for programs.")
    ascii_only = ascii_only or not has_signs()
    # Textual looks only for the presence of NO_COLOR; by convention an empty value does not count.
    no_color = bool(os.environ.pop("NO_COLOR", ""))
    chat = functools.partial(_chat, channels=names, ascii_only=ascii_only, no_color=no_color, theme=theme, guest=guest)

    return _run(chosen, names, dataset, lambda node: recorded(node, record, chat(node, said=told(node))))


def _run(
    chosen: Chosen, names: list[str], dataset: str | None, body: Callable[[Node], Coroutine[Any, Any, int]]
) -> int:
    from sdschat.cli.session import run_node

    return run_node(chosen, body, names, narrate=False, takes_another=True, data_set=dataset)


def _told(chosen: Chosen, node: Node, first_run: bool, guest: bool = False) -> list[str]:
    """Return what the user has to know of the command line and of the profile: it may be another one than the last
    time, and its name one that the user did not give."""
    from sdschat.cli.session import TOLD_IN_THE_CHAT

    upgrade = None if guest else node.profile.store.upgrade
    return [
        *_told_of_profile(chosen, first_run, guest),
        *([upgrade.in_words()] if upgrade is not None else []),
        *(one for one in chosen.warnings if one in TOLD_IN_THE_CHAT),
    ]


def _told_of_profile(chosen: Chosen, first_run: bool, guest: bool) -> list[str]:
    from sdschat.cli.options import IN_USE, WORKED_OUT

    origin, named = chosen.general["profile"].origin, chosen.general["name"].origin
    if not origin.startswith(IN_USE):
        if guest:
            return [f"You are {chosen.nick} here. /nick NAME changes it."] if first_run else []
        whose = f"You are {chosen.nick} here ({named}). --name NICK chooses another name, /nick changes it."
        return [whose] if first_run and named in WORKED_OUT else []
    return [
        f"{origin.removeprefix(IN_USE)} is open in another terminal, so here you are {chosen.nick}: a participant of "
        "its own, with its own key and history. --name or --profile chooses another one."
    ]


async def recorded(node: Node, path: Path | None, body: Coroutine[Any, Any, int]) -> int:
    """Run `body`; with a path, record the node there meanwhile. Raises CommandProblem if the file cannot be made."""
    if path is None:
        return await body
    from sdschat.node.recording.recorder import Recorder

    try:
        recorder = Recorder(node, path)
    except OSError as error:
        body.close()
        raise CommandProblem(
            f"{path} cannot be recorded to: {error.strerror}. Choose another file.", WRONG_USE
        ) from error
    try:
        return await body
    finally:
        recorder.close()
        say(f"{path} is the recording. To play it: sdschat replay {shlex.quote(str(path))}")


async def _chat(
    node: Node,
    channels: list[str],
    said: list[str],
    ascii_only: bool,
    no_color: bool,
    theme: str | None,
    guest: bool,
) -> int:
    from sdschat.tui.app import make_app, run_chat

    app = make_app(
        node,
        channels,
        ascii_only=ascii_only,
        no_color=no_color,
        theme=theme,
        file=None if guest else _preferences(),
        copies=None if guest else _copies(),
        said=said,
        guest=guest,
    )
    code = await run_chat(app)
    if app.left_unsent and not guest:
        say(app.left_unsent)
    return code


async def _plain(node: Node, channels: list[str], said: list[str]) -> int:
    from sdschat.tui.plain.run import run_plain

    if sys.stdin is None or sys.stdout is None:
        raise CommandProblem("join needs standard input and output, and one of them is closed.", WRONG_USE)
    return await run_plain(node, channels, file=_preferences(), said=said)


def _preferences() -> Path:
    """Return the file of colours, keys, aliases and notifications, beside the user's settings."""
    return user_file().with_name("tui.toml")


def _copies() -> Path | None:
    """Return the file that keeps copied text too, since not every terminal has a clipboard; None if it cannot be."""
    import platformdirs

    folder = Path(platformdirs.user_state_dir("sdschat", appauthor=False))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        say(f"warning: {folder} cannot be made, so copies are not kept there: {error.strerror}")
        return None
    return folder / "copied.txt"
