"""The data of a report, the same from a lake and from a few databases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import sdschat
from sdschat.audit.compare import Comparison
from sdschat.audit.conform import Silver
from sdschat.audit.figures import figures
from sdschat.audit.report.units import moment
from sdschat.audit.schemas import VERSION, AuditChannel, Node
from sdschat.audit.tables.figures import Figures
from sdschat.audit.verdict import Audit, Rules, counted

Channel = tuple[str, str]
_MOST_CHANNELS: Final = 12


class ReportData(NamedTuple):
    audit: Audit
    figures: Figures
    provenance: Mapping[str, str]
    sources: Mapping[tuple[str, str, str], str]  # run, channel and node: the file that they were read from


def sources_of(nodes: Iterable[Node]) -> dict[tuple[str, str, str], str]:
    return {(node.run_id, node.channel, node.node): node.source for node in nodes}


def shown_channels(audit: Audit) -> list[AuditChannel]:
    """Return the channels that are drawn, the worst ones first."""
    worst = sorted(audit.channels, key=lambda row: (row.converged, -row.missing - row.faults, row.run_id, row.channel))
    return worst[:_MOST_CHANNELS]


def of_channel(figures: Figures, key: Channel) -> Figures:
    """Return the figures of one channel; a node that was away was so in all of them."""
    lists = {
        name: [row for row in rows if (row.run_id, getattr(row, "channel", key[1])) == key]
        for name, rows in figures._asdict().items()
        if name != "grain"
    }
    return Figures(figures.grain, **lists)


def report_data(found: Comparison, silver: Silver, rules: Rules, made_ms: int) -> ReportData:
    provenance = {
        "Made": f"{moment(made_ms)} UTC by sdschat {sdschat.__version__}, without Spark, tables of version {VERSION}",
        "Databases": ", ".join(sorted(str(path) for path in found.paths.values())),
        "Rows": f"{counted(len(silver.copies), 'copy of a message', 'copies of messages')}, "
        f"{counted(len(silver.journal), 'event', 'events')}",
        "Not read": ", ".join(f"{row.source} {row.place} ({row.reason})" for row in found.quarantine) or "nothing",
        "Rules": f"a node may lag {rules.settle / 1000:g} s behind; dates may lie {rules.max_skew / 1000:g} s ahead",
    }
    return ReportData(found.audit, figures(silver, found.audit), provenance, sources_of(silver.nodes))
