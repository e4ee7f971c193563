"""The folder of a lake, and of each table in it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Final

from sdschat.audit import schemas
from sdschat.audit.problem import PipelineProblem

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"
VERSION_FILE: Final = "_schema"
PLACES: Final[dict[type, str]] = {
    schemas.Journal: f"{BRONZE}/journal",
    schemas.Message: f"{BRONZE}/messages",
    schemas.Node: f"{BRONZE}/nodes",
    schemas.Declared: f"{BRONZE}/declared",
    schemas.Packet: f"{BRONZE}/packets",
    schemas.Quarantine: f"{BRONZE}/quarantine",
    schemas.Whole: f"{BRONZE}/wholes",
    schemas.Event: f"{SILVER}/events",
    schemas.Copy: f"{SILVER}/copies",
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
_FILE: Final = re.compile("file:///(?!/)")


def folder_of(root: str) -> Path | None:
    """Return the folder of a lake, which may be given as a URI, or None if the lake is not in a folder."""
    if _FILE.match(root):
        return Path(root.removeprefix("file://"))
    return None if "://" in root else Path(root).absolute()


def check_version(folder: Path) -> None:
    """Note the version of the tables in a new lake. Raises PipelineProblem if a newer program wrote this one."""
    file = folder / VERSION_FILE
    if file.exists():
        found = _version_in(file)
        if found > schemas.VERSION:
            raise PipelineProblem(
                f"{folder} was written by a newer sdschat (tables of version {found}; this one knows "
                f"{schemas.VERSION}). Update the program.",
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{VERSION_FILE}.new")
    with open(fresh, "w", encoding="utf-8") as output:
        output.write(json.dumps({"version": schemas.VERSION}))
        output.flush()
        os.fsync(output.fileno())
    fresh.replace(file)


def _version_in(file: Path) -> int:
    try:
        return int(json.loads(file.read_text("utf-8"))["version"])
    except (ValueError, TypeError, KeyError) as error:
        raise PipelineProblem(
            f"{file} is damaged: it should name the version of the tables in this lake. If this version of sdschat "
            "made the lake, delete the file; it is written anew."
        ) from error
