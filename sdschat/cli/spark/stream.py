"""`sdschat pipeline stream`."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sdschat.cli.options import say
from sdschat.cli.problem import WRONG_USE, Problem
from sdschat.cli.spark.common import lake_option, milliseconds, must_be_folder, must_take
from sdschat.cli.spark.recording import Recording, recording
from sdschat.cli.text import safe
from sdschat.cli.where import where_options
from sdschat.pipeline.schemas import FIELD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.session import Where

_LOOK = 2.0  # seconds
_RAISED = re.compile(r"\s*[A-Za-z_][\w.]*(Error|Exception|Problem): ")


@click.command("stream")
@click.argument("segments", metavar="DIR", type=click.Path(path_type=Path))
@lake_option
@click.option("--tap", "channels", metavar="CHANNEL", multiple=True, help="Record this channel meanwhile; repeatable.")
@click.option("--broker", metavar="URL", help="mqtt://host:port, mqtts://, ws:// or wss://.")
@click.option("--run", "run_id", metavar="NAME", default=FIELD, help="Keeps campaigns apart. Default: field.")
@click.option("--once", is_flag=True, help="Take in what is there, and end.")
@click.option("--every", metavar="TIME", default="2s", help="How often to look. Default: 2s.")
@click.option("--most", type=click.IntRange(1), default=200, help="Segments in one batch. Default: 200.")
@where_options
def command(
    segments: Path, lake: str, channels: tuple[str, ...], broker: str | None, run_id: str, once: bool, every: str,
    most: int, where: Where,
) -> None:  # fmt: skip
    """Take segments in as they arrive in a folder, and show what they come to.

    \b
    Examples:
      sdschat pipeline stream segments --lake lake --tap lobby --broker mqtt://broker.example
      sdschat pipeline stream segments --lake lake           what other machines record into the folder
      sdschat pipeline stream segments --lake lake --once

    It may be killed at any moment: started again, it goes on where it was, and counts nothing twice. With --tap, a
    `sdschat tap` runs beside it; what needs more options than --broker is in the settings.
    """
    from sdschat.pipeline.session import spark
    from sdschat.pipeline.session.interrupts import asked_to_end
    from sdschat.pipeline.stream.job import start

    _must_fit(channels, broker, once)
    pause = f"{milliseconds(every, '--every')} milliseconds"
    if channels:
        must_be_folder(segments, "DIR")
    if not segments.is_dir():
        raise Problem(f"There is no folder {segments}. Name the one that segments arrive in.", WRONG_USE)
    must_take(lake)
    root = lake if "://" in lake else str(Path(lake).absolute())
    with contextlib.ExitStack() as stack:
        taps = [stack.enter_context(recording(channels, segments, broker))] if channels else []
        session = stack.enter_context(spark(where))
        asked = stack.enter_context(asked_to_end())
        query = start(session, str(segments.absolute()), root, run_id, pause, once, most)
        _watch(session, query, root, taps, asked, f"waiting for segments in {segments}")
        if query.isActive:
            query.stop()
            say("stopped; the same command goes on")
        _failed(query)
        _print(_table(session, root))


def _must_fit(channels: Sequence[str], broker: str | None, once: bool) -> None:
    if channels and once:
        raise Problem("--once ends when what is there is taken in, and --tap does not end. Leave one out.", WRONG_USE)
    if broker and not channels:
        raise Problem("--broker says where --tap records. Name a channel with --tap, or leave it out.", WRONG_USE)


def _watch(
    session: SparkSession, query: Any, lake: str, taps: Sequence[Recording], asked: threading.Event, before: str
) -> None:
    """Until it ends or is asked to: a table that is kept up to date where somebody watches."""
    from pyspark.errors import PySparkException
    from rich.console import Console
    from rich.live import Live

    with contextlib.ExitStack() as stack:
        live = None
        if sys.stderr.isatty():
            live = stack.enter_context(
                Live(safe(before), console=Console(stderr=True), auto_refresh=False, transient=True)
            )
        seen = -1
        while query.isActive and not asked.is_set():
            progress = query.lastProgress if live is not None else None
            if live is not None and progress is not None and (batch := int(progress["batchId"])) != seen:
                seen = batch
                live.update(_table(session, lake), refresh=True)
            with contextlib.suppress(PySparkException):  # it is asked for its reason below
                query.awaitTermination(_LOOK)
            for tap in taps:
                tap.check()


def _failed(query: Any) -> None:
    error = query.exception()
    if error is not None:
        raise Problem(f"The stream ended: {reason(str(error))}. Started again, it goes on.")


def reason(told: str) -> str:
    """What was raised last, of all that Spark tells of it: traces of two languages, each within the other."""
    raised = [line.strip() for line in told.splitlines() if _RAISED.match(line)]
    return " ".join((raised[-1] if raised else told.split("Traceback")[0]).split())[:300].rstrip(".")


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
