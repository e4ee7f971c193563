"""The data of a report, the same from a lake and from a few databases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sdschat.audit.figures import Figures
from sdschat.audit.rules import LOST
from sdschat.audit.schemas import AuditMissing, Node
from sdschat.audit.verdict import Audit
from sdschat.pipeline.reference.latency import Passage, corrected, offsets
from sdschat.pipeline.reference.metrics import Metrics
from sdschat.pipeline.reference.spread import within

Channel = tuple[str, str]
COLUMNS: Final = 60  # columns of the convergence map
SHARES: Final = tuple(step / 40 for step in range(41))  # the shares of deliveries at the points of a curve


class Cell(NamedTuple):
    """A stretch of the canonical log at one node."""

    channel: Channel
    node: str
    column: int
    lost: int
    excused: int


class Curve(NamedTuple):
    """Delivery times: a share `SHARES[i]` of the deliveries took at most `times[i]`."""

    channel: Channel
    via: str
    n: int
    times: tuple[float, ...]
    error: float = 0.0  # greatest error of the shares, as a share of the deliveries


class ReportData(NamedTuple):
    audit: Audit
    metrics: Metrics
    cells: list[Cell]
    curves: list[Curve]
    all_ways: list[Curve]  # one curve for each channel
    provenance: Mapping[str, str]
    sources: Mapping[tuple[str, str, str], str]  # run, channel and node: the file that they were read from
    figures: Figures | None = None  # None: of a lake, whose events are not all here


def sources_of(nodes: Iterable[Node]) -> dict[tuple[str, str, str], str]:
    return {(node.run_id, node.channel, node.node): node.source for node in nodes}


def column_of(position: int, messages: int) -> int:
    return (position - 1) * min(COLUMNS, messages) // messages


def cells_of(missing: Iterable[AuditMissing], messages: Mapping[Channel, int]) -> list[Cell]:
    lost: Counter[tuple[Channel, str, int]] = Counter()
    every: Counter[tuple[Channel, str, int]] = Counter()
    for row in missing:
        channel = (row.run_id, row.channel)
        key = (channel, row.node, column_of(row.position, messages[channel]))
        every[key] += 1
        lost[key] += row.reason == LOST
    return [Cell(*key, lost[key], count - lost[key]) for key, count in sorted(every.items())]


def curves_of(passages: Iterable[Passage], metrics: Metrics, by_way: bool = True) -> list[Curve]:
    """Return a curve for each channel and way of delivery, or one for all ways, with an empty name."""
    known = offsets(metrics.clock)
    times: dict[tuple[Channel, str], list[float]] = defaultdict(list)
    for passage in passages:
        time = corrected(passage, known)
        times[passage.channel, passage.via if by_way else ""].append(passage.raw if time is None else time)
    found = []
    for (channel, via), each in sorted(times.items()):
        ordered = sorted(each)
        points = tuple(within(ordered, share) for share in SHARES)
        found.append(Curve(channel, via, len(each), points))
    return found
