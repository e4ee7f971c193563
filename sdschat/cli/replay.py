"""`sdschat replay`: play a recording in the chat."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath
from sdschat.cli.output import tell_left_out
from sdschat.cli.terminal import has_signs, require_screen


@click.command("replay")
@click.argument("file", type=FilePath())
@click.option("--speed", type=float, default=1.0, show_default=True, metavar="N", help="So many times as fast.")
@click.option("--paused", is_flag=True, help="Begin at the beginning, and wait.")
@click.option("--ascii", "ascii_only", is_flag=True, help="No sign beyond ASCII.")
@click.option("--theme", type=click.Choice(["dark", "light", "contrast", "plain"]), help="Colours.")
def command(file: Path, speed: float, paused: bool, ascii_only: bool, theme: str | None) -> int:
    """Watch a recording: play it, step through it, go back in it.

    \b
    Examples:
      sdschat join lobby --record run.jsonl
      sdschat replay run.jsonl --speed 5
      sdschat replay run.jsonl --paused      then F9 for each step
      sdschat replay share-lobby.html

    FILE is a recording, a page of `sdschat share`, or the events saved from one. A page has messages, states, packets
    and gaps, and no filters and timers of the engine.

    The history, /why, the Lens and every other view work on a recording, at every moment of it.
    F8 plays and pauses, F9 steps, Shift+F9 goes back, F10 and Shift+F10 change the speed; /play, /step, /back and
    /speed do the same. A recording holds the messages in clear: be careful with copies of it.
    """
    if not 0.01 <= speed <= 1000:
        raise CommandProblem(f"--speed is {speed:g}, and must be from 0.01 to 1000.", WRONG_USE)
    from sdschat.node.recording.reader import RecordingError
    from sdschat.node.sharing.to_recording import read_played

    try:
        recording = read_played(file)
    except RecordingError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    except OSError as error:
        raise CommandProblem(f"{file} cannot be read: {error.strerror}. Check its name.", WRONG_USE) from error
    if not recording.channels:
        raise CommandProblem(f"{file} is a recording in which nothing happened.", WRONG_USE)
    require_screen("replay needs a terminal.")
    tell_left_out(file, recording.skipped)
    ascii_only = ascii_only or not has_signs()
    no_color = bool(os.environ.pop("NO_COLOR", ""))
    from sdschat.tui.replay.app import run_replay

    shown = run_replay(
        recording, speed=speed, paused=paused, ascii_only=ascii_only, theme="plain" if no_color else theme
    )
    return asyncio.run(shown)
