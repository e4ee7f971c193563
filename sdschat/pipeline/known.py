"""The rows that a lake has already, as far as a new ingest needs them. Reads few columns, and no row twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from sdschat.audit.schemas import Journal, Message, Whole
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.sources.survey import Seen

if TYPE_CHECKING:
    from pyspark.sql import Column

_NAMED: Final = 1_000  # values in one query; for more values the query has no condition on them


def known_stretches(lake: Lake, run_id: str, stretches: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return those of these (node, boot) pairs of which the lake has events."""
    there = lake.there(Journal)
    if there is None or not stretches:
        return set()
    of_these = there.where(_is(there["run_id"], [run_id]) & _is(there["boot"], {boot for _, boot in stretches}))
    return {(row[0], row[1]) for row in of_these.select("node", "boot").distinct().collect()} & set(stretches)


def known_nodes(lake: Lake, run_id: str, nodes: Collection[str]) -> set[str]:
    """Return those of these nodes of which the lake has messages."""
    there = lake.there(Message)
    if there is None or not nodes:
        return set()
    of_these = there.where(_is(there["run_id"], [run_id]) & _is(there["node"], nodes))
    return {row[0] for row in of_these.select("node").distinct().collect()} & set(nodes)


def wholes(lake: Lake, run_id: str) -> list[Whole]:
    there = lake.there(Whole)
    return [] if there is None else [Whole(*row) for row in there.where(_is(there["run_id"], [run_id])).collect()]


def taken_already(files: Iterable[Seen], taken: Iterable[Whole]) -> set[str]:
    """Return the paths of files that would add nothing.

    For events the order of files does not matter. For logs the last reading counts: a database adds nothing if it is
    older than that reading, or is the very same file.
    """
    last: dict[str, tuple[int, int]] = {}
    by_node: dict[str, set[Whole]] = {}
    for whole in taken:
        last[whole.node] = max(last.get(whole.node, (0, 0)), (whole.as_of, whole.read_ms))
        by_node.setdefault(whole.node, set()).add(whole)
    found = set()
    for file in files:
        same = [whole for whole in by_node.get(file.node, ()) if whole.digest == file.digest]
        if not file.digest or not same:
            continue
        newest = {whole.digest for whole in by_node[file.node] if (whole.as_of, whole.read_ms) == last[file.node]}
        if not file.node or file.as_of < last[file.node][0] or newest == {file.digest}:
            found.add(file.path)
    return found


def _is(column: Column, values: Collection[str]) -> Column:
    from pyspark.sql import functions as F

    return column.isin(sorted(values)) if len(values) <= _NAMED else F.lit(True)
