"""The costs: acknowledgements, repair, traffic, rejections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from sdschat.audit.conform import DELIVERED, Member
from sdschat.audit.schemas import (
    Journal,
    Message,
    MetricsAck,
    MetricsParts,
    MetricsRejected,
    MetricsRepair,
    MetricsTraffic,
    Packet,
)
from sdschat.pipeline.reference.spread import three

First = dict[str, tuple[int, int]]  # id: index in the journal, and time


def by_member(journal: Iterable[Journal]) -> dict[Member, list[Journal]]:
    found: dict[Member, list[Journal]] = defaultdict(list)
    for row in journal:
        if row.channel:
            found[row.run_id, row.channel, row.node].append(row)
    return dict(sorted(found.items()))


def first(rows: list[Journal], event: str, cause: str | None = None) -> First:
    """Return the first event of this kind for each message."""
    found: First = {}
    for at, row in enumerate(rows):
        if row.event == event and row.message_id is not None and cause in (None, row.cause):
            found.setdefault(row.message_id, (at, row.ts_ms))
    return found


def after(start: First, end: First) -> list[int]:
    """Return the times between the two events of a message, if the second comes later in the journal."""
    return [end[name][1] - when for name, (at, when) in start.items() if name in end and end[name][0] > at]


def acks(journal: Iterable[Journal]) -> list[MetricsAck]:
    found = []
    for member, rows in by_member(journal).items():
        sent = first(rows, "sent", "message")
        possibly, certain = after(sent, first(rows, "possibly_acked")), after(sent, first(rows, "acked"))
        how = Counter(row.cause for row in rows if row.event in ("possibly_acked", "acked"))
        resends = sum(row.event == "sent" and row.cause == "resend" for row in rows)
        if sent or resends or how:
            found.append(
                MetricsAck(
                    *member,
                    len(sent),
                    resends,
                    len(possibly),
                    *three(possibly),
                    len(certain),
                    *three(certain),
                    how["mention"],
                    how["filter"],
                    how["range"],
                )
            )
    return found


def repairs(journal: Iterable[Journal]) -> list[MetricsRepair]:
    found = []
    for member, rows in by_member(journal).items():
        events = Counter(row.event for row in rows)
        via = Counter(row.cause for row in rows if row.event == DELIVERED)
        delivered = first(rows, DELIVERED)
        healed = after(first(rows, "repair_wanted"), delivered)
        buffered = after(first(rows, "missing"), delivered)
        named: Counter[str] = Counter()
        for row in rows:
            named[row.event] += len(row.deps or ())
        found.append(
            MetricsRepair(
                *member,
                len(first(rows, "repair_wanted")),
                named["repair_requested"],
                events["repair_responded"],
                via["repair"],
                events["pushed"],
                via["sync"],
                events["duplicate"],
                via["store"],
                named["store_asked"],
                named["store_unknown"],
                named["store_silent"],
                len(healed),
                *three(healed),
                len(buffered),
                *three(buffered),
            )
        )
    return found


def traffic(journal: Iterable[Journal]) -> list[MetricsTraffic]:
    sums: dict[tuple[str, str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in journal:
        if row.event == "sent":
            at = sums[row.run_id, row.channel, row.node, row.cause or ""]
            at[0] += 1
            at[1] += row.bytes or 0
            at[2] += row.payload_bytes or 0
    return [MetricsTraffic(*key, *values) for key, values in sorted(sums.items())]


def rejections(journal: Iterable[Journal]) -> list[MetricsRejected]:
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in journal:
        if row.event == "rejected":
            counts[row.run_id, row.channel, row.node, row.cause or ""] += row.attempt or 1
    return [MetricsRejected(*key, count) for key, count in sorted(counts.items())]


def parts(messages: Iterable[Message], packets: Iterable[Packet]) -> list[MetricsParts]:
    """Return the sizes of packet parts: of one packet per message of the logs, and of each recorded packet once."""
    largest: dict[tuple[str, str, str], tuple[int, ...]] = {}
    for row in messages:
        if row.bytes is not None and not row.gone:
            key = (row.run_id, row.channel, row.message_id)
            largest[key] = max(_sizes(row), largest.get(key, ()))
    sums: dict[tuple[str, str, str, str], list[int]] = defaultdict(lambda: [0] * 6)
    told = [((run_id, channel, "log", "message"), sizes) for (run_id, channel, _), sizes in largest.items()]
    told += [((row.run_id, row.channel, "tap", row.kind), _sizes(row)) for row in packets]
    for group, sizes in told:
        for at, size in enumerate((1, *sizes)):
            sums[group][at] += size
    return [MetricsParts(*key, *values) for key, values in sorted(sums.items())]


def _sizes(row: Message | Packet) -> tuple[int, ...]:
    sizes = (row.bytes, row.content_bytes, row.filter_bytes, row.history_bytes, row.request_bytes)
    return tuple(size or 0 for size in sizes)
