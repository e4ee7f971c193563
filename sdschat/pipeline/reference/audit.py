"""The audit: a check that everybody has everything that they should have, in the same order."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby
from typing import NamedTuple

from sdschat.pipeline import rules as words
from sdschat.pipeline.reference import findings as look
from sdschat.pipeline.reference.conform import Silver
from sdschat.pipeline.reference.missing import extras, missing
from sdschat.pipeline.reference.witness import Testimony, Witness, testimony
from sdschat.pipeline.rules import DEFAULT, Rules
from sdschat.pipeline.schemas import (
    FAULTS,
    AuditChannel,
    AuditFinding,
    AuditJournal,
    AuditMissing,
    AuditNode,
    Log,
    Presence,
)

_NOWHERE: tuple[None, None, None] = (None, None, None)


class Audit(NamedTuple):
    channels: list[AuditChannel]
    nodes: list[AuditNode]
    missing: list[AuditMissing]
    findings: list[AuditFinding]
    journals: list[AuditJournal]

    @property
    def agreed(self) -> bool:
        return all(channel.converged for channel in self.channels)


def audit(silver: Silver, log: list[Log], rules: Rules = DEFAULT) -> Audit:
    return judge(testimony(silver), log, rules)


def judge(said: Testimony, log: list[Log], rules: Rules) -> Audit:
    there = said.there
    extra = extras(log, there, rules)
    lacking = missing(log, there, extra, rules)
    canonical = look.by_id(log, there)
    found = [
        *look.contents(there, canonical),
        *look.orders(there, canonical),
        *look.counts(said.nodes),
        *look.gaps(said.declared, canonical),
        *look.causes(there, canonical),
        *look.clocks(log, there, canonical, rules),
        *(
            look.of_message(canonical[channel].rows[name], node, "extra", None, FAULTS["extra"])
            for channel, name, node in extra
        ),
    ]
    found.sort(key=_in_log_order)
    nodes = _nodes(there, lacking, found)
    return Audit(_channels(nodes, log, lacking, found), nodes, lacking, found, said.journals)


def _in_log_order(row: AuditFinding) -> tuple[str, str, int, str, str, str, str]:
    place = 0 if row.position is None else row.position
    return (row.run_id, row.channel, place, row.node, row.kind, row.message_id or "", row.other or "")


def _nodes(
    there: dict[tuple[str, str], list[Witness]], lacking: list[AuditMissing], found: list[AuditFinding]
) -> list[AuditNode]:
    reasons = Counter((row.run_id, row.channel, row.node, row.reason) for row in lacking)
    faults = Counter((row.run_id, row.channel, row.node) for row in found if row.kind in FAULTS)
    first = _first_places(lacking, found)
    extras_of = Counter((row.run_id, row.channel, row.node) for row in found if row.kind == "extra")
    nodes = []
    for channel, witnesses_there in sorted(there.items()):
        for witness in witnesses_there:
            here: Presence = witness.presence
            member = (*channel, here.node)
            lost, lagging = reasons[(*member, words.LOST)], reasons[(*member, words.LAGGING)]
            excused = reasons[(*member, words.JOINED_LATER)] + reasons[(*member, words.RETENTION)]
            owed = len(witness.held.versions) - extras_of[member] + lost
            position, lamport, message_id = first.get(member) or _NOWHERE
            nodes.append(
                AuditNode(
                    *member,
                    here.nick,
                    len(witness.held.versions),
                    owed,
                    lost,
                    lagging,
                    excused,
                    faults[member],
                    here.first_ms,
                    here.last_ms,
                    position,
                    lamport,
                    message_id,
                    lost == 0 and faults[member] == 0,
                )
            )
    return nodes


def _first_places(
    lacking: list[AuditMissing], found: list[AuditFinding]
) -> dict[tuple[str, str, str], tuple[int, int, str]]:
    """Return the first position at which each node differs from the canonical log."""
    first: dict[tuple[str, str, str], tuple[int, int, str]] = {}

    def note(row: AuditMissing | AuditFinding) -> None:
        if row.position is not None and row.lamport is not None and row.message_id is not None:
            member, place = (row.run_id, row.channel, row.node), (row.position, row.lamport, row.message_id)
            first[member] = min(place, first.get(member, place))

    for row in lacking:
        if row.reason == words.LOST:
            note(row)
    for finding in found:
        if finding.kind in FAULTS:
            note(finding)
    return first


def _channels(
    nodes: list[AuditNode], log: list[Log], lacking: list[AuditMissing], found: list[AuditFinding]
) -> list[AuditChannel]:
    logs: dict[tuple[str, str], list[Log]] = {
        key: list(rows) for key, rows in groupby(log, lambda row: (row.run_id, row.channel))
    }
    members: dict[tuple[str, str], list[AuditNode]] = defaultdict(list)
    for node in nodes:
        members[node.run_id, node.channel].append(node)
    lost = Counter((row.run_id, row.channel) for row in lacking if row.reason == words.LOST)
    all_missing = Counter((row.run_id, row.channel) for row in lacking)
    faults = Counter((row.run_id, row.channel) for row in found if row.kind in FAULTS)
    channels = []
    for key in sorted({*logs, *members}):
        rows = logs.get(key, [])
        newest, running = (rows[-1].lamport, rows[-1].running) if rows else (0, f"{0:032x}")
        channels.append(
            AuditChannel(
                *key,
                len(members[key]),
                len(rows),
                lost[key] == 0 and faults[key] == 0,
                lost[key],
                all_missing[key] - lost[key],
                faults[key],
                newest,
                running,
            )
        )
    return channels
