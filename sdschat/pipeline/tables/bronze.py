"""Bronze: what was taken in, as it came."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.pipeline.tables.kinds import Blob, Ids


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
    # On the topic of messages: message, sync, ephemeral or refused. Elsewhere: presence, store_query, store_answer,
    # comparison, page (of catching up), direct (messages to one participant), or other.
    kind: str
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
    """Input that could not be taken, with the reason. The key is (run_id, source, node, place, reason). It counts until
    the same file, or the database of the same node, was taken to its end: see `Whole`."""

    run_id: str
    source: str
    place: str  # line, row or segment in the source; empty: all of it
    reason: str
    sample: str  # the beginning of it, for a person
    read_ms: int
    node: str | None = None  # whose database it is, as far as that could be read
    as_of: int | None = None


class Whole(NamedTuple):
    """A file that was taken to its end, by what was in it: brought again, it need not be read."""

    run_id: str
    digest: str
    node: str  # whose database it is; empty for other files
    as_of: int
    read_ms: int
    source: str | None = None  # file
