"""Silver, and gold: the canonical log, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sdschat.audit.tables import Ids


class Log(NamedTuple):
    """A message of the canonical log, which has every message once, in the order of (Lamport, bytes of the id)."""

    run_id: str
    channel: str
    position: int  # from 1
    lamport: int
    message_id: str
    sender: str
    deps: Ids
    digest: str
    running: str  # hash of this message and all before it: equal for equal beginnings of logs
    copies: int
    first_ms: int  # when the first node received it; `last_ms`: the last node
    last_ms: int


class AuditChannel(NamedTuple):
    run_id: str
    channel: str
    nodes: int
    messages: int
    converged: bool  # no fault of any kind
    missing: int  # owed messages that are lost
    excused: int  # lagging, joined later, retention
    faults: int  # findings that break a promise
    checked_to: int  # Lamport time
    running: str  # hash of the whole canonical log


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
    first_position: int | None  # first difference from the canonical log
    first_lamport: int | None
    first_id: str | None
    agrees: bool


class AuditMissing(NamedTuple):
    """A message that a node lacks. `reason`: lost, lagging, joined_later or retention.

    What is not lost is told in stretches of the log: the first message, and how many there are without a break."""

    run_id: str
    channel: str
    position: int
    lamport: int
    message_id: str
    sender: str
    node: str
    reason: str
    detail: str
    until: int  # position of the last one
    messages: int


class AuditFinding(NamedTuple):
    """Any other finding. `kind` is one of `FINDINGS`; `other` is another message or version that it refers to."""

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
    """The completeness of the journal of one run of a node. A gap is a lost journal, not a lost message."""

    run_id: str
    node: str
    boot: str
    first_seq: int
    last_seq: int
    rows: int
    lost: int
    first_ms: int
    last_ms: int


class AuditBase(NamedTuple):
    """The rows that the verdict in the lake follows from: one row, or none if there is no verdict."""

    bronze: str  # digest of the names of the files in bronze
    whole: bool  # False: an audit was begun and has not ended
    rules: str | None = None  # digest of the statements and limits
    versions: str | None = None  # the commit of each table that was read or written


FAULTS: Final[Mapping[str, str]] = {
    "extra": "is in nobody else's log, and its sender does not know it",
    "apart": "has databases that went different ways",
    "order": "stands in another place than in the canonical log",
    "content": "is another message under the same id",
    "altered": "is not as it was written",
    "count": "the log is not what its own count says",
    "causal": "was shown before a message it depends on",
    "clock": "breaks a rule of the clock",
}
TOLD: Final[Mapping[str, str]] = {"gap": "the node says that it does not have this"}
FINDINGS: Final = (*FAULTS, *TOLD)


class Event(NamedTuple):
    """An event in a node's journal. The order of a node's events is (began, boot, seq)."""

    run_id: str
    channel: str
    node: str
    began: int  # time of the boot's first event
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
    """A message that a node has: from the log of its database, or without one from the deliveries in its journal."""

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
    """A node in a channel: from when on it is owed messages, and until when it was seen."""

    run_id: str
    channel: str
    node: str
    nick: str | None
    origin: str  # log or journal
    horizon: int
    retained_from: int  # begin of a cut journal, which may have held older events; 0: the journal is not cut
    first_ms: int
    last_ms: int
