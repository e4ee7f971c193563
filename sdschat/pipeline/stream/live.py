"""The totals of the stream, for a terminal."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from sdschat.audit.schemas import Fingerprint
from sdschat.pipeline.stream.parts import Counted, Parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ChannelNow(NamedTuple):
    channel: str
    packets: int
    bytes: int
    nodes: int
    fewest: int  # number of messages of the node with the fewest
    most: int
    alike: bool  # True if all fingerprints are equal


class Totals:
    """The totals of all batches so far. Earlier batches are read once; then each new batch is added."""

    def __init__(self, spark: SparkSession, lake: str) -> None:
        self._parts = Parts(spark, lake)
        self._traffic: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        self._logs: dict[tuple[str, str], tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
        self._batches: int | None = None  # number of the last batch in the totals

    def counted(self, batch: int) -> Counted | None:
        """Return the counts of a batch, or None if the batch is not complete."""
        found: list[Counted] = self._parts.rows(Counted, batch)
        return found[0] if found else None

    def up_to(self, batch: int) -> list[ChannelNow]:
        """Return the totals up to and including this batch. Later batches may arrive meanwhile."""
        from sdschat.pipeline.stream.tables import Traffic

        for of, add in ((Traffic, self._add_traffic), (Fingerprint, self._add_logs)):
            if self._batches is None:
                add(self._parts.all(of, before=batch + 1))
                continue
            new = [each for each in range(self._batches, batch + 1) if self._parts.there(of, each)]
            if new:
                add(self._parts.of_batches(of, new))
        self._batches = batch + 1
        return self._channels()

    def _add_traffic(self, rows: DataFrame) -> None:
        from pyspark.sql import functions as F

        sums = rows.groupBy("channel").agg(F.sum("packets"), F.sum("bytes"))
        for channel, packets, size in sums.collect():
            before = self._traffic[channel]
            self._traffic[channel] = (before[0] + packets, before[1] + size)

    def _add_logs(self, rows: DataFrame) -> None:
        from pyspark.sql import functions as F

        sums = rows.groupBy("channel", "node").agg(F.sum("n"), F.bit_xor("x1"), F.bit_xor("x2"))
        for channel, node, n, x1, x2 in sums.collect():
            before = self._logs[channel, node]
            self._logs[channel, node] = (before[0] + n, before[1] ^ x1, before[2] ^ x2)

    def _channels(self) -> list[ChannelNow]:
        nodes: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for (channel, _), log in self._logs.items():
            nodes[channel].append(log)
        return [
            _now(channel, self._traffic.get(channel, (0, 0)), nodes.get(channel, []))
            for channel in sorted({*nodes, *self._traffic})
        ]


def _now(channel: str, traffic: tuple[int, int], logs: list[tuple[int, int, int]]) -> ChannelNow:
    counts = [n for n, _, _ in logs]
    fewest, most = min(counts, default=0), max(counts, default=0)
    return ChannelNow(channel, *traffic, len(logs), fewest, most, len(set(logs)) == 1)


_ALL = 1 << 62  # a batch number above all others


def channels_now(spark: SparkSession, lake: str) -> list[ChannelNow]:
    return Totals(spark, lake).up_to(_ALL)
