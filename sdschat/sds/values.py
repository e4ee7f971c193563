"""The values of SDS: messages, moments, refusals, and the rows that a channel keeps, with the writes that change them.

They carry no behaviour beyond telling what they are, so that every layer above can import them cheaply. The engine
never touches a disk. It says what must be true there (`Write`), in order, and whoever drives it makes all of one
`Ready` true in one transaction before any packet of that `Ready` leaves. All times in rows are epoch milliseconds,
because the monotonic clock starts anew with every boot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple, Protocol


class Now(NamedTuple):
    """A moment, as the caller's clocks show it. Protocol code never reads a clock itself.

    `wall` is epoch milliseconds and may jump; Lamport timestamps come from it.
    `mono` is milliseconds on a clock that never jumps; timers run on it.
    """

    wall: int
    mono: int

    def to_wall(self, due: int) -> int:
        """Return a monotonic time as epoch milliseconds, which is what outlives a restart."""
        return self.wall + due - self.mono

    def to_mono(self, wall: int, within: int) -> int:
        """Return epoch milliseconds as a time on the monotonic clock of this process. No deadline was ever set further
        ahead than `within`; where it seems to be, the wall clock was set back while we were away, and must not silence
        a timer for as long."""
        return self.mono + min(wall - self.wall, within)

    def past_mono(self, wall: int) -> int:
        """Return the same for something that has happened: it cannot have been later than now."""
        return self.to_mono(wall, 0)


class HistoryEntry(NamedTuple):
    """`HistoryEntry` of the wire protocol: a reference to a message, in a causal history or a repair request."""

    message_id: str
    retrieval_hint: bytes | None = None
    sender_id: str | None = None


class MessageKind(StrEnum):
    """Kind of a message; it follows from which of its fields are set."""

    CONTENT = "content"
    SYNC = "sync"
    EPHEMERAL = "ephemeral"
    NEITHER = "neither"


@dataclass(slots=True)
class Message:
    """`Message` of the wire protocol. Never changed once made: treat it as frozen (freezing it costs 1 µs a packet)."""

    sender_id: str
    message_id: str
    channel_id: str
    lamport_timestamp: int | None = None
    causal_history: tuple[HistoryEntry, ...] = ()
    bloom_filter: bytes | None = None
    repair_request: tuple[HistoryEntry, ...] = ()
    content: bytes | None = field(default=None)

    @property
    def kind(self) -> MessageKind:
        """Return the kind: content with a clock is a message of the log; without one it is ephemeral; a clock alone is
        a sync.

        The spec leaves empty content open: it says the same as absent content, because proto3 writers cannot
        be relied on to tell the two apart.
        """
        if self.content:
            return MessageKind.EPHEMERAL if self.lamport_timestamp is None else MessageKind.CONTENT
        return MessageKind.NEITHER if self.lamport_timestamp is None else MessageKind.SYNC


class Draft(NamedTuple):
    """A message without its content: the fields that say where in the log it belongs. An ephemeral one has none."""

    lamport_timestamp: int | None = None
    causal_history: tuple[HistoryEntry, ...] = ()
    bloom_filter: bytes | None = None


Compose = Callable[[Draft], bytes]  # makes the content of a message that has its place


class Reason(StrEnum):
    """Why something that came from outside was refused. Every value is produced by some test."""

    UNREADABLE = "unreadable"  # not protobuf, or not UTF-8 where text belongs
    TOO_LARGE = "too_large"
    FOREIGN_DIALECT = "foreign_dialect"  # readable only with the field numbers of another implementation
    FIELD_MISSING = "field_missing"
    FIELD_TOO_LONG = "field_too_long"
    TOO_MANY_ENTRIES = "too_many_entries"
    DUPLICATE_FIELD = "duplicate_field"
    UNKNOWN_FIELDS = "unknown_fields"  # more bytes of unknown fields than allowed
    NO_KIND = "no_kind"  # neither content nor a clock
    OTHER_CHANNEL = "other_channel"
    SELF_REFERENCE = "self_reference"
    CLOCK_ZERO = "clock_zero"
    CLOCK_TOO_LARGE = "clock_too_large"
    CLOCK_NOT_ABOVE_PARENT = "clock_not_above_parent"
    FUTURE_QUOTA = "future_quota"
    BUFFER_QUOTA = "buffer_quota"
    OVER_LIMIT = "over_limit"  # its sender says more than is kept, and it is nothing that could be kept as an id
    OWN_ID_UNKNOWN = "own_id_unknown"  # bears our participant id, and we never sent it
    ID_CONFLICT = "id_conflict"  # a known id with other content
    MISNAMED = "misnamed"  # signed content under an id that is not its own, or from another than its author
    ALTERED = "altered"  # not what its author signed: another place, content, sender or id


class Refusal(NamedTuple):
    """A packet that was not taken, and why."""

    reason: Reason
    detail: str = ""
    sender_id: str = ""
    message_id: str = ""


class Codec(Protocol):
    """Bytes to values and back; `sdschat.wire` has the real one. `decode` is total: it never raises."""

    def encode(self, message: Message) -> bytes: ...

    def size(self, message: Message) -> int:
        """Return how many bytes `encode` makes at most."""

    def decode(self, packet: bytes) -> Message | Refusal: ...


class Entry(NamedTuple):
    """A message of the log without its body. Entries compare in log order: Lamport, then the id.

    Python compares text by code point, which is the order of the UTF-8 bytes.
    """

    lamport: int
    message_id: str
    sender_id: str
    dependencies: tuple[str, ...] = ()
    generation: int = 0  # of the filter, when the message was put into it

    @property
    def bare(self) -> bool:
        """True if only the id is here."""
        return self.generation <= WITHOUT_A_BODY


OUTSIDE_THE_FILTER = -2  # a generation that no filter ever has, nor the one before it
WITHOUT_A_BODY = -3  # in the place of a generation: only the id is here, and it is not named by us
TOLD = -4  # likewise, and nobody has seen the message here: another participant told the id, its date and its sender
UNPROVEN = -5  # in the place of a generation, for a message that waits for its date: nobody signed it
FROM_STORE = "store"  # fetched from a Store: other participants are not receiving it now


class LogRow(NamedTuple):
    """One delivered message: its place, and the packet as it came, for answers to repair requests. The packet is empty
    if only the id is kept."""

    entry: Entry
    raw: bytes
    own: bool
    source: str
    received_at: int


class AckState(IntEnum):
    """States of an own message; they only ever grow."""

    UNACKED = 0
    POSSIBLY_ACKED = 1
    ACKED = 2


class Evidence(NamedTuple):
    """Why we believe that a peer has a message of ours."""

    sender_id: str
    how: str  # "mention": named in a causal history; "filter": found in a filter; "range": in a range equal to ours
    packet_id: str
    at: int
    error_rate: float  # chance that this evidence is wrong: 0 for a mention, fill**k for a filter, 2**-64 for a range

    signed: bool = True  # False: anybody could have said it in the name of this participant

    @property
    def certain(self) -> bool:
        """Return True for evidence other than a filter, which may hold an id by chance."""
        return self.how != "filter"

    @property
    def proven(self) -> bool:
        return self.certain and self.signed


class ChannelRow(NamedTuple):
    """The one row of a channel."""

    lamport: int
    horizon: int
    layout: str
    generation: int
    floor: int
    waku_heard_at: int
    sync_due: int
    sync_latest: int
    sync_spoke_at: int
    sync_count: int
    range_cursor: int
    range_wanted_low: int  # of the range that an answer is owed for
    range_wanted_high: int
    range_answered_at: int
    answer_spent: int
    push_spent: int
    spent_at: int
    offline_since: int  # 0: the transport was up
    filter_stale: int = 0  # 1: the filter holds what was dropped, and is to be made anew before it is sent
    range_only_print: int = 0  # 1: a fingerprint answers, and no filter is owed


class IncomingRow(NamedTuple):
    """A message that is here but not in the log: its dependencies are unmet, or it is dated in the future."""

    message: Message
    raw: bytes
    source: str
    generation: int
    received_at: int
    release_at: int  # 0: waits for dependencies
    gap: tuple[str, ...]  # dependencies that it no longer waits for


# In the place of the moment at which an own message is sent again: acknowledged, or possibly so and out of the buffer;
# and too old for a mention to count any more.
RETIRED = 0
FORGOTTEN = -1


class OutgoingRow(NamedTuple):
    """An own message in the outgoing buffer, or lately out of it."""

    message_id: str
    lamport: int
    state: AckState
    sends: int
    due: int  # when it is sent again; RETIRED or FORGOTTEN where that is never
    evidence: tuple[Evidence, ...]

    @property
    def resent(self) -> bool:
        """True if the message is in the buffer, and so sent again of our own accord."""
        return self.state is AckState.UNACKED or (self.state is AckState.POSSIBLY_ACKED and self.due > 0)


class MissingRow(NamedTuple):
    """A dependency that is nowhere here, with its entry in the outgoing repair request buffer."""

    message_id: str
    sender_id: str | None
    hint: bytes | None
    charged_to: str  # the sender whose message named it; its quota pays
    since: int
    lost_at: int
    t_req: int  # 0: not asked for
    attempts: int
    suppressed: int  # 1: another asked for it since we last did
    awaited: int = 1  # 0: asked for, but nothing waits for it; and 2 more if only unsigned packets named it


class GapRow(NamedTuple):
    """A dependency we stopped waiting for: `reason` is "lost", or "unproven" if only unsigned packets named it."""

    message_id: str
    reason: str
    sender_id: str | None
    at: int
    charged_to: str = ""  # the sender whose message named it; its quota pays


class AnswerRow(NamedTuple):
    """An entry of the incoming repair request buffer; with `due` 0 it only remembers: an answer, where `asked` is 0."""

    message_id: str
    requested_by: str
    due: int
    at: int
    asked: int
    lacked_by: tuple[str, ...] = ()  # all who asked, if the filter of each lacked the message; else nobody
    called_off: int = 0  # 1: because all who asked had it, and not answered since


class PushRow(NamedTuple):
    """A message that some peer's filter lacks (anti-entropy); with `due` 0 it only remembers past pushes."""

    message_id: str
    lamport: int
    wanted_by: tuple[str, ...]
    due: int
    pushes: int
    not_before: int


