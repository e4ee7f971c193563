"""When the participants of a channel last said something, however it came here.

The engine notes when a packet of a participant came. That may be an old message that others sent again, or come by a
comparison of logs, which passes the engine's hearing by. So a message counts by its own date here, and only a sync
message, which nobody sends for another, by the time at which it came. How far the date of a sync message lies behind
that is how far its sender's clock is behind ours, about: other messages of theirs are as much younger as they look.
"""

from __future__ import annotations

from sdschat.sds.channel import Channel
from sdschat.sds.limits import MAX_PEERS
from sdschat.sds.values import Message, MessageKind, Now


class LastHeard:
    """Times in epoch milliseconds, by sender id. Beyond as many as the engine knows, the oldest is forgotten."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._noted: dict[str, int] = {}
        self._behind: dict[str, int] = {}  # milliseconds by which the clock of a sender is behind ours

    def note(self, message: Message, now: Now) -> None:
        """Note by a message when its sender was last heard: now, or earlier if the message was written before."""
        sender_id = message.sender_id
        dated = message.lamport_timestamp
        if message.kind is MessageKind.SYNC and dated is not None:
            self._behind[sender_id] = max(0, now.wall - dated)
        behind = self._behind.get(sender_id, 0)
        said = now.wall if message.kind is MessageKind.SYNC or dated is None else min(dated + behind, now.wall)
        self.note_said(sender_id, said)

    def note_said(self, sender_id: str, said: int) -> None:
        """Note that something came which a participant said at this time."""
        if said <= self._noted.get(sender_id, 0):
            return
        self._noted[sender_id] = said
        if len(self._noted) > MAX_PEERS:
            oldest = min(self._noted, key=self._noted.__getitem__)
            del self._noted[oldest]
            self._behind.pop(oldest, None)

    def at(self, sender_id: str, now: Now) -> int:
        """Return when a participant last said something that came here; 0: never. Of an earlier run it is the date of
        the newest packet of theirs."""
        peer = self._channel.state.peers.known.get(sender_id)
        before = 0 if peer is None else min(now.to_wall(peer.heard_at), peer.last_lamport)
        return max(before, self._noted.get(sender_id, 0))

    def latest(self, without: str) -> int:
        """Return when anybody but this one last said something that came here in this run; 0: never."""
        return max((said for sender_id, said in self._noted.items() if sender_id != without), default=0)
