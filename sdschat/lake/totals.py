"""The totals of the channels of a lake, for a terminal."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from sdschat.audit.schemas import Journal, Packet
from sdschat.lake.duck import connected, no_rows, parquet_rows
from sdschat.lake.tables import Tables

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
            files = tables.files(table)
            rows = parquet_rows(connection, table, files) if files else no_rows(table)
            connection.execute(f"CREATE TEMP VIEW {name} AS {rows}")
        return [ChannelNow(*row) for row in connection.execute(_NOW).fetchall()]
