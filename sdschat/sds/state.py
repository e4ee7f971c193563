"""Everything that one channel's engine holds, for the protocol steps to work on: the other participants among it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.config import Config
from sdschat.sds.events import Event, Rejected
from sdschat.sds.history import History
from sdschat.sds.ids import is_digest, recipe_of
from sdschat.sds.incoming import Gaps, IncomingBuffer
from sdschat.sds.limits import (
    ANSWER_BYTES_PER_MINUTE,
    MAX_PEERS,
    PUSH_BYTES_PER_MINUTE,
    RANGE_READS_PER_MINUTE,
    RECENT_WINDOW,
    out_of_bounds,
)
from sdschat.sds.outgoing import OutgoingBuffer
from sdschat.sds.repair import IncomingRepairBuffer, OutgoingRepairBuffer, RefetchBuffer
from sdschat.sds.scheduled_sends import PushBuffer
from sdschat.sds.timers import Budget, Jitter, LamportClock
from sdschat.sds.values import ChannelRow, Codec, Entry, LogRow, Message, MessageKind, Now, PeerRow, Reason, Write
from sdschat.sds.window import RecentArrivals, RecentWindow

FIRST_MET = 600_000  # how far back a peer that does not say what it covers is served when others first meet it
_DETAILS: Final = {  # the beginning of the detail of a refusal
    Reason.OTHER_CHANNEL: "channel_id is that of another channel",
    Reason.CLOCK_NOT_ABOVE_PARENT: "is dated no later than a message in its causal history",
    Reason.FUTURE_QUOTA: "is dated ahead, and there is no more room for what waits for its date",
    Reason.BUFFER_QUOTA: "depends on what is not here, and there is no more room for what waits",
    Reason.OVER_LIMIT: "its sender says more than is kept in full, and it cannot be kept as an id",
    Reason.OWN_ID_UNKNOWN: "bears our sender_id, and we did not send it",
    Reason.ID_CONFLICT: "another message has this id",
}
_ONE_MOMENT: Final = 1000  # packets that come within so many milliseconds count as one


@dataclass(slots=True, eq=False)
class Peer:
    """One participant. Times are milliseconds on the monotonic clock."""

    sender_id: str
    # Lamport timestamp of the packet by which we met it.
    first_lamport: int
    # Its last packet came then.
    heard_at: int
    # The highest Lamport timestamp of its packets, as far as `sds.max_skew` lets it be believed.
    last_lamport: int = field(default=0, init=False)
    # Its filter was last compared with our log then. -1: never.
    reviewed_at: int = field(default=-1, init=False)
    # Bits of its filter that ours lacked at `behind_since`, without those in `reported`.
    behind: int = field(default=0, init=False)
    # -1: our filter lacks nothing new of its filter.
    behind_since: int = field(default=-1, init=False)
    # Bits of its filter that ours lacked when we last sent our filter early because of that.
    reported: int = field(default=0, init=False)
    # `behind` and `reported` as bytes, little-endian: they change less often than they are written.
    packed: tuple[bytes, bytes] = field(default=(b"", b""), init=False)
    # A Lamport timestamp: its filter is next compared with the log below it. 0: from the newest message.
    cursor: int = field(default=0, init=False)
    # Of its last filter: compact, waku or unknown. Empty: none came.
    filter_format: str = field(default="", init=False)
    # The usual time between two of its packets, where those of one second count as one. 0: only one was heard.
    pace: int = field(default=0, init=False)

    def note_heard(self, mono: int) -> None:
        gap = mono - self.heard_at
        if gap >= _ONE_MOMENT:
            self.pace = (3 * self.pace + gap) // 4 if self.pace else gap
        self.heard_at = mono

    def expected_at(self, interval: int) -> int:
        """Return about when its next packet comes: after its usual pace, or after the interval of sync messages."""
        return self.heard_at + (self.pace or interval)

    def note_lack(self, behind: int, reported: int) -> None:
        if (behind, reported) != (self.behind, self.reported):
            self.behind, self.reported = behind, reported
            self.packed = (_packed(behind), _packed(reported))


@dataclass(slots=True, eq=False)
class Peers:
    """The participants whose packets came. Beyond `MAX_PEERS`, the one silent for longest is forgotten."""

    # By participant id.
    known: dict[str, Peer] = field(default_factory=dict, init=False)
    # Ids whose row on disk is out of date.
    changed: dict[str, None] = field(default_factory=dict, init=False)

    def heard(self, sender_id: str, lamport: int, mono: int) -> Peer:
        peer = self.known.get(sender_id)
        if peer is None:
            if len(self.known) >= MAX_PEERS:
                silent = min(self.known.values(), key=lambda peer: (peer.heard_at, peer.sender_id))
                del self.known[silent.sender_id]
                self.changed[silent.sender_id] = None
            peer = self.known[sender_id] = Peer(sender_id, lamport, mono)
        peer.note_heard(mono)
        self.changed[sender_id] = None
        return peer

    def active(self, mono: int, within: int) -> int:
        """Count the peers heard lately, ourselves not counted."""
        return sum(1 for peer in self.known.values() if mono - peer.heard_at <= within)

    def row(self, peer: Peer, now: Now) -> PeerRow:
        ahead = now.wall - now.mono
        reviewed_at = 0 if peer.reviewed_at < 0 else peer.reviewed_at + ahead
        behind_since = 0 if peer.behind_since < 0 else peer.behind_since + ahead
        behind, reported = peer.packed
        return PeerRow(
            peer.sender_id,
            peer.first_lamport,
            peer.last_lamport,
            peer.heard_at + ahead,
            reviewed_at,
            behind_since,
            behind,
            reported,
            peer.cursor,
            peer.filter_format,
        )

    def restore(self, row: PeerRow, now: Now) -> None:
        peer = Peer(row.sender_id, row.first_lamport, now.past_mono(row.heard_at))
        peer.last_lamport = row.last_lamport
        peer.reviewed_at = now.past_mono(row.reviewed_at) if row.reviewed_at else -1
        peer.behind_since = now.past_mono(row.behind_since) if row.behind_since else -1
        peer.note_lack(int.from_bytes(row.behind, "little"), int.from_bytes(row.reported, "little"))
        peer.cursor = row.cursor
        peer.filter_format = row.layout
        self.known[row.sender_id] = peer
        # Of times ahead of a clock that was set back, the row gets those that are taken instead: the next restart would
        # take later ones.
        if max(row.heard_at, row.reviewed_at, row.behind_since) > now.wall:
            self.changed[row.sender_id] = None


def _packed(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little") if bits else b""


class Packet(NamedTuple):
    """Bytes for the channel's topic. `kind`: message, sync, ephemeral, resend, answer or push."""

    raw: bytes
    kind: str
    message_id: str


