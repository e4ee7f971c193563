"""What a person sees of a stream while it goes on, and how it is brought to its end."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.cli.options import say
from sdschat.cli.spark.recording import Recording
from sdschat.cli.text import counted, moment, parse_moment, safe

if TYPE_CHECKING:
    from rich.live import Live

    from sdschat.pipeline.stream.live import ChannelNow, Totals
    from sdschat.pipeline.stream.parts import Counted

_LOOK: Final = 1.0  # seconds
_MOMENT: Final = 0.1


class Done(NamedTuple):
    """A batch of which Spark says that it is done."""

    number: int
    at: str
    seconds: float


class Watch:
    """A table that is kept up to date where somebody watches; elsewhere a line for each batch."""

    def __init__(self, query: Any, totals: Totals, before: str) -> None:
        self._query, self._totals, self._before = query, totals, before
        self._told = -1  # the last batch

    def until(self, asked: threading.Event, taps: Sequence[Recording]) -> None:
        """Until it ends or is asked to."""
        from pyspark.errors import PySparkException

        with self._shown() as live:
            while self._query.isActive and not asked.is_set():
                self._tell(live)
                with contextlib.suppress(PySparkException):  # it is asked for its reason elsewhere
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
            yield live

    def finish(self) -> None:
        """Let it end the batch that is going on, and no other."""
        last = self._last()
        if self._query.isActive and self._busy():
            say("finishing the batch; once more breaks it off")
        while self._query.isActive and self._busy() and self._last() == last:
            self._query.awaitTermination(_MOMENT)
        self._query.stop()
        self._tell(None)

    def _busy(self) -> bool:
        return bool(self._query.status["isTriggerActive"])

    def _last(self) -> int:
        return max((done.number for done in self._done()), default=-1)

    def _done(self) -> list[Done]:
        """Batches that had segments, of late."""
        return [
            Done(
                int(each["batchId"]), moment(parse_moment(each["timestamp"], 0)),
                each["durationMs"].get("triggerExecution", 0) / 1_000,
            )
            for each in self._query.recentProgress
            if each["numInputRows"]
        ]  # fmt: skip

    def _tell(self, live: Live | None) -> None:
        new = [done for done in self._done() if done.number > self._told]
        if not new:
            return
        self._told = new[-1].number
        if live is not None:
            live.update(table(self._totals.up_to(self._told), self._line(new[-1])), refresh=True)
            return
        for done in new:
            say(self._line(done))

    def _line(self, done: Done) -> str:
        taken = self._totals.taken(done.number)
        what = f"{came(taken)}, " if taken is not None else ""
        return f"{done.at} batch {done.number}: {what}{done.seconds:.1f} s"


def of_spark(error: Exception) -> bool:
    """Of what it was asked, or because it has ended. The thin client has no py4j."""
    from pyspark.errors import PySparkException

    return isinstance(error, (PySparkException, OSError)) or type(error).__module__.startswith("py4j.")


def came(taken: Counted) -> str:
    parts = [counted(taken.segments, "segment"), counted(taken.events, "event"), counted(taken.packets, "packet")]
    return ", ".join([*parts, *([f"{taken.refused:,} refused"] if taken.refused else [])])


def table(channels: Sequence[ChannelNow], caption: str | None = None) -> Any:
    from rich.table import Table

    found = Table("channel", "packets", "bytes", "nodes", "messages", "logs", title="stream", caption=caption)
    for row in channels:
        messages = f"{row.most:,}" if row.fewest == row.most else f"{row.fewest:,} to {row.most:,}"
        state = "alike" if row.alike else "differ" if row.nodes else "not known"
        found.add_row(safe(row.channel), f"{row.packets:,}", f"{row.bytes:,}", str(row.nodes), messages, state)
    return found
