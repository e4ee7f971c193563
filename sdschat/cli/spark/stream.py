"""`sdschat pipeline stream`: what a terminal shows of it, and a tap beside it that records a broker into its folder."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, say
from sdschat.cli.output import counted, moment, safe
from sdschat.cli.spark import common

if TYPE_CHECKING:
    from rich.live import Live

    from sdschat.lake.ingest import ChannelNow, SegmentStream, StreamedBatch
    from sdschat.lake.tables import Tables


@click.command("stream")
@click.argument("segments", metavar="DIR", type=FilePath())
@common.lake_option
@click.option("--tap", "channels", metavar="CHANNEL", multiple=True, help="Record this channel meanwhile; repeatable.")
@click.option("--broker", metavar="URL", help="mqtt://host:port, mqtts://, ws:// or wss://.")
@common.run_option
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
    from sdschat.lake.ingest import SegmentStream, channels_now

    _must_fit(channels, broker, once)
    pause = common.milliseconds(every, "--every") / 1000
    if channels:
        common.must_be_folder(segments, "DIR")
    if not segments.is_dir():
        raise CommandProblem(f"There is no folder {segments}. Name the one that segments arrive in.", WRONG_USE)
    tables = common.new_or_old_lake(lake)
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
        if asked:
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
def _asked_to_end() -> Iterator[list[int]]:
    """Record Ctrl+C instead of raising it, for work that runs until the user ends it. A second Ctrl+C is raised."""
    asked: list[int] = []  # numbers of signals

    def note(number: int, _frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, note) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


_GRACE: Final = 10.0  # seconds to put the last packets into a segment


@contextlib.contextmanager
def recording(channels: Sequence[str], folder: Path, broker: str | None) -> Iterator[Callable[[], None]]:
    """Run a tap meanwhile, in a process of its own, so that a busy lake cannot delay the recording.

    What is yielded raises CommandProblem once the tap has ended: it could not go on, and its last line says why.
    """
    command = [sys.executable, "-m", "sdschat", "tap", *channels, "--to", str(folder)]
    command += ["--broker", broker] if broker else []
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=said) as tap:

        def check() -> None:
            if code := tap.poll():
                said.seek(0)
                lines = said.read().decode(errors="replace").strip().splitlines()
                why = lines[-1].removeprefix("sdschat: ") if lines else f"The tap ended with {code}."
                raise CommandProblem(why, code)

        try:
            yield check
        finally:
            tap.terminate()
            try:
                tap.wait(_GRACE)
            except subprocess.TimeoutExpired:
                tap.kill()  # its unfinished packets are in its spool, and the next tap recovers them


_TICK: Final = 0.1  # seconds until a request to end is seen
_SHARE: Final = 10  # of the time, one part is for the table on the terminal


class Watch:
    """A table on a terminal, updated while the stream runs; elsewhere one line for each batch."""

    def __init__(self, stream: SegmentStream, tables: Tables, before: str) -> None:
        self._stream, self._tables, self._before = stream, tables, before
        self._next_table = 0.0

    def until(self, asked: list[int], every: float, once: bool, checks: Sequence[Callable[[], None]]) -> None:
        with self._shown() as live:
            while not asked:
                batch = self._stream.batch()
                if batch is not None:
                    self._tell(live, batch)
                    continue
                if once:
                    return
                for check in checks:
                    check()
                again = time.monotonic() + every
                while not asked and time.monotonic() < again:
                    time.sleep(min(every, _TICK))

    @contextlib.contextmanager
    def _shown(self) -> Iterator[Live | None]:
        if not sys.stderr.isatty():
            say(self._before)
            yield None
            return
        from rich.console import Console
        from rich.live import Live

        with Live(safe(self._before), console=Console(stderr=True), auto_refresh=False, transient=True) as live:
            self._draw(live, safe(self._before))
            yield live

    def _tell(self, live: Live | None, batch: StreamedBatch) -> None:
        if not (batch.events or batch.packets or batch.refused):
            return
        if live is None:
            say(batch_line(batch))
        elif time.monotonic() >= self._next_table:
            self._draw(live, batch_line(batch))
        common.tell_refused(batch.unread)

    def _draw(self, live: Live, line: str) -> None:
        """Draw the table. It is made of all that was recorded, so it waits for longer where there is more."""
        from rich.console import Group

        from sdschat.lake.ingest import channels_now

        began = time.monotonic()
        channels = channels_now(self._tables)
        self._next_table = time.monotonic() + _SHARE * (time.monotonic() - began)
        live.update(Group(table(channels), line) if channels else line, refresh=True)


def batch_line(batch: StreamedBatch) -> str:
    parts = [counted(batch.segments, "segment"), counted(batch.events, "event"), counted(batch.packets, "packet")]
    parts += [f"{batch.refused:,} refused"] if batch.refused else []
    return f"{moment(batch.at_ms)} batch {batch.number}: {', '.join(parts)}, {batch.took_ms / 1000:.1f} s"


def table(channels: Sequence[ChannelNow]) -> Any:
    from rich.table import Table

    found = Table("channel", "packets", "bytes", "nodes", "messages", "logs", title="stream")
    for row in channels:
        messages = f"{row.most:,}" if row.fewest == row.most else f"{row.fewest:,} to {row.most:,}"
        state = "alike" if row.alike else "differ" if row.nodes else "not known"
        found.add_row(safe(row.channel), f"{row.packets:,}", f"{row.bytes:,}", str(row.nodes), messages, state)
    return found
