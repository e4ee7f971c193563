"""Several databases of one node: copies of different ages, or copies that somebody altered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from sdschat.audit.conform import Member, Taken, member_of
from sdschat.audit.schemas import Declared, Journal, Message, Node, Quarantine
from sdschat.audit.sources.columnar import Columnar
from sdschat.audit.sources.databases import Reading, Row
from sdschat.audit.sources.telling import UNREADABLE
from sdschat.store.errors import StoreError


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


def refuse_contradictions(taken: Taken, read_ms: int) -> None:
    """Move events to the quarantine of which two databases of a node say different things: none of them counts."""
    said: dict[tuple[str, str, str, int], Journal] = {}
    twice = {
        key for row in taken.journal if said.setdefault(key := (row.run_id, row.node, row.boot, row.seq), row) != row
    }
    if not twice:
        return
    taken.journal = [row for row in taken.journal if (row.run_id, row.node, row.boot, row.seq) not in twice]
    for run_id, node, boot, seq in sorted(twice):
        reason = "two databases of this node say different things of this event; neither counts"
        taken.quarantine.append(Quarantine(run_id, f"node {node}", f"journal {boot} {seq}", reason, "", read_ms, node))


def went_apart(rows: Mapping[Reading, list[Row]]) -> list[tuple[Member, str]]:
    """Return the nodes with two databases of which neither is an older copy of the other, and the two in words.

    A run of the program writes to one database. So where each has runs that the other lacks, two copies of one profile
    were used, and no log of this node tells all that it did.
    """
    members: dict[Member, list[Reading]] = defaultdict(list)
    for each in sorted(rows, key=lambda each: str(each.path.resolve())):
        for row in rows[each]:
            if isinstance(row, Node):
                members[member_of(row)].append(each)
    found = []
    for member, readings in sorted(members.items()):
        runs = {each: _runs(each) for each in readings} if len(readings) > 1 else {}
        for one, other in combinations(runs, 2):
            if runs[one] - runs[other] and runs[other] - runs[one]:
                both = f"{one.path} and {other.path}"
                found.append((member, f"its databases {both} went apart: each has what the other lacks"))
    return found


def _runs(reading: Reading) -> set[str]:
    try:
        with Columnar(reading.path) as columns:
            return {name for _, name in columns.boots().values()}
    except (StoreError, *UNREADABLE):
        return set()  # the quarantine names this database
