"""`sdschat share`: write a stretch of a channel as an HTML file that plays in a browser."""

from __future__ import annotations

import shlex
import time
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, channel_name, say
from sdschat.cli.histories import open_reader, own_id, require_channel
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import tell_left_out, writable
from sdschat.node.private.record import load_record
from sdschat.node.sharing.events import SharedEvents, folder_for_pages, from_database, page, page_name
from sdschat.node.sharing.from_recording import SharedRecording
from sdschat.node.sharing.to_recording import read_played

_LONGEST: Final = 10_000_000  # minutes, which are nineteen years


@click.command("share")
@click.argument("channel")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=5, show_default=True, help="The last ones.")
@click.option("--from", "recording", type=FilePath(), help="All of a recording, or of a page.")
@click.option("--no-texts", is_flag=True, help="Put the length of each text in its place.")
@click.option("--yes", is_flag=True, help="Texts of a private channel may leave it.")
@click.option(
    "-o",
    "--output",
    type=FilePath(),
    help="Default: share-CHANNEL.html here; with the time in its name where that is taken.",
)
@local_options
def command(
    chosen: Chosen,
    channel: str,
    minutes: float,
    recording: Path | None,
    no_texts: bool,
    yes: bool,
    output: Path | None,
) -> None:
    """Write the last minutes of a channel as one HTML file that plays in a browser.

    \b
    Examples:
      sdschat share lobby --name ann
      sdschat share lobby --minutes 60 --no-texts -o report.html --name ann
      sdschat share lobby --from run.jsonl

    It shows who said what, who has each message and on what evidence, repairs, packets and fingerprints of the log,
    and needs no network. `sdschat replay PAGE` plays it in the chat. Its events can be saved as JSON lines, which
    replay plays too: a bug report for any implementation. Texts and packets are in it unless --no-texts is given;
    nicks, ids and times always are.
    """
    name = channel_name(channel)
    if not 0 < minutes <= _LONGEST:  # nan is in no range, and Click lets it through
        raise CommandProblem(f"--minutes is {minutes:g}, and must be a number from 0 to {_LONGEST:,}.", WRONG_USE)
    if recording is None:
        shared, is_private = _of_profile(chosen, name, minutes, not no_texts)
    else:
        shared, is_private = _of_recording(recording, name, not no_texts)
    if is_private and not no_texts and not yes:
        raise CommandProblem(
            f"{name} is private, and the file would hold its texts in clear. --no-texts leaves them out, --yes keeps "
            "them.",
            WRONG_USE,
        )
    file = (output or _free_name(name)).absolute()
    if file.exists():
        raise CommandProblem(f"{file} is there already. Choose another name with -o.", WRONG_USE)
    with writable(file) as opened:
        opened.write(page(shared))
    if not shared.lines and recording is None:
        say(f"nothing happened in {name} in the last {minutes:g} minutes; --minutes takes more")
    say(
        f"{file} is written: {len(shared.lines)} events. Open it in a browser, or play it in the chat: sdschat replay "
        f"{shlex.quote(file.name)}"
    )


def _free_name(channel: str) -> Path:
    file = folder_for_pages() / page_name(channel)
    return file if not file.exists() else folder_for_pages() / page_name(channel, datetime.now())


def _of_profile(chosen: Chosen, channel: str, minutes: float, has_texts: bool) -> tuple[SharedEvents, bool]:
    with open_reader(chosen) as reader:
        name = require_channel(reader, chosen, channel)
        since = time.time_ns() // 1_000_000 - round(minutes * 60_000)
        is_private = load_record(reader, name) is not None
        try:
            return from_database(reader, name, own_id(chosen), since, has_texts=has_texts), is_private
        except ValueError as error:
            raise CommandProblem(str(error), WRONG_USE) from error


def _of_recording(path: Path, channel: str, has_texts: bool) -> tuple[SharedEvents, bool]:
    try:
        recording = read_played(path)
        if channel not in recording.channels:
            there = ", ".join(recording.channels) or "nothing"
            raise CommandProblem(f"The recording has no channel {channel}. It has {there}.", WRONG_USE)
        tell_left_out(path, recording.skipped)
        read = SharedRecording(recording, channel, has_texts=has_texts)
    except OSError as error:
        raise CommandProblem(f"{path} cannot be read: {error.strerror}.", WRONG_USE) from error
    except ValueError as error:  # no recording that can be read, or a members' channel
        raise CommandProblem(str(error), WRONG_USE) from error
    return read.shared(), read.is_private
