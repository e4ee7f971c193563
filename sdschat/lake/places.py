"""The folder of a lake, and of each table in it, and how bronze is laid out there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sdschat.audit import schemas

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"
PLACES: Final[dict[type, str]] = {
    schemas.Journal: f"{BRONZE}/journal",
    schemas.Message: f"{BRONZE}/messages",
    schemas.Node: f"{BRONZE}/nodes",
    schemas.Declared: f"{BRONZE}/declared",
    schemas.KnownRun: f"{BRONZE}/runs",
    schemas.Packet: f"{BRONZE}/packets",
    schemas.Quarantine: f"{BRONZE}/quarantine",
    schemas.Whole: f"{BRONZE}/wholes",
    schemas.Event: f"{SILVER}/events",
    schemas.Presence: f"{SILVER}/presences",
    schemas.Log: f"{GOLD}/log",
    schemas.AuditBase: f"{GOLD}/audit_base",
    schemas.AuditChannel: f"{GOLD}/audit_channel",
    schemas.AuditNode: f"{GOLD}/audit_node",
    schemas.AuditMissing: f"{GOLD}/audit_missing",
    schemas.AuditFinding: f"{GOLD}/audit_finding",
    schemas.AuditJournal: f"{GOLD}/audit_journal",
    schemas.MetricsClock: f"{GOLD}/metrics_clock",
    schemas.MetricsDelivery: f"{GOLD}/metrics_delivery",
    schemas.MetricsAck: f"{GOLD}/metrics_ack",
    schemas.MetricsRepair: f"{GOLD}/metrics_repair",
    schemas.MetricsTraffic: f"{GOLD}/metrics_traffic",
    schemas.MetricsRejected: f"{GOLD}/metrics_rejected",
    schemas.MetricsParts: f"{GOLD}/metrics_parts",
    schemas.MetricsFilter: f"{GOLD}/metrics_filter",
}
OF_BRONZE: Final = tuple(table for table, place in PLACES.items() if place.startswith(f"{BRONZE}/"))
# Parts of bronze tables: a channel of a campaign, and a day by this column. A row comes again in the same part.
PARTS: Final = ("channel_key", "day")
PARTED: Final[dict[type, str]] = {
    schemas.Journal: "ts_ms",
    schemas.Packet: "ts_ms",
    schemas.Message: "received_ms",
}
# Silver and gold are replaced by parts of these tables: a bucket of channels, by the beginning of the `channel_key`.
BUCKET: Final = "bucket"
BUCKETED: Final = frozenset(
    {
        schemas.Event,
        schemas.Presence,
        schemas.Log,
        schemas.AuditChannel,
        schemas.AuditNode,
        schemas.AuditMissing,
        schemas.AuditFinding,
    }
)
BUCKETS: Final = frozenset(f"{number:02x}" for number in range(256))
CHANNEL_KEY: Final = "SUBSTRING(MD5(run_id || CHR(31) || channel), 1, 8)"
BUCKET_OF: Final = "SUBSTRING(MD5(run_id || CHR(31) || channel), 1, 2)"
ROW_SUM: Final = "row_sum"  # a column of these tables: what a row says, as a number
DAY_MS: Final = 86_400_000
_FILE: Final = re.compile("file:///(?!/)")


def folder_of(root: str) -> Path | None:
    """Return the folder of a lake, which may be given as a URI, or None if the lake is not in a folder."""
    if _FILE.match(root):
        return Path(root.removeprefix("file://"))
    return None if "://" in root else Path(root).absolute()
