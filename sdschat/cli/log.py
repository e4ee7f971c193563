"""`sdschat log`: print the history of a channel, or direct messages, from the local database."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, channel_name, given_name
from sdschat.cli.histories import (
    WantedHistory,
    asked_moment,
    open_reader,
    require_channel,
    tell_strangers,
)
from sdschat.cli.history_lines import print_history, print_lines
from sdschat.cli.log_formats import write_journal
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import show_progress
from sdschat.store.journal import JournalRow, json_lines

F = TypeVar("F", bound=Callable[..., Any])
FORMATS: Final = ("text", "json", "md", "parquet")
_WHICH: Final = (
    click.option("--to", metavar="NICK", callback=given_name, help="Direct messages with this participant instead."),
    click.option("--since", metavar="TIME", help="From 10:02, 2026-01-31T15:00, yesterday, or 30m (ago)."),
    click.option("--until", metavar="TIME", help="Up to this moment."),
    click.option(
        "--search",
        metavar="WORDS",
        default="",
        help="With these words; from:NICK, since:TIME, before:TIME.",
    ),
    click.option("-n", "--last", metavar="N", type=click.IntRange(1), help="Only the last so many."),
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
@click.option("--format", "form", type=click.Choice(FORMATS), help="Form of the output.")
@which_options
@click.option(
    "-f", "--follow", "follows", is_flag=True, help="Go on with what comes, until --until is over or it is interrupted."
)
@click.option("--journal", is_flag=True, help="The journal of events instead: JSON lines, or Parquet.")
@local_options
def command(
    chosen: Chosen, wanted: WantedHistory, is_json: bool, form: str | None, follows: bool, journal: bool
) -> None:
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
    if is_json and form not in (None, "json"):
        raise CommandProblem(f"--json is --format json, and --format {form} is given too. Leave one out.", WRONG_USE)
    form = "json" if is_json else form or "text"
    if journal:
        _refuse_what_events_have_not(form, wanted, follows)
    if follows and form == "parquet":
        raise CommandProblem("A Parquet file has an end. Leave out --follow, or choose --format json.", WRONG_USE)
    with open_reader(chosen) as reader:
        if wanted.channel is not None:
            tell_strangers(reader, wanted.channel)
        if journal:
            assert wanted.channel is not None
            name = require_channel(reader, chosen, wanted.channel)
            rows = _within(show_progress(reader.journal(name), "journal", None), wanted)
            write_journal(rows) if form == "parquet" else print_lines(json_lines(rows))
        else:
            print_history(chosen, reader, wanted, form, follows=follows)


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
