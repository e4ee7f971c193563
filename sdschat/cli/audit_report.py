"""The result of an audit, of a few databases or of a lake, for people and as JSON; options for a part of it."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from sdschat.audit import verdict
from sdschat.audit.schemas import FAULTS, AuditChannel, AuditFinding, AuditMissing, AuditNode, Quarantine
from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.output import listed, moment, safe
from sdschat.identity.handwritten import nearest
from sdschat.identity.signing import by_name

if TYPE_CHECKING:
    from pathlib import Path

    from sdschat.audit.verdict import Audit


Named = Callable[[str], str]  # returns the shown name of a participant id
Sources = Mapping[tuple[str, str, str], str]  # run, channel and node -> the path of its database
_ALL: Final = "; --all lists them"
_TRIED: Final = 8  # copies of a message to try, until a command can show one


def as_object(found: Audit, quarantine: Iterable[Quarantine]) -> dict[str, Any]:
    """Return the audit as one JSON object. Its names are stable: those of the tables. The counts of a channel are the
    sums of those of its nodes."""
    lagging: Counter[tuple[str, str]] = Counter()
    for node in found.nodes:
        lagging[node.run_id, node.channel] += node.lagging
    tables = {**found._asdict(), "unreadable": quarantine}
    report = {name: [row._asdict() for row in rows] for name, rows in tables.items()}
    for row in report["channels"]:
        row["lagging"] = lagging[row["run_id"], row["channel"]]
        row["excused"] -= row["lagging"]
    return {"agreed": found.agreed, "verdict": verdict.sentence(found.channels), **report}


def lines(found: Audit, most: int | None) -> Iterator[str]:
    """Describe the audit: first the verdict, then at most `most` rows of each list, those that differ first."""
    named = naming(found.nodes)
    if len(found.channels) != 1:
        yield safe(verdict.sentence(found.channels))
        yield ""
    of = verdict.by_channel(found)
    shown = found.channels
    if most is not None and len(shown) > most:
        shown = [row for row in shown if not row.converged][:most]
    for channel in shown:
        yield from _channel_lines(channel, of(channel), named, most)
    yield from _other_channels(found.channels, shown)
    yield from _cut(list(_journal_lines(found, named)), most)


def naming(nodes: Iterable[AuditNode]) -> Named:
    name = verdict.names_of(nodes)
    return lambda participant: safe(name(participant))


def _other_channels(channels: Sequence[AuditChannel], shown: Sequence[AuditChannel]) -> Iterator[str]:
    more = "more " if shown else ""
    agree = sum(row.converged for row in channels) - sum(row.converged for row in shown)
    differ = len(channels) - len(shown) - agree
    if differ:
        yield f"… in {verdict.counted(differ, f'{more}channel', f'{more}channels')} they do not agree{_ALL}"
    if agree:
        yield f"… in {verdict.counted(agree, f'{more}channel', f'{more}channels')} everybody agrees{_ALL}"


def _channel_lines(channel: AuditChannel, of: verdict.OfChannel, named: Named, most: int | None) -> Iterator[str]:
    yield safe(verdict.channel_sentence(channel))
    yield from _node_lines(channel.nodes, of, named, most)
    faults = [_finding(row, named) for row in of.findings if row.kind in FAULTS]
    lost = [_missing(row, named) for row in verdict.first_rows(of.missing) if row.reason == verdict.LOST]
    shown = [_finding(row, named) for row in of.findings if row.kind not in FAULTS]
    for heading, rows in (("missing", lost), ("faults", faults), ("declared gaps", shown)):
        if rows:
            yield f"  {heading}:"
            yield from _cut([f"    {row}" for row in rows], most)


def _node_lines(total: int, of: verdict.OfChannel, named: Named, most: int | None) -> Iterator[str]:
    """Describe the nodes, those that differ first. If there are many, nodes without a remark are only counted."""
    findings: dict[str, list[AuditFinding]] = defaultdict(list)
    for row in of.findings:
        findings[row.node].append(row)
    lacking: dict[str, list[AuditMissing]] = defaultdict(list)
    for lacked in of.missing:
        lacking[lacked.node].append(lacked)
    words = {node.node: verdict.node_words(node, findings[node.node], lacking[node.node]) for node in of.nodes}
    shown = sorted(
        of.nodes, key=lambda node: (node.agrees, words[node.node] == verdict.AGREES, by_name(named(node.node)))
    )
    if most is not None and total > most:
        shown = [node for node in shown if words[node.node] != verdict.AGREES][:most]
    if shown:
        width = max([4, *(len(named(node.node)) for node in shown)])
        yield f"  {'NODE':{width}}  MESSAGES  OWED  LACKS  FAULTS  VERDICT"
    for node in shown:
        yield (
            f"  {named(node.node):{width}}  {node.messages:8}  {node.owed:4}  {node.missing:5}  {node.faults:6}  "
            f"{verdict.NO_FAULT if total == 1 and words[node.node] == verdict.AGREES else words[node.node]}"
        )
    more = "more " if shown else ""
    differ = sum(not node.agrees for node in of.nodes) - sum(not node.agrees for node in shown)
    if differ:
        yield f"  … {verdict.counted(differ, f'{more}node does', f'{more}nodes do')} not agree{_ALL}"
    if agree := total - len(shown) - differ:
        yield f"  … {verdict.counted(agree, f'{more}node agrees', f'{more}nodes agree')}{_ALL}"


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


def _journal_lines(audit: Audit, named: Named) -> Iterator[str]:
    """Describe lost parts of journals: missing evidence, not missing messages."""
    for row in audit.journals:
        if row.lost:
            lost = verdict.counted(row.lost, "event is", "events are")
            yield f"  the journal of {named(row.node)} is incomplete: {lost} gone from boot {safe(row.boot[:8])}"


def refused_lines(rows: Iterable[Quarantine], most: int | None) -> Iterator[str]:
    return _cut([f"not read: {refused_where(row)}: {refused_why(row)}" for row in rows], most)


def unsearchable_lines(paths: Iterable[Path], most: int | None) -> Iterator[str]:
    said = "the search index is damaged, on which no message depends; searches there may find too little"
    return _cut([f"{safe(str(path))}: {said}" for path in paths], most)


def refused_where(row: Quarantine) -> str:
    return safe(f"{row.source} {row.place}".strip())


def refused_why(row: Quarantine) -> str:
    return safe(row.reason.removeprefix(f"{row.source} "))


def closer_lines(found: Audit, sources: Sources, most: int | None) -> Iterator[str]:
    """Give the commands that show the first message at which each node differs, if a copy of it exists; each once."""
    asked: dict[str, None] = {}
    elsewhere = ""  # a message in a database that no command finds
    of = verdict.by_channel(found)
    for channel in found.channels:
        part = of(channel)
        lacking = verdict.Lacking(part.missing)
        for node in part.nodes:
            if node.agrees or node.first_id is None or node.first_position is None:
                continue
            from sdschat.audit.report.data import best_look  # slow to import, and seldom needed

            paths = islice(_holders(node, node.first_position, part, lacking, sources), _TRIED)
            best = best_look(paths, node.channel, node.first_id)
            if best is not None:
                asked[f"  {safe(best.text)}"] = None
                if not best.runs:
                    elsewhere = elsewhere or shlex.join([node.channel, node.first_id[:12]])
    if asked:
        yield ""
        yield "To look closer:"
        yield from _cut(list(asked), most)
    if elsewhere:
        yield "  Copy the database to DIR/profiles/NAME/sdschat.db, with its -wal file, if it has one; then:"
        yield f"  sdschat inspect {safe(elsewhere)} --data-dir DIR --profile NAME"


def _holders(
    node: AuditNode, at: int, of: verdict.OfChannel, lacking: verdict.Lacking, sources: Sources
) -> Iterator[str]:
    """Return databases that hold the message at which a node differs: its own; if it lacks the message, the others'."""
    own = not lacking.has(node.node, at)
    for each in [node] if own else of.nodes:
        path = sources.get((each.run_id, each.channel, each.node))
        if path is not None and not lacking.has(each.node, at):
            yield path


