"""A comparison of a few databases without Spark.

A sound database is read by column: what an audit needs, without an object for each row. A damaged or unusual one gives
no result there: `sources.databases` reads it, and describes what is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat.audit import node_evidence
from sdschat.audit.engine import judge
from sdschat.audit.node_evidence import AuditEvidence, ChannelJournal, Held, Member
from sdschat.audit.processes import processors, side_by_side, size_of
from sdschat.audit.schemas import AuditJournal, Node, Presence, Quarantine
from sdschat.audit.several import logs_that_count, refuse_contradictions, search_is_damaged, went_apart
from sdschat.audit.sources import databases
from sdschat.audit.sources.columnar import NOT_SOUND, Columnar, JournalSpan, LogSums, Unsound, known_of
from sdschat.audit.sources.databases import Reading, Row, read_database
from sdschat.audit.verdict import Audit, Rules

_PROCESSES: Final = 4  # upper limit: one process has to combine the results of all
_ENOUGH: Final = 4 << 20  # bytes of input for which another process is worth its start

Excuse = Callable[[AuditEvidence], AuditEvidence]


class Comparison(NamedTuple):
    said: AuditEvidence
    quarantine: list[Quarantine]
    audit: Audit
    sources: dict[Member, str]  # the database of each node whose log counts
    read: list[Path]  # all that could be read
    unsearchable: list[Path]  # readable databases with a damaged search index
    members: bool  # False: there are certainly no members' channels


def compare(
    paths: Iterable[Path], read_ms: int, rules: Rules, excused: Excuse | None = None, *, by_row: bool = False
) -> Comparison:
    """Compare the databases. `excused` adds to what the nodes need not have.

    Sound databases are read by column, and all others row by row; with `by_row` all, for a caller that needs figures.
    """
    readings = databases.readings_of(paths, read_ms, sized=by_row)
    damaged = [each.path for each in readings if by_row and search_is_damaged(each.path)]
    sound, unsearchable = ({}, damaged) if by_row else _sound(readings)
    read = _row_by_row(readings, sound)
    rows = logs_that_count(read)
    taken = node_evidence.BronzeRows()
    for each in readings:
        taken.add(rows.get(each, ()))
    refuse_contradictions(taken, read_ms)
    said = node_evidence.together([node_evidence.conform(taken, rules), *sound.values()])
    said.apart.extend(went_apart(read))
    sources = {node_evidence.member_of(row): row.source for row in said.nodes}
    unread = {row.source for row in taken.quarantine if not row.place}
    all_read = [each.path for each in readings if str(each.path) not in unread]
    left = [path for path in unsearchable if path in all_read]
    members = len(sound) < len(readings) or any(each.members for each in sound.values())
    audit = judge(said if excused is None else excused(said), rules)
    return Comparison(said, taken.quarantine, audit, sources, all_read, left, members)


def _sound(readings: list[Reading]) -> tuple[dict[Reading, AuditEvidence], list[Path]]:
    """Read all databases. Return the sound ones, and the paths of those with a damaged search index."""
    portions = _portions(readings)
    found: dict[Reading, tuple[AuditEvidence | None, bool]] = {}
    for portion, answer in zip(portions, side_by_side(_look, portions), strict=True):
        found.update(zip(portion, answer, strict=True))
    sound = {each: one for each in readings if (one := found[each][0]) is not None}
    return sound, [each.path for each in readings if found[each][1]]


def _look(readings: Sequence[Reading]) -> list[tuple[AuditEvidence | None, bool]]:
    return [(found, search_is_damaged(each.path)) for each, found in zip(readings, read_fast(readings), strict=True)]


def _portions(readings: list[Reading]) -> list[list[Reading]]:
    """Split the databases into groups of about equal size: one per processor, if there is enough work for that."""
    sizes = {each: size_of(each.path) for each in readings}
    count = max(1, min(processors(), _PROCESSES, sum(sizes.values()) // _ENOUGH))
    found: list[list[Reading]] = [[] for _ in range(count)]
    for each in sorted(readings, key=lambda each: sizes[each], reverse=True):
        min(found, key=lambda portion: sum(sizes[one] for one in portion)).append(each)
    return found


def _row_by_row(readings: list[Reading], sound: dict[Reading, AuditEvidence]) -> dict[Reading, list[Row]]:
    """Read databases row by row, and remove them from `sound`: those that are not in it, and all of a node that has
    several, since only all rows show which of them counts."""
    found: dict[Reading, list[Row]] = {each: list(read_database(each)) for each in readings if each not in sound}
    databases: dict[str, set[Reading]] = defaultdict(set)
    for each in readings:
        rows: list[Any] = found[each] if each in found else [*sound[each].nodes, *sound[each].journals]
        for node in {row.node for row in rows if not isinstance(row, Quarantine)}:
            databases[node].add(each)
    for group in databases.values():
        if len(group) > 1:
            for each in group & sound.keys():
                del sound[each]
                found[each] = list(read_database(each))
    return found


def read_fast(readings: Iterable[Reading]) -> Iterator[AuditEvidence | None]:
    """Read databases. Yield None for one that cannot be read here."""
    for reading in readings:
        try:
            with Columnar(reading.path) as columns:
                found = _all(reading, columns)
        except NOT_SOUND:
            yield None
        else:
            yield found


def _all(reading: Reading, columns: Columnar) -> AuditEvidence:
    whose, channels = columns.node(), columns.channels()
    if not whose or "" in channels.values():
        raise Unsound
    told, spans = _told(columns, reading), columns.spans()
    if any(each.shown for number, each in told.items() if number not in channels):
        raise Unsound
    summaries = _summaries(reading, whose, columns, spans)
    found = AuditEvidence([], {}, {}, [], [], summaries, [], [], [], columns.has_members())
    for number, channel in channels.items():
        held, sums = _log(columns, number, reading)
        standing = columns.standing(number, sums)
        if standing is None or standing.counted != len(held.versions):
            raise Unsound
        node = databases.node_row(reading, whose, standing, sums.nick, columns.as_of())
        found.nodes.append(node)
        found.declared.extend(databases.declared_rows(reading, columns, whose, channel, number))
        found.presences.append(_presence(node, held, [span for span in spans if span.channel == number]))
        member = node_evidence.member_of(node)
        found.held[member] = held
        if number in told:
            found.told[member] = told[number]
    return found


def _told(columns: Columnar, reading: Reading) -> dict[int | None, ChannelJournal]:
    """Return what is there of each channel. Raises ValueError, TypeError or RecursionError for bad dependencies."""
    found: dict[int | None, ChannelJournal] = defaultdict(lambda: ChannelJournal({}, {}))
    moments, note = node_evidence.MOMENTS, node_evidence.note
    for values in columns.journal_columns():
        names = [values[name] for name in ("channel", "place", "event", "message_id")]
        for channel, place, event, message_id, deps in zip(
            *names, map(reading.memory.lists.__getitem__, values["deps"]), strict=True
        ):
            if event in moments:
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


def _log(columns: Columnar, number: int, reading: Reading) -> tuple[Held, LogSums]:
    held, sums = Held({}, {}, set(), {}), LogSums()
    for log in columns.log_columns(number):
        known = known_of(log, reading.memory)
        ids = [each.message_id for each in known]  # the same string objects for all nodes
        held.versions.update(zip(ids, [each.version for each in known], strict=True))
        held.received.update(zip(ids, log.received_ms, strict=True))
        held.own.update(compress(ids, log.own))
        sums.add(log, known)
    return held, sums


def _presence(node: Node, held: Held, spans: list[JournalSpan]) -> Presence:
    moments = [*held.received.values(), *(span.first_ms for span in spans), *(span.last_ms for span in spans)]
    first, last = (min(moments), max(moments)) if moments else (0, 0)
    return Presence(node.run_id, node.channel, node.node, node.nick, "log", node.horizon, 0, first, last)


def _summary(run_id: str, whose: str, boot: str, spans: list[JournalSpan]) -> AuditJournal:
    edges = min(span.first_place for span in spans), max(span.last_place for span in spans)
    first, last = (edge & databases.SEQ_MASK for edge in edges)
    rows = sum(span.rows for span in spans)
    moments = (min(span.first_ms for span in spans), max(span.last_ms for span in spans))
    return AuditJournal(run_id, whose, boot, first, last, rows, last - first + 1 - rows, *moments)
