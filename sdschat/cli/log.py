"""`sdschat log`: print the history of a channel, or direct messages, from the local database."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, channel_name, say
from sdschat.cli.histories import (
    WantedHistory,
    asked_moment,
    matching,
    open_reader,
    require_channel,
    with_senders,
)
from sdschat.cli.local_histories import asked_history
from sdschat.cli.log_formats import as_markdown, as_text, write_journal, write_messages
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import counted, show_progress
from sdschat.node.channel.strangers_share import saved_strangers
from sdschat.store.journal import JournalRow, json_lines
from sdschat.store.reader import Reader

F = TypeVar("F", bound=Callable[..., Any])
FORMATS: Final = ("text", "json", "md", "parquet")
_NOTHING: Final = "nothing was said there yet"
_NOTHING_FOUND: Final = "no message fits: --search takes whole words or their beginnings, --since and --until a time"
_PAUSE: Final = 0.25  # seconds between two looks for new messages
_WHICH: Final = (
    click.option("--to", metavar="NICK", default="", help="Direct messages with this participant instead."),
    click.option("--since", metavar="TIME", help="From 10:02, 2026-01-31T15:00, yesterday, or 30m (ago)."),
    click.option("--until", metavar="TIME", help="Up to this moment."),
    click.option(
        "--search",
        metavar="WORDS",
        default="",
        help="With these words; from:NICK, since:TIME, before:TIME.",
    ),
    click.option("--last", metavar="N", type=click.IntRange(1), help="Only the last so many."),
)


def which_options(command: F) -> F:
    """Add the options that choose a part of a history; the command gets one argument `wanted` for them."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        channel, to = given.pop("channel"), given.pop("to")
        since, until = (asked_moment(given.pop(name)) for name in ("since", "until"))
        if channel is None and not to:
            raise click.UsageError("Name a channel, or somebody with --to.")
        name = None if channel is None else channel_name(channel)
        wanted = WantedHistory(name, to, since, until, given.pop("search"), given.pop("last"))
        return command(wanted=wanted, **given)

    decorated: Any = wrapped
    for option in reversed(_WHICH):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


@click.command("log")
@click.argument("channel", required=False)
@click.option("--json", "is_json", is_flag=True, help="The same as --format json.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Form of the output.")
@which_options
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on with what comes, until it is interrupted.")
@click.option("--journal", is_flag=True, help="The journal of events instead: JSON lines, or Parquet.")
@local_options
def command(chosen: Chosen, wanted: WantedHistory, is_json: bool, form: str, follows: bool, journal: bool) -> None:
    """Print the history of a channel, without a network.

    \b
    Examples:
      sdschat log lobby --name ann
      sdschat log lobby --since 2h --search "release" --json
      sdschat log lobby --search "release from:bob since:2d"
      sdschat log lobby --format md > lobby.md
      sdschat log lobby --to bob --name ann
      sdschat log @bob --name ann
      sdschat log lobby --follow --last 20
      sdschat log lobby --journal > events.jsonl

    All participants have the same order: Lamport time, then id. Direct messages stand in the order in which they came:
    with --to those of one channel, with @NICK those of all channels.
    """
    form = "json" if is_json else form
    if journal:
        _refuse_what_events_have_not(form, wanted, follows)
    if follows and form == "parquet":
        raise CommandProblem("A Parquet file has an end. Leave out --follow, or choose --format json.", WRONG_USE)
    with open_reader(chosen) as reader:
        if wanted.channel is not None:
            _tell_strangers(reader, wanted.channel)
        if journal:
            assert wanted.channel is not None
            name = require_channel(reader, chosen, wanted.channel)
            rows = _within(show_progress(reader.journal(name), "journal", None), wanted)
            write_journal(rows) if form == "parquet" else _print(json_lines(rows))
        else:
            print_history(chosen, reader, wanted, form, follows=follows)


def print_history(chosen: Chosen, reader: Reader, wanted: WantedHistory, form: str, *, follows: bool = False) -> None:
    """Print the history to standard output; with `follows`, go on until the program is interrupted."""
    wanted = with_senders(chosen, reader, wanted)
    history = asked_history(chosen, reader, wanted)
    if follows:
        history.start()
    found = history.wanted(wanted, with_raw=form == "json")
    if form == "parquet":
        write_messages(found)
        return
    show = {"text": as_text, "json": history.as_json, "md": as_markdown}[form]
    if not follows:
        if not _print(map(show, found)) and form == "text":
            narrowed = wanted.search or wanted.since or wanted.until or wanted.senders is not None
            say(_NOTHING_FOUND if narrowed else _NOTHING)
        return
    found = list(found)
    _print(map(show, found))
    printed = {(message.message_id, message.text) for message in found}  # some of them may be yielded once more
    while True:
        for message in matching(history.more(), wanted):
            if (message.message_id, message.text) not in printed:
                click.echo(show(message))
        time.sleep(_PAUSE)


def _tell_strangers(reader: Reader, channel: str) -> None:
    """Say that messages are left out because their authors came with too many others."""
    senders, messages = saved_strangers(reader, channel)
    if senders:
        waiting = f"{counted(senders, 'sender')} more, with {counted(messages, 'message')}, not shown"
        say(f"{waiting}: /strangers in the chat opens them")


def _refuse_what_events_have_not(form: str, wanted: WantedHistory, follows: bool) -> None:
    for option, given in (
        ("--search", wanted.search),
        ("--last", wanted.last),
        ("--to", wanted.to),
        ("--follow", follows),
        ("--format md", form == "md"),
    ):
        if given:
            raise CommandProblem(
                f"{option} is for messages, not for --journal. --since and --until are for both.", WRONG_USE
            )


def _within(rows: Iterable[JournalRow], wanted: WantedHistory) -> Iterator[JournalRow]:
    """Yield the rows dated inside the limits. It reads all rows: after a clock was set back, times are not in order."""
    return (row for row in rows if wanted.includes(row.ts_ms))


def _print(lines: Iterator[str]) -> int:
    """Print lines. Return their number."""
    number = 0
    for number, line in enumerate(lines, 1):  # noqa: B007
        click.echo(line)
    return number