def _cut(rows: Sequence[str], most: int | None) -> Iterator[str]:
    yield from rows[:most]
    if most is not None and len(rows) > most:
        yield f"    … {len(rows) - most} more; --all lists them"


SHOWN: Final = 20
_ALIKE: Final = 0.6  # of 1: how like a known name a mistyped one must be

all_option: Final = click.option(
    "--all", "everything", is_flag=True, help=f"List all of it, not only the first {SHOWN} of each."
)
channel_option: Final = click.option("--channel", metavar="CHANNEL", help="The verdict on this channel alone.")


def only(found: Audit, channel: str | None) -> Audit:
    """Return the part of the audit on this channel. Raises CommandProblem if no node knows the channel."""
    if channel is None:
        return found
    nodes = [row for row in found.nodes if row.channel == channel]
    there = {(row.run_id, row.node) for row in nodes}
    part = found._replace(
        channels=[row for row in found.channels if row.channel == channel],
        nodes=nodes,
        missing=[row for row in found.missing if row.channel == channel],
        findings=[row for row in found.findings if row.channel == channel],
        journals=[row for row in found.journals if (row.run_id, row.node) in there],
    )
    if not part.channels:
        raise nothing_called("channel", channel, (row.channel for row in found.channels))
    return part


def full_channel(channel: str, there_are: Iterable[str]) -> str:
    """Return the only private channel that somebody calls by its name alone, or the name as it is."""
    from sdschat.node.private.record import base_name

    names = set(there_are)
    private = [name for name in names if base_name(name) == channel]
    return private[0] if len(private) == 1 and channel not in names else channel


def nothing_called(what: str, name: str, there_are: Iterable[str]) -> CommandProblem:
    """Return the error for an unknown name. It suggests a similar name, or lists the names that exist."""
    names = sorted(set(there_are), key=by_name)
    near = nearest(name, names, _ALIKE)
    if near:
        hint = f"Did you mean {safe(near)}?"
    else:
        hint = f"There are: {listed(names)}." if names else "There is none at all."
    return CommandProblem(f"There is no {what} {safe(name)!r} here. {hint}", WRONG_USE)
