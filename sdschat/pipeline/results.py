"""Tables of results, collected for display: only the shown part, the first rows in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sdschat.audit.rules import LOST
from sdschat.audit.schemas import (
    FAULTS,
    AuditChannel,
    AuditFinding,
    AuditJournal,
    AuditMissing,
    AuditNode,
    Ids,
    Journal,
    Node,
    Quarantine,
    columns,
)
from sdschat.audit.verdict import Audit
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.refused import standing

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

R = TypeVar("R")
MOST: Final = 10_000
_NAMING: Final = (Node, Journal)  # the tables that name campaigns and channels; the small one first


class ResultScope(NamedTuple):
    """The requested part of a lake: one campaign, one channel, or everything."""

    run_id: str | None = None
    channel: str | None = None

    def of(self, rows: DataFrame) -> DataFrame:
        for name, value in self._asdict().items():
            if value is not None and name in rows.columns:
                rows = rows.where(rows[name] == value)
        return rows


WHOLE: Final = ResultScope()


def bring(
    found: DataFrame, table: type[R], order: tuple[str, ...], most: int = MOST, before: Column | None = None
) -> list[R]:
    """Collect the first `most` rows in this order. If there are more, rows with a true `before` are preferred."""
    lists = {name for name, (kind, _) in columns(table).items() if kind == Ids}
    if before is None:
        rows = found.orderBy(*order).limit(most).collect()
    else:
        first = found.orderBy(before.desc(), *order).limit(most)
        rows = first.orderBy(*order).collect()
    return [
        table(**{name: tuple(value) if name in lists and value is not None else value for name, value in each.items()})
        for each in (row.asDict() for row in rows)
    ]


def audit_of(lake: Lake, part: ResultScope = WHOLE, most: int = MOST) -> Audit:
    """Return the verdict stored in the lake.

    Of very many rows only the first are collected, and rows about a difference are preferred. The counts are complete.
    """
    from pyspark.sql import functions as F

    channel, place = ("run_id", "channel"), ("run_id", "channel", "position", "node")
    nodes = part.of(lake.read(AuditNode))
    journals = part.of(lake.read(AuditJournal))
    if part.channel is not None:
        journals = journals.join(nodes.select("run_id", "node"), ["run_id", "node"], "left_semi")
    return Audit(
        bring(part.of(lake.read(AuditChannel)), AuditChannel, channel, most, ~F.col("converged")),
        bring(nodes, AuditNode, (*channel, "node"), most, ~F.col("agrees")),
        bring(part.of(lake.read(AuditMissing)), AuditMissing, place, most, F.col("reason") == LOST),
        bring(
            part.of(lake.read(AuditFinding)),
            AuditFinding,
            (*place, "kind", "message_id", "other"),
            most,
            F.col("kind").isin(*FAULTS),
        ),
        bring(journals, AuditJournal, ("run_id", "node", "boot"), most, F.col("lost") > 0),
    )


def has(lake: Lake, part: ResultScope) -> bool:
    """True if the lake has anything of this part. Reads only the requested campaign, however many there are."""
    return any(_named(lake, table, part).limit(1).collect() for table in _NAMING)


def names_in(lake: Lake, column: str, part: ResultScope = WHOLE, most: int = MOST) -> list[str]:
    """Return the first campaigns (`run_id`) or channels in the lake."""
    first, second = (_named(lake, table, part).select(column).distinct() for table in _NAMING)
    return [row[0] for row in first.union(second).distinct().orderBy(column).limit(most).collect()]


def _named(lake: Lake, table: type, part: ResultScope) -> DataFrame:
    return part.of(lake.read(table).select("run_id", "channel")).where("channel != ''")


def places_in(lake: Lake, most: int = MOST) -> dict[tuple[str, str, str], str]:
    """Return the database of each run, channel and node."""
    from sdschat.pipeline.transforms.conform import latest_nodes

    rows = latest_nodes(lake.read(Node)).select("run_id", "channel", "node", "source").limit(most).collect()
    return {(row[0], row[1], row[2]): row[3] for row in rows}


class Refused(NamedTuple):
    """The unreadable inputs. Of very many only the first rows are here, whole inputs before parts of others."""

    inputs: int
    rows: list[Quarantine]


def refused_in(lake: Lake, run_id: str | None = None, most: int = MOST) -> Refused:
    found = standing(lake)
    if found is None:
        return Refused(0, [])
    found = ResultScope(run_id).of(found)
    inputs = found.select("run_id", "source").distinct().count()
    return Refused(inputs, bring(found, Quarantine, ("place", "run_id", "source", "reason"), most))
