"""What else is not as it was promised: contents, order, counts, causes, clocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sdschat.pipeline.reference.conform import DELIVERED, Channel, Silver
from sdschat.pipeline.reference.missing import Witness
from sdschat.pipeline.rules import MAX_LAMPORT, Rules
from sdschat.pipeline.schemas import AuditFinding, Copy, Declared, Journal, Log, Node

Canonical = Mapping[tuple[str, str, str], Log]  # run_id, channel, message_id


def by_id(log: Iterable[Log]) -> dict[tuple[str, str, str], Log]:
    return {(row.run_id, row.channel, row.message_id): row for row in log}


def of_message(row: Log, node: str, kind: str, other: str | None, detail: str) -> AuditFinding:
    return AuditFinding(row.run_id, row.channel, node, kind, row.position, row.lamport, row.message_id, other, detail)


def contents(copies: Iterable[Copy], canonical: Canonical) -> Iterator[AuditFinding]:
    """Rows that are not as they were written, and ids with two contents."""
    for copy in copies:
        row = canonical[copy.run_id, copy.channel, copy.message_id]
        if copy.damage is not None:
            yield of_message(row, copy.node, "altered", None, copy.damage)
        elif detail := differing(copy, row):
            yield of_message(row, copy.node, "content", None, detail)


def differing(copy: Copy, row: Log) -> str:
    found = []
    if copy.lamport != row.lamport:
        found.append(f"Lamport time {copy.lamport}, elsewhere {row.lamport}")
    if copy.sender != row.sender:
        found.append(f"sender {copy.sender}, elsewhere {row.sender}")
    if copy.deps != row.deps:
        found.append("other dependencies than elsewhere")
    if copy.digest and row.digest and copy.digest != row.digest:
        found.append("another content than elsewhere")
    return "; ".join(found)


def orders(there: Mapping[Channel, list[Witness]], canonical: Canonical) -> Iterator[AuditFinding]:
    """The first place at which a node's log has another message than the canonical log, of those it has."""
    for (run_id, channel), witnesses in there.items():
        for witness in witnesses:
            rows = {name: canonical[run_id, channel, name] for name in witness.copies}
            if all(copy.lamport == rows[name].lamport for name, copy in witness.copies.items()):
                continue
            ours = sorted(witness.copies, key=lambda name: (witness.copies[name].lamport, name))
            theirs = sorted(rows, key=lambda name: (rows[name].lamport, name))
            for mine, other in zip(ours, theirs, strict=True):
                if mine != other:
                    row = rows[other]._replace(message_id=mine)
                    yield of_message(row, witness.presence.node, "order", other, "another message stands here")
                    break


def counts(nodes: Iterable[Node]) -> Iterator[AuditFinding]:
    for node in nodes:
        if (node.claimed, node.claimed_fingerprint) != (node.counted, node.counted_fingerprint):
            detail = f"its own count says {node.claimed} messages, {node.counted} are there"
            if node.claimed == node.counted:
                detail = f"{node.counted} messages, as its own count says, but not the same ones"
            yield AuditFinding(node.run_id, node.channel, node.node, "count", None, None, None, None, detail)


def gaps(declared: Iterable[Declared], canonical: Canonical) -> Iterator[AuditFinding]:
    for row in declared:
        if row.kind == "lost":
            known = canonical.get((row.run_id, row.channel, row.message_id))
            yield AuditFinding(
                row.run_id, row.channel, row.node, "gap", known and known.position, known and known.lamport,
                row.message_id, None, "given up; others have it" if known else "given up; nobody here has it",
            )  # fmt: skip


def causes(silver: Silver, canonical: Canonical) -> Iterator[AuditFinding]:
    """Messages that were shown before one that they depend on, without the node having said that it is missing."""
    horizons = {(row.run_id, row.channel, row.node): row.horizon for row in silver.presences}
    journals: dict[tuple[str, str, str], list[Journal]] = defaultdict(list)
    for row in silver.journal:
        if row.event in (DELIVERED, "lost", "gap_closed"):
            journals[row.run_id, row.channel, row.node].append(row)
    for member, rows in journals.items():
        shown_at, excused_at = _moments(rows)
        for name, at in shown_at.items():
            message = canonical.get((*member[:2], name))
            for dependency in message.deps if message is not None else ():
                known = canonical.get((*member[:2], dependency))
                if message is None or known is None or known.lamport < horizons.get(member, 0):
                    continue
                if shown_at.get(dependency, -1) > at and excused_at.get(dependency, at + 1) > at:
                    yield of_message(message, member[2], "causal", dependency, "shown before what it depends on")


def _moments(rows: list[Journal]) -> tuple[dict[str, int], dict[str, int]]:
    """Where in its journal a node first showed a message, and from where on it need not be waited for."""
    shown: dict[str, int] = {}
    excused: dict[str, int] = {}
    for at, row in enumerate(rows):
        if row.event == DELIVERED and row.message_id is not None:
            shown.setdefault(row.message_id, at)
        if row.event == "lost" and row.deps is not None:
            for name in row.deps:
                excused.setdefault(name, at)
        if row.event == "gap_closed" and row.message_id is not None:
            excused[row.message_id] = -1  # that there was a gap was said when it came about
    return shown, excused


def clocks(log: Iterable[Log], copies: Iterable[Copy], canonical: Canonical, rules: Rules) -> Iterator[AuditFinding]:
    same: dict[tuple[str, str, str, int], str] = {}
    for row in log:
        if not 0 < row.lamport <= MAX_LAMPORT:
            yield of_message(row, row.sender, "clock", None, "its Lamport time is out of bounds")
        for dependency in row.deps:
            known = canonical.get((row.run_id, row.channel, dependency))
            if known is not None and known.lamport >= row.lamport:
                yield of_message(row, row.sender, "clock", dependency, "not dated after what it depends on")
        first = same.setdefault((row.run_id, row.channel, row.sender, row.lamport), row.message_id)
        if first != row.message_id:
            yield of_message(row, row.sender, "clock", first, "its sender gave this time to another message too")
    for copy in copies:
        if not copy.own and copy.damage is None and copy.lamport > copy.received_ms + rules.max_skew:
            row = canonical[copy.run_id, copy.channel, copy.message_id]
            yield of_message(row, copy.node, "clock", None, "taken before its time")
