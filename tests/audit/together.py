"""Many drawn groups in one: each has a campaign of its own."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.audit.node_evidence import BronzeRows
from sdschat.audit.verdict import Audit
from tests.audit.oracle import oracle
from tests.audit.worlds import drawn


class Groups(NamedTuple):
    taken: BronzeRows
    audit: Audit  # of the oracle, in the order in which an audit shows rows


def together(count: int) -> Groups:
    taken, audit = BronzeRows(), Audit([], [], [], [], [])
    for group in [*map(drawn, range(count)), _told_without_a_signature()]:
        _add(taken, audit, group, oracle(group))
    audit.channels.sort()
    audit.nodes.sort(key=lambda row: (row.run_id, row.channel, row.node))
    audit.journals.sort()
    audit.missing.sort(key=lambda row: row.run_id)
    audit.findings.sort(key=lambda row: row.run_id)
    return Groups(taken, audit)


def _add(taken: BronzeRows, audit: Audit, group: BronzeRows, verdict: Audit) -> None:
    for name in BronzeRows.__dataclass_fields__:
        getattr(taken, name).extend(getattr(group, name))
    for name in Audit._fields:
        getattr(audit, name).extend(getattr(verdict, name))


def _told_without_a_signature() -> BronzeRows:
    """Return a drawn group in which somebody says without a signature to have each message that was sent."""
    group = drawn(10_000)
    last = {row.node: row.seq for row in group.journal}
    for row in [row for row in group.journal if row.event == "sent"]:
        last[row.node] += 1
        group.journal.append(row._replace(seq=last[row.node], event="unproven", peer="another make", cause="mention"))
    return group
