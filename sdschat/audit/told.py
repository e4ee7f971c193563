"""The journal of a node, read by column: its completeness, and the facts that an audit needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any, Final, NamedTuple

from sdschat.audit.conform import DELIVERED
from sdschat.audit.schemas import AuditJournal
from sdschat.audit.sources.columnar import Columns
from sdschat.audit.sources.taken_apart import IdLists
from sdschat.audit.sources.telling import SEQ_MASK
from sdschat.audit.witness import GAP_CLOSED, LOST, ChannelJournal, note
from sdschat.store.journal_writer import JOURNAL_COLUMNS
from sdschat.store.schema import PLACE_BITS

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
