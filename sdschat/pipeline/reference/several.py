"""Several databases of one node: copies of different ages, or two that somebody made different."""

from __future__ import annotations

from collections.abc import Mapping

from sdschat.pipeline.reference.taken import Row
from sdschat.pipeline.schemas import Declared, Message, Node
from sdschat.pipeline.sources.databases import Reading


def logs_that_count(rows: Mapping[Reading, list[Row]]) -> dict[Reading, list[Row]]:
    """Of each node and channel one log: the furthest, of equally far ones the first by path, as when they are taken
    into a lake. One that breaks off is none; the quarantine says which database that is. Events count from all."""
    furthest: dict[tuple[str, str], tuple[int, Reading]] = {}
    for each in sorted(rows, key=lambda each: str(each.path.resolve())):
        for row in rows[each]:
            if isinstance(row, Node):
                member = (row.node, row.channel)
                if member not in furthest or row.as_of > furthest[member][0]:
                    furthest[member] = (row.as_of, each)

    def counts(row: Row, reading: Reading) -> bool:
        if not isinstance(row, Message | Node | Declared):
            return True
        return (row.node, row.channel) in furthest and furthest[row.node, row.channel][1] == reading

    return {each: [row for row in found if counts(row, each)] for each, found in rows.items()}
