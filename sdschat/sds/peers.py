"""The other participants, as far as their packets tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sdschat.sds.limits import MAX_PEERS
from sdschat.sds.values import Now, PeerRow

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
