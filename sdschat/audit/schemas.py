"""The tables of the lake, one class each: the source of the columns for plain Python, Spark and pyarrow.

Bronze: the ingested rows, unchanged; silver; and gold: the canonical log, and the verdict. Times are epoch
milliseconds; ids are text as in the packets. `run_id` separates unrelated data: simulated runs, and campaigns with real
nodes (`FIELD` by default).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Final, NamedTuple, get_args, get_origin, get_type_hints

VERSION: Final = 2
FIELD: Final = "field"
Ids = tuple[str, ...]
Blob = bytes  # an alias, because some tables have a column with the name `bytes`


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
    """A message in a node's log. The key is (run_id, node, channel, message_id); the latest (as_of, read_ms) counts."""

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
    member_key: int | None = None  # a number for its channel and node
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
    """A run of the program that a database knows: one run writes to one database. The key is all but `source`."""

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
    """A message that a node declares missing or not yet shown: lost, unproven, missing, held or ahead."""

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
    excused: int  # all that is lacked and not lost
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
    """A message that a node lacks. `reason`: lost, lagging, joined_later, retention, taken_along, ahead or apart.

    What is not lost is told in stretches of the log: the first message, and how many there are without a break.
    """

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
    """A finding: one of `FAULTS`, or gap. `other` is another message or version that it refers to."""

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


FAULTS: Final[Mapping[str, tuple[str, str]]] = {  # kinds of a finding, with the words for one and for several
    "extra": ("message that nobody sent", "messages that nobody sent"),
    "apart": ("pair of databases that went apart", "pairs of databases that went apart"),
    "order": ("place in another order", "places in another order"),
    "content": ("id with two contents", "ids with two contents"),
    "altered": ("altered row", "altered rows"),
    "count": ("log that is not what its own count says", "logs that are not what their own counts say"),
    "causal": ("message shown before its cause", "messages shown before their causes"),
    "clock": ("broken clock rule", "broken clock rules"),
}


def columns(table: type) -> dict[str, type]:
    """Return for each column its type: str, int, float, bool, Blob or Ids; it may be null."""
    hints = get_type_hints(table).items()
    return {name: get_args(hint)[0] if get_origin(hint) is UnionType else hint for name, hint in hints}


SPARK_TYPES: Final[Mapping[object, str]] = {
    str: "STRING",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    Blob: "BINARY",
    Ids: "ARRAY<STRING>",
}


def ddl(table: type) -> str:
    """Return the columns in Spark's DDL. All of them may be null there: Parquet files do not promise otherwise."""
    return ", ".join(f"{name} {SPARK_TYPES[kind]}" for name, kind in columns(table).items())