class PeerRow(NamedTuple):
    """Our knowledge of another participant."""

    sender_id: str
    first_lamport: int
    last_lamport: int
    heard_at: int
    reviewed_at: int
    behind_since: int
    behind: bytes
    reported: bytes
    cursor: int
    layout: str


class HintRow(NamedTuple):
    """Advice for fetching a message from a Store, to be passed on in causal histories."""

    message_id: str
    hint: bytes


class Table(StrEnum):
    CHANNEL = "channel"
    INCOMING = "held"  # also the name of the table in databases, and in recordings
    OUTGOING = "outgoing"
    MISSING = "missing"
    GAP = "gap"
    ANSWER = "answer"
    PUSH = "push"
    PEER = "peer"
    HINT = "hint"


Row = ChannelRow | IncomingRow | OutgoingRow | MissingRow | GapRow | AnswerRow | PushRow | PeerRow | HintRow


class Append(NamedTuple):
    """Put a message into the log. Its id is not there yet; or it is there without a body, or with a false one: that is
    `instead_of`, which goes."""

    row: LogRow
    instead_of: Entry | None = None


class Put(NamedTuple):
    """Insert or replace a row. The channel row has the key ""."""

    table: Table
    key: str
    row: Row


class Drop(NamedTuple):
    """Delete a row, which may be absent."""

    table: Table
    key: str


Write = Append | Put | Drop


class Snapshot(NamedTuple):
    """Everything but the log, as it was on disk; rows of a table in the order in which they were first put."""

    channel: ChannelRow
    incoming: tuple[IncomingRow, ...] = ()
    outgoing: tuple[OutgoingRow, ...] = ()
    missing: tuple[MissingRow, ...] = ()
    gaps: tuple[GapRow, ...] = ()
    answers: tuple[AnswerRow, ...] = ()
    pushes: tuple[PushRow, ...] = ()
    peers: tuple[PeerRow, ...] = ()
    hints: tuple[HintRow, ...] = ()
