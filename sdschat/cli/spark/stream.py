"""`sdschat pipeline stream`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sdschat.cli.options import say
from sdschat.cli.problem import WRONG_USE, Problem
from sdschat.cli.spark.common import lake_option
from sdschat.cli.text import safe
from sdschat.cli.where import where_options
from sdschat.pipeline.schemas import FIELD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.session import Where

_LOOK = 2.0  # seconds


@click.command("stream")
@click.argument("segments", metavar="DIR", type=click.Path(path_type=Path))
@lake_option
@click.option("--run", "run_id", metavar="NAME", default=FIELD, help="Keeps campaigns apart. Default: field.")
@click.option("--once", is_flag=True, help="Take in what is there, and end.")
@click.option("--every", metavar="TIME", default="2 seconds", help="How often to look. Default: 2 seconds.")
@click.option("--most", type=click.IntRange(1), default=200, help="Segments in one batch. Default: 200.")
@where_options
def command(segments: Path, lake: str, run_id: str, once: bool, every: str, most: int, where: Where) -> None:
    """Take segments in as they arrive in a folder, and show what they come to.

    \b
    Examples:
      sdschat tap lobby --to segments & sdschat pipeline stream segments --lake lake
      sdschat pipeline stream segments --lake lake --once

    It may be killed at any moment: started again, it goes on where it was, and counts nothing twice.
    """
    from sdschat.pipeline.session import spark
    from sdschat.pipeline.stream.job import start

    if not segments.is_dir():
        raise Problem(f"There is no folder {segments}. Name the one that segments arrive in.", WRONG_USE)
    root = lake if "://" in lake else str(Path(lake).absolute())
    with spark(where) as session:
        query = start(session, str(segments.absolute()), root, run_id, every, once, most)
        try:
            _watch(session, query, root)
        except KeyboardInterrupt:
            query.stop()
            say("stopped; the same command goes on")
        _failed(query)
        _print(_table(session, root))


def _watch(session: SparkSession, query: Any, lake: str) -> None:
    """Until it ends: a table that is kept up to date where somebody watches."""
    if not sys.stderr.isatty():
        query.awaitTermination()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        seen = -1
        while query.isActive:
            progress = query.lastProgress
            batch = -1 if progress is None else int(progress["batchId"])
            if batch != seen:
                seen = batch
                live.update(_table(session, lake), refresh=True)
            query.awaitTermination(_LOOK)
            time.sleep(0)


def _failed(query: Any) -> None:
    error = query.exception()
    if error is not None:
        raise Problem(f"The stream ended: {' '.join(str(error).split())[:300]}. Started again, it goes on.")


def _table(session: SparkSession, lake: str) -> Any:
    from rich.table import Table

    from sdschat.pipeline.stream.live import channels_now

    table = Table("channel", "packets", "bytes", "nodes", "messages", "logs", title="stream")
    for row in channels_now(session, lake):
        messages = f"{row.most:,}" if row.fewest == row.most else f"{row.fewest:,} to {row.most:,}"
        state = "alike" if row.alike else "differ" if row.nodes else "not known"
        table.add_row(safe(row.channel), f"{row.packets:,}", f"{row.bytes:,}", str(row.nodes), messages, state)
    return table


def _print(table: Any) -> None:
    from rich.console import Console

    Console().print(table)
