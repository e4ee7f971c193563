"""The verdict on a lake: silver, the canonical log, and what is missing or wrong, each by statements in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from sdschat.audit import schemas as tables
from sdschat.audit.rules import DEFAULT, MAX_LAMPORT, Rules
from sdschat.lake.asked import Asked

BRONZE: Final[Mapping[type, str]] = {
    tables.Journal: "bronze_journal",
    tables.Message: "bronze_message",
    tables.Node: "bronze_node",
    tables.Declared: "bronze_declared",
    tables.KnownRun: "bronze_run",
}
_KEPT: Final[Mapping[str, type]] = {
    "silver_event": tables.Event,
    "silver_copy": tables.Copy,
    "silver_presence": tables.Presence,
    "gold_log": tables.Log,
    "audit_missing": tables.AuditMissing,
    "audit_finding": tables.AuditFinding,
    "audit_node": tables.AuditNode,
    "gold_channel": tables.AuditChannel,
    "gold_journal": tables.AuditJournal,
}
_LOG: Final = ("tally", "contested", "preferred", "log")
_GOLD_LOG: Final = "gold_log"


def refine(lake: Asked, rules: Rules = DEFAULT) -> None:
    """Make silver from bronze."""
    lake.begin()
    lake.note_bronze()
    for table, name in BRONZE.items():
        lake.name(table, name)
    lake.make("rule", rule_query(rules), once=False)
    _run(lake, lake.statements("sdschat.lake", "silver"))


def rule_query(rules: Rules) -> str:
    """Return the query for the limits that statements refer to."""
    return f"SELECT {rules.settle} AS settle, {rules.max_skew} AS max_skew, {MAX_LAMPORT} AS max_lamport"


def consolidate(lake: Asked) -> None:
    """Make the canonical log from silver, which `refine` has just made."""
    _run(lake, lake.statements("sdschat.lake", "evidence"))
    _run(lake, (each for each in lake.statements("sdschat.audit", "views") if each[0] in _LOG))
    _run(lake, (each for each in lake.statements("sdschat.lake", "gold") if each[0] == _GOLD_LOG))


def audit(lake: Asked) -> None:
    """Make the tables of the verdict from silver and the canonical log, which `consolidate` has just made."""
    lake.note_verdict(whole=False)
    _run(lake, (each for each in lake.statements("sdschat.audit", "views") if each[0] not in _LOG))
    _run(lake, (each for each in lake.statements("sdschat.lake", "gold") if each[0] != _GOLD_LOG))
    lake.note_verdict(whole=True)
    lake.forget()


def _run(lake: Asked, statements: Iterable[tuple[str, str, bool]]) -> None:
    for name, query, is_table in statements:
        if name in _KEPT:
            lake.keep_answer(_KEPT[name], name, query)
        else:
            lake.make(name, query, once=is_table)
