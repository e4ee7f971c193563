"""Segments that arrive in a folder: the ingest of a lake, batch by batch."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from sdschat.audit.schemas import FIELD, Journal, Packet, Quarantine, Whole
from sdschat.lake.duck import connected, parquet_rows
from sdschat.lake.ingest import ingest, quarantined
from sdschat.lake.sources.files import LINES
from sdschat.lake.sources.survey import within
from sdschat.lake.tables import Tables

_SUFFIXES: Final = (*LINES, ".parquet")


class StreamedBatch(NamedTuple):
    """The counts of a batch. Of segments that were taken in before, nothing is added again."""

    number: int  # of the commits that name files as taken in
    segments: int
    events: int
    packets: int
    refused: int  # parts that could not be read
    at_ms: int
    took_ms: int
    unread: Sequence[Quarantine] = ()  # what could not be read of these segments, and why


class SegmentStream:
    """The segments of one folder, the oldest first. A file that was changed since is taken once more."""

    def __init__(self, tables: Tables, folder: Path, run_id: str, most: int) -> None:
        self._tables = tables
        self._folder = folder
        self._run_id = run_id
        self._most = most
        self._taken: dict[str, tuple[int, int]] = {}  # time and size by path

    def batch(self) -> StreamedBatch | None:
        """Take in what arrived, at most `most` segments. None: there was nothing."""
        found = sorted(self._arrived())[: self._most]
        if not found:
            return None
        at, began = time.time_ns() // 1_000_000, time.monotonic()
        paths = [Path(path) for *_, path in found]
        added = {row.table: row.added for row in ingest(self._tables, paths, self._run_id, at)}
        self._taken |= {path: (changed, size) for changed, size, path in found}
        events, packets, refused = (added.get(name, 0) for name in ("journal", "packet", "quarantine"))
        unread = quarantined(self._tables, paths) if refused else ()
        took, number = round((time.monotonic() - began) * 1000), max(0, self._tables.version(Whole) - 1)
        return StreamedBatch(number, added["file"], events, packets, refused, at, took, unread)

    def _arrived(self) -> Iterator[tuple[int, int, str]]:
        """Yield time, size and path of what was not taken yet."""
        for why, path in within(self._folder):
            if why is None and path.name.endswith(_SUFFIXES):
                with suppress(OSError):  # it was moved away
                    status = path.stat()
                    if self._taken.get(os.fspath(path)) != (status.st_mtime_ns, status.st_size):
                        yield status.st_mtime_ns, status.st_size, os.fspath(path)


_PACKETS: Final = (
    "SELECT channel, COUNT(*) AS packets, CAST(SUM(bytes) AS BIGINT) AS bytes FROM packet GROUP BY channel"
)
# A message counts once for each node, however often its delivery is told.
_LOGS: Final = """
SELECT channel, COUNT(*) AS nodes, MIN(n) AS fewest, MAX(n) AS most, COUNT(DISTINCT said) = 1 AS alike
FROM (
  SELECT channel, node, COUNT(*) AS n, BIT_XOR(HASH(message_id, lamport)) AS said
  FROM (SELECT DISTINCT channel, node, message_id, lamport FROM journal WHERE event = 'delivered') AS delivered
  GROUP BY channel, node
) AS logs
GROUP BY channel
"""
_NOW: Final = f"""
SELECT channel, COALESCE(packets, 0), COALESCE(bytes, 0), COALESCE(nodes, 0), COALESCE(fewest, 0), COALESCE(most, 0),
  COALESCE(alike, FALSE)
FROM ({_PACKETS}) AS p FULL JOIN ({_LOGS}) AS l USING (channel)
ORDER BY channel
"""


class ChannelNow(NamedTuple):
    channel: str
    packets: int
    bytes: int
    nodes: int
    fewest: int  # number of messages of the node with the fewest
    most: int
    alike: bool  # True if all delivered the same


def channels_now(tables: Tables) -> list[ChannelNow]:
    """Return the totals of all channels, by what was recorded of them and what their nodes' journals say."""
    with TemporaryDirectory(prefix="sdschat-") as scratch, connected(scratch) as connection:
        for table, name in ((Packet, "packet"), (Journal, "journal")):
            rows = parquet_rows(connection, table, tables.files(table))
            named = f"CASE WHEN run_id = '{FIELD}' THEN channel ELSE channel || ' of ' || run_id END"
            connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * REPLACE ({named} AS channel) FROM ({rows}) AS r")
        return [ChannelNow(*row) for row in connection.execute(_NOW).fetchall()]
