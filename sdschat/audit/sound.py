"""Fast reading of a sound database: the data that an audit needs, without an object for each row.

The database is read by column, as in an ingest. A damaged or unusual database gives no result here:
`sdschat.audit.sources.databases` reads it row by row, and describes what is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import compress
from operator import xor
from typing import Any, Final, NamedTuple

from sdschat.audit.schemas import AuditJournal, Declared, Node, Presence
from sdschat.audit.sources.columnar import Columnar, Columns, IdLists, Packets, last_nick, mark_of
from sdschat.audit.sources.databases import SEQ_MASK, UNREADABLE, Reading, declared_rows
from sdschat.audit.witness import DELIVERED, GAP_CLOSED, LOST, ChannelJournal, Held, Witness, note
from sdschat.store.errors import StoreError
from sdschat.store.journal import fingerprint_text
from sdschat.store.journal_writer import JOURNAL_COLUMNS
from sdschat.store.schema import PLACE_BITS


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
        found.nodes.append(node)
        found.declared.extend(declared_rows(reading, columns, whose, channel, number))
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


def _presence(node: Node, held: Held, spans: list[JournalSpan]) -> Presence:
    moments = [*held.received.values(), *(span.first_ms for span in spans), *(span.last_ms for span in spans)]
    first, last = (min(moments), max(moments)) if moments else (0, 0)
    return Presence(node.run_id, node.channel, node.node, node.nick, "log", node.horizon, 0, first, last)


_NAMES: Final = JOURNAL_COLUMNS.split(", ")
_GAPS: Final = frozenset((LOST, GAP_CLOSED))


class JournalSpan(NamedTuple):
    """A part of the journal: the rows of one boot and one channel."""

    boot: int
    channel: int | None
    first_place: int
    last_place: int
    rows: int
    first_ms: int
    last_ms: int


class Journals:
    """A journal, read in batches. Channels and boots are numbers here."""

    def __init__(self, lists: IdLists) -> None:
        self.spans: list[JournalSpan] = []
        self._lists = lists
        self._delivered: dict[int | None, list[tuple[list[str], list[int]]]] = defaultdict(list)
        self._gaps: list[tuple[int | None, int, str, str | None, tuple[str, ...]]] = []

    def take(self, found: Columns) -> None:
        """Add a batch. Raises ValueError, TypeError or RecursionError if dependencies are not a list of ids."""
        values = dict(zip(_NAMES, found, strict=True))
        deps = list(map(self._lists.__getitem__, values["deps"]))
        self.spans += _spans(values)
        events, ids, places, channels = (values[name] for name in ("event", "message_id", "place", "channel"))
        for channel in {*channels}:
            wanted = [
                event == DELIVERED and name is not None and where == channel
                for event, name, where in zip(events, ids, channels, strict=True)
            ]
            self._delivered[channel].append((list(compress(ids, wanted)), list(compress(places, wanted))))
        if not _GAPS.isdisjoint(events):
            rows = zip(channels, places, events, ids, deps, strict=True)
            self._gaps += [(*row[:4], row[4] or ()) for row in rows if row[2] in _GAPS]

    def told(self) -> dict[int | None, ChannelJournal]:
        """Return the facts of each channel."""
        found: dict[int | None, ChannelJournal] = defaultdict(lambda: ChannelJournal({}, {}))
        for channel, parts in self._delivered.items():
            for ids, places in reversed(parts):  # the first delivery counts, so it is added last
                found[channel].shown.update(zip(reversed(ids), reversed(places), strict=True))
        for channel, place, event, message_id, deps in self._gaps:
            note(found[channel], place, event, message_id, deps)
        return found

    def summaries(self, run_id: str, whose: str, names: Mapping[int, str]) -> list[AuditJournal]:
        """Return one summary for each boot, in the order of the file. `names`: boot number -> name."""
        boots: dict[int, list[JournalSpan]] = defaultdict(list)
        for span in self.spans:
            boots[span.boot].append(span)
        return [_summary(run_id, whose, names.get(number, ""), spans) for number, spans in boots.items()]


def _spans(values: Mapping[str, Any]) -> Iterable[JournalSpan]:
    places, channels, moments = values["place"], values["channel"], values["ts_ms"]
    first, last = places[0] >> PLACE_BITS, places[-1] >> PLACE_BITS
    if first == last and channels.count(channels[0]) == len(channels):
        yield JournalSpan(first, channels[0], places[0], places[-1], len(places), min(moments), max(moments))
        return
    parts: dict[tuple[int, int | None], list[tuple[int, int]]] = defaultdict(list)
    for place, channel, moment in zip(places, channels, moments, strict=True):
        parts[place >> PLACE_BITS, channel].append((place, moment))
    for (boot, where), rows in parts.items():
        at = [moment for _, moment in rows]
        yield JournalSpan(boot, where, rows[0][0], rows[-1][0], len(rows), min(at), max(at))


def _summary(run_id: str, whose: str, boot: str, spans: list[JournalSpan]) -> AuditJournal:
    first, last = (edge & SEQ_MASK for edge in (min(s.first_place for s in spans), max(s.last_place for s in spans)))
    rows = sum(span.rows for span in spans)
    moments = (min(span.first_ms for span in spans), max(span.last_ms for span in spans))
    return AuditJournal(run_id, whose, boot, first, last, rows, last - first + 1 - rows, *moments)