class Ready(NamedTuple):
    """Work to be done, in duty order: make all writes true, then send the packets, then tell the events."""

    writes: list[Write]
    packets: list[Packet]
    events: list[Event]


@dataclass(slots=True, eq=False)
class SyncTimer:
    """The time at which the next sync message is due. Times are milliseconds on the monotonic clock."""

    # The next sync message goes out then, unless a request of our own asks for an earlier one.
    due: int = 0
    # The traffic of others never puts `due` off beyond this.
    latest: int = 0
    # The last packet of ours with a filter went out then. In the far past before the first one.
    spoke_at: int = -(1 << 40)
    # Packets with a filter sent since the channel was opened first: it chooses the section of the next sync message.
    count: int = 0
    # Until then more participants count as heard lately than a small group has. In the past where that is not known.
    crowded_until: int = -1


@dataclass(slots=True, eq=False)
class RangeState:
    """Progress of the comparison of the whole history by ranges (see steps/ranges.py)."""

    # The next range ends below this Lamport timestamp. 0: begin again at the newest message.
    cursor: int = 0
    # Ends of a range, both included, of which the next sync message carries our own filter. None: nothing is owed.
    wanted: tuple[int, int] | None = None
    # Ends of a range, both included, of which a sync message carries our own fingerprint. None while `wanted` is set.
    asked: tuple[int, int] | None = None
    # Monotonic milliseconds of the last filter over a range that we sent. -1: never.
    answered_at: int = -1
    # Messages looked at for the ranges of those who sign, and of all others.
    reads: Budget = field(default_factory=lambda: Budget(RANGE_READS_PER_MINUTE), init=False)
    reads_unproven: Budget = field(default_factory=lambda: Budget(RANGE_READS_PER_MINUTE), init=False)


