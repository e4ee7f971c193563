"""The evidence of each node for an audit: its log and its journal, the same from a lake and from databases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sdschat.pipeline import rules as words
from sdschat.pipeline.reference.conform import DELIVERED, Channel, Member, Silver, member_of
from sdschat.pipeline.rules import Rules
from sdschat.pipeline.schemas import AuditJournal, Copy, Declared, Journal, Log, Node, Presence
from sdschat.pipeline.sources.taken_apart import Version

LOST: Final = "lost"
GAP_CLOSED: Final = "gap_closed"
MOMENTS: Final = (DELIVERED, LOST, GAP_CLOSED)  # the events whose order matters
_SAID_TO_BE: Final = (("missing", words.LOOKED_FOR), ("held", words.WAITING))


class Held(NamedTuple):
    """The log of a node in one channel, by message id."""

    versions: dict[str, Version]
    received: dict[str, int]
    own: set[str]
    damage: dict[str, str]  # id: description of the damage; a damaged message has a version too


class Told(NamedTuple):
    """The journal of a node for one channel. Times are indices that grow in the order of writing."""

    shown: dict[str, int]  # id: when it was first delivered, or sent
    excused: dict[str, int]  # id: from when on delivery need not wait for it


_NOTHING_HELD: Final = Held({}, {}, set(), {})
_NOTHING_TOLD: Final = Told({}, {})


class Witness(NamedTuple):
    """The evidence of one node in one channel."""

    presence: Presence
    held: Held
    told: Told
    declared: Mapping[str, frozenset[str]]  # kind: ids
    newest: tuple[int, str]  # (Lamport, id) of the last message of its log

    def lacks(self, message: Log, rules: Rules) -> tuple[str, str]:
        """Return why the node lacks this message: the reason, and the known details."""
        message_id, there = message.message_id, self.presence
        if there.origin == "log" and message_id in self.told.shown:
            return words.LOST, words.WAS_SHOWN
        if message_id in self.declared.get("before_join", ()) or message.lamport < there.horizon:
            return words.JOINED_LATER, words.BEFORE
        if message.lamport < there.retained_from:
            return words.RETENTION, words.CUT
        behind = (message.lamport, message_id) > self.newest
        if message.sender == there.node and not (behind and self.ended_before(message, rules)):
            return words.LOST, words.OWN
        if message_id in self.declared.get("lost", ()):
            return words.LOST, words.GIVEN_UP
        if behind and self.ended(message, rules):
            return words.LAGGING, words.ENDED
        for kind, detail in _SAID_TO_BE:
            if message_id in self.declared.get(kind, ()):
                return words.LOST, detail
        return words.LOST, words.UNHEARD

    def ended_before(self, message: Log, rules: Rules) -> bool:
        """True if our copy of the node's log ends before this message was written.

        That is judged by the sender's clock, because a Lamport time is never behind it, and by when others received the
        message.
        """
        return self.presence.last_ms < message.lamport and self.ended(message, rules)

    def ended(self, message: Log, rules: Rules) -> bool:
        """True if the node was not seen for long enough after the message."""
        return self.presence.last_ms < message.first_ms + rules.settle


class Testimony(NamedTuple):
    """All evidence for an audit."""

    there: dict[Channel, list[Witness]]  # in the order of node ids
    nodes: list[Node]
    declared: list[Declared]
    journals: list[AuditJournal]


def testimony(silver: Silver) -> Testimony:
    held, told, says = holdings(silver.copies), journals_say(silver.journal), says_of(silver.declared)
    there: dict[Channel, list[Witness]] = defaultdict(list)
    for presence in silver.presences:
        member = member_of(presence)
        has = held.get(member, _NOTHING_HELD)
        there[member[:2]].append(witness(presence, has, told.get(member, _NOTHING_TOLD), says.get(member, {})))
    return Testimony(dict(there), silver.nodes, silver.declared, journals(silver.journal))


def witness(presence: Presence, held: Held, told: Told, declared: Mapping[str, frozenset[str]]) -> Witness:
    newest = max(((version.lamport, name) for name, version in held.versions.items()), default=(0, ""))
    return Witness(presence, held, told, declared, newest)


def holdings(copies: Iterable[Copy]) -> dict[Member, Held]:
    found: dict[Member, Held] = {}
    for copy in copies:
        held = found.setdefault(member_of(copy), Held({}, {}, set(), {}))
        held.versions[copy.message_id] = Version(copy.lamport, copy.sender, copy.deps, copy.digest)
        held.received[copy.message_id] = copy.received_ms
        if copy.own:
            held.own.add(copy.message_id)
        if copy.damage is not None:
            held.damage[copy.message_id] = copy.damage
    return found


def journals_say(journal: Iterable[Journal]) -> dict[Member, Told]:
    """Return the journal facts of each node and channel. `journal`: per node in the order of writing."""
    found: dict[Member, Told] = {}
    for at, row in enumerate(journal):
        if row.event in MOMENTS:
            told = found.setdefault(member_of(row), Told({}, {}))
            note(told, at, row.event, row.message_id, row.deps or ())
    return found


def note(told: Told, at: int, event: str, message_id: str | None, deps: Iterable[str]) -> None:
    if event == DELIVERED and message_id is not None:
        told.shown.setdefault(message_id, at)
    if event == LOST:
        for name in deps:
            told.excused.setdefault(name, at)
    if event == GAP_CLOSED and message_id is not None:
        told.excused[message_id] = -1  # the gap was declared when it began


def says_of(declared: Iterable[Declared]) -> dict[Member, dict[str, frozenset[str]]]:
    """Return the messages that each node declares missing: kind, and ids."""
    ids: dict[Member, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in declared:
        ids[member_of(row)][row.kind].add(row.message_id)
    return {member: {kind: frozenset(each) for kind, each in kinds.items()} for member, kinds in ids.items()}


def journals(journal: Iterable[Journal]) -> list[AuditJournal]:
    """Return how complete each journal is. A missing row is a lost part of a journal, not a lost message."""
    boots: dict[tuple[str, str, str], list[Journal]] = defaultdict(list)
    for row in journal:
        boots[row.run_id, row.node, row.boot].append(row)
    return [
        AuditJournal(
            *boot,
            first := min(row.seq for row in rows),
            last := max(row.seq for row in rows),
            len(rows),
            last - first + 1 - len(rows),
            min(row.ts_ms for row in rows),
            max(row.ts_ms for row in rows),
        )
        for boot, rows in sorted(boots.items())
    ]
