"""Ingest of the logs of databases, and of their state, into bronze."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sdschat.audit.schemas import Declared, Message, Node, Quarantine, ddl
from sdschat.pipeline.known import known_nodes
from sdschat.pipeline.transforms.columns import MEMBER
from sdschat.pipeline.transforms.readings import changes, new_readings, newer_readings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sdschat.pipeline.intake import Intake
    from sdschat.pipeline.sources.survey import Seen


def take_logs(intake: Intake, files: Sequence[Seen]) -> None:
    """Ingest the furthest log of each node. If its end cannot be read, also the rows of the next older copy."""
    newest = newest_of(files)
    if newest:
        before, intake.odd = intake.odd, set()  # an unreadable entry in a journal does not make its log incomplete
        _take(intake, newest)
        broken = {file.node for file in newest if file.path in intake.odd}
        intake.odd |= before
        take_logs(intake, [file for file in files if file.node in broken and file not in newest])


def _take(intake: Intake, newest: Sequence[Seen]) -> None:
    """Ingest the declared gaps, then the logs, then the readings.

    Gaps are read before the log: so a message that arrives in between is not a missing message without a declared gap.
    The readings come last: after a crash before them, the next ingest reads the database as if for the first time.
    """
    from pyspark import StorageLevel

    known = known_nodes(intake.lake, intake.run_id, {file.node for file in newest})
    told = _declared(intake, [file.path for file in newest if file.declared])
    nodes = _first(intake, [file.path for file in newest if file.node not in known])
    again = [file.path for file in newest if file.node in known]
    if not again:
        return _conclude(intake, nodes, told)
    staged = intake.load(again, Message, Node, Quarantine).persist(StorageLevel.DISK_ONLY)
    try:
        nodes += _compared(intake, staged)
    finally:
        staged.unpersist()
    return _conclude(intake, nodes, told)


def newest_of(files: Iterable[Seen]) -> list[Seen]:
    """Return the furthest database of each node, of equally far ones the first by path.

    A log in any other copy is ignored.
    """
    found: dict[str, Seen] = {}
    for file in sorted(files):
        if file.node and (file.node not in found or file.as_of > found[file.node].as_of):
            found[file.node] = file
    return list(found.values())


def _declared(intake: Intake, paths: Sequence[str]) -> list[Declared]:
    """Return the declared gaps. They are few: a node that lacks much of a log declares it with one horizon."""
    if not paths:
        return []
    staged = intake.load(paths, Declared, Quarantine)
    rows = staged.where(staged["table"].isin(Declared.__name__, Quarantine.__name__)).collect()
    intake.odd |= {row["source"] for row in rows if row["table"] == Quarantine.__name__}
    return [Declared(*(row[name] for name in Declared._fields)) for row in rows if row["table"] == Declared.__name__]


def _first(intake: Intake, paths: Sequence[str]) -> list[Node]:
    """Write the logs of nodes that the lake does not know, as they are read."""
    if not paths:
        return []
    return [Node(*row) for note in intake.write(Message, paths, Node) for row in note.others]


def _compared(intake: Intake, staged: DataFrame) -> list[Node]:
    """Add the changes in the logs of nodes that the lake knows."""
    from pyspark.sql import functions as F

    from sdschat.pipeline.sources.staged import of_table

    nodes = [Node(*row) for row in of_table(staged, Node).collect()]
    messages = of_table(staged, Message)
    fresh = newer_readings(_frame(intake, Node, nodes), intake.lake.read(Node))
    read = messages.count()
    known = intake.lake.read(Message).join(F.broadcast(fresh.select(*MEMBER)), list(MEMBER), "left_semi")
    intake.append(Message, changes(messages, known, fresh), read)
    odd = of_table(staged, Quarantine).select("source").distinct().collect()
    intake.odd |= {row[0] for row in odd}
    return nodes


def _conclude(intake: Intake, nodes: Sequence[Node], told: Sequence[Declared]) -> None:
    known = intake.lake.there(Node)
    if known is None:
        new = list(nodes)
    else:
        fresh = newer_readings(_frame(intake, Node, nodes), known)
        new = [Node(*row) for row in new_readings(fresh, known).select(*Node._fields).collect()]
    readings = {(row.channel, row.node): row for row in new}
    said = [
        row._replace(as_of=reading.as_of, read_ms=reading.read_ms)
        for row in told
        if (reading := readings.get((row.channel, row.node))) is not None
    ]
    if said:
        intake.lake.append(Declared, _frame(intake, Declared, said))
    if new:
        intake.lake.append(Node, _frame(intake, Node, new))
    intake.count(Declared, len(told), len(said))
    intake.count(Node, len(nodes), len(new))


def _frame(intake: Intake, table: type, rows: Sequence[tuple[object, ...]]) -> DataFrame:
    return intake.lake.spark.createDataFrame(list(rows), ddl(table))