@dataclass(slots=True, eq=False)
class ChannelState:
    """Plain data; the functions in `steps/` work on it, under the names of the specification.

    Times are milliseconds: on the monotonic clock where nothing else is said, so that they jump with no clock. A table
    with a `changed` beside it is on disk as it is here, once the writes of the next `Ready` are made.
    """

    # Names this channel in every packet. Packets of another one are refused.
    channel_id: str
    # Our own participant id.
    participant_id: str
    config: Config
    codec: Codec
    # Numbers for timers, the same again after a restart.
    jitter: Jitter
    # The log on disk. It lacks the rows in `unsaved`.
    history: History
    # The moment of the call that is carried out.
    now: Now = field(default=Now(0, 0), init=False)
    # True if the packet at hand is no proof of what its sender has, because nobody signed it; and where there is none.
    unproven: bool = field(default=False, init=False)
    # True while the transport is up. Offline, nothing is sent and nothing is given up.
    online: bool = field(default=True, init=False)
    # The transport went down then. It has a meaning only while `online` is false.
    offline_since: int = field(default=0, init=False)
    # Join horizon, a Lamport timestamp: a message dated up to it waits for no dependency.
    horizon: int = field(default=0, init=False)
    # At least as high as every message of the log, and as every packet of ours.
    clock: LamportClock = field(default_factory=lambda: LamportClock(0), init=False)
    # The newest `RECENT_WINDOW` entries of the log, saved or not.
    window: RecentWindow = field(default_factory=lambda: RecentWindow([]), init=False)
    # Filter of the ids that we hold. It may claim an id that was dropped only while `filter_stale` is true.
    filter: OwnFilter = field(init=False)
    # True if the filter holds an id that was dropped: it is made anew before it is sent.
    filter_stale: bool = field(default=False, init=False)
    # A filter of the waku format was received last at this time. -1: never.
    waku_heard_at: int = field(default=-1, init=False)
    # Messages with unmet dependencies or a date in the future. No id is both here and in the log.
    incoming: IncomingBuffer = field(default_factory=IncomingBuffer, init=False)
    # Own messages and what is known of their acknowledgement.
    outgoing: OutgoingBuffer = field(default_factory=OutgoingBuffer, init=False)
    # Dependencies that are nowhere here. No id is both here and in the log.
    requests: OutgoingRepairBuffer = field(default_factory=OutgoingRepairBuffer, init=False)
    # Messages of the log whose packets the disk has altered. Not kept over a restart.
    refetch: RefetchBuffer = field(default_factory=RefetchBuffer, init=False)
    # Repair requests of others for messages that we hold.
    answers: IncomingRepairBuffer = field(default_factory=IncomingRepairBuffer, init=False)
    # Messages that a filter of a peer lacks.
    pushes: PushBuffer = field(default_factory=PushBuffer, init=False)
    # The other participants, at most `MAX_PEERS`.
    peers: Peers = field(default_factory=Peers, init=False)
    # Dependencies that were given up. An id leaves when its message comes.
    gaps: Gaps = field(default_factory=Gaps, init=False)
    # Retrieval hints by message id, of messages that are here and not older than the recent window.
    hints: dict[str, bytes] = field(default_factory=dict, init=False)
    # Ids whose hint differs from the disk.
    hints_changed: dict[str, None] = field(default_factory=dict, init=False)
    sync: SyncTimer = field(default_factory=SyncTimer, init=False)
    ranges: RangeState = field(default_factory=RangeState, init=False)
    # Bytes of answers to repair requests.
    answer_budget: Budget = field(default_factory=lambda: Budget(ANSWER_BYTES_PER_MINUTE), init=False)
    # Bytes of pushes.
    push_budget: Budget = field(default_factory=lambda: Budget(PUSH_BYTES_PER_MINUTE), init=False)
    # Both budgets are emptied up to this time.
    spent_at: int = field(default=0, init=False)
    # Ids that came within `push_grace`, once `trim_arrivals` was called.
    recent_arrivals: RecentArrivals = field(default_factory=RecentArrivals, init=False)
    # Ids of ephemeral messages, oldest first, at most `EPHEMERAL_SEEN`. Not kept over a restart: an ephemeral message
    # is then shown twice only if it is received again just then, and a write for each would cost more than that.
    ephemeral_seen: OrderedDict[str, None] = field(default_factory=OrderedDict, init=False)
    # Ephemeral messages that we sent since the start.
    ephemeral_sent: int = field(default=0, init=False)
    # Rows of the log whose writes are in the next `Ready`, by message id.
    unsaved: dict[str, LogRow] = field(default_factory=dict, init=False)
    # Messages that take the place of false ones once these are saved, with their bytes, the way by which they came, and
    # `unproven` as it was.
    early: dict[str, tuple[Message, bytes, str, bool]] = field(default_factory=dict, init=False)
    # The row of this channel as it is on disk. None before the first one.
    saved_channel: ChannelRow | None = field(default=None, init=False)
    # The next `Ready`, in the order in which it came about.
    writes: list[Write] = field(default_factory=list, init=False)
    packets: list[Packet] = field(default_factory=list, init=False)
    events: list[Event] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        config = self.config
        self.filter = OwnFilter("compact", config.bloom_capacity, config.bloom_error_rate, 0)

    def delivered(self, message_id: str) -> Entry | None:
        """Return the entry of a message that is in the log."""
        entry = self.window.entries.get(message_id)
        if entry is None:
            row = self.unsaved.get(message_id) if self.unsaved else None
            entry = self.history.entry(message_id) if row is None else row.entry
        return entry

    def holds(self, message_id: str) -> bool:
        return (
            message_id in self.window.entries
            or message_id in self.incoming.buffered
            or message_id in self.unsaved
            or self.history.entry(message_id) is not None
        )

    def holds_in_memory(self, message_id: str) -> bool:
        """True if a message is here, and that can be told without the disk: it came lately, or waits."""
        return message_id in self.window.entries or message_id in self.incoming.buffered or message_id in self.unsaved

    def knows(self, message_id: str) -> bool:
        """True if a message that is not in the log is here or waited for."""
        return message_id in self.requests.missing or message_id in self.incoming.buffered

    def never_in_log(self, message: Message) -> Reason | None:
        """Return the reason for which a message can be in this log at no time, or None."""
        if message.channel_id != self.channel_id:
            return Reason.OTHER_CHANNEL
        if message.kind is not MessageKind.CONTENT:
            return Reason.NO_KIND
        return out_of_bounds(message.lamport_timestamp or 0)

    def packet_of(self, message_id: str) -> tuple[bytes, str] | None:
        """Return the original bytes of a message held in full, and who sent it."""
        row = self.unsaved.get(message_id) or self.history.row(message_id)
        if row is not None:
            return (row.raw, row.entry.sender_id) if row.raw else None
        buffered = self.incoming.buffered.get(message_id)
        return None if buffered is None else (buffered.raw, buffered.message.sender_id)

    def may_be_of_another(self, message: Message) -> bool:
        """True if some other content may give the id of this message, and its own does not: that message may come."""
        return is_digest(message.message_id) and recipe_of(message) == "foreign"

    def newest(self, count: int) -> list[Entry]:
        """Return the last entries of the log, whatever of it is saved."""
        order = self.window.order
        if count <= len(order):
            return order[-count:]
        older = {entry.message_id: entry for entry in self.history.newest(count)}
        for entry in order:
            older[entry.message_id] = entry
        return sorted(older.values())[-count:]

    def between(self, low: int, high: int, limit: int) -> list[Entry]:
        """Return the first entries of the log dated from `low` to `high`, whatever of it is saved."""
        order = self.window.order
        near = self.window.dated(low, high)
        if len(order) < RECENT_WINDOW or (order and order[0].lamport < low):
            return near[:limit]
        found = {entry.message_id: entry for entry in self.history.between(low, high, limit)}
        for entry in near:
            found[entry.message_id] = entry
        return sorted(found.values())[:limit]

    def before(self, lamport: int, count: int) -> list[Entry]:
        """Return the last entries of the log dated before `lamport`, whatever of it is saved."""
        order = self.window.order
        near = self.window.dated_before(lamport, count)
        if len(near) == count or len(order) < RECENT_WINDOW:
            return near
        found = {entry.message_id: entry for entry in self.history.before(lamport, count)}
        for entry in near:
            found[entry.message_id] = entry
        return sorted(found.values())[-count:]

    def note_arrival(self, message_id: str) -> None:
        self.recent_arrivals.note(message_id, self.now.mono)

    def trim_arrivals(self) -> None:
        """Drop recent arrivals that are older than `push.grace`. Called before anybody reads them; until then only
        their number is bounded."""
        self.recent_arrivals.trim(self.now.mono - self.config.push_grace)

    def learn_hint(self, message_id: str, hint: bytes, confirmed: bool = False) -> None:
        """Learn how a message of the recent log can be fetched. Hints of others are only advice, of which the first is
        passed on; a hint that a Store confirmed stands above it."""
        if message_id not in self.window.entries or self.hints.get(message_id) == hint:
            return
        if confirmed or message_id not in self.hints:
            self.hints[message_id] = hint
            self.hints_changed[message_id] = None

    def learn_hints(self, message: Message) -> None:
        """Learn the hints of a message. Only once it is accepted: a refused one changes nothing."""
        for entry in message.causal_history:
            if entry.retrieval_hint is not None:
                self.learn_hint(entry.message_id, entry.retrieval_hint)

    def reject(self, reason: Reason, sender_id: str, message_id: str, detail: str = "") -> None:
        words = _DETAILS.get(reason, "")
        self.events.append(
            Rejected(reason, sender_id, message_id, f"{words}: {detail}" if words and detail else words or detail)
        )
