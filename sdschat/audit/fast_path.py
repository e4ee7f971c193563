"""Fast reading of a sound database, by column: what an audit needs, without an object for each row.

A damaged or unusual database gives no result here: `sources.databases` reads it, and describes what is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress

from sdschat.audit.node_evidence import MOMENTS, AuditEvidence, ChannelJournal, Held, NodeEvidence, note
from sdschat.audit.schemas import AuditJournal, Node, Presence
from sdschat.audit.sources.columnar import Columnar, IdLists, JournalSpan, LogSums, Packets, Unsound
from sdschat.audit.sources.databases import SEQ_MASK, Reading, declared_rows, node_row
from sdschat.store.errors import UNREADABLE, StoreError


def read_fast(readings: Iterable[Reading]) -> Iterator[AuditEvidence | None]:
    """Read databases, most of which have the same packets and lists. Yield None for one that cannot be read here."""
    packets, lists = Packets(), IdLists()
    for reading in readings:
        try:
            with Columnar(reading.path) as columns:
                found = _all(reading, columns, packets, lists)
        except (StoreError, Unsound, *UNREADABLE):
            yield None
        else:
            yield found


def _all(reading: Reading, columns: Columnar, packets: Packets, lists: IdLists) -> AuditEvidence:
    whose, channels = columns.node(), columns.channels()
    if not whose or "" in channels.values():
        raise Unsound
    told, spans = _told(columns, lists), columns.spans()
    if any(each.shown for number, each in told.items() if number not in channels):
        raise Unsound
    found = AuditEvidence({}, [], [], _summaries(reading, whose, columns, spans), [], columns.has_members())
    for number, channel in channels.items():
        held, sums = _log(columns, number, packets)
        standing = columns.standing(number, sums)
        if standing is None or standing.counted != len(held.versions):
            raise Unsound
        node = node_row(reading, whose, standing, sums.nick, columns.as_of())
        found.nodes.append(node)
        found.declared.extend(declared_rows(reading, columns, whose, channel, number))
        presence = _presence(node, held, [span for span in spans if span.channel == number])
        witness = NodeEvidence(presence, held, told.get(number, ChannelJournal({}, {})))
        found.there[reading.run_id, channel] = [witness]
    return found


def _told(columns: Columnar, lists: IdLists) -> dict[int | None, ChannelJournal]:
    """Return the facts of each channel. Raises ValueError, TypeError or RecursionError for bad dependencies."""
    found: dict[int | None, ChannelJournal] = defaultdict(lambda: ChannelJournal({}, {}))
    for values in columns.journal_columns():
        names = [values[name] for name in ("channel", "place", "event", "message_id")]
        for channel, place, event, message_id, deps in zip(*names, map(lists.__getitem__, values["deps"]), strict=True):
            if event in MOMENTS:
                note(found[channel], place, event, message_id, deps or ())
    return found


def _summaries(reading: Reading, whose: str, columns: Columnar, spans: list[JournalSpan]) -> list[AuditJournal]:
    """Return one summary for each boot. The boots must be in the same order by the clock and in the file."""
    known, boots = columns.boots(), defaultdict[int, list[JournalSpan]](list)
    for span in spans:
        boots[span.boot].append(span)
    names = {number: known[number][1] for number in boots if number in known}
    found = [_summary(reading.run_id, whose, names.get(number, ""), each) for number, each in boots.items()]
    if (
        any(known[number][0] not in ("", whose) for number in names)
        or len({*names.values()}) < len(boots)
        or found != sorted(found, key=lambda row: (row.first_ms, row.boot))
    ):
        raise Unsound
    return sorted(found)


def _log(columns: Columnar, number: int, packets: Packets) -> tuple[Held, LogSums]:
    held, sums = Held({}, {}, set(), {}), LogSums()
    for log in columns.log_columns(number):
        known = packets.known(log)
        ids = [each.message_id for each in known]  # the same string objects for all nodes
        held.versions.update(zip(ids, [each.version for each in known], strict=True))
        held.received.update(zip(ids, log.received, strict=True))
        held.own.update(compress(ids, log.own))
        sums.add(log, known)
    return held, sums


def _presence(node: Node, held: Held, spans: list[JournalSpan]) -> Presence:
    moments = [*held.received.values(), *(span.first_ms for span in spans), *(span.last_ms for span in spans)]
    first, last = (min(moments), max(moments)) if moments else (0, 0)
    return Presence(node.run_id, node.channel, node.node, node.nick, "log", node.horizon, 0, first, last)


def _summary(run_id: str, whose: str, boot: str, spans: list[JournalSpan]) -> AuditJournal:
    first, last = (edge & SEQ_MASK for edge in (min(s.first_place for s in spans), max(s.last_place for s in spans)))
    rows = sum(span.rows for span in spans)
    moments = (min(span.first_ms for span in spans), max(span.last_ms for span in spans))
    return AuditJournal(run_id, whose, boot, first, last, rows, last - first + 1 - rows, *moments)
