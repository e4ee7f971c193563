"""Fast reading of a sound database: the data that an audit needs, without an object for each row.

The database is read by column, as in an ingest. A damaged or unusual database gives no result here:
`sdschat.audit.sources.databases` reads it row by row, and describes what is wrong.
"""

from __future__ import annotations

from functools import reduce
from itertools import compress
from operator import xor
from typing import NamedTuple

from sdschat.audit.schemas import AuditJournal, Declared, Node, Presence
from sdschat.audit.sources.columnar import Columnar, last_nick, mark_of
from sdschat.audit.sources.databases import Reading
from sdschat.audit.sources.taken_apart import IdLists, Packets
from sdschat.audit.sources.telling import UNREADABLE
from sdschat.audit.told import Journals, JournalSpan
from sdschat.audit.witness import ChannelJournal, Held, Witness
from sdschat.store.errors import StoreError
from sdschat.store.journal import fingerprint_text


class Sound(NamedTuple):
    """The content of one node's database. `nodes` and `witnesses` have one entry for each channel."""

    whose: str
    nodes: list[Node]
    witnesses: list[Witness]
    declared: list[Declared]
    journals: list[AuditJournal]


class SharedPackets:
    """Decoded packets and id lists, shared by all databases of a group."""

    def __init__(self) -> None:
        self.packets = Packets()
        self.lists = IdLists()


class _Unlike(Exception):
    """The database is not sound, or not of the kind that this module reads."""


class _Log(NamedTuple):
    """The log of one channel."""

    held: Held
    nick: str | None
    fingerprint: int


def read_sound(reading: Reading, memory: SharedPackets) -> Sound | None:
    try:
        with Columnar(reading.path) as columns:
            return _all(reading, columns, memory)
    except (StoreError, _Unlike, *UNREADABLE):
        return None


def _all(reading: Reading, columns: Columnar, memory: SharedPackets) -> Sound:
    whose, channels = columns.node(), columns.channels()
    if not whose or "" in channels.values():
        raise _Unlike
    journals = _journals(columns, memory)
    told = journals.told()
    if any(each.shown for number, each in told.items() if number not in channels):
        raise _Unlike
    found = Sound(whose, [], [], [], _summaries(reading, whose, columns, journals))
    for number, channel in channels.items():
        log = _log(columns, number, memory.packets)
        node = _node(reading, whose, columns, number, channel, log)
        declared = _declared(node, columns, number)
        found.nodes.append(node)
        found.declared.extend(declared)
        presence = _presence(node, log.held, [span for span in journals.spans if span.channel == number])
        found.witnesses.append(Witness(presence, log.held, told.get(number, ChannelJournal({}, {}))))
    return found


def _journals(columns: Columnar, memory: SharedPackets) -> Journals:
    found = Journals(memory.lists)
    for batch in columns.journal_columns():
        if batch is None:
            raise _Unlike
        found.take(batch)
    return found


def _summaries(reading: Reading, whose: str, columns: Columnar, journals: Journals) -> list[AuditJournal]:
    """Return one summary for each boot. The boots must be in the same order by the clock and in the file."""
    boots = columns.boots()
    numbers = {span.boot for span in journals.spans}
    names = {number: boots[number][1] for number in numbers & boots.keys()}
    others = any(boots[number][0] not in ("", whose) for number in names)
    found = journals.summaries(reading.run_id, whose, names)
    if (
        others
        or len({*names.values()}) < len(numbers)
        or found != sorted(found, key=lambda row: (row.first_ms, row.boot))
    ):
        raise _Unlike
    return sorted(found)


def _log(columns: Columnar, number: int, packets: Packets) -> _Log:
    held, nick, fingerprint, count, mark = Held({}, {}, set(), {}), None, 0, 0, 0
    for log in columns.log_columns(number):
        known = None if log is None else packets.known(log)
        if log is None or known is None:
            raise _Unlike
        ids = [each.message_id for each in known]  # the same string objects for all nodes
        held.versions.update(zip(ids, [each.version for each in known], strict=True))
        held.received.update(zip(ids, log.received, strict=True))
        held.own.update(compress(ids, log.own))
        nick = last_nick(log) or nick
        fingerprint = reduce(xor, [each.fingerprint for each in known], fingerprint)
        count += len(ids)
        mark += mark_of(log)
    if count != len(held.versions) or mark != columns.counted(number):
        raise _Unlike
    return _Log(held, nick, fingerprint)


def _node(reading: Reading, whose: str, columns: Columnar, number: int, channel: str, log: _Log) -> Node:
    horizon, claimed, fingerprint = columns.claims(number)
    return Node(
        reading.run_id,
        whose,
        channel,
        columns.as_of(),
        reading.read_ms,
        log.nick,
        horizon,
        claimed,
        fingerprint_text(fingerprint),
        len(log.held.versions),
        fingerprint_text(log.fingerprint),
        str(reading.path),
    )


def _declared(node: Node, columns: Columnar, number: int) -> list[Declared]:
    member = (node.run_id, node.node, node.channel)
    return [
        Declared(*member, told.message_id, told.kind, told.at, node.as_of, node.read_ms)
        for told in columns.declared(number)
    ]


def _presence(node: Node, held: Held, spans: list[JournalSpan]) -> Presence:
    moments = [*held.received.values(), *(span.first_ms for span in spans), *(span.last_ms for span in spans)]
    first, last = (min(moments), max(moments)) if moments else (0, 0)
    return Presence(node.run_id, node.channel, node.node, node.nick, "log", node.horizon, 0, first, last)
