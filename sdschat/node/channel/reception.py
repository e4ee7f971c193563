"""The reception of packets of one channel: what is decoded, refused, kept as an id alone, or given to the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.extension import Watcher
from sdschat.node.channel.last_heard import LastHeard
from sdschat.node.channel.proofs import HeardPacket, Proofs, is_signed
from sdschat.node.channel.sender_limits import FRESH, SenderLimits
from sdschat.sds.channel import Channel
from sdschat.sds.values import TOLD, Message, MessageKind, Now, Reason, Refusal

if TYPE_CHECKING:
    from sdschat.node.private.membership import PrivateChannel

# Of what somebody says who has the key of a private channel and is no member, so much is kept; and of joinings, which
# may come before those of whoever invited their authors.
_OUTSIDERS: Final = 5  # messages of one of them in a minute
_JOININGS: Final = 60
# Messages in a minute that nobody signed, in the name of one who signs: anybody can send them. They have a limit of
# their own, since that one's would be used up by others.
_BORROWED: Final = 20
_NAMES: Final = 16  # of a message, the last ones: packets with these ids are taken out of turn. We name two.


class PacketReception:
    """`watchers` see every packet that counts. `private` is None in an open channel."""

    def __init__(
        self,
        channel: Channel,
        gate: ContentGate,
        proofs: Proofs,
        limits: SenderLimits,
        watchers: list[Watcher],
        private: PrivateChannel | None,
    ) -> None:
        self.connected_at = 0  # epoch milliseconds
        self.last_heard = LastHeard(channel)
        self._channel = channel
        self._gate = gate
        self._proofs = proofs
        self._limits = limits
        self._limits_of_outsiders = SenderLimits(_OUTSIDERS, _OUTSIDERS)
        self._limits_of_joinings = SenderLimits(_JOININGS, _JOININGS)
        self._limits_of_borrowed = SenderLimits(_BORROWED, _BORROWED)
        self._watchers = watchers
        self._private = private
        # Takes a packet out of turn by its message id, where live packets wait (`live_packets.py`).
        self.take_named: Callable[[str], bytes | None] = _none_waits

    def receive(
        self, now: Now, packet: bytes, source: str, outdated: bool = False, *, out_of_turn: bool = False
    ) -> bool:
        """Take a packet: any bytes will do. `source`: live, store or sync. `outdated`: sealed with an earlier key.
        False if it counts for nothing because of that. `out_of_turn`: a person names it; so that they do not wait for
        what a stranger waits for, only the id of such a message is kept."""
        heard = self.read(packet)
        message = self._proofs.refusal_of(heard) or heard.message
        if outdated and not self._counts_outdated(heard, message, packet):
            return False
        for watcher in self._watchers:
            watcher(source, packet, message)
        if isinstance(message, Refusal):
            state = self._channel.state
            state.now = now
            if heard.claim is not None and not outdated:
                self._channel.refuse_claim(now, heard.claim, message.reason, message.detail)
            else:
                state.reject(message.reason, message.sender_id, message.message_id, message.detail)
        elif not self._proofs.repeated(heard):
            borrowed = self._gate.is_borrowed(message)
            if not borrowed:
                self.last_heard.note(message, now)
            if message.sender_id == self._gate.identity.sender_id:
                self._gate.note_claim(message)
            if source == "live" and (self._exceeds(message, now, borrowed) or (out_of_turn and self._waits(message))):
                if borrowed:
                    why = "nobody signed it, and its sender signs"
                    self._channel.refuse_claim(now, message, Reason.OVER_LIMIT, why)
                else:
                    self._channel.receive_id(now, message)
            elif borrowed and message.kind is MessageKind.CONTENT:
                self._take_borrowed(message, packet, source, now)
            else:
                unproven = self.is_unproven(message, heard)
                if not out_of_turn and self.comes_first(message.sender_id):
                    self._take_named(message, now)
                self._channel.receive_message(now, message, packet, source, unproven=unproven)
                self._gate.copies.compare(self._channel.state, message)
                if unproven:
                    self._gate.copies.remember(message)
                else:
                    self._gate.copies.review(self._channel, message, now)
        return True

    def comes_first(self, sender_id: str) -> bool:
        """True for us, and for people whom the user does not ignore: strangers wait for them."""
        is_heard = self._gate.book.is_person(sender_id) and not self._gate.is_ignored(sender_id)
        return is_heard or sender_id == self._gate.identity.sender_id

    def _take_named(self, message: Message, now: Now) -> None:
        """Take the packets that a message names, and that wait or were passed over: it would wait for them."""
        for entry in message.causal_history[-_NAMES:]:
            packet = self.take_named(entry.message_id)
            if packet is not None:
                self.receive(now, packet, "live", out_of_turn=True)

    def _waits(self, message: Message) -> bool:
        """True if a message of a stranger would wait for others that it names."""
        if message.kind is not MessageKind.CONTENT or self._gate.book.is_person(message.sender_id):
            return False
        return not all(map(self._channel.state.holds, (entry.message_id for entry in message.causal_history)))

    def is_unproven(self, message: Message, heard: HeardPacket | None = None) -> bool:
        """True if what a message says its sender has is no proof of it. `heard`: the packet in which it came."""
        outsider = self._private is not None and self._private.is_outsider(message.sender_id)
        return outsider or self._proofs.unproven(heard or HeardPacket(message, None))

    def _take_borrowed(self, message: Message, packet: bytes, source: str, now: Now) -> None:
        """Take it as history: what it says of its sender is not looked at, and what it waits for is not charged to
        them."""
        state = self._channel.state
        here = state.holds(message.message_id)
        self._channel.receive_history(now, message, packet, source)
        if here:
            self._gate.copies.note(state, message)

    def read(self, packet: bytes) -> HeardPacket:
        """Decode a packet into a message that is what its author signed, or into a refusal."""
        heard = self._proofs.decode(packet)
        message = heard.message
        if isinstance(message, Refusal) or message.kind is MessageKind.SYNC:
            return heard
        own = message.sender_id == self._gate.identity.sender_id
        held = self._is_checked(message.message_id) or (own and self._is_in_full(message.message_id))
        claim = self._gate.claim_of(message, held)
        refusal = self._gate.refusal_of(message, held, claim)
        if refusal is None:
            return heard
        return HeardPacket(refusal, None, None if claim is None else message)

    def _is_in_full(self, message_id: str) -> bool:
        entry = self._channel.state.delivered(message_id)
        return entry is not None and not entry.bare

    def _is_checked(self, message_id: str) -> bool:
        """True if a message is known to be what its author signed, because it is here and came lately. Of one that is
        here as an id that others told, nothing is known."""
        entry = self._channel.state.window.entries.get(message_id)
        return self._channel.state.holds_in_memory(message_id) and (entry is None or entry.generation != TOLD)

    def _counts_outdated(self, heard: HeardPacket, message: Message | Refusal, packet: bytes) -> bool:
        """True if a packet under an earlier key is by a member. Whoever was removed has that key, too, and anybody can
        repeat what was sent under it; so only what is signed counts, and proves that its author lacks a key if it is
        new."""
        private = self._private
        if private is None:
            return False
        by_member = private.has(message.sender_id or "")
        again = isinstance(message, Message) and private.sent_again(message)
        proven = by_member and self._is_news(heard, message, packet)
        private.announcer.heard_outdated(message.message_id, proven=proven, again=again)
        if isinstance(message, Message) and private.joins(message):
            return True
        return by_member and (isinstance(message, Refusal) or is_signed(message, packet))

    def _is_news(self, heard: HeardPacket, message: Message | Refusal, packet: bytes) -> bool:
        """True if a packet is signed by its sender, and did not come before."""
        if isinstance(message, Refusal) or message.kind is MessageKind.EPHEMERAL:
            return False
        if message.kind is MessageKind.SYNC:
            return self._proofs.is_next(heard)
        return is_signed(message, packet) and not self._channel.state.holds(message.message_id)

    def _exceeds(self, message: Message, now: Now, borrowed: bool) -> bool:
        """True if this is more than is kept of its sender. Members of a private channel were invited: no limits."""
        sender_id, lamport = message.sender_id, message.lamport_timestamp
        state, book = self._channel.state, self._gate.book
        if sender_id == state.participant_id or self._is_checked(message.message_id):
            return False
        if self._private is not None and not borrowed and not self._private.is_outsider(sender_id):
            return False
        if lamport is not None and lamport > now.wall + state.config.max_skew:
            return borrowed  # it waits for its date, and of those few are kept of each sender anyway
        sync = message.kind is MessageKind.SYNC
        if not sync and (self._gate.is_ignored(sender_id) or self._gate.is_crowded_out(message, now.wall)):
            return True
        fresh = not sync and (lamport is None or lamport >= max(now.wall - FRESH, self.connected_at))
        if lamport is not None and not sync and self._is_in_full(message.message_id):
            return False  # anybody can send it again
        if borrowed:
            return self._limits_of_borrowed.exceeded(sender_id, now.mono, fresh=fresh, sync=False, stranger=True)
        if self._private is not None:
            may_count = self._private.may_count(message)
            limits = self._limits_of_joinings if may_count else self._limits_of_outsiders
            return limits.exceeded(sender_id, now.mono, fresh=fresh, sync=sync, stranger=True)
        return self._limits.exceeded(
            sender_id, now.mono, fresh=fresh, sync=sync, stranger=not book.is_person(sender_id)
        )


def _none_waits(_message_id: str) -> None:
    pass
