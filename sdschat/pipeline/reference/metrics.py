"""All figures of a lake or of databases."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.audit.conform import Silver
from sdschat.audit.schemas import (
    MetricsAck,
    MetricsClock,
    MetricsDelivery,
    MetricsFilter,
    MetricsParts,
    MetricsRejected,
    MetricsRepair,
    MetricsTraffic,
    Packet,
)
from sdschat.pipeline.reference import costs
from sdschat.pipeline.reference.filters import filters
from sdschat.pipeline.reference.latency import clocks, deliveries, offsets, passages


class Metrics(NamedTuple):
    clock: list[MetricsClock]
    delivery: list[MetricsDelivery]
    ack: list[MetricsAck]
    repair: list[MetricsRepair]
    traffic: list[MetricsTraffic]
    rejected: list[MetricsRejected]
    parts: list[MetricsParts]
    filter: list[MetricsFilter]


def metrics(silver: Silver, packets: list[Packet]) -> Metrics:
    found = passages(silver.journal)
    pairs = clocks(found)
    known = offsets(pairs)
    once = {(row.run_id, row.tap, row.seq): row for row in packets}
    return Metrics(
        pairs,
        deliveries(found, known),
        costs.acks(silver.journal),
        costs.repairs(silver.journal),
        costs.traffic(silver.journal),
        costs.rejections(silver.journal),
        costs.parts(silver.messages, once.values()),
        filters(silver.journal, silver.messages, silver.copies, known),
    )
