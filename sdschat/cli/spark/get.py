"""`sdschat pipeline get`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sdschat.cli.options import say
from sdschat.cli.problem import DONE, UNEXPECTED, WRONG_USE, Problem
from sdschat.cli.spark.common import lake_option
from sdschat.pipeline.schemas import FIELD

if TYPE_CHECKING:
    from sdschat.pipeline.archive.read import Archive

_COUNT: Final = 100
_NAMED: Final = 5  # of several ids that begin alike


class _Stretch(NamedTuple):
    """Of one channel in one run."""

    channel: str
    run_id: str
    positions: tuple[int, int] | None
    since: int
    most: int | None  # None: as many as there are positions, or `_COUNT` by time


@click.command("get")
@click.argument("ids", nargs=-1, metavar="[ID…]")
@lake_option
@click.option("--channel", metavar="CHANNEL", help="Messages of this channel, by position or Lamport time.")
@click.option("--positions", metavar="A-B", help="From position A to B, both of them too.")
@click.option("--since", type=click.IntRange(0, 1 << 62), metavar="LAMPORT", help="From this Lamport time on.")
@click.option(
    "--count", type=click.IntRange(1, 1000), metavar="N",
    help=f"At most so many. Default: {_COUNT}; of --positions all.",
)  # fmt: skip
@click.option("--run", "run_id", metavar="NAME", help="Of this campaign. Default: field; for ids, all of them.")
def command(
    ids: tuple[str, ...], lake: str, channel: str | None, positions: str | None, since: int | None, count: int | None,
    run_id: str | None,
) -> int:  # fmt: skip
    """Messages out of the archive, one JSON line each, without Java.

    \b
    Examples:
      sdschat pipeline get --lake lake 3fa9c0d1e2f3
      sdschat pipeline get --lake lake --channel lobby --positions 1000-1100
      sdschat pipeline get --lake lake --channel lobby --since 1790000000000 --count 20

    ID is the id of a message, or the beginning of one.
    """
    from sdschat.pipeline.archive.read import Archive

    given = {"--positions": positions, "--since": since, "--count": count}
    _refuse_contradictions(ids, channel, [name for name, value in given.items() if value is not None])
    ends = None if positions is None else _ends(positions)
    archive = Archive(Path(lake))
    try:
        if channel is None:
            return _by_id(archive, ids, run_id)
        return _by_place(archive, _Stretch(channel, run_id or FIELD, ends, since or 0, count))
    finally:
        archive.close()


def _refuse_contradictions(ids: tuple[str, ...], channel: str | None, given: list[str]) -> None:
    if bool(ids) == bool(channel):
        raise click.UsageError("Name either ids, or a --channel with --positions or --since.")
    if ids and given:
        raise click.UsageError(f"{given[0]} is for a --channel and not for ids: leave one of them away.")
    if "--positions" in given and "--since" in given:
        raise click.UsageError("Both --positions and --since say where to begin: leave one of them away.")


def _ends(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    try:
        ends = int(first), int(last if dash else first)
    except ValueError:
        raise Problem(f"--positions {text!r} is not A-B, as in 1000-1100.", WRONG_USE) from None
    if ends[0] > ends[1]:
        raise Problem(f"--positions {text} is the wrong way round: it would be {ends[1]}-{ends[0]}.", WRONG_USE)
    return ends


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


def _by_place(archive: Archive, asked: _Stretch) -> int:
    if _print(_rows(archive, asked)):
        return DONE
    say(f"the archive has nothing of {asked.channel} there")
    return UNEXPECTED


def _rows(archive: Archive, asked: _Stretch) -> Iterator[dict[str, Any]]:
    if asked.positions is None:
        yield from archive.dated(asked.channel, asked.since, run_id=asked.run_id, count=asked.most or _COUNT)
        return
    found = archive.positions(asked.channel, *asked.positions, asked.run_id)
    yield from found if asked.most is None else islice(found, asked.most)
    left = None if asked.most is None else next(found, None)
    if left is not None:
        say(f"--count {asked.most} ends it here; what is left: --positions {left['position']}-{asked.positions[1]}")


def _print(rows: Iterable[dict[str, Any]]) -> int:
    printed = 0
    for row in rows:
        raw = None if row["raw"] is None else base64.b64encode(row["raw"]).decode()
        click.echo(json.dumps(row | {"raw": raw}))
        printed += 1
    return printed
