"""Silver: each event once, one row for each copy of a message, and the messages that each node is owed."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.audit.tables import Ids


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
