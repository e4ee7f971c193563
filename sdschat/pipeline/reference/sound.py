"""A sound database in few strokes: what an audit asks of it, without an object for each row.

Whole columns are taken at once; packets and texts that other nodes have too are looked at once. A database in which
anything is not as it was written, or that is out of the ordinary, gives nothing here:
`sdschat.pipeline.sources.databases` takes it row by row, and has the words for what is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from typing import Any, Final, NamedTuple

from sdschat.pipeline.reference import checksums
from sdschat.pipeline.reference.conform import DELIVERED
from sdschat.pipeline.reference.packets import Contradiction, Packets
from sdschat.pipeline.reference.witness import GAP_CLOSED, LOST, Held, Told, Witness, note, says_of, witness
from sdschat.pipeline.schemas import AuditJournal, Declared, Node, Presence
from sdschat.pipeline.sources.databases import UNREADABLE, Reading
from sdschat.store.columns import load_ids
from sdschat.store.directory import Tally
from sdschat.store.errors import StoreError, told_plainly
from sdschat.store.evidence import Evidence
from sdschat.store.history import first_place, last_place
from sdschat.store.journal import fingerprint_step, fingerprint_text
from sdschat.store.schema import PLACE_BITS

_SEQ: Final = (1 << PLACE_BITS) - 1
_SHARED: Final = 6  # of these columns are the same at every node
_HELD: Final = (
    "SELECT log.message_id, log.lamport, log.sender_id, log.dependencies, body.raw, text.text, body.sum, log.own, "
    "log.received_at, text.nick FROM log LEFT JOIN body ON body.place = log.place "
    "LEFT JOIN text ON text.place = log.place WHERE log.place BETWEEN ? AND ? ORDER BY log.place"
)
_COUNTED: Final = "SELECT lamport, message_id FROM log WHERE channel = ?"
_SPANS: Final = (
    f"SELECT place >> {PLACE_BITS} AS boot, channel, min(place), max(place), count(*), min(ts_ms), max(ts_ms) "
    "FROM journal GROUP BY boot, channel ORDER BY boot"
)
_SHOWN: Final = (
    "SELECT channel, message_id, place FROM journal "
    f"WHERE event = '{DELIVERED}' AND message_id IS NOT NULL ORDER BY place DESC"
)
_GAPS: Final = (
    "SELECT channel, place, event, message_id, deps FROM journal "
    f"WHERE event IN ('{LOST}', '{GAP_CLOSED}') ORDER BY place"
)


class Sound(NamedTuple):
    """A database of one node. `nodes` and `witnesses`: one for each channel."""

    whose: str
    nodes: list[Node]
    witnesses: list[Witness]
    declared: list[Declared]
    journals: list[AuditJournal]


class Memory:
    """What the databases of a group have in common."""

    def __init__(self) -> None:
        self.packets = Packets()
        self._counted: list[tuple[int, str]] = []
        self._fingerprint = 0

    def fingerprint(self, log: list[tuple[int, str]]) -> int:
        """Most logs are the same as the one before."""
        if log != self._counted:
            self._counted = log
            self._fingerprint = reduce(lambda so_far, place: fingerprint_step(so_far, *place), log, 0)
        return self._fingerprint


class _Unlike(Exception):
    """It is not sound, or not of the kind that is read here."""


class _Span(NamedTuple):
    """A part of the journal: of one boot and one channel."""

    boot: int
    channel: int | None
    first_place: int
    last_place: int
    rows: int
    first_ms: int
    last_ms: int


def read_sound(reading: Reading, memory: Memory) -> Sound | None:
    try:
        columns = _Columns(reading.path)
        with columns, told_plainly(reading.path):
            return columns.all(reading, memory)
    except (StoreError, _Unlike, Contradiction, *UNREADABLE):
        return None


class _Columns(Evidence):
    """Raises _Unlike and Contradiction."""

    def all(self, reading: Reading, memory: Memory) -> Sound:
        whose, names = self.node(), {tally.number for tally in self._tallies.values()}
        if not whose or "" in self._tallies or not checksums.hold(self._rows(checksums.OF_JOURNAL)):
            raise _Unlike
        spans = [_Span(*row) for row in self._rows(_SPANS)]
        found = Sound(whose, [], [], [], self._journals(reading.run_id, whose, spans))
        moments = self._moments(names)
        for tally in sorted(self._tallies.values(), key=lambda tally: tally.name):
            held, nick = self._held(tally.number, memory.packets)
            node = self._node(reading, whose, tally, nick, memory)
            declared = self._declared(node, tally.number)
            found.nodes.append(node)
            found.declared.extend(declared)
            presence = _presence(node, held, [span for span in spans if span.channel == tally.number])
            says = says_of(declared).get((node.run_id, node.channel, whose), {})
            found.witnesses.append(witness(presence, held, moments[tally.number], says))
        return found

    def _rows(self, query: str, *values: int) -> Any:
        return self._connection.execute(query, values)

    def _journals(self, run_id: str, whose: str, spans: list[_Span]) -> list[AuditJournal]:
        """One for each boot, which have to follow each other by the clock as they do in the file."""
        boots: dict[int, list[_Span]] = defaultdict(list)
        for span in spans:
            boots[span.boot].append(span)
        names = [self._boots.get(number, ("?", ""))[1] for number in boots]
        if len(set(names)) < len(names) or any(
            self._boots.get(number, ("?", ""))[0] not in ("", whose) for number in boots
        ):
            raise _Unlike
        found = [_journal(run_id, whose, name, each) for name, each in zip(names, boots.values(), strict=True)]
        if found != sorted(found, key=lambda row: (row.first_ms, row.boot)):
            raise _Unlike
        return sorted(found)

    def _moments(self, numbers: set[int]) -> dict[int, Told]:
        shown: dict[int, dict[str, int]] = defaultdict(dict)
        for number, message_id, place in self._rows(_SHOWN).fetchall():
            shown[number][message_id] = place  # the first delivery is the last here
        if shown.keys() - numbers:
            raise _Unlike
        found = {number: Told(shown[number], {}) for number in numbers}
        for number, place, event, message_id, deps in self._rows(_GAPS):
            if number in found:
                note(found[number], place, event, message_id, () if deps is None else load_ids(deps))
        return found

    def _held(self, number: int, packets: Packets) -> tuple[Held, str | None]:
        """The log of a channel, and the nick of whom it is."""
        places = (first_place(number), last_place(number))
        for query in (checksums.OF_LOG, checksums.OF_TEXTS, checksums.OF_OUTGOING):
            if not checksums.hold(self._rows(query, *places)):
                raise _Unlike
        rows = self._rows(_HELD, *places).fetchall()
        known = [packets[row[:_SHARED]] for row in rows]
        if [each.body for each in known] != [row[6] for row in rows]:
            raise _Unlike
        lacking = [row for row in rows if row[4] is None]
        if lacking:
            kept_from = self._kept_from(number)
            if any(row[7] or row[1] >= kept_from for row in lacking):
                raise _Unlike
        ids = [row[0] for row in rows]
        versions = dict(zip(ids, [each.version for each in known], strict=True))
        own = [row for row in rows if row[7]]
        nick = next((row[9] for row in reversed(own) if row[9]), None)
        return Held(versions, {row[0]: row[8] for row in rows}, {row[0] for row in own}, {}), nick

    def _node(self, reading: Reading, whose: str, tally: Tally, nick: str | None, memory: Memory) -> Node:
        log = self._rows(_COUNTED, tally.number).fetchall()
        return Node(
            reading.run_id, whose, tally.name, self.as_of(), reading.read_ms, nick, self._horizon(tally.number),
            tally.messages, fingerprint_text(tally.fingerprint), len(log), fingerprint_text(memory.fingerprint(log)),
            str(reading.path),
        )  # fmt: skip

    def _declared(self, node: Node, number: int) -> list[Declared]:
        member = (node.run_id, node.node, node.channel)
        return [
            Declared(*member, told.message_id, told.kind, told.at, node.as_of, node.read_ms)
            for told in self.declared(number)
        ]


def _journal(run_id: str, whose: str, boot: str, spans: list[_Span]) -> AuditJournal:
    first, last = (edge & _SEQ for edge in (min(s.first_place for s in spans), max(s.last_place for s in spans)))
    rows = sum(span.rows for span in spans)
    moments = (min(span.first_ms for span in spans), max(span.last_ms for span in spans))
    return AuditJournal(run_id, whose, boot, first, last, rows, last - first + 1 - rows, *moments)


def _presence(node: Node, held: Held, spans: list[_Span]) -> Presence:
    moments = [*held.received.values(), *(span.first_ms for span in spans), *(span.last_ms for span in spans)]
    first, last = (min(moments), max(moments)) if moments else (0, 0)
    return Presence(node.run_id, node.channel, node.node, node.nick, "log", node.horizon, 0, first, last)
