"""A comparison of a few databases without Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat.audit import node_evidence
from sdschat.audit.engine import judge
from sdschat.audit.fast_path import read_fast
from sdschat.audit.node_evidence import AuditEvidence, Channel, Member, NodeEvidence, Silver
from sdschat.audit.processes import processors, side_by_side, size_of
from sdschat.audit.schemas import FIELD, Quarantine
from sdschat.audit.several import logs_that_count, refuse_contradictions, search_is_damaged, went_apart
from sdschat.audit.sources.databases import Reading, Row, packet_memory, read_database
from sdschat.audit.verdict import Audit, Rules

_PROCESSES: Final = 4  # upper limit: one process has to combine the results of all
_ENOUGH: Final = 4 << 20  # bytes of input for which another process is worth its start

Excuse = Callable[[AuditEvidence], AuditEvidence]


class Comparison(NamedTuple):
    there: dict[Channel, list[NodeEvidence]]
    quarantine: list[Quarantine]
    audit: Audit
    sources: dict[Member, str]  # the database of each node whose log counts
    read: list[Path]  # all that could be read
    unsearchable: list[Path]  # readable databases with a damaged search index
    members: bool  # False: there are certainly no members' channels


def compare(
    paths: Iterable[Path], read_ms: int, rules: Rules, excused: Excuse | None = None, *, by_row: bool = False
) -> tuple[Comparison, Silver]:
    """Compare the databases. `excused` adds to what the nodes need not have. Also return what was read row by row.

    Sound databases are read by column, and all others row by row; with `by_row` all, for a caller that needs figures.
    """
    memory = packet_memory()
    readings = [Reading(FIELD, path, read_ms, memory) for path in paths]
    damaged = [each.path for each in readings if by_row and search_is_damaged(each.path)]
    sound, unsearchable = ({}, damaged) if by_row else _sound(readings)
    read = _row_by_row(readings, sound)
    rows = logs_that_count(read)
    taken = node_evidence.BronzeRows()
    for each in readings:
        taken.add(rows.get(each, ()))
    refuse_contradictions(taken, read_ms)
    silver = node_evidence.conform(taken, rules)
    said = _together([node_evidence.evidence_of(silver), *sound.values()])._replace(apart=went_apart(read))
    sources = {node_evidence.member_of(row): row.source for row in said.nodes}
    unread = {row.source for row in taken.quarantine if not row.place}
    all_read = [each.path for each in readings if str(each.path) not in unread]
    left = [path for path in unsearchable if path in all_read]
    known = said if excused is None else excused(said)
    members = len(sound) < len(readings) or any(each.members for each in sound.values())
    return Comparison(said.there, taken.quarantine, judge(known, rules), sources, all_read, left, members), silver


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


def _together(parts: Iterable[AuditEvidence]) -> AuditEvidence:
    there: dict[Channel, list[NodeEvidence]] = defaultdict(list)
    whole = AuditEvidence({}, [], [], [], [])
    for each in parts:
        for channel, witnesses in each.there.items():
            there[channel] += witnesses
        whole.nodes.extend(each.nodes)
        whole.declared.extend(each.declared)
        whole.journals.extend(each.journals)
    in_order = {channel: sorted(there[channel], key=lambda one: one.presence.node) for channel in sorted(there)}
    return AuditEvidence(in_order, whole.nodes, sorted(set(whole.declared)), sorted(whole.journals), [])
