"""Gold: figures."""

from __future__ import annotations

from typing import NamedTuple


class MetricsClock(NamedTuple):
    """The offset of the clock of `peer` from that of `node`, from the fastest messages in both directions.

    Only messages that came as they were sent count. Nothing is known if these went in one direction only. An offset not
    larger than its uncertainty shows no difference, and corrects nothing.
    """

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


class MetricsDelivery(NamedTuple):
    """Times from the sending of a message to its delivery elsewhere.

    `raw` is the difference of two clocks; the others are corrected where two clocks are shown to
    differ.
    """

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

    `useful` were delivered by repair, `synced` by anti-entropy and history sync, `stored` by Stores. Stores were asked
    for `store_asked` messages, did not have `store_unknown` of them, and did not answer about `store_silent`. A message
    is wanted once, however often a request was scheduled; healed if it was missing and then delivered; buffered if it
    had to wait for another one.
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
    """A comparison of a node's filters with the true logs.

    Ids that the node received only later are tested against the filters that it sent before. Acknowledgements that
    others drew from its filters are compared with its own journal.
    """

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
