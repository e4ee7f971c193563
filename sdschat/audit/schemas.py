"""The tables of the lake, one class each: the source of the columns for plain Python, Spark and pyarrow.

Times are epoch milliseconds; ids are text as in the packets. `run_id` separates unrelated data: simulated runs, and
campaigns with real nodes (`FIELD` by default).
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Final, get_type_hints

from sdschat.audit.tables import Blob, Ids
from sdschat.audit.tables.bronze import (
    Declared,
    Journal,
    KnownRun,
    KnownVersion,
    Message,
    Node,
    Packet,
    Quarantine,
    Whole,
)
from sdschat.audit.tables.gold import (
    FAULTS,
    FINDINGS,
    TOLD,
    AuditBase,
    AuditChannel,
    AuditFinding,
    AuditJournal,
    AuditMissing,
    AuditNode,
    Copy,
    Event,
    Log,
    Presence,
)
from sdschat.audit.tables.metrics import (
    MetricsAck,
    MetricsClock,
    MetricsDelivery,
    MetricsFilter,
    MetricsParts,
    MetricsRejected,
    MetricsRepair,
    MetricsTraffic,
)

VERSION: Final = 2
FIELD: Final = "field"


def columns(table: type) -> dict[str, tuple[type, bool]]:
    """Return for each column its type (str, int, float, bool, Blob or Ids), and True if it may be null."""
    found: dict[str, tuple[type, bool]] = {}
    for name, hint in get_type_hints(table).items():
        optional = typing.get_origin(hint) in (typing.Union, types.UnionType)
        kind = next(arg for arg in typing.get_args(hint) if arg is not type(None)) if optional else hint
        found[name] = (kind, optional)
    return found


SPARK_TYPES: Final[Mapping[object, str]] = {
    str: "STRING",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    Blob: "BINARY",
    Ids: "ARRAY<STRING>",
}


def ddl(table: type) -> str:
    """Return the columns in Spark's DDL. All of them may be null there: Parquet files do not promise otherwise."""
    return ", ".join(f"{name} {SPARK_TYPES[kind]}" for name, (kind, _) in columns(table).items())


__all__ = [
    "FAULTS",
    "FIELD",
    "FINDINGS",
    "SPARK_TYPES",
    "TOLD",
    "VERSION",
    "AuditBase",
    "AuditChannel",
    "AuditFinding",
    "AuditJournal",
    "AuditMissing",
    "AuditNode",
    "Blob",
    "Copy",
    "Declared",
    "Event",
    "Ids",
    "Journal",
    "KnownRun",
    "KnownVersion",
    "Log",
    "Message",
    "MetricsAck",
    "MetricsClock",
    "MetricsDelivery",
    "MetricsFilter",
    "MetricsParts",
    "MetricsRejected",
    "MetricsRepair",
    "MetricsTraffic",
    "Node",
    "Packet",
    "Presence",
    "Quarantine",
    "Whole",
    "columns",
    "ddl",
]
