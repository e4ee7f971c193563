"""The evidence of each node for an audit: its log and its journal.

Bronze has all rows read from the databases that count, silver each event once, and what each node has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.audit.schemas import AuditJournal, Declared, Journal, Message, Node, Presence, Quarantine
from sdschat.audit.sources.databases import Row
from sdschat.audit.sources.packets import Version
from sdschat.audit.verdict import DEFAULT, Rules
from sdschat.identity.signing import sender_id_of
from sdschat.store.schema import PLACE_BITS

if TYPE_CHECKING:
    from sdschat.identity.private.roster import Position, Roster

DELIVERED, LOST, GAP_CLOSED = MOMENTS = "delivered", "lost", "gap_closed"  # the events whose order matters


@dataclass(slots=True)
class BronzeRows:
    """The bronze tables. An event may be in several databases of a node."""

    journal: list[Journal] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    declared: list[Declared] = field(default_factory=list)
    quarantine: list[Quarantine] = field(default_factory=list)

    def add(self, rows: Iterable[Row]) -> None:
        of: dict[type, list[Any]] = {
            Journal: self.journal,
            Message: self.messages,
            Node: self.nodes,
            Declared: self.declared,
            Quarantine: self.quarantine,
        }
        for row in rows:
            of[type(row)].append(row)


Member = tuple[str, str, str]  # run_id, channel, node


class Held(NamedTuple):
    """The log of a node in one channel, by message id."""

    versions: dict[str, Version]
    received: dict[str, int]
    own: set[str]
    damage: dict[str, str]  # id: description of the damage; a damaged message has a version too


class ChannelJournal(NamedTuple):
    """The journal of a node for one channel. Times are indices that grow in the order of writing."""

    shown: dict[str, int]  # id: when it was first delivered, or sent
    excused: dict[str, int]  # id: from when on delivery need not wait for it


_NOTHING: Final = Held({}, {}, set(), {})


class AuditEvidence(NamedTuple):
    """The evidence for an audit: all of it, or that of one database. Silver, in words of a lake."""

    presences: list[Presence]  # in the order of runs, channels and nodes
    held: dict[Member, Held]
    told: dict[Member, ChannelJournal]
    declared: list[Declared]
    nodes: list[Node]
    journals: list[AuditJournal]
    apart: list[tuple[Member, str]]  # databases of one node that went different ways
    # Of what was read row by row; the journal of each node in the order of writing.
    journal: list[Journal]
    messages: list[Message]
    members: bool = True  # False: there are certainly no members' channels

    def held_by(self, presence: Presence) -> Held:
        return self.held.get(member_of(presence), _NOTHING)


def conform(taken: BronzeRows, rules: Rules = DEFAULT) -> AuditEvidence:
    journal, nodes = in_order(taken.journal), taken.nodes
    held = _held(taken.messages, journal, {member_of(row) for row in nodes})
    there, told = presences(nodes, journal, held, rules), journals_say(journal)
    declared = sorted(set(taken.declared))
    return AuditEvidence(there, held, told, declared, nodes, journals(journal), [], journal, taken.messages)


def together(parts: Iterable[AuditEvidence]) -> AuditEvidence:
    """Join the evidence of different nodes."""
    whole = AuditEvidence([], {}, {}, [], [], [], [], [], [])
    for part in parts:
        whole.presences.extend(part.presences)
        whole.held.update(part.held)
        whole.told.update(part.told)
        whole.declared.extend(part.declared)
        whole.nodes.extend(part.nodes)
        whole.journals.extend(part.journals)
        whole.journal.extend(part.journal)
        whole.messages.extend(part.messages)
    whole.presences.sort(key=member_of)
    whole.journals.sort()
    return whole._replace(declared=sorted(set(whole.declared)))


def in_order(rows: Iterable[Journal]) -> list[Journal]:
    """Return each event once. The boots of a node follow each other by their beginning."""
    once: dict[tuple[str, str, str, int], Journal] = {}
    began: dict[tuple[str, str, str], int] = {}
    for row in rows:
        once.setdefault((row.run_id, row.node, row.boot, row.seq), row)
    for row in once.values():
        boot = (row.run_id, row.node, row.boot)
        began[boot] = min(row.ts_ms, began.get(boot, row.ts_ms))
    return sorted(
        once.values(), key=lambda row: (row.run_id, row.node, began[row.run_id, row.node, row.boot], row.boot, row.seq)
    )


def member_of(row: Presence | Message | Node | Declared | Journal) -> Member:
    return (row.run_id, row.channel, row.node)


def _held(messages: list[Message], journal: list[Journal], logged: set[Member]) -> dict[Member, Held]:
    """Return what each node has: its log, or the deliveries in its journal where no log was read to its end."""
    found: dict[Member, Held] = defaultdict(lambda: Held({}, {}, set(), {}))
    for row in messages:
        if member_of(row) in logged:
            held, name = found[member_of(row)], row.message_id
            held.versions[name] = Version(row.lamport, row.sender, row.deps, row.digest)
            held.received[name] = row.received_ms
            if row.own:
                held.own.add(name)
            if row.damage is not None:
                held.damage[name] = row.damage
    for told in journal:
        if told.event == DELIVERED and told.message_id is not None and member_of(told) not in logged:
            held, name = found[member_of(told)], told.message_id
            if name not in held.versions:
                held.versions[name] = Version(told.lamport or 0, told.sender or "", told.deps or (), "")
                held.received[name] = told.ts_ms
                if told.sender == told.node:
                    held.own.add(name)
    return dict(found)


def presences(nodes: list[Node], journal: list[Journal], held: dict[Member, Held], rules: Rules) -> list[Presence]:
    """Return a presence for each channel that the database or the journal of a node names."""
    seen: dict[Member, tuple[int, int]] = {}
    for member, at in [
        *((member_of(row), row.ts_ms) for row in journal if row.channel),
        *((member, at) for member, one in held.items() for at in one.received.values()),
    ]:
        first, last = seen.get(member, (at, at))
        seen[member] = (min(first, at), max(last, at))
    logs = {member_of(row): row for row in nodes}
    starts: dict[tuple[str, str], Journal] = {}
    for row in journal:
        starts.setdefault((row.run_id, row.node), row)
    found = []
    for member in sorted({*seen, *logs}):
        first, last = seen.get(member, (0, 0))
        node = logs.get(member)
        if node is not None:
            found.append(Presence(*member, node.nick, "log", node.horizon, 0, first, last))
        else:
            start = starts[member[0], member[2]]
            cut = start.ts_ms if start.seq > 1 else 0  # the beginning of this journal is missing
            found.append(Presence(*member, None, "journal", first - rules.max_skew, cut, first, last))
    return found


def journals_say(journal: Iterable[Journal]) -> dict[Member, ChannelJournal]:
    """Return what the journals say of each node and channel. `journal`: per node in the order of writing."""
    found: dict[Member, ChannelJournal] = {}
    boots: dict[tuple[str, str, str], int] = {}
    for row in journal:
        boot = boots.setdefault((row.run_id, row.node, row.boot), len(boots))
        if row.event in MOMENTS:
            told = found.setdefault(member_of(row), ChannelJournal({}, {}))
            note(told, (boot << PLACE_BITS) + row.seq, row.event, row.message_id, row.deps or ())
    return found


def note(told: ChannelJournal, at: int, event: str, message_id: str | None, deps: Iterable[str]) -> None:
    if event == DELIVERED and message_id is not None:
        told.shown.setdefault(message_id, at)
    if event == LOST:
        for name in deps:
            told.excused.setdefault(name, at)
    if event == GAP_CLOSED and message_id is not None:
        told.excused[message_id] = -1  # the gap was declared when it began


def journals(journal: Iterable[Journal]) -> list[AuditJournal]:
    """Return how complete each journal is. A missing row is a lost part of a journal, not a lost message."""
    boots: dict[tuple[str, str, str], list[Journal]] = defaultdict(list)
    for row in journal:
        boots[row.run_id, row.node, row.boot].append(row)
    found = []
    for boot, rows in sorted(boots.items()):
        numbers, moments = [row.seq for row in rows], [row.ts_ms for row in rows]
        first, last, count = min(numbers), max(numbers), len(rows)
        found.append(AuditJournal(*boot, first, last, count, last - first + 1 - count, min(moments), max(moments)))
    return found


NO_MEMBER = "no_member"


def with_nonmembers(said: AuditEvidence, found: Mapping[str, Roster]) -> AuditEvidence:
    """Add to what the nodes declare what they need not have, for they or the authors were no members."""
    excused = [row for channel, roster in found.items() for row in _excused(said, channel, roster)]
    return said._replace(declared=sorted({*said.declared, *excused}))


def _excused(said: AuditEvidence, channel: str, roster: Roster) -> Iterator[Declared]:
    members = {sender_id_of(key) for key in roster.members}
    left = {sender_id_of(key): changes[-1].position for key, changes in roster.changes.items() if changes}

    def outside(participant: str, position: Position) -> bool:
        return participant not in members and position >= left.get(participant, (0, ""))

    witnesses = [row for row in said.presences if row.channel == channel]
    log = {key: version for row in witnesses for key, version in said.held_by(row).versions.items()}
    for row in witnesses:
        has, node = said.held_by(row).versions, row.node
        for message_id, version in log.items():
            position = (version.lamport, message_id)
            if message_id in has:
                continue
            if outside(node, position) or (version.sender != node and outside(version.sender, position)):
                yield Declared(row.run_id, node, channel, message_id, NO_MEMBER, version.lamport, 0, 0)
