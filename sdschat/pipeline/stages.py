"""The figures of a lake. Each stage writes its tables, and the next one reads them."""

from __future__ import annotations

from sdschat.audit import schemas as tables
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.transforms import costs, latency
from sdschat.pipeline.transforms.filters import filters


def metrics(lake: Lake) -> None:
    """Make the tables of figures from silver and the packets in bronze."""
    events = lake.read(tables.Event)
    passed = latency.passages(events)
    pairs = lake.replace(tables.MetricsClock, latency.clocks(passed))
    lake.replace(tables.MetricsDelivery, latency.deliveries(passed, pairs))
    lake.replace(tables.MetricsAck, costs.acks(events))
    lake.replace(tables.MetricsRepair, costs.repairs(events))
    lake.replace(tables.MetricsTraffic, costs.traffic(events))
    lake.replace(tables.MetricsRejected, costs.rejections(events))
    messages = lake.read(tables.Message)
    lake.replace(tables.MetricsParts, costs.parts(messages, lake.read(tables.Packet)))
    lake.replace(tables.MetricsFilter, filters(events, messages, lake.read(tables.Copy), pairs))
