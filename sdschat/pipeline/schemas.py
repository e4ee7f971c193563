"""The tables of the lake, one class each: what plain Python, Spark and pyarrow all take their columns from.

Times are epoch milliseconds, ids are text as in the packets. `run_id` keeps apart what has nothing to do with each
other: simulated runs, and campaigns in the field (`FIELD` where nothing else was said).
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Final, NamedTuple, get_type_hints

VERSION: Final = 1
FIELD: Final = "field"

Ids = tuple[str, ...]
Blob = bytes  # some tables have a column of the name `bytes`

# Bronze: what was taken in, as it came.


class Journal(NamedTuple):
    """One event in the journal of a node, as `sdschat.store.journal` has it. The key is (run_id, node, boot, seq)."""

    run_id: str
    v: int
    node: str
    boot: str
    seq: int
    ts_ms: int
    mono_us: int
    channel: str
    event: str
    message_id: str | None = None
    sender: str | None = None
    lamport: int | None = None
    peer: str | None = None
    bytes: int | None = None
    payload_bytes: int | None = None
    overhead_bytes: int | None = None
    deps: Ids | None = None
    attempt: int | None = None
    cause: str | None = None
    messages: int | None = None
    fingerprint: str | None = None
    extra: str | None = None  # JSON: columns that a newer program wrote


class Message(NamedTuple):
    """A message in the log of a node. The key is (run_id, node, channel, message_id); of several rows of a key the
    one counts that is of the latest reading (`as_of`, then `read_ms`)."""

    run_id: str
    node: str
    channel: str
    message_id: str
    lamport: int
    sender: str
    deps: Ids
    own: bool
    via: str
    received_ms: int
    nick: str | None
    text: str | None
    sent_ms: int | None  # by the author's clock
    state: str | None  # of own messages: unacked, possibly_acked, acked
    digest: str  # of everything that all nodes must agree on: Lamport time, sender, dependencies, content
    bytes: int | None
    content_bytes: int | None
    filter_bytes: int | None
    history_bytes: int | None
    request_bytes: int | None
    raw: Blob | None  # the packet
    damage: str | None  # what of it is not as it was written
    gone: bool  # it was in an earlier reading, and is not in this one
    as_of: int  # how far the journal of the database had come
    read_ms: int


class Node(NamedTuple):
    """What the database of a node says of a channel. The key is (run_id, node, channel, as_of, read_ms)."""

    run_id: str
    node: str
    channel: str
    as_of: int
    read_ms: int
    nick: str | None
    horizon: int  # what is dated earlier is not owed; 0: unknown, everything is
    claimed: int  # messages, by its own count
    claimed_fingerprint: str
    counted: int  # messages, by looking
    counted_fingerprint: str
    source: str  # file


class Declared(NamedTuple):
    """A message that a node knows not to have, or not to show yet: `kind` is lost, before_join, missing or held."""

    run_id: str
    node: str
    channel: str
    message_id: str
    kind: str
    at_ms: int
    as_of: int
    read_ms: int


class Packet(NamedTuple):
    """A packet that a tap recorded. The key is (run_id, tap, seq)."""

    run_id: str
    tap: str
    seq: int
    ts_ms: int
    topic: str
    channel: str
    kind: str  # message, sync, ephemeral, refused, or other (not of the message topic)
    reason: str | None  # of the refusal
    message_id: str | None
    sender: str | None
    lamport: int | None
    deps: Ids
    requests: Ids
    bytes: int
    content_bytes: int
    filter_bytes: int
    history_bytes: int
    request_bytes: int
    raw: Blob


class Quarantine(NamedTuple):
    """Input that could not be taken, with the reason. The key is (run_id, source, place)."""

    run_id: str
    source: str
    place: str  # line, row or segment in the source; empty: all of it
    reason: str
    sample: str  # the beginning of it, for a person
    read_ms: int


# Silver: each event once, one row for each copy of a message, and what may be expected of whom.


class Event(NamedTuple):
    """An event in the journal of a node. Those of a node are ordered by (began, boot, seq)."""

    run_id: str
    channel: str
    node: str
    began: int  # when the first event of the boot was
    boot: str
    seq: int
    ts_ms: int
    event: str
    message_id: str | None
    sender: str | None
    lamport: int | None
    peer: str | None
    bytes: int | None
    payload_bytes: int | None
    overhead_bytes: int | None
    deps: Ids | None
    attempt: int | None
    cause: str | None


class Copy(NamedTuple):
    """A message that a node has. Where there is a database its log decides, else the journal's deliveries."""

    run_id: str
    channel: str
    node: str
    message_id: str
    lamport: int
    sender: str
    deps: Ids
    digest: str
    own: bool
    via: str | None
    received_ms: int
    origin: str  # log or journal
    damage: str | None


