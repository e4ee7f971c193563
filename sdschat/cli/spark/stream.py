"""`sdschat pipeline stream`."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import click

from sdschat.audit.schemas import FIELD
from sdschat.cli.errors import WRONG_USE, CommandProblem, say
from sdschat.cli.spark.common import lake_option, milliseconds, must_be_folder, new_or_old_lake
from sdschat.cli.spark.watching import EndRequest, Watch, recording, table


@click.command("stream")
@click.argument("segments", metavar="DIR", type=click.Path(path_type=Path))
@lake_option
@click.option("--tap", "channels", metavar="CHANNEL", multiple=True, help="Record this channel meanwhile; repeatable.")
@click.option("--broker", metavar="URL", help="mqtt://host:port, mqtts://, ws:// or wss://.")
@click.option("--run", "run_id", metavar="NAME", default=FIELD, help="Keeps campaigns apart. Default: field.")
@click.option("--once", is_flag=True, help="Take in what is there, and end.")
@click.option("--every", metavar="TIME", default="2s", help="Time between two looks. Default: 2s.")
@click.option("--most", type=click.IntRange(1), default=200, help="Segments in one batch. Default: 200.")
def command(
    segments: Path,
    lake: str,
    channels: tuple[str, ...],
    broker: str | None,
    run_id: str,
    once: bool,
    every: str,
    most: int,
) -> None:
    """Take segments in as they arrive in a folder, and show what they come to.

    \b
    Examples:
      sdschat pipeline stream segments --lake lake --tap lobby
      sdschat pipeline stream segments --lake lake       what others record there
      sdschat pipeline stream segments --lake lake --once

    It may be killed at any moment: started again, it goes on where it was, and counts nothing twice. With --tap, a
    `sdschat tap` runs beside it; what needs more options than --broker is in the settings.
    """
    from sdschat.lake.stream import SegmentStream, channels_now

    _must_fit(channels, broker, once)
    pause = milliseconds(every, "--every") / 1000
    if channels:
        must_be_folder(segments, "DIR")
    if not segments.is_dir():
        raise CommandProblem(f"There is no folder {segments}. Name the one that segments arrive in.", WRONG_USE)
    tables = new_or_old_lake(lake)
    with contextlib.ExitStack() as stack:
        checks = [stack.enter_context(recording(channels, segments, broker))] if channels else []
        asked = stack.enter_context(_asked_to_end())
        watch = Watch(
            SegmentStream(tables, segments.absolute(), run_id, most), tables, f"waiting for segments in {segments}"
        )
        try:
            watch.until(asked, pause, once, checks)
        except KeyboardInterrupt:
            say("stopped at once; the same command goes on where it was")
            raise
        if asked.made:
            say("stopped; the same command goes on")
        from rich.console import Console

        Console().print(table(channels_now(tables)))


def _must_fit(channels: Sequence[str], broker: str | None, once: bool) -> None:
    if channels and once:
        raise CommandProblem(
            "--once ends when what is there is taken in, and --tap does not end. Leave one out.", WRONG_USE
        )
    if broker and not channels:
        raise CommandProblem(
            "--broker says where --tap records. Name a channel with --tap, or leave it out.", WRONG_USE
        )


@contextlib.contextmanager
def _asked_to_end() -> Iterator[EndRequest]:
    """Record Ctrl+C instead of raising it, for work that runs until the user ends it. A second Ctrl+C is raised."""
    asked = EndRequest()

    def note(_number: int, _frame: FrameType | None) -> None:
        if asked.made:
            raise KeyboardInterrupt
        asked.make()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, note) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
