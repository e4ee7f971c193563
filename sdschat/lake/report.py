"""The report of a lake. Only answers and the first rows of lists are collected, however large the lake is."""

from __future__ import annotations

from typing import Final

import sdschat
from sdschat.audit import schemas as tables
from sdschat.audit.report.data import ReportData, shown_channels
from sdschat.audit.report.units import moment
from sdschat.lake.asked import Asked
from sdschat.lake.figures import figures
from sdschat.lake.results import audit_of, places_in, refused_in

_NOT_TAKEN: Final = 20


def report_data(lake: Asked, root: str, grain: int, made_ms: int) -> ReportData:
    """Return the data of a page: the verdict, and the figures that `measure` has just made."""
    audit = audit_of(lake)
    sources = places_in(lake)
    return ReportData(audit, figures(lake, grain, shown_channels(audit)), provenance(lake, root, made_ms), sources)


def provenance(lake: Asked, root: str, made_ms: int) -> dict[str, str]:
    refused = refused_in(lake, most=_NOT_TAKEN)
    counted = {
        "events": _count(lake, tables.Journal),
        "copies of messages": _count(lake, tables.Message),
        "packets": _count(lake, tables.Packet),
        "inputs not taken": refused.inputs,
    }
    places = sorted(set(places_in(lake).values()))
    return {
        "Made": f"{moment(made_ms)} UTC by sdschat {sdschat.__version__}, with {lake.engine}",
        "Lake": f"{root}, tables of version {tables.VERSION}",
        "Rows": ", ".join(f"{name}: {count:,}" for name, count in counted.items()),
        "Databases": ", ".join(places) or "none",
        "Not taken": ", ".join(f"{row.source} {row.place} ({row.reason})" for row in refused.rows) or "nothing",
    }


def _count(lake: Asked, table: type) -> int:
    lake.name(table, "there")
    return int(lake.rows("SELECT COUNT(*) FROM there")[0][0])
