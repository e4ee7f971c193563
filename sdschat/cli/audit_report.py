"""What an audit found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sdschat.cli.text import moment, safe
from sdschat.pipeline.rules import LOST
from sdschat.pipeline.schemas import (
    FAULTS,
    AuditChannel,
    AuditFinding,
    AuditMissing,
    AuditNode,
    Quarantine,
)
from sdschat.pipeline.verdict import channel_sentence, counted, first_rows, node_words, sentence

if TYPE_CHECKING:
    from sdschat.pipeline.compare import Comparison
    from sdschat.pipeline.reference.audit import Audit

Named = Callable[[str], str]  # a participant's id, as it is shown


def as_object(found: Audit, quarantine: Iterable[Quarantine]) -> dict[str, Any]:
    """Stable names: those of the tables."""
    return {
        "agreed": found.agreed,
        "verdict": sentence(found.channels),
        "channels": [row._asdict() for row in found.channels],
        "nodes": [row._asdict() for row in found.nodes],
        "missing": [row._asdict() for row in found.missing],
        "findings": [row._asdict() for row in found.findings],
        "journals": [row._asdict() for row in found.journals],
        "unreadable": [row._asdict() for row in quarantine],
    }


def lines(found: Comparison, most: int | None) -> Iterator[str]:
    """`most` rows of each list; the verdict comes first, the commands to look closer last."""
    audit, named = found.audit, naming(found.audit.nodes)
    if len(audit.channels) != 1:
        yield safe(sentence(audit.channels))
        yield ""
    for channel in audit.channels:
        yield from channel_lines(channel, audit, named, most)
    yield from journal_lines(audit, named)
    yield from _cut(
        [f"not read: {safe(row.source)} {safe(row.place)}: {safe(row.reason)}" for row in found.quarantine], most
    )
    yield from _look_closer(found)


def naming(nodes: Iterable[AuditNode]) -> Named:
    """Nicks, where a node has one and no other has the same; ids in brackets otherwise."""
    nicks = {node.node: node.nick for node in nodes if node.nick}
    every = list(nicks.values())

    def named(node: str) -> str:
        nick = nicks.get(node)
        return safe(nick) if nick and every.count(nick) == 1 else f"<{safe(node[:8])}>"

    return named


def channel_lines(channel: AuditChannel, audit: Audit, named: Named, most: int | None) -> Iterator[str]:
    key = (channel.run_id, channel.channel)
    nodes = [node for node in audit.nodes if (node.run_id, node.channel) == key]
    lacking = [row for row in audit.missing if (row.run_id, row.channel) == key]
    found = [row for row in audit.findings if (row.run_id, row.channel) == key]
    yield safe(channel_sentence(channel))
    width = max([4, *(len(named(node.node)) for node in nodes)])
    yield f"  {'NODE':{width}}  MESSAGES  OWED  LACKS  FAULTS  VERDICT"
    for node in sorted(nodes, key=lambda node: (node.agrees, named(node.node))):
        yield (
            f"  {named(node.node):{width}}  {node.messages:8}  {node.owed:4}  {node.missing:5}  {node.faults:6}  "
            f"{node_words(node, lacking, found)}"
        )
    faults = [_finding(row, named) for row in found if row.kind in FAULTS]
    lost = [_missing(row, named) for row in first_rows(lacking) if row.reason == LOST]
    told = [_finding(row, named) for row in found if row.kind not in FAULTS]
    for heading, rows in (("missing", lost), ("faults", faults), ("declared gaps", told)):
        if rows:
            yield f"  {heading}:"
            yield from _cut([f"    {row}" for row in rows], most)


def _place(position: int | None, lamport: int | None) -> str:
    return "an unknown place" if position is None else f"place {position} ({moment(lamport or 0)})"


def _missing(row: AuditMissing, named: Named) -> str:
    where = _place(row.position, row.lamport)
    return f"{named(row.node)} lacks {safe(row.message_id[:12])} of {named(row.sender)} at {where}: {row.detail}"


def _finding(row: AuditFinding, named: Named) -> str:
    if row.message_id is None:
        return f"{named(row.node)} {row.kind}: {safe(row.detail)}"
    other = "" if row.other is None else f" ({safe(row.other[:12])})"
    where = _place(row.position, row.lamport)
    return f"{named(row.node)} {row.kind} {safe(row.message_id[:12])} at {where}: {safe(row.detail)}{other}"


def journal_lines(audit: Audit, named: Named) -> Iterator[str]:
    """Lost parts of journals: evidence that is gone, not messages."""
    for row in audit.journals:
        if row.lost:
            lost = counted(row.lost, "event is", "events are")
            yield f"  the journal of {named(row.node)} is incomplete: {lost} gone from boot {safe(row.boot[:8])}"


def _look_closer(found: Comparison) -> Iterator[str]:
    """The first message of each node that differs, where there is a copy of it; each once."""
    from sdschat.pipeline.report.commands import look  # seldom needed

    asked: list[str] = []
    for node in found.audit.nodes:
        if node.agrees or node.first_id is None:
            continue
        holders = [each for each in dict.fromkeys((node.node, *found.paths)) if _holds(found, node, each)]
        looks = [look(str(found.paths[each]), node.channel, node.first_id) for each in holders if each in found.paths]
        if looks:
            asked.append(f"  {safe(next((each for each in looks if each.runs), looks[0]).text)}")
    if asked:
        yield ""
        yield "To look closer:"
        yield from dict.fromkeys(asked)


def _holds(found: Comparison, node: AuditNode, holder: str) -> bool:
    """Whether somebody has the message at which a node first differs."""
    there = found.there[node.run_id, node.channel]
    return any(each.presence.node == holder and node.first_id in each.held.versions for each in there)


def _cut(rows: Sequence[str], most: int | None) -> Iterator[str]:
    yield from rows[:most]
    if most is not None and len(rows) > most:
        yield f"    … {len(rows) - most} more; --all lists them"
