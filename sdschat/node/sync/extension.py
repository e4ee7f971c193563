"""The extension of a channel that hears `sync/<me>/+`: frames and pages of catching up, and direct messages by MVDS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.catchup.exchange import OutgoingFrame
from sdschat.catchup.values import Frame, RefusedFrame
from sdschat.identity.content import check_link, sign_link
from sdschat.identity.signing import Identity, seal_for
from sdschat.mvds.values import Packet
from sdschat.node.channel.extension import ExtensionOutput, OutgoingPacket
from sdschat.node.events import EventBody, HandedOver, MembersChanged, NodeEvent, OverLimit, PresenceChanged
from sdschat.node.store_client.events import StoreLeft
from sdschat.node.sync.direct import DirectMessaging, ids_of
from sdschat.node.sync.history_sync import HistorySync
from sdschat.sds.events import RangeDiffered, Rejected
from sdschat.sds.state import Ready
from sdschat.sds.values import Now, Reason
from sdschat.store.transaction import Transaction
from sdschat.wire.catchup_codec import PAGES, Records, SyncCodec, split_signature, with_signature

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.node import Node

_SIGNING_KEPT: Final = 4096
_OUTSIDERS_KEPT: Final = 64


class SyncExtension:
    """See `ChannelExtension`."""

    def __init__(self, catchup: HistorySync, direct: DirectMessaging, identity: Identity) -> None:
        self.catchup = catchup
        self.direct = direct
        self._identity = identity
        self._codec = SyncCodec()
        self._events: list[EventBody] = []
        self._outsiders: set[str] = set()  # of a private channel, who said more than is kept of them

    def attach(self, session: ChannelSession) -> None:
        self._session = session
        session.handle("sync", self._heard)

    def connected(self, now: Now) -> None:
        self.catchup.connected(now)

    def disconnected(self, now: Now) -> None:
        self.catchup.disconnected(now)

    def next_wake(self) -> int | None:
        due = [when for when in (self.catchup.next_wake(), self.direct.next_wake()) if when is not None]
        return min(due, default=None)

    def advance(self, now: Now) -> None:
        self.catchup.advance(now)
        self.direct.advance(now)

    def presence_changed(self, sender_id: str, online: bool) -> None:
        self.catchup.presence_changed(sender_id, online)
        self.direct.presence_changed(sender_id, online)

    def note_outsiders(self, body: OverLimit | MembersChanged) -> None:
        """Fetch what only the ids were kept of, because its author was not known to be a member when it came."""
        if isinstance(body, MembersChanged):
            for sender_id in self._outsiders & set(body.members):
                self._outsiders.discard(sender_id)
                self.catchup.show(sender_id)
        elif self._session.is_outsider(body.sender_id) and len(self._outsiders) < _OUTSIDERS_KEPT:
            self._outsiders.add(body.sender_id)

    def _heard(self, frm: str, payload: bytes, now: Now) -> None:
        if self._session.gives_since_join:
            payload = self._identity.unseal(payload) or b""
        raw, signature = split_signature(payload)
        found = self._codec.decode(raw)
        if isinstance(found, Frame):
            if self._is_from(frm, raw, signature):
                self.catchup.heard(frm, found, now)
        elif isinstance(found, Records) and found.lane == PAGES:
            self.catchup.heard(frm, found.payload, now)
        elif isinstance(found, Records) and not found.lane:
            self.direct.heard(frm, payload, found.payload, now)
        else:
            why = found.why if isinstance(found, RefusedFrame) else "records of an unknown kind"
            self._events.append(Rejected(Reason.UNREADABLE, frm, "", f"on sync: {why}"))

    def _is_from(self, frm: str, raw: bytes, signature: bytes) -> bool:
        """True if a frame may be from this participant. Who has signed one signs all: frames tell what a log holds."""
        key, signing = self.direct.people.key_of(frm), self.catchup.signing
        if key is not None and check_link(key, self._session.name, self._identity.sender_id, raw, signature):
            if len(signing) >= _SIGNING_KEPT:
                signing.clear()
            if not self._session.is_outsider(frm):  # what these have acknowledges nothing
                signing.add(frm)
        elif frm in signing:
            self._events.append(Rejected(Reason.ALTERED, frm, "", "on sync: its sender did not sign it"))
            return False
        return True

    def _packet_of(self, frame: OutgoingFrame) -> OutgoingPacket:
        payload = frame.payload
        if frame.compares:
            payload = with_signature(payload, sign_link(self._identity, self._session.name, frame.peer, payload))
        return OutgoingPacket("sync", frame.peer, self._boxed(frame.peer, payload))

    def _boxed(self, peer: str, payload: bytes) -> bytes:
        """Return a payload sealed for its reader alone, where members may not read all that others may: pages go to one
        reader each, and another member, who has the key of the channel too, may have come later than they are."""
        if not self._session.gives_since_join:
            return payload
        key = self.direct.people.key_of(peer)
        return b"" if key is None else seal_for(key, payload)

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        for event in ready.events:
            if type(event) is RangeDiffered:
                self.catchup.differed(event.sender_id, event.lacking, now)
        frames, told, kept = self.catchup.take(now)
        direct = self.direct.take(now)
        before, self._events = self._events, []

        def save(transaction: Transaction) -> None:
            if kept is not None:
                self.catchup.save(transaction, kept)
            self.direct.save(transaction, direct)

        sent = [self._packet_of(frame) for frame in frames]
        sent += [self._direct_packet(packet) for packet in direct.packets]
        anything = kept is not None or direct.writes or direct.rows or direct.met
        return ExtensionOutput(save if anything else None, sent, [*before, *told, *direct.events])

    def _direct_packet(self, packet: Packet) -> OutgoingPacket:
        ids = ids_of([packet])

        def done(failure: str | None) -> None:
            if failure is None and ids:
                self._events += [HandedOver(found) for found in ids]
                self._session.mark_ready()

        return OutgoingPacket("sync", packet.peer, self._boxed(packet.peer, self.direct.post(packet)), done)


def _reach(node: Node, session: ChannelSession) -> str:
    """Return how far back the history is fetched: all of it in a private channel, since it tells the members."""
    return node.settings.history_on_join if session.private is None else "all"


def install(node: Node, *, asks: bool = True) -> None:
    """Let every channel that is joined from now on catch up, and let others catch up. `asks` false: only private
    channels catch up."""

    def make(session: ChannelSession) -> SyncExtension:
        is_private = session.private is not None  # its history tells who is a member
        return SyncExtension(
            HistorySync(session, node.profile, node.gate, node.clock, _reach(node, session), asks=asks or is_private),
            DirectMessaging(session, node.profile, node.gate, node.clock),
            node.gate.identity,
        )

    def hear(event: NodeEvent) -> None:
        extension = _extension_of(node.sessions.get(event.channel))
        if extension is not None and isinstance(event.body, PresenceChanged):
            extension.presence_changed(event.body.sender_id, event.body.online)
        elif extension is not None and isinstance(event.body, OverLimit | MembersChanged):
            extension.note_outsiders(event.body)
        elif isinstance(event.body, StoreLeft):
            for other in filter(None, map(_extension_of, node.sessions.values())):
                other.catchup.presence_changed(event.body.store_id, False)

    node.extend(make)
    node.listen(hear)


def _extension_of(session: ChannelSession | None) -> SyncExtension | None:
    extensions = () if session is None else session.extensions
    return next((each for each in extensions if isinstance(each, SyncExtension)), None)


def sync_extension(node: Node, channel: str) -> SyncExtension:
    """Return the sync extension of a joined channel. Raises KeyError if the channel is not joined, and LookupError
    without `install`."""
    found = _extension_of(node.sessions[channel])
    if found is None:
        raise LookupError("this node does not catch up")
    return found
