"""Tables of results, brought here to be shown. Only of what is shown: the first so many rows, in a settled order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sdschat.pipeline.lake import Lake
from sdschat.pipeline.reference.audit import Audit
from sdschat.pipeline.schemas import (
    AuditChannel,
    AuditFinding,
    AuditJournal,
    AuditMissing,
    AuditNode,
    Ids,
    Quarantine,
    columns,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

R = TypeVar("R")
MOST: Final = 10_000


def bring(found: DataFrame, table: type[R], order: tuple[str, ...], most: int = MOST) -> list[R]:
    lists = {name for name, (kind, _) in columns(table).items() if kind == Ids}
    rows = found.orderBy(*order).limit(most).collect()
    return [
        table(**{name: tuple(value) if name in lists and value is not None else value for name, value in each.items()})
        for each in (row.asDict() for row in rows)
    ]


def audit_of(lake: Lake, most: int = MOST) -> Audit:
    """The verdict as the lake has it. Of very many missing messages only the first are here; the counts are whole."""
    channel, place = ("run_id", "channel"), ("run_id", "channel", "position", "node")
    return Audit(
        bring(lake.read(AuditChannel), AuditChannel, channel, most),
        bring(lake.read(AuditNode), AuditNode, (*channel, "node"), most),
        bring(lake.read(AuditMissing), AuditMissing, place, most),
        bring(lake.read(AuditFinding), AuditFinding, (*place, "kind", "message_id", "other"), most),
        bring(lake.read(AuditJournal), AuditJournal, ("run_id", "node", "boot"), most),
    )


class Refused(NamedTuple):
    """What could not be taken in: of very much only the first rows are here, whole inputs before parts of others."""

    inputs: int
    rows: list[Quarantine]


def refused_in(lake: Lake, most: int = MOST) -> Refused:
    found = lake.there(Quarantine)
    if found is None:
        return Refused(0, [])
    inputs = found.select("run_id", "source").distinct().count()
    return Refused(inputs, bring(found, Quarantine, ("place", "run_id", "source", "reason"), most))
