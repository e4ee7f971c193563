"""`sdschat pipeline get`."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import click

from sdschat.cli.options import say
from sdschat.cli.problem import Problem
from sdschat.cli.spark.common import lake_option
from sdschat.pipeline.schemas import FIELD


@click.command("get")
@click.argument("ids", nargs=-1, metavar="[ID…]")
@lake_option
@click.option("--channel", metavar="CHANNEL", help="Messages of this channel, by position or Lamport time.")
@click.option("--positions", metavar="A-B", help="From position A to B.")
@click.option("--since", type=int, metavar="LAMPORT", help="From this Lamport time on.")
@click.option("--count", type=click.IntRange(1, 1000), default=100, help="At most so many. Default: 100.")
@click.option("--run", "run_id", metavar="NAME", default=FIELD, help="Of this campaign. Default: field.")
def command(
    ids: tuple[str, ...], lake: str, channel: str | None, positions: str | None, since: int | None, count: int,
    run_id: str,
) -> int:  # fmt: skip
    """Messages out of the archive, one JSON line each, without Java.

    \b
    Examples:
      sdschat pipeline get --lake lake 3fa9c0…
      sdschat pipeline get --lake lake --channel lobby --positions 1000-1100
      sdschat pipeline get --lake lake --channel lobby --since 1790000000000 --count 20
    """
    from sdschat.pipeline.archive.read import Archive

    if bool(ids) == bool(channel):
        raise click.UsageError("Name either ids, or a --channel with --positions or --since.")
    archive = Archive(Path(lake))
    try:
        found: list[dict[str, Any]] = []
        missing = [message_id for message_id in ids if not _collect(found, archive.get(message_id))]
        if channel and positions:
            found = archive.positions(channel, *_ends(positions), run_id)[:count]
        elif channel:
            found = archive.dated(channel, since or 0, run_id=run_id, count=count)
    finally:
        archive.close()
    for row in found:
        row["raw"] = None if row["raw"] is None else base64.b64encode(row["raw"]).decode()
        click.echo(json.dumps(row))
    for message_id in missing:
        say(f"not in the archive: {message_id}")
    if channel and not found:
        say(f"the archive has nothing of {channel} there")
    return 1 if missing or not found else 0


def _collect(found: list[dict[str, Any]], rows: list[dict[str, Any]]) -> bool:
    found += rows
    return bool(rows)


def _ends(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        return int(first), int(last or first)
    except ValueError:
        raise Problem(f"--positions {text!r} is not A-B, as in 1000-1100.", 2) from None
