"""The other participants, as far as their packets tell."""

from __future__ import annotations

from sdschat.sds.limits import MAX_PEERS
from sdschat.sds.rows import PeerRow
from sdschat.sds.timers import past_mono
from sdschat.sds.values import Now


class Peer:
    """One participant. Times are on the monotonic clock."""

    __slots__ = (
        "behind",
        "behind_since",
        "cursor",
        "filter_format",
        "first_lamport",
        "heard_at",
        "last_lamport",
        "packed",
        "reported",
        "reviewed_at",
        "sender_id",
    )

    def __init__(self, sender_id: str, lamport: int, mono: int) -> None:
        self.sender_id = sender_id
        self.first_lamport = lamport
        self.last_lamport = 0
        self.heard_at = mono
        self.reviewed_at = -1  # when we last held its filter against our log
        self.behind = 0  # bits of its filter that ours lacked at `behind_since`
        self.behind_since = -1
        self.reported = 0  # bits of its filter that ours lacked when we hurried to say so
        self.packed = (b"", b"")  # both as bytes, since they change more seldom than they are written
        self.cursor = 0  # below which date its filter is next held against ours, where that goes slice by slice
        self.filter_format = ""

    def note_lack(self, behind: int, reported: int) -> None:
        if (behind, reported) != (self.behind, self.reported):
            self.behind, self.reported = behind, reported
            self.packed = (_packed(behind), _packed(reported))


class Peers:
    """Everyone heard, the longest silent forgotten first."""

    __slots__ = ("changed", "known")

    def __init__(self) -> None:
        self.known: dict[str, Peer] = {}
        self.changed: dict[str, None] = {}

    def heard(self, sender_id: str, lamport: int, mono: int) -> Peer:
        peer = self.known.get(sender_id)
        if peer is None:
            if len(self.known) >= MAX_PEERS:
                silent = min(self.known.values(), key=lambda peer: (peer.heard_at, peer.sender_id))
                del self.known[silent.sender_id]
                self.changed[silent.sender_id] = None
            peer = self.known[sender_id] = Peer(sender_id, lamport, mono)
        peer.heard_at = mono
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
        peer = Peer(row.sender_id, row.first_lamport, past_mono(now, row.heard_at))
        peer.last_lamport = row.last_lamport
        peer.reviewed_at = past_mono(now, row.reviewed_at) if row.reviewed_at else -1
        peer.behind_since = past_mono(now, row.behind_since) if row.behind_since else -1
        peer.note_lack(int.from_bytes(row.behind, "little"), int.from_bytes(row.reported, "little"))
        peer.cursor = row.cursor
        peer.filter_format = row.layout
        self.known[row.sender_id] = peer


def _packed(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little") if bits else b""
