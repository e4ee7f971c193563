"""Bronze: the ingested rows, unchanged."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.audit.tables import Blob, Ids


class Journal(NamedTuple):
    """One event in a node's journal, as in `sdschat.store.journal`. The key is (run_id, node, boot, seq)."""

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
    """A message in a node's log. The key is (run_id, node, channel, message_id).

    Of several rows with one key, the row of the latest reading counts (by `as_of`, then `read_ms`).
    """

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
    digest: str  # of all that nodes must agree on: Lamport time, sender, dependencies, content
    bytes: int | None
    content_bytes: int | None
    filter_bytes: int | None
    history_bytes: int | None
    request_bytes: int | None
    raw: Blob | None  # the packet
    damage: str | None  # description of an alteration of the row
    gone: bool  # True: the message was in an earlier reading, and is not in this one
    as_of: int  # position in the journal that the database had reached
    read_ms: int
    # Of a row in a lake:
    again: bool | None = None  # False if no other row of its key was there when it came
    message_key: int | None = None  # a number for its channel and id
    version_key: int | None = None  # a number for all that is in `KnownVersion`, which has a row for it


class Node(NamedTuple):
    """The state of a channel in a node's database. The key is (run_id, node, channel, as_of, read_ms)."""

    run_id: str
    node: str
    channel: str
    as_of: int
    read_ms: int
    nick: str | None
    horizon: int  # join horizon: the node is not owed earlier messages; 0: unknown, so all messages are owed
    claimed: int  # number of messages, by the channel's own record
    claimed_fingerprint: str
    counted: int  # number of messages, by counting
    counted_fingerprint: str
    source: str  # file


class KnownRun(NamedTuple):
    """A run of the program that a database knows. The key is all but `source`.

    One run writes to one database, so two of which each knows a run that the other does not went different ways.
    """

    run_id: str
    node: str
    digest: str  # of the database
    boot: str
    source: str  # file


class KnownVersion(NamedTuple):
    """All of a message that nodes must agree on, as a reading had it. The key is all columns."""

    run_id: str
    channel: str
    message_id: str
    lamport: int
    sender: str
    deps: Ids
    digest: str
    message_key: int
    version_key: int


class Declared(NamedTuple):
    """A message that a node declares missing or not yet shown: `kind` is lost, before_join, missing or held."""

    run_id: str
    node: str
    channel: str
    message_id: str
    kind: str
    at_ms: int
    as_of: int
    read_ms: int


class Packet(NamedTuple):
    """A packet recorded by a tap. The key is (run_id, tap, seq)."""

    run_id: str
    tap: str
    seq: int
    ts_ms: int
    topic: str
    channel: str
    # On the topic of messages: message, sync, ephemeral or refused. Elsewhere: presence, store_query, store_answer,
    # comparison, page (of history), direct (a message to one participant), or other.
    kind: str
    reason: str | None  # of a refused packet
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
    """An unreadable input, with the reason. The key is (run_id, source, node, place, reason).

    It counts until the same file, or the database of the same node, was read to its end: see `Whole`.
    """

    run_id: str
    source: str
    place: str  # line, row or segment in the source; empty: the whole source
    reason: str
    sample: str  # its beginning, for the user
    read_ms: int
    node: str | None = None  # the node of the database, if it could be read
    as_of: int | None = None


class Whole(NamedTuple):
    """A file that was read to its end, identified by its content: an equal file need not be read again."""

    run_id: str
    digest: str
    node: str  # the node of the database; empty for other files
    as_of: int
    read_ms: int
    source: str | None = None  # file
