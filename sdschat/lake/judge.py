"""The verdict on a lake: silver, the canonical log, and what is missing or wrong, each by statements in SQL."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from importlib.resources import files
from typing import Final

from sdschat.audit import schemas
from sdschat.audit.schemas import AuditJournal, Event, columns
from sdschat.audit.verdict import DEFAULT, MAX_LAMPORT, Rules
from sdschat.lake.asked import KEPT_BY_AUDIT, READ_BY_AUDIT, Asked, versions_of
from sdschat.lake.places import BUCKET_OF, BUCKETS, PARTED, PLACES

_LOG: Final = ("tally", "contested", "preferred", "log")
_GOLD_LOG: Final = "gold_log"
SILVER: Final = ("silver", "copies", "evidence")
_STATEMENTS: Final = (*(("lake", name) for name in SILVER), ("audit", "views"), ("lake", "gold"))


def refine(lake: Asked, rules: Rules = DEFAULT) -> None:
    """Make silver from bronze: of all channels, or of those alone whose verdict may be another one now."""
    lake.begin()
    limits = rule_query(rules)
    by = rules_digest(limits)
    new = _came_since_verdict(lake, by)
    if new is not None and not any(new.values()):
        lake.buckets = frozenset()
        return
    lake.note_begun(by)  # whoever fails from here on, as at a damaged file of silver, makes everything anew next time
    lake.buckets = BUCKETS if new is None else _touched_buckets(lake, new)
    for table, name in READ_BY_AUDIT.items():
        if table in PARTED:
            lake.name(table, f"bronze_{name}", lake.tables.files_of(table, lake.buckets))
        elif "channel" in columns(table):
            lake.name(table, f"bronze_{name}", where=_within(lake.buckets))
        else:
            lake.name(table, f"bronze_{name}")
    others = BUCKETS.difference(lake.buckets)
    lake.name(Event, "kept_event", lake.tables.files_of(Event, others))
    lake.name(AuditJournal, "old_journal", None if others else [])
    lake.make("rule", limits, once=False)
    for file in SILVER:
        _run(lake, lake.statements("sdschat.lake", file))


def _within(buckets: Collection[str]) -> str:
    """Return the condition for rows of these buckets."""
    if len(buckets) == len(BUCKETS):
        return "TRUE"
    wanted = "', '".join(sorted(buckets))
    return f"{BUCKET_OF} IN ('{wanted}')"


def rule_query(rules: Rules) -> str:
    """Return the query for the limits that statements refer to."""
    return f"SELECT {rules.settle} AS settle, {rules.max_skew} AS max_skew, {MAX_LAMPORT} AS max_lamport"


def consolidate(lake: Asked) -> None:
    """Make the canonical log from silver, which `refine` has just made."""
    _run(lake, (each for each in lake.statements("sdschat.audit", "views") if each[0] in _LOG))
    _run(lake, (each for each in lake.statements("sdschat.lake", "gold") if each[0] == _GOLD_LOG))


def audit(lake: Asked) -> None:
    """Make the tables of the verdict from silver and the canonical log, which `consolidate` has just made."""
    _run(lake, (each for each in lake.statements("sdschat.audit", "views") if each[0] not in _LOG))
    _run(lake, (each for each in lake.statements("sdschat.lake", "gold") if each[0] != _GOLD_LOG))
    if lake.buckets:
        lake.note_whole()
    lake.forget()


def _run(lake: Asked, statements: Iterable[tuple[str, str, bool]]) -> None:
    if not lake.buckets:
        return  # nothing came in since the verdict that is there
    for name, query, is_table in statements:
        if name in KEPT_BY_AUDIT:
            lake.keep_answer(KEPT_BY_AUDIT[name], name, query)
        else:
            lake.make(name, query, once=is_table)


def rules_digest(limits: str) -> str:
    """Return a digest of what makes a verdict out of rows. One that was made by other rules is made anew."""
    texts = [files(f"sdschat.{room}").joinpath(f"{name}.sql").read_bytes() for room, name in _STATEMENTS]
    return hashlib.sha256(b"\0".join((*texts, limits.encode(), str(schemas.VERSION).encode()))).hexdigest()


def _came_since_verdict(lake: Asked, rules: str) -> dict[type, list[str]] | None:
    """Return the files that came in since the verdict that is there; None if there is no whole one by these rules."""
    base = lake.whole_base()
    if base is None or base.rules != rules:
        return None
    versions = versions_of(base)
    before = {table: lake.tables.files_at(table, versions.get(PLACES[table], -1)) for table in READ_BY_AUDIT}
    if lake.digest_of(file for known in before.values() for file in known) != base.bronze:
        return None
    known = {file for files_before in before.values() for file in files_before}
    return {table: [file for file in lake.tables.files(table) if file not in known] for table in READ_BY_AUDIT}


def _touched_buckets(lake: Asked, new: Mapping[type, list[str]]) -> Collection[str]:
    """Return the buckets of channels whose verdict may be another one with the rows of these files."""
    for table, name in READ_BY_AUDIT.items():
        lake.name(table, f"new_{name}", new[table])
    lake.name(Event, "old_event")
    lake.name(schemas.Presence, "old_presence")
    lake.name(AuditJournal, "old_journal")
    for name, query, is_table in lake.statements("sdschat.lake", "touched"):
        lake.make(name, query, once=is_table)
    return {row[0] for row in lake.rows(f"SELECT DISTINCT {BUCKET_OF} FROM touched")}
