"""`sdschat pipeline stream`."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sdschat.audit.schemas import FIELD
from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.options import say
from sdschat.cli.spark.common import lake_option, milliseconds, must_be_folder, must_take, open_spark
from sdschat.cli.spark.recording import recording
from sdschat.cli.spark.watching import Watch, of_a_batch, of_spark, table
from sdschat.cli.spark_target import where_options
from sdschat.pipeline.session.trouble import reason

if TYPE_CHECKING:
    from sdschat.pipeline.session import Where

_LOCK = ".stream.lock"
_BROKEN_OFF = "stopped at once; a batch that was going on counts when it is done again; the same command goes on"


@click.command("stream")
@click.argument("segments", metavar="DIR", type=click.Path(path_type=Path))
@lake_option
@click.option("--tap", "channels", metavar="CHANNEL", multiple=True, help="Record this channel meanwhile; repeatable.")
@click.option("--broker", metavar="URL", help="mqtt://host:port, mqtts://, ws:// or wss://.")
@click.option("--run", "run_id", metavar="NAME", default=FIELD, help="Keeps campaigns apart. Default: field.")
@click.option("--once", is_flag=True, help="Take in what is there, and end.")
@click.option("--every", metavar="TIME", default="2s", help="Time between two looks. Default: 2s.")
@click.option("--most", type=click.IntRange(1), default=200, help="Segments in one batch. Default: 200.")
@where_options
def command(
    segments: Path,
    lake: str,
    channels: tuple[str, ...],
    broker: str | None,
    run_id: str,
    once: bool,
    every: str,
    most: int,
    where: Where,
) -> None:
    """Take segments in as they arrive in a folder, and show what they come to.

    \b
    Examples:
      sdschat pipeline stream segments --lake lake --tap lobby --broker mqtt://broker.example
      sdschat pipeline stream segments --lake lake           what other machines record into the folder
      sdschat pipeline stream segments --lake lake --once

    It may be killed at any moment: started again, it goes on where it was, and counts nothing twice. With --tap, a
    `sdschat tap` runs beside it; what needs more options than --broker is in the settings.
    """
    from sdschat.pipeline.session.interrupts import asked_to_end
    from sdschat.pipeline.stream.job import start
    from sdschat.pipeline.stream.live import Totals, channels_now

    _must_fit(channels, broker, once)
    pause = f"{milliseconds(every, '--every')} milliseconds"
    if channels:
        must_be_folder(segments, "DIR")
    if not segments.is_dir():
        raise CommandProblem(f"There is no folder {segments}. Name the one that segments arrive in.", WRONG_USE)
    must_take(lake)
    root = lake if "://" in lake else str(Path(lake).absolute())
    with contextlib.ExitStack() as stack:
        stack.enter_context(_alone(root))
        taps = [stack.enter_context(recording(channels, segments, broker))] if channels else []
        session = stack.enter_context(open_spark(where))
        asked = stack.enter_context(asked_to_end())
        with _told(asked):
            so_far = channels_now(session, root) if sys.stderr.isatty() else []
            query = start(session, str(segments.absolute()), root, run_id, pause, once, most)
            watch = Watch(query, Totals(session, root), so_far, f"waiting for segments in {segments}")
            watch.until(asked, taps)
            if asked.is_set():
                watch.finish()
            if (error := query.exception()) is not None:
                raise error
            now = channels_now(session, root)
        if asked.is_set():
            say("stopped; the same command goes on")
        _print(table(now))


@contextlib.contextmanager
def _alone(root: str) -> Iterator[None]:
    """Lock the lake: of two streams with the same batches, one would end the other. Raises PipelineProblem."""
    from sdschat.audit.lock import alone
    from sdschat.lake.places import folder_of

    folder = folder_of(root)
    if folder is None:
        yield
        return
    with alone(folder / _LOCK, f"another stream is writing to {root}; end it, or choose another --lake."):
        yield


@contextlib.contextmanager
def _told(asked: threading.Event) -> Iterator[None]:
    """Tell the user about an end that is not orderly. The signal that ends us may have ended Spark too."""
    try:
        yield
    except KeyboardInterrupt:
        say(_BROKEN_OFF)
        raise
    except Exception as error:
        if not of_spark(error):
            raise
        if asked.is_set() and not of_a_batch(error):
            say(_BROKEN_OFF)
            raise click.exceptions.Exit(0) from error
        raise CommandProblem(f"The stream ended: {reason(str(error))}. Started again, it goes on.") from error


def _must_fit(channels: Sequence[str], broker: str | None, once: bool) -> None:
    if channels and once:
        raise CommandProblem(
            "--once ends when what is there is taken in, and --tap does not end. Leave one out.", WRONG_USE
        )
    if broker and not channels:
        raise CommandProblem(
            "--broker says where --tap records. Name a channel with --tap, or leave it out.", WRONG_USE
        )


def _print(table: Any) -> None:
    from rich.console import Console

    Console().print(table)
