"""Everything that one channel's engine holds, for the protocol steps to work on."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.clock import LamportClock
from sdschat.sds.config import Config
from sdschat.sds.events import Event, Rejected
from sdschat.sds.gaps import Gaps
from sdschat.sds.history import History
from sdschat.sds.incoming import IncomingBuffer
from sdschat.sds.jitter import Jitter
from sdschat.sds.limits import ANSWER_BYTES_PER_MINUTE, PUSH_BYTES_PER_MINUTE, RECENT_WINDOW
from sdschat.sds.outgoing import OutgoingBuffer
from sdschat.sds.peers import Peers
from sdschat.sds.push_buffer import PushBuffer
from sdschat.sds.recent_arrivals import RecentArrivals
from sdschat.sds.refetch import RefetchBuffer
from sdschat.sds.repair import IncomingRepairBuffer, OutgoingRepairBuffer
from sdschat.sds.rows import ChannelRow, Entry, LogRow, Write
from sdschat.sds.values import Codec, Now, Reason
from sdschat.sds.window import RecentWindow


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


class Budget:
    """Bytes a minute, as a bucket that empties: `spent` falls back to 0 in a minute."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    def cool(self, elapsed: int) -> None:
        if self.spent:
            self.spent = max(0, self.spent - elapsed * self.limit // 60_000)

    def spend(self, size: int) -> bool:
        """A single packet larger than the whole budget still passes when the bucket is empty."""
        if self.spent and self.spent + size > self.limit:
            return False
        self.spent += size
        return True


class SyncTimer:
    """When the next sync message is due. All on the monotonic clock."""

    __slots__ = ("count", "due", "latest", "spoke_at")

    def __init__(self) -> None:
        self.due = 0
        self.latest = 0  # others' traffic does not put it off beyond this
        self.spoke_at = -(1 << 40)  # when a packet of ours with a filter last went out
        self.count = 0


class RangeState:
    """Progress of the comparison of the whole history by ranges (see steps/ranges.py)."""

    __slots__ = ("answered_at", "asked", "cursor", "wanted")

    def __init__(self) -> None:
        self.cursor = 0  # the next range ends below this date; 0: start again at the newest
        self.wanted: tuple[int, int] | None = None  # a range we owe our own filter of
        self.asked: tuple[int, int] | None = None  # or else one we owe our own fingerprint of
        self.answered_at = -1


class ChannelState:
    """Plain data; what is done with it stands in `steps/`, under the spec's names."""

    __slots__ = (
        "answer_budget",
        "answers",
        "channel_id",
        "clock",
        "codec",
        "config",
        "ephemeral_seen",
        "ephemeral_sent",
        "events",
        "filter",
        "filter_stale",
        "gaps",
        "hints",
        "hints_changed",
        "history",
        "horizon",
        "incoming",
        "jitter",
        "now",
        "offline_since",
        "online",
        "outgoing",
        "packets",
        "participant_id",
        "peers",
        "push_budget",
        "pushes",
        "ranges",
        "recent_arrivals",
        "refetch",
        "requests",
        "saved_channel",
        "spent_at",
        "sync",
        "unproven",
        "unsaved",
        "waku_heard_at",
        "window",
        "writes",
    )

    def __init__(
        self, channel_id: str, participant_id: str, config: Config, codec: Codec, jitter: Jitter, history: History
    ) -> None:
        self.channel_id = channel_id
        self.participant_id = participant_id
        self.config = config
        self.codec = codec
        self.jitter = jitter
        self.history = history
        self.now = Now(0, 0)
        self.unproven = False  # the packet at hand is no proof of what its sender has
        self.online = True
        self.offline_since = 0
        self.horizon = 0
        self.clock = LamportClock(0)
        self.window = RecentWindow([])
        self.filter = OwnFilter("compact", config.bloom_capacity, config.bloom_error_rate, 0)
        self.filter_stale = False
        self.waku_heard_at = -1
        self.incoming = IncomingBuffer()
        self.outgoing = OutgoingBuffer()
        self.requests = OutgoingRepairBuffer()
        self.refetch = RefetchBuffer()
        self.answers = IncomingRepairBuffer()
        self.pushes = PushBuffer()
        self.peers = Peers()
        self.gaps = Gaps()
        self.hints: dict[str, bytes] = {}
        self.hints_changed: dict[str, None] = {}
        self.sync = SyncTimer()
        self.ranges = RangeState()
        self.answer_budget = Budget(ANSWER_BYTES_PER_MINUTE)
        self.push_budget = Budget(PUSH_BYTES_PER_MINUTE)
        self.spent_at = 0
        self.recent_arrivals = RecentArrivals()  # what came in within `push_grace`
        # Not kept over a restart: an ephemeral message is shown twice only if it is heard again just then, and a write
        # for each of what nobody keeps would cost more than that.
        self.ephemeral_seen: OrderedDict[str, None] = OrderedDict()
        self.ephemeral_sent = 0
        self.unsaved: dict[str, LogRow] = {}
        self.saved_channel: ChannelRow | None = None
        self.writes: list[Write] = []
        self.packets: list[Packet] = []
        self.events: list[Event] = []

    def delivered(self, message_id: str) -> Entry | None:
        """The entry of a message that is in the log."""
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

    def packet_of(self, message_id: str) -> tuple[bytes, str] | None:
        """The original bytes of a message held in full, and who sent it."""
        row = self.unsaved.get(message_id) or self.history.row(message_id)
        if row is not None:
            return row.raw, row.entry.sender_id
        buffered = self.incoming.buffered.get(message_id)
        return None if buffered is None else (buffered.raw, buffered.message.sender_id)

    def newest(self, count: int) -> list[Entry]:
        """The last entries of the log, whatever of it is saved."""
        order = self.window.order
        if count <= len(order):
            return order[-count:]
        older = {entry.message_id: entry for entry in self.history.newest(count)}
        for entry in order:
            older[entry.message_id] = entry
        return sorted(older.values())[-count:]

    def between(self, low: int, high: int, limit: int) -> list[Entry]:
        """The first entries of the log dated from `low` to `high`, whatever of it is saved."""
        order = self.window.order
        near = self.window.dated(low, high)
        if len(order) < RECENT_WINDOW or (order and order[0].lamport < low):
            return near[:limit]
        found = {entry.message_id: entry for entry in self.history.between(low, high, limit)}
        for entry in near:
            found[entry.message_id] = entry
        return sorted(found.values())[:limit]

    def before(self, lamport: int, count: int) -> list[Entry]:
        """The last entries of the log dated before `lamport`, whatever of it is saved."""
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
        """Before anybody asks what is fresh; until then it is only bounded in number."""
        self.recent_arrivals.trim(self.now.mono - self.config.push_grace)

    def learn_hint(self, message_id: str, hint: bytes, confirmed: bool = False) -> None:
        """Learn how a message of the recent log can be fetched. Hints of others are only advice, of which the first is
        passed on; a hint that a Store confirmed stands above it."""
        if message_id not in self.window.entries or self.hints.get(message_id) == hint:
            return
        if confirmed or message_id not in self.hints:
            self.hints[message_id] = hint
            self.hints_changed[message_id] = None

    def reject(self, reason: Reason, sender_id: str, message_id: str, detail: str = "") -> None:
        self.events.append(Rejected(reason, sender_id, message_id, detail))
