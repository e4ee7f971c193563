"""`sdschat pipeline get`."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sdschat.audit.schemas import FIELD
from sdschat.cli.audit_report import nothing_called
from sdschat.cli.errors import DONE, UNEXPECTED, WRONG_USE, CommandProblem, say
from sdschat.cli.spark.common import lake_option
from sdschat.node.view.moments import parse_moment

if TYPE_CHECKING:
    from sdschat.pipeline.archive import Archive

_COUNT: Final = 100
_NAMED: Final = 5  # ids listed, if several begin alike


class _Stretch(NamedTuple):
    """The requested range of one channel in one run."""

    column: str  # position or lamport
    first: int
    last: int
    channel: str
    run_id: str


@click.command("get")
@click.argument("ids", nargs=-1, metavar="[ID…]")
@lake_option
@click.option("--channel", metavar="CHANNEL", help="Messages of this channel, by position or Lamport time.")
@click.option("--positions", metavar="A-B", help="From position A to B, both of them too.")
@click.option("--since", metavar="TIME", help="From 2026-01-31T15:00, or 2h ago, or a Lamport time, on.")
@click.option("--until", metavar="TIME", help="Up to this moment, or Lamport time.")
@click.option(
    "--count",
    type=click.IntRange(1, 1000),
    metavar="N",
    help=f"At most so many. Default: {_COUNT}; of --positions all.",
)
@click.option("--run", "run_id", metavar="NAME", help="Only this campaign. Default: field; for ids, all of them.")
def command(
    ids: tuple[str, ...],
    lake: str,
    channel: str | None,
    positions: str | None,
    since: str | None,
    until: str | None,
    count: int | None,
    run_id: str | None,
) -> int:
    """Print messages out of the archive, one JSON line each, without Java.

    \b
    Examples:
      sdschat pipeline get --lake lake 3fa9c0d1e2f3
      sdschat pipeline get --lake lake --channel lobby --positions 1000-1100
      sdschat pipeline get --lake lake --channel lobby --since 2h --count 20
      sdschat pipeline get --lake lake --channel lobby --since 2d --until 2h
      sdschat pipeline get --lake lake 3fa9c0d1e2f3 | jq -r .raw | sdschat decode

    ID is the id of a message, or the beginning of one. `sdschat decode` shows its text and checks its signature. Exit
    code 1: an id is not in the archive.
    """
    from sdschat.pipeline.archive import Archive

    given = {"--positions": positions, "--since": since, "--until": until, "--count": count}
    _refuse_contradictions(ids, channel, [name for name, value in given.items() if value is not None])
    column, ends = ("lamport", _dated(since, until)) if positions is None else ("position", _ends(positions))
    most = count or (_COUNT if positions is None else None)
    with closing(Archive(Path(lake))) as archive:
        if channel is None:
            return _by_id(archive, ids, run_id)
        return _by_place(archive, _Stretch(column, *ends, channel, run_id or FIELD), most)


def _refuse_contradictions(ids: tuple[str, ...], channel: str | None, given: list[str]) -> None:
    if bool(ids) == bool(channel):
        raise click.UsageError("Name either ids, or a --channel with --positions or --since.")
    if ids and given:
        raise click.UsageError(f"{given[0]} is for a --channel and not for ids: leave one of them away.")
    for other in ("--since", "--until"):
        if "--positions" in given and other in given:
            raise click.UsageError(f"Both --positions and {other} say which messages: leave one of them away.")


def _ends(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    try:
        ends = int(first), int(last if dash else first)
    except ValueError:
        raise CommandProblem(f"--positions {text!r} is not A-B, as in 1000-1100.", WRONG_USE) from None
    if ends[0] > ends[1]:
        raise CommandProblem(f"--positions {text} is the wrong way round: it would be {ends[1]}-{ends[0]}.", WRONG_USE)
    return ends


def _dated(since: str | None, until: str | None) -> tuple[int, int]:
    """Return the range of Lamport times: epoch milliseconds if clocks are right; simulated groups begin with 0."""
    from sdschat.pipeline.archive import END

    now = time.time_ns() // 1_000_000
    first = min(_lamport(since, now), END) if since else 0
    last = min(_lamport(until, now), END) if until else END
    if first > last:
        raise CommandProblem(f"--since {since} is later than --until {until}: nothing is between them.", WRONG_USE)
    return first, last


def _lamport(text: str, now: int) -> int:
    if text.strip().isdecimal():
        return int(text)
    try:
        return max(0, parse_moment(text, now))
    except ValueError as error:
        raise CommandProblem(f"{error} A shorter number is a Lamport time.", WRONG_USE) from error


def _by_id(archive: Archive, ids: tuple[str, ...], run_id: str | None) -> int:
    problems = []
    for start in ids:
        found = archive.beginning(start, run_id, _NAMED + 1)
        if len(found) > 1:
            more = ", …" if len(found) > _NAMED else ""
            problems.append(f"several ids begin with {start}: {', '.join(list(found)[:_NAMED])}{more}")
        elif not found:
            problems.append(f"not in the archive: {start}")
        else:
            _print(next(iter(found.values())))
    for problem in problems:
        say(problem)
    return UNEXPECTED if problems else DONE


def _by_place(archive: Archive, asked: _Stretch, most: int | None) -> int:
    if _print(_rows(archive, asked, most)):
        return DONE
    there = archive.channels()
    runs = [run_id for run_id, _ in there]
    if asked.run_id not in runs:
        raise nothing_called("campaign", asked.run_id, runs)
    channels = [channel for run_id, channel in there if run_id == asked.run_id]
    if asked.channel not in channels:
        raise nothing_called("channel", asked.channel, channels)
    say(f"the archive has nothing of {asked.channel} there")
    return UNEXPECTED


def _rows(archive: Archive, asked: _Stretch, most: int | None) -> Iterator[dict[str, Any]]:
    found = archive.between(*asked)
    yield from islice(found, most)
    left = None if most is None else next(found, None)
    if left is not None:
        by_position = asked.column == "position"
        rest = f"--positions {left['position']}-{asked.last}" if by_position else f"--since {left['lamport']}"
        say(f"--count {most} ends it here; what is left: {rest}")


def _print(rows: Iterable[dict[str, Any]]) -> int:
    printed = 0
    for row in rows:
        raw = None if row["raw"] is None else base64.b64encode(row["raw"]).decode()
        click.echo(json.dumps(row | {"raw": raw}, separators=(",", ":")))
        printed += 1
    return printed
