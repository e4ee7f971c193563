"""Several databases of one node: copies of different ages, or copies that somebody altered."""

from __future__ import annotations

from collections.abc import Mapping

from sdschat.pipeline.reference.taken import Row
from sdschat.pipeline.schemas import Declared, Message, Node
from sdschat.pipeline.sources.databases import Reading


def logs_that_count(rows: Mapping[Reading, list[Row]]) -> dict[Reading, list[Row]]:
    """Keep one log for each node and channel: the furthest one, of equally far ones the first by path, as in an ingest.

    A log that could not be read to its end does not count; the quarantine names its database. Events count from all
    databases.
    """
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
