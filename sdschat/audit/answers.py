"""The answers of `figures.sql`, one class each: the rows of the figures of a report, and those that a lake keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, get_args, get_type_hints


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


class MetricsClock(NamedTuple):
    """The offset of the clock of `peer` from that of `node`, from the fastest live messages in both directions."""

    run_id: str
    channel: str
    node: str
    peer: str
    out: int
    back: int
    fastest_out: int | None
    fastest_back: int | None
    offset_ms: float | None
    uncertainty_ms: float | None  # half of the fastest round trip
    shown: bool  # True: the offset is larger than its uncertainty


class MetricsDelivery(NamedTuple):
    """Times from sending to delivery: `raw` is the difference of two clocks, the others are corrected."""

    run_id: str
    channel: str
    via: str
    hour_ms: int
    delivered: int
    negative: int
    raw_p50: float | None
    raw_p95: float | None
    raw_p99: float | None
    corrected: int
    corrected_negative: int
    p50: float | None
    p95: float | None
    p99: float | None
    longest: float | None


class MetricsAck(NamedTuple):
    """Acknowledgements of a node's own messages: times from the first sending, on its own clock."""

    run_id: str
    channel: str
    node: str
    sent: int
    resends: int
    possibly_acked: int
    possibly_p50: float | None
    possibly_p95: float | None
    possibly_p99: float | None
    acked: int
    acked_p50: float | None
    acked_p95: float | None
    acked_p99: float | None
    by_mention: int
    by_filter: int
    by_range: int


class MetricsRepair(NamedTuple):
    """The messages that a node missed, requested and sent in response.

    `useful` were delivered by repair, `synced` by anti-entropy and history sync, `stored` by Stores. A message is
    wanted once, however often its request was scheduled; healed if it was missing and then came.
    """

    run_id: str
    channel: str
    node: str
    wanted: int
    requested: int
    answered: int
    useful: int
    pushed: int
    synced: int
    duplicates: int
    stored: int
    store_asked: int
    store_unknown: int
    store_silent: int
    healed: int
    heal_p50: float | None
    heal_p95: float | None
    heal_p99: float | None
    buffered: int
    buffer_p50: float | None
    buffer_p95: float | None
    buffer_p99: float | None


class MetricsTraffic(NamedTuple):
    """The packets that a node sent, by cause."""

    run_id: str
    channel: str
    node: str
    cause: str
    packets: int
    bytes: int
    payload_bytes: int


class MetricsRejected(NamedTuple):
    run_id: str
    channel: str
    node: str
    reason: str
    packets: int


class MetricsParts(NamedTuple):
    """The bytes of packets by part. `source`: log, one packet for each message; or tap, all recorded packets."""

    run_id: str
    channel: str
    source: str
    kind: str
    packets: int
    bytes: int
    content_bytes: int
    filter_bytes: int
    history_bytes: int
    request_bytes: int


class MetricsFilter(NamedTuple):
    """A test of a node's filters with ids that it received only later, and of the acknowledgements drawn from them."""

    run_id: str
    channel: str
    node: str
    filters: int
    checks: int
    hits: int  # false positives
    expected: float  # false positives expected in theory for filters with this fill
    claims: int
    wrong: int
    undecided: int  # within the uncertainty of the clocks


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
    """Return for each list of `Figures` the class of its rows, and its answer of `figures.sql`."""
    kinds = {name: get_args(hint)[0] for name, hint in get_type_hints(Figures).items() if name != "grain"}
    return {name: (kind, _ANSWERS.get(name, name)) for name, kind in kinds.items()}
