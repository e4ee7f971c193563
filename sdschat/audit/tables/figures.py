"""The rows of the figures of a report: the answers of `figures.sql`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, get_args, get_type_hints

from sdschat.audit.tables.metrics import (
    MetricsAck,
    MetricsClock,
    MetricsDelivery,
    MetricsFilter,
    MetricsParts,
    MetricsRejected,
    MetricsRepair,
    MetricsTraffic,
)


class Absence(NamedTuple):
    """A time in which a node wrote no event: not running, silent, or ended before others."""

    run_id: str
    node: str
    kind: str
    from_ms: int
    to_ms: int


class Reached(NamedTuple):
    """A message, and the node that got it last."""

    run_id: str
    channel: str
    message_id: str
    sender: str
    sent_ms: int
    receivers: int
    last_node: str
    took_ms: float
    via: str
    why: str


class LastOne(NamedTuple):
    run_id: str
    channel: str
    last_node: str
    why: str
    messages: int
    longest: float


class Spread(NamedTuple):
    """Percentiles of one figure.

    `pace`: deliveries to a node by time of sending; `delivered`: all of them; `reached`: until the last one that got a
    message had it; `everybody`: until all nodes had it; `healed`: from the wish for a message to its delivery.
    """

    figure: str
    run_id: str
    channel: str
    node: str
    via: str
    at_ms: int
    n: int
    p50: float
    p95: float
    longest: float


class Course(NamedTuple):
    """Events of one kind in one stretch of time; only deliveries have a node."""

    run_id: str
    channel: str
    node: str
    what: str
    at_ms: int
    n: int
    bytes: int


class Wire(NamedTuple):
    """The bytes that were sent for one cause, and for each byte of text."""

    run_id: str
    channel: str
    cause: str
    packets: int
    bytes: int
    text_bytes: int | None
    per_byte: float | None


class AckCount(NamedTuple):
    run_id: str
    channel: str
    state: str
    how: str
    n: int
    wrong: int
    undecided: int


class Acknowledgement(NamedTuple):
    """One acknowledgement, by `peer` as `node` understood it; `had_ms`: when the peer had the message."""

    run_id: str
    channel: str
    node: str
    peer: str
    message_id: str
    state: str
    how: str
    said_ms: int
    had_ms: int | None
    verdict: str


class Unproven(NamedTuple):
    """The messages of `node` that `peer` said to have without a signature, so that anybody may have said it."""

    run_id: str
    channel: str
    node: str
    peer: str
    messages: int


class CurvePoint(NamedTuple):
    """A point on the curve of the deliveries that came one way: `step` fortieths of `n` took at most `took`."""

    run_id: str
    channel: str
    via: str
    n: int
    step: int
    took: float


class Cell(NamedTuple):
    """One of 60 stretches of the canonical log of which a node lacks something."""

    run_id: str
    channel: str
    node: str
    stretch: int
    lost: int
    excused: int


class FilterTrial(NamedTuple):
    """The filters that a node sent, asked for ids that it can hold by chance only."""

    run_id: str
    channel: str
    node: str
    filters: int
    checks: int
    hits: int
    expected: float


class Figures(NamedTuple):
    grain: int  # width of a stretch of time, in milliseconds
    away: list[Absence]
    reached: list[Reached]
    last: list[LastOne]
    spread: list[Spread]
    course: list[Course]
    wire: list[Wire]
    acknowledged: list[AckCount]
    untrue: list[Acknowledgement]
    unproven: list[Unproven]
    curve: list[CurvePoint]
    cell: list[Cell]
    clock: list[MetricsClock]
    delivery: list[MetricsDelivery]
    ack: list[MetricsAck]
    repair: list[MetricsRepair]
    traffic: list[MetricsTraffic]
    rejected: list[MetricsRejected]
    parts: list[MetricsParts]
    filter: list[MetricsFilter]


METRICS: Final = ("clock", "delivery", "ack", "repair", "traffic", "rejected", "parts", "filter")
_ANSWERS: Final[Mapping[str, str]] = {
    "last": "last_one",
    "untrue": "acknowledgement WHERE verdict = 'wrong'",
} | {name: f"metrics_{name}" for name in METRICS}


def answers() -> dict[str, tuple[type, str]]:
    """Return for each list of `Figures` the class of its rows, and the answer of `figures.sql` that has them."""
    kinds = {name: get_args(hint)[0] for name, hint in get_type_hints(Figures).items() if name != "grain"}
    return {name: (kind, _ANSWERS.get(name, name)) for name, kind in kinds.items()}
