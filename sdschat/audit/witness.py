"""The evidence of each node for an audit: its log and its journal, the same from a lake and from databases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from sdschat.audit.conform import DELIVERED, Channel, Member, Silver, member_of
from sdschat.audit.schemas import AuditJournal, Copy, Declared, Journal, Node, Presence
from sdschat.audit.sources.taken_apart import Version

LOST: Final = "lost"
GAP_CLOSED: Final = "gap_closed"
MOMENTS: Final = (DELIVERED, LOST, GAP_CLOSED)  # the events whose order matters


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


_NOTHING_HELD: Final = Held({}, {}, set(), {})
_NOTHING_TOLD: Final = ChannelJournal({}, {})


class Witness(NamedTuple):
    """The evidence of one node in one channel."""

    presence: Presence
    held: Held
    told: ChannelJournal


class Testimony(NamedTuple):
    """All evidence for an audit."""

    there: dict[Channel, list[Witness]]  # in the order of node ids
    nodes: list[Node]
    declared: list[Declared]
    journals: list[AuditJournal]
    apart: list[tuple[Member, str]]  # databases of one node that went different ways


def testimony(silver: Silver) -> Testimony:
    held, told = holdings(silver.copies), journals_say(silver.journal)
    there: dict[Channel, list[Witness]] = defaultdict(list)
    for presence in silver.presences:
        member = member_of(presence)
        has = held.get(member, _NOTHING_HELD)
        there[member[:2]].append(Witness(presence, has, told.get(member, _NOTHING_TOLD)))
    return Testimony(dict(there), silver.nodes, silver.declared, journals(silver.journal), [])


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


def journals_say(journal: Iterable[Journal]) -> dict[Member, ChannelJournal]:
    """Return the journal facts of each node and channel. `journal`: per node in the order of writing."""
    found: dict[Member, ChannelJournal] = {}
    for at, row in enumerate(journal):
        if row.event in MOMENTS:
            told = found.setdefault(member_of(row), ChannelJournal({}, {}))
            note(told, at, row.event, row.message_id, row.deps or ())
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
