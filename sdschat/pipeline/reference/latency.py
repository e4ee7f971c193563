"""Delivery times, and the offsets between the clocks that measured them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from sdschat.audit.conform import DELIVERED, Channel, Member
from sdschat.audit.schemas import Journal, MetricsClock, MetricsDelivery
from sdschat.pipeline.reference.spread import three

HOUR: Final = 3_600_000
Offsets = dict[tuple[Channel, str, str], tuple[float, float]]  # channel, node, peer: offset and uncertainty


class Passage(NamedTuple):
    """The delivery of a message from its sender to one other node."""

    channel: Channel
    message_id: str
    sender: str
    node: str
    via: str
    sent_ms: int
    delivered_ms: int

    @property
    def raw(self) -> int:
        return self.delivered_ms - self.sent_ms


def passages(journal: Iterable[Journal]) -> list[Passage]:
    """Return every delivery for which the sender's journal has the time of sending. `journal` must be in order."""
    sent: dict[tuple[Member, str], int] = {}
    delivered: dict[tuple[Member, str], Journal] = {}
    for row in journal:
        member = (row.run_id, row.channel, row.node)
        if row.message_id is None:
            continue
        if row.event == "sent" and row.cause == "message":
            sent.setdefault((member, row.message_id), row.ts_ms)
        elif row.event == DELIVERED:
            delivered.setdefault((member, row.message_id), row)
    found = []
    for (member, message_id), row in delivered.items():
        at = sent.get(((*member[:2], row.sender or ""), message_id))
        if at is not None and row.sender is not None and row.sender != row.node:
            via = row.cause or ""
            found.append(Passage(member[:2], message_id, row.sender, row.node, via, at, row.ts_ms))
    return found


def clocks(found: Iterable[Passage]) -> list[MetricsClock]:
    ways: dict[tuple[Channel, str, str], list[int]] = defaultdict(list)
    for passage in found:
        ways[passage.channel, passage.sender, passage.node].append(passage.raw)
    pairs = {*ways, *((channel, peer, node) for channel, node, peer in ways)}
    rows = []
    for channel, node, peer in sorted(pairs):
        out, back = ways.get((channel, node, peer), []), ways.get((channel, peer, node), [])
        fastest_out, fastest_back = min(out, default=None), min(back, default=None)
        offset = uncertainty = None
        if fastest_out is not None and fastest_back is not None:
            offset, uncertainty = (fastest_out - fastest_back) / 2, (fastest_out + fastest_back) / 2
        rows.append(
            MetricsClock(*channel, node, peer, len(out), len(back), fastest_out, fastest_back, offset, uncertainty)
        )
    return rows


def offsets(rows: Iterable[MetricsClock]) -> Offsets:
    return {
        ((row.run_id, row.channel), row.node, row.peer): (row.offset_ms, row.uncertainty_ms)
        for row in rows
        if row.offset_ms is not None and row.uncertainty_ms is not None
    }


def corrected(passage: Passage, known: Offsets) -> float | None:
    offset = known.get((passage.channel, passage.sender, passage.node))
    return None if offset is None else passage.raw - offset[0]


def deliveries(found: Iterable[Passage], known: Offsets) -> list[MetricsDelivery]:
    groups: dict[tuple[str, str, str, int], list[Passage]] = defaultdict(list)
    for passage in found:
        groups[(*passage.channel, passage.via, passage.sent_ms - passage.sent_ms % HOUR)].append(passage)
    rows = []
    for key, group in sorted(groups.items()):
        raw = [passage.raw for passage in group]
        right = [time for time in (corrected(passage, known) for passage in group) if time is not None]
        rows.append(
            MetricsDelivery(
                *key,
                len(group),
                sum(time < 0 for time in raw),
                *three(raw),
                len(right),
                sum(time < 0 for time in right),
                *three(right),
                max(right, default=None),
                None,
            )
        )
    return rows
