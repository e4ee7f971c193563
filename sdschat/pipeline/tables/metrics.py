"""Gold: figures."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.pipeline.tables.kinds import Blob


class MetricsClock(NamedTuple):
    """How far the clock of `peer` is ahead of that of `node`, from the fastest messages each way. Where they went only
    one way nothing can be said."""

    run_id: str
    channel: str
    node: str
    peer: str
    out: int
    back: int
    fastest_out: int | None
    fastest_back: int | None
    offset_ms: float | None
    uncertainty_ms: float | None  # half of the fastest way there and back


class MetricsDelivery(NamedTuple):
    """From the sending of a message to its delivery elsewhere. `raw` is the difference of two clocks; the others are
    corrected by the offset of the clocks, where it is known."""

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
    sketch: Blob | None  # KLL over all, corrected where that is known: those of several rows can be merged


class MetricsAck(NamedTuple):
    """What became of a node's own messages: times from the first sending, on its own clock."""

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
    """What a node wanted, asked for and answered; `useful` were delivered by way of repair, `synced` by anti-entropy
    and catching up, `stored` by Stores, which were asked for `store_asked` messages, did not have `store_unknown` of
    them, and said nothing of `store_silent`.
    A message is healed when it was wanted and then delivered; buffered when it had to wait for another."""

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
    """Packets that a node sent, by why."""

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
    """What the bytes of packets are spent on. `source`: log, of each message one packet; or tap, of all recorded."""

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
    """Filters of a node against the truth: ids that it received only later, asked of the filters it sent before; and
    acknowledgements that others drew from its filters, against its own journal."""

    run_id: str
    channel: str
    node: str
    filters: int
    checks: int
    hits: int  # false positives
    expected: float  # false positives that theory expects of filters so full
    claims: int
    wrong: int
    undecided: int  # within the uncertainty of the clocks
