"""The report of a few databases, without Spark."""

from __future__ import annotations

import sdschat
from sdschat.audit.compare import Comparison
from sdschat.audit.conform import Silver
from sdschat.audit.figures import figures
from sdschat.audit.report.data import ReportData, sources_of
from sdschat.audit.report.units import moment
from sdschat.audit.rules import Rules
from sdschat.audit.schemas import VERSION
from sdschat.audit.verdict import counted


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