class Presence(NamedTuple):
    """A node in a channel: since when it owes messages, and until when it was seen."""

    run_id: str
    channel: str
    node: str
    nick: str | None
    origin: str  # log or journal
    horizon: int
    retained_from: int  # its journal was cut: what is older may have been there; 0: nothing was cut
    first_ms: int
    last_ms: int


class Fingerprint(NamedTuple):
    """The messages of a node in one stretch of Lamport time. Equal sets have equal rows."""

    run_id: str
    channel: str
    node: str
    bucket: int  # lamport >> k
    k: int
    n: int
    x1: int  # exclusive or of 64-bit hashes of (Lamport, id, digest)
    x2: int  # the same, under another seed


# Gold.


class Log(NamedTuple):
    """The canonical log: every message once, by (Lamport, bytes of the id)."""

    run_id: str
    channel: str
    position: int  # from 1
    lamport: int
    message_id: str
    sender: str
    deps: Ids
    digest: str
    running: str  # of this message and all before it: equal for equal beginnings of logs
    copies: int
    first_ms: int  # when the first node had it, and the last
    last_ms: int


class AuditChannel(NamedTuple):
    run_id: str
    channel: str
    nodes: int
    messages: int
    converged: bool  # no fault of any kind
    missing: int  # lost, where they were owed
    excused: int  # lagging, joined later, retention
    faults: int  # findings that break a promise
    checked_to: int  # Lamport time
    running: str  # of the whole canonical log


class AuditNode(NamedTuple):
    run_id: str
    channel: str
    node: str
    nick: str | None
    messages: int
    owed: int
    missing: int
    lagging: int
    excused: int
    faults: int
    first_ms: int
    last_ms: int
    first_position: int | None  # where it first differs from the canonical log
    first_lamport: int | None
    first_id: str | None
    agrees: bool


class AuditMissing(NamedTuple):
    """A message that a node does not have. `reason`: lost, lagging, joined_later or retention."""

    run_id: str
    channel: str
    position: int
    lamport: int
    message_id: str
    sender: str
    node: str
    reason: str
    detail: str


class AuditFinding(NamedTuple):
    """Anything else. `kind` is one of `FINDINGS`; `other` is another message or version it has to do with."""

    run_id: str
    channel: str
    node: str
    kind: str
    position: int | None
    lamport: int | None
    message_id: str | None
    other: str | None
    detail: str


class AuditJournal(NamedTuple):
    """How complete the journal of one run of a node is. A gap is a lost journal, not a lost message."""

    run_id: str
    node: str
    boot: str
    first_seq: int
    last_seq: int
    rows: int
    lost: int
    first_ms: int
    last_ms: int


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
    sketch: Blob | None  # KLL over the corrected ones: those of several rows can be merged


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
    """What a node wanted, asked for and answered; `useful` were delivered by way of repair, `synced` by anti-entropy.
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


FAULTS: Final[Mapping[str, str]] = {
    "extra": "is in nobody else's log, and its sender does not know it",
    "order": "stands in another place than in the canonical log",
    "content": "is another message under the same id",
    "altered": "is not as it was written",
    "count": "the log is not what its own count says",
    "causal": "was shown before a message it depends on",
    "clock": "breaks a rule of the clock",
}
TOLD: Final[Mapping[str, str]] = {"gap": "the node says that it does not have this"}
FINDINGS: Final = (*FAULTS, *TOLD)


def columns(table: type) -> dict[str, tuple[type, bool]]:
    """Name: its type (str, int, float, bool, Blob or Ids), and whether it may be absent."""
    found: dict[str, tuple[type, bool]] = {}
    for name, hint in get_type_hints(table).items():
        optional = typing.get_origin(hint) in (typing.Union, types.UnionType)
        kind = next(arg for arg in typing.get_args(hint) if arg is not type(None)) if optional else hint
        found[name] = (kind, optional)
    return found


SPARK_TYPES: Final[Mapping[object, str]] = {
    str: "STRING", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", Blob: "BINARY", Ids: "ARRAY<STRING>",
}  # fmt: skip


def ddl(table: type) -> str:
    """The columns in Spark's words. All may be null there: Parquet files do not promise otherwise."""
    return ", ".join(f"{name} {SPARK_TYPES[kind]}" for name, (kind, _) in columns(table).items())
