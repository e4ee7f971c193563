"""The display of a running stream, and its orderly end."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from sdschat.cli.options import say
from sdschat.cli.spark.recording import TapRecording
from sdschat.cli.text import counted, moment, safe
from sdschat.pipeline.session.trouble import is_of_spark

if TYPE_CHECKING:
    from rich.live import Live

    from sdschat.pipeline.stream.live import ChannelNow, Totals
    from sdschat.pipeline.stream.parts import Counted

_LOOK: Final = 1.0  # seconds
_MOMENT: Final = 0.1
# Texts of errors from a Spark that ends during a batch, and from a Python process that can then no longer reach it.
_ENDED: Final = (
    "SparkContext was shut down",
    "stopped SparkContext",
    "Shutdown in progress",
    "Py4JNetworkE",
    "ConnectionRefusedError",
)


class Watch:
    """A table on a terminal, updated while the stream runs; elsewhere one line for each batch."""

    def __init__(self, query: Any, totals: Totals, so_far: Sequence[ChannelNow], before: str) -> None:
        self._query, self._totals, self._so_far, self._before = query, totals, so_far, before
        self._told: int | None = None  # number of the last batch shown
        self._seen: str | None = None  # time stamp of the last trigger seen

    def until(self, asked: threading.Event, taps: Sequence[TapRecording]) -> None:
        """Show the stream until it ends or `asked` is set."""
        from pyspark.errors import PySparkException

        with self._shown() as live:
            while self._query.isActive and not asked.is_set():
                self._tell(live)
                with contextlib.suppress(PySparkException):  # the caller asks the query for its error
                    self._query.awaitTermination(_LOOK)
                for tap in taps:
                    tap.check()
            self._tell(live)

    @contextlib.contextmanager
    def _shown(self) -> Iterator[Live | None]:
        if not sys.stderr.isatty():
            say(self._before)
            yield None
            return
        from rich.console import Console
        from rich.live import Live

        with Live(safe(self._before), console=Console(stderr=True), auto_refresh=False, transient=True) as live:
            if self._so_far:
                _show(live, table(self._so_far), safe(self._before))
            yield live

    def finish(self) -> None:
        """Stop the stream after the current batch."""
        if self._query.isActive and self._busy():
            say("finishing the batch; once more breaks it off")
        before = self._trigger()
        while self._query.isActive and self._busy() and self._trigger() == before:
            self._query.awaitTermination(_MOMENT)
        self._query.stop()
        self._tell(None)

    def _busy(self) -> bool:
        return bool(self._query.status["isTriggerActive"])

    def _trigger(self) -> str | None:
        """Return the time stamp of the last trigger that has ended. Spark reports only those."""
        last = self._query.lastProgress
        return None if last is None else str(last["timestamp"])

    def _tell(self, live: Live | None) -> None:
        progress = self._query.lastProgress
        if progress is None or progress["timestamp"] == self._seen:
            return
        self._seen = progress["timestamp"]
        if self._told is None:  # batches before this start were shown by an earlier run
            self._told = int(self._query.recentProgress[0]["batchId"]) - 1
        last = int(progress["batchId"])  # without new input Spark gives the number of the next batch
        new = {number: self._totals.counted(number) for number in range(self._told + 1, last + 1)}
        lines = [batch_line(number, came) for number, came in new.items() if came is not None]
        if not lines:
            return
        self._told = last if new[last] is not None else last - 1
        if live is not None:
            _show(live, table(self._totals.up_to(self._told)), lines[-1])
            return
        for line in lines:
            say(line)


def batch_line(number: int, came: Counted) -> str:
    parts = [counted(came.segments, "segment"), counted(came.events, "event"), counted(came.packets, "packet")]
    parts += [f"{came.refused:,} refused"] if came.refused else []
    return f"{moment(came.at_ms)} batch {number}: {', '.join(parts)}, {came.took_ms / 1000:.1f} s"


def _show(live: Live, shown: Any, line: str) -> None:
    from rich.console import Group

    live.update(Group(shown, line), refresh=True)


def of_spark(error: Exception) -> bool:
    """True if the error comes from Spark: from a query, or because Spark has ended."""
    return is_of_spark(error) or isinstance(error, OSError)


def of_a_batch(error: Exception) -> bool:
    """True if the batch itself failed, and not because Spark was ended during it."""
    from pyspark.errors import StreamingQueryException

    return isinstance(error, StreamingQueryException) and not any(words in str(error) for words in _ENDED)


def table(channels: Sequence[ChannelNow]) -> Any:
    from rich.table import Table

    found = Table("channel", "packets", "bytes", "nodes", "messages", "logs", title="stream")
    for row in channels:
        messages = f"{row.most:,}" if row.fewest == row.most else f"{row.fewest:,} to {row.most:,}"
        state = "alike" if row.alike else "differ" if row.nodes else "not known"
        found.add_row(safe(row.channel), f"{row.packets:,}", f"{row.bytes:,}", str(row.nodes), messages, state)
    return found
