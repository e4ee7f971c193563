"""The verdict on a lake, by statements in SQL, and its shown part: the first rows in a fixed order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.resources import files
from typing import Final, NamedTuple, TypeVar

from sdschat.audit import schemas
from sdschat.audit.verdict import DEFAULT, LARGEST_LAMPORT, LOST, Audit, Rules
from sdschat.lake.engine import READ_BY_AUDIT, LakeEngine, versions_of
from sdschat.lake.tables import BUCKET_OF, BUCKETS, KEPT_BY_AUDIT, PARTED, PLACES

_LOG: Final = ("tally", "disputed", "contested", "preferred", "log", "gold_log")
# Files of statements, in order, each with its package.
SILVER: Final = (
    ("sdschat.lake", "silver"),
    ("sdschat.lake", "copies"),
    ("sdschat.lake", "evidence"),
    ("sdschat.audit", "holding"),
    ("sdschat.lake", "presence"),
)
VERDICT: Final = (("sdschat.audit", "views"), ("sdschat.lake", "gold"))


def refine(lake: LakeEngine, rules: Rules = DEFAULT) -> None:
    """Make silver from bronze: of all channels, or of those alone whose verdict may be another one now."""
    lake.forget()
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
        elif "channel" in schemas.columns(table):
            lake.name(table, f"bronze_{name}", where=_within(lake.buckets))
        else:
            lake.name(table, f"bronze_{name}")
    others = BUCKETS.difference(lake.buckets)
    lake.name(schemas.Event, "kept_event", lake.tables.files_of(schemas.Event, others))
    lake.name(schemas.AuditJournal, "old_journal", None if others else [])
    lake.make("rule", limits, once=False)
    _run(lake, SILVER)


def _within(buckets: Collection[str]) -> str:
    if len(buckets) == len(BUCKETS):
        return "TRUE"
    wanted = "', '".join(sorted(buckets))
    return f"{BUCKET_OF} IN ('{wanted}')"


def rule_query(rules: Rules) -> str:
    return f"SELECT {rules.settle} AS settle, {rules.max_skew} AS max_skew, {LARGEST_LAMPORT} AS max_lamport"


def consolidate(lake: LakeEngine) -> None:
    _run(lake, VERDICT, lambda name: name in _LOG)


def audit(lake: LakeEngine) -> None:
    """Make the tables of the verdict from silver and the canonical log, which `consolidate` has just made."""
    _run(lake, VERDICT, lambda name: name not in _LOG)
    if lake.buckets:
        lake.note_whole()
    lake.forget()


def _run(lake: LakeEngine, named: Iterable[tuple[str, str]], wanted: Callable[[str], bool] = lambda name: True) -> None:
    if lake.buckets:  # without, nothing came in since the verdict that is there
        every = (statement for each in named for statement in lake.statements(*each))
        lake.run((statement for statement in every if wanted(statement[0])), KEPT_BY_AUDIT)


def rules_digest(limits: str) -> str:
    """Return a digest of what makes a verdict out of rows. One that was made by other rules is made anew."""
    texts = [files(package).joinpath(f"{name}.sql").read_bytes() for package, name in (*SILVER, *VERDICT)]
    return hashlib.sha256(b"\0".join((*texts, limits.encode(), str(schemas.VERSION).encode()))).hexdigest()


def _came_since_verdict(lake: LakeEngine, rules: str) -> dict[type, list[str]] | None:
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


def _touched_buckets(lake: LakeEngine, new: Mapping[type, list[str]]) -> Collection[str]:
    """Return the buckets of channels whose verdict may be another one with the rows of these files."""
    for table, name in READ_BY_AUDIT.items():
        lake.name(table, f"new_{name}", new[table])
    lake.name(schemas.Event, "old_event")
    lake.name(schemas.Presence, "old_presence")
    lake.name(schemas.AuditJournal, "old_journal")
    lake.run(lake.statements("sdschat.lake", "touched"), {})
    return {row[0] for row in lake.rows(f"SELECT DISTINCT {BUCKET_OF} FROM touched")}


R = TypeVar("R")
MOST: Final = 10_000
_IN_LOG_ORDER: Final = "run_id, channel, position NULLS FIRST, node"


class ResultScope(NamedTuple):
    """The requested part of a lake: one campaign, one channel, or everything."""

    run_id: str | None = None
    channel: str | None = None

    def of(self, names: Collection[str]) -> tuple[str, list[str]]:
        """Return the condition for rows with these columns, and its values."""
        wanted = {name: value for name, value in self._asdict().items() if name in names and value is not None}
        return " AND ".join(["TRUE", *(f"{name} = ?" for name in wanted)]), list(wanted.values())


WHOLE: Final = ResultScope()


def first_rows(lake: LakeEngine, table: type[R], part: ResultScope, order: str, before: str, most: int) -> list[R]:
    """Return the first `most` rows in this order. If there are more, rows with a true `before` are preferred."""
    lake.name(table, "there")
    where, values = part.of(schemas.columns(table))
    if table is schemas.AuditJournal and part.channel is not None:  # of the nodes in this channel
        lake.name(schemas.AuditNode, "members")
        where += " AND (run_id, node) IN (SELECT run_id, node FROM members WHERE channel = ?)"
        values.append(part.channel)
    chosen = f"SELECT * FROM there WHERE {where}"
    preferred = f"CASE WHEN {before} THEN 0 ELSE 1 END"
    first = f"SELECT * FROM ({chosen}) AS c ORDER BY {preferred}, {order} LIMIT {most}"
    names = ", ".join(schemas.columns(table))
    return [table(*row) for row in lake.rows(f"SELECT {names} FROM ({first}) AS f ORDER BY {order}", *values)]


def audit_of(lake: LakeEngine, part: ResultScope = WHOLE, most: int = MOST) -> Audit:
    """Return the verdict in the lake. Of very many rows the first, rather about a difference; counts are complete."""
    faults = ", ".join(f"'{kind}'" for kind in schemas.FAULTS)
    return Audit(
        first_rows(lake, schemas.AuditChannel, part, "run_id, channel", "NOT converged", most),
        first_rows(lake, schemas.AuditNode, part, "run_id, channel, node", "NOT agrees", most),
        first_rows(lake, schemas.AuditMissing, part, _IN_LOG_ORDER, f"reason = '{LOST}'", most),
        first_rows(
            lake,
            schemas.AuditFinding,
            part,
            f"{_IN_LOG_ORDER}, kind, message_id NULLS FIRST, other NULLS FIRST",
            f"kind IN ({faults})",
            most,
        ),
        first_rows(lake, schemas.AuditJournal, part, "run_id, node, boot", "lost > 0", most),
    )


def names_in(lake: LakeEngine, column: str, part: ResultScope = WHOLE, most: int = MOST) -> list[str]:
    """Return the first campaigns (`run_id`) or channels in the lake."""
    lake.name(schemas.Node, "there")
    lake.name(schemas.Journal, "events")
    where, values = part.of(("run_id", "channel"))
    of_both = " UNION ".join(
        f"SELECT {column} AS name FROM {table} WHERE channel <> '' AND {where}" for table in ("there", "events")
    )
    return [row[0] for row in lake.rows(f"SELECT name FROM ({of_both}) AS n ORDER BY name LIMIT {most}", *values * 2)]


def places_in(lake: LakeEngine) -> dict[tuple[str, str, str], str]:
    """Return the database of each run, channel and node: that of the reading that counts."""
    lake.name(schemas.Node, "bronze_node")
    reading = next(query for name, query, _ in lake.statements("sdschat.lake", "copies") if name == "reading")
    found = lake.rows(f"SELECT run_id, channel, node, source FROM ({reading}) AS r LIMIT {MOST}")
    return {(row[0], row[1], row[2]): row[3] for row in found}


class Refused(NamedTuple):
    """The unreadable inputs. Of very many only the first rows are here, whole inputs before parts of others."""

    inputs: int
    rows: list[schemas.Quarantine]


def name_refused(lake: LakeEngine) -> None:
    lake.name(schemas.Quarantine, "quarantined")
    lake.name(schemas.Whole, "whole")
    lake.run(lake.statements("sdschat.lake", "refused"), {})


def refused_in(lake: LakeEngine, run_id: str | None = None, most: int = MOST) -> Refused:
    name_refused(lake)
    where, values = ResultScope(run_id).of(schemas.columns(schemas.Quarantine))
    counting = f"SELECT COUNT(*) FROM (SELECT DISTINCT run_id, source FROM refused WHERE {where}) AS s"
    ((inputs,),) = lake.rows(counting, *values)
    names = ", ".join(schemas.columns(schemas.Quarantine))
    chosen = f"SELECT {names} FROM refused WHERE {where} ORDER BY place, run_id, source, reason LIMIT {most}"
    return Refused(inputs, [schemas.Quarantine(*row) for row in lake.rows(chosen, *values)])
