"""The answers of `figures.sql`: the columns of each, for the rows of a report and for the tables that a lake keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sdschat.audit.schemas import row_class

Rows = Sequence[Any]  # of one answer

_NODE: Final = "run_id, channel, node"
# A column without a type is a text. Names that end in p50, p95 and p99 are percentiles; they and others may be null.
_COLUMNS: Final[Mapping[str, str]] = {
    # A time in which a node wrote no event: not running, silent, or ended before others.
    "away": "run_id, node, kind, from_ms INT, to_ms INT",
    # A message, and the node that got it last.
    "reached": "run_id, channel, message_id, sender, sent_ms INT, receivers INT, last_node, took_ms REAL, via, why",
    "last": "run_id, channel, last_node, why, messages INT, longest REAL",
    # Percentiles of one figure. `pace`: deliveries to a node by time of sending; `delivered`: all of them; `reached`:
    # until the last one that got a message had it; `everybody`: until all nodes had it; `healed`: from the wish for a
    # message to its delivery.
    "spread": "figure, run_id, channel, node, via, at_ms INT, n INT, p50 REAL, p95 REAL, longest REAL",
    # Events of one kind in one stretch of time; only deliveries have a node.
    "course": f"{_NODE}, what, at_ms INT, n INT, bytes INT",
    # The bytes that were sent for one cause, and for each byte of text.
    "wire": "run_id, channel, cause, packets INT, bytes INT, text_bytes INT, per_byte REAL",
    "acknowledged": "run_id, channel, state, how, n INT, wrong INT, undecided INT",
    # A wrong acknowledgement, by `peer` as `node` understood it; `had_ms`: when the peer had the message.
    "untrue": f"{_NODE}, peer, message_id, state, how, said_ms INT, had_ms INT, verdict",
    # The messages of `node` that `peer` said to have without a signature, so that anybody may have said it.
    "unproven": f"{_NODE}, peer, messages INT",
    # A point on the curve of the deliveries that came one way: `step` fortieths of `n` took at most `took`.
    "curve": "run_id, channel, via, n INT, step INT, took REAL",
    # One of 60 stretches of the canonical log of which a node lacks something.
    "cell": f"{_NODE}, stretch INT, lost INT, excused INT",
    # The offset of the clock of `peer` from that of `node`, from the fastest live messages in both directions. Its
    # uncertainty is half of the fastest round trip; `shown`: the offset is larger.
    "clock": f"{_NODE}, peer, out INT, back INT, fastest_out INT, fastest_back INT, offset_ms REAL, "
    "uncertainty_ms REAL, shown BOOL",
    # Times from sending to delivery: `raw` is the difference of two clocks, the others are corrected.
    "delivery": "run_id, channel, via, hour_ms INT, delivered INT, negative INT, raw_p50 REAL, raw_p95 REAL, "
    "raw_p99 REAL, corrected INT, corrected_negative INT, p50 REAL, p95 REAL, p99 REAL, longest REAL",
    # Acknowledgements of a node's own messages: times from the first sending, on its own clock.
    "ack": f"{_NODE}, sent INT, resends INT, possibly_acked INT, possibly_p50 REAL, possibly_p95 REAL, "
    "possibly_p99 REAL, acked INT, acked_p50 REAL, acked_p95 REAL, acked_p99 REAL, by_mention INT, by_filter INT, "
    "by_range INT",
    # The messages that a node missed, requested and sent in response. `useful` were delivered by repair, `synced` by
    # anti-entropy and history sync, `stored` by Stores. A message is wanted once, however often its request was
    # scheduled; healed if it was missing and then came.
    "repair": f"{_NODE}, wanted INT, requested INT, answered INT, useful INT, pushed INT, synced INT, duplicates INT, "
    "stored INT, store_asked INT, store_unknown INT, store_silent INT, healed INT, heal_p50 REAL, heal_p95 REAL, "
    "heal_p99 REAL, buffered INT, buffer_p50 REAL, buffer_p95 REAL, buffer_p99 REAL",
    # The packets that a node sent, by cause.
    "traffic": f"{_NODE}, cause, packets INT, bytes INT, payload_bytes INT",
    "rejected": f"{_NODE}, reason, packets INT",
    # The bytes of packets by part. `source`: log, one packet for each message; or tap, all recorded packets.
    "parts": "run_id, channel, source, kind, packets INT, bytes INT, content_bytes INT, filter_bytes INT, "
    "history_bytes INT, request_bytes INT",
    # A test of a node's filters with ids that it received only later: `hits` are false positives, `expected` those that
    # theory expects. Of the acknowledgements drawn from them `undecided` are within the uncertainty of the clocks.
    "filter": f"{_NODE}, filters INT, checks INT, hits INT, expected REAL, claims INT, wrong INT, undecided INT",
}


class Figures(NamedTuple):
    """The rows of each answer."""

    grain: int  # width of a stretch of time, in milliseconds
    away: Rows
    reached: Rows
    last: Rows
    spread: Rows
    course: Rows
    wire: Rows
    acknowledged: Rows
    untrue: Rows
    unproven: Rows
    curve: Rows
    cell: Rows
    clock: Rows
    delivery: Rows
    ack: Rows
    repair: Rows
    traffic: Rows
    rejected: Rows
    parts: Rows
    filter: Rows


class FilterTrial(NamedTuple):
    """The filters that a node sent, asked for ids that it can hold by chance only."""

    run_id: str
    channel: str
    node: str
    filters: int
    checks: int
    hits: int
    expected: float


METRICS: Final = ("clock", "delivery", "ack", "repair", "traffic", "rejected", "parts", "filter")
_ANSWERS: Final[Mapping[str, str]] = {
    "last": "last_one",
    "untrue": "acknowledgement WHERE verdict = 'wrong'",
} | {name: f"metrics_{name}" for name in METRICS}


@cache
def answers() -> dict[str, tuple[Any, str]]:
    """Return for each list of `Figures` the class of its rows, and its answer of `figures.sql`."""
    return {name: (row_class(name, listed), _ANSWERS.get(name, name)) for name, listed in _COLUMNS.items()}
