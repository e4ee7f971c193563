"""All other findings of an audit: contents, order, counts, causes, clocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from sdschat.pipeline.reference.conform import Channel
from sdschat.pipeline.reference.witness import Held, Witness
from sdschat.pipeline.rules import MAX_LAMPORT, Rules
from sdschat.pipeline.schemas import AuditFinding, Declared, Log, Node
from sdschat.pipeline.sources.taken_apart import Version

_FAR: Final = 1 << 80  # later than any time


class Canon(NamedTuple):
    """The canonical log of a channel, by message id."""

    rows: dict[str, Log]
    versions: dict[str, Version]


Canonical = Mapping[Channel, Canon]


def by_id(log: Iterable[Log], channels: Iterable[Channel]) -> Canonical:
    found: dict[Channel, Canon] = {channel: Canon({}, {}) for channel in channels}
    for row in log:
        rows, versions = found[row.run_id, row.channel]
        rows[row.message_id] = row
        versions[row.message_id] = Version(row.lamport, row.sender, row.deps, row.digest)
    return found


def of_message(row: Log, node: str, kind: str, other: str | None, detail: str) -> AuditFinding:
    return AuditFinding(row.run_id, row.channel, node, kind, row.position, row.lamport, row.message_id, other, detail)


def contents(there: Mapping[Channel, list[Witness]], canonical: Canonical) -> Iterator[AuditFinding]:
    """Find altered rows, and ids with two contents."""
    for channel, witnesses in there.items():
        canon = canonical[channel]
        for witness in witnesses:
            damage, node = witness.held.damage, witness.presence.node
            for name, detail in damage.items():
                yield of_message(canon.rows[name], node, "altered", None, detail)
            for name in other_versions(witness.held, canon):
                if name not in damage and (detail := differing(witness.held.versions[name], canon.versions[name])):
                    yield of_message(canon.rows[name], node, "content", None, detail)


def other_versions(held: Held, canon: Canon) -> list[str]:
    """Return the ids whose version in this node differs from the canonical log."""
    known = canon.versions
    return [name for name, version in held.versions.items() if version != known[name]]


def differing(ours: Version, theirs: Version) -> str:
    found = []
    if ours.lamport != theirs.lamport:
        found.append(f"Lamport time {ours.lamport}, elsewhere {theirs.lamport}")
    if ours.sender != theirs.sender:
        found.append(f"sender {ours.sender}, elsewhere {theirs.sender}")
    if ours.deps != theirs.deps:
        found.append("other dependencies than elsewhere")
    if ours.digest and theirs.digest and ours.digest != theirs.digest:
        found.append("another content than elsewhere")
    return "; ".join(found)


def orders(there: Mapping[Channel, list[Witness]], canonical: Canonical) -> Iterator[AuditFinding]:
    """Find the first position at which a log has its messages in another order than the canonical log."""
    for channel, witnesses in there.items():
        canon = canonical[channel]
        for witness in witnesses:
            had, rows = witness.held.versions, canon.rows
            if all(had[name].lamport == rows[name].lamport for name in other_versions(witness.held, canon)):
                continue
            ours = sorted(had, key=lambda name: (had[name].lamport, name))
            theirs = sorted(had, key=lambda name: (rows[name].lamport, name))
            for mine, other in zip(ours, theirs, strict=True):
                if mine != other:
                    row = rows[other]._replace(message_id=mine)
                    yield of_message(row, witness.presence.node, "order", other, "another message stands here")
                    break


def counts(nodes: Iterable[Node]) -> Iterator[AuditFinding]:
    for node in nodes:
        if (node.claimed, node.claimed_fingerprint) != (node.counted, node.counted_fingerprint):
            claimed = f"{node.claimed} {'message' if node.claimed == 1 else 'messages'}"
            detail = f"its own count says {claimed}, {node.counted} {'is' if node.counted == 1 else 'are'} there"
            if node.claimed == node.counted:
                detail = f"{claimed}, as its own count says, but not the same"
            yield AuditFinding(node.run_id, node.channel, node.node, "count", None, None, None, None, detail)


def gaps(declared: Iterable[Declared], canonical: Canonical) -> Iterator[AuditFinding]:
    for row in declared:
        if row.kind == "lost":
            canon = canonical.get((row.run_id, row.channel))
            known = canon and canon.rows.get(row.message_id)
            yield AuditFinding(
                row.run_id,
                row.channel,
                row.node,
                "gap",
                known and known.position,
                known and known.lamport,
                row.message_id,
                None,
                "given up; others have it" if known else "given up; nobody here has it",
            )


def causes(there: Mapping[Channel, list[Witness]], canonical: Canonical) -> Iterator[AuditFinding]:
    """Find messages shown before one of their dependencies, although the node did not declare that one missing."""
    for channel, witnesses in there.items():
        rows = canonical[channel].rows
        needs = [
            (name, dependency, rows[dependency].lamport)
            for name, row in rows.items()
            for dependency in row.deps
            if dependency in rows
        ]
        for witness in witnesses:
            (shown, excused), horizon = witness.told, witness.presence.horizon
            for name, dependency, lamport in needs:
                if shown.get(dependency, -1) <= (at := shown.get(name, _FAR)):
                    continue
                if lamport >= horizon and excused.get(dependency, at + 1) > at:
                    node = witness.presence.node
                    yield of_message(rows[name], node, "causal", dependency, "shown before what it depends on")


def clocks(
    log: Iterable[Log], there: Mapping[Channel, list[Witness]], canonical: Canonical, rules: Rules
) -> Iterator[AuditFinding]:
    same: dict[tuple[str, str, str, int], str] = {}
    for row in log:
        if not 0 < row.lamport <= MAX_LAMPORT:
            yield of_message(row, row.sender, "clock", None, "its Lamport time is out of bounds")
        for dependency in row.deps:
            known = canonical[row.run_id, row.channel].versions.get(dependency)
            if known is not None and known.lamport >= row.lamport:
                yield of_message(row, row.sender, "clock", dependency, "not dated after what it depends on")
        first = same.setdefault((row.run_id, row.channel, row.sender, row.lamport), row.message_id)
        if first != row.message_id:
            yield of_message(row, row.sender, "clock", first, "its sender gave this time to another message too")
    for channel, witnesses in there.items():
        for witness in witnesses:
            for name in _early(witness.held, rules.max_skew):
                yield of_message(
                    canonical[channel].rows[name], witness.presence.node, "clock", None, "taken before its time"
                )


def _early(held: Held, max_skew: int) -> list[str]:
    """Return the messages that a node accepted from others although their Lamport time was too far in the future."""
    versions, own, damage = held.versions, held.own, held.damage
    ahead = [name for name, at in held.received.items() if versions[name].lamport > at + max_skew]
    return [name for name in ahead if name not in own and name not in damage]
