"""The packets that prove what their sender has: an acknowledgement counts if it is signed, by a message's content with
its place or by the proof of a sync message."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from sdschat.identity.content import Keys
from sdschat.identity.place import is_placed
from sdschat.identity.sync_proof import wrong_proof
from sdschat.sds.values import Codec, Message, MessageKind, Reason, Refusal
from sdschat.wire.sync_proof import SyncProof, split_proof

_COUNTERS_KEPT: Final = 4096


class HeardPacket(NamedTuple):
    message: Message | Refusal
    proof: SyncProof | None  # of a sync message; it was checked
    claim: Message | None = None  # what was refused, where nobody signed it and it bears the name of somebody who signs


def is_signed(message: Message, packet: bytes) -> bool:
    """True if a packet that passed `Proofs` is signed by its sender."""
    return is_placed(message) or (message.kind is MessageKind.SYNC and split_proof(packet)[1] is not None)


def decode_proven(packet: bytes, codec: Codec, channel: str | None = None) -> HeardPacket:
    """Decode a packet, and check the proof of a sync message. Without `channel`: for the channel that it names."""
    rest, proof = split_proof(packet)
    message = codec.decode(rest)
    if proof is None or isinstance(message, Refusal):
        return HeardPacket(message, None)
    if message.kind is not MessageKind.SYNC:  # bytes that look like a proof, in a packet that needs none
        return HeardPacket(codec.decode(packet), None)
    why = wrong_proof(proof, message.channel_id if channel is None else channel, message.sender_id, rest)
    if why:
        return HeardPacket(Refusal(Reason.ALTERED, why, message.sender_id, message.message_id), None)
    return HeardPacket(message, proof)


class Proofs:
    """Those of one channel. `unsigned_counts`: the user takes the word of participants who have no key."""

    def __init__(self, channel: str, codec: Codec, keys: Keys, unsigned_counts: bool) -> None:
        self._channel = channel
        self._codec = codec
        self._keys = keys
        self._unsigned_counts = unsigned_counts
        self._counters: OrderedDict[str, int] = OrderedDict()  # the last of each key that said something, by sender id
        self._of_others: OrderedDict[str, int] = OrderedDict()  # apart: of keys that cost nothing to make
        self._changed: dict[str, int] = {}  # those that are not saved as they are

    def decode(self, packet: bytes) -> HeardPacket:
        """Decode a packet, and check the proof of a sync message."""
        return decode_proven(packet, self._codec, self._channel)

    def refusal_of(self, heard: HeardPacket) -> Refusal | None:
        """Refuse an unsigned sync message in the name of somebody whose sync messages are signed."""
        message = heard.message
        if not isinstance(message, Message) or message.kind is not MessageKind.SYNC or heard.proof is not None:
            return None
        if self._last(message.sender_id) < 0:
            return None
        why = "it is not signed, and those of this sender are"
        return Refusal(Reason.ALTERED, why, message.sender_id, message.message_id)

    def is_next(self, heard: HeardPacket) -> bool:
        """True if a sync message is signed, and newer than all others of its sender."""
        proof, message = heard.proof, heard.message
        if proof is None or isinstance(message, Refusal):
            return False
        return proof.counter > self._last(message.sender_id)

    def repeated(self, heard: HeardPacket) -> bool:
        """True if a sync message came before, or is older than another of its sender: it tells nothing new."""
        proof, message = heard.proof, heard.message
        if proof is None or isinstance(message, Refusal):
            return False
        if proof.counter <= self._last(message.sender_id):
            return True
        self.restore(message.sender_id, proof.counter)
        self._changed[message.sender_id] = proof.counter
        return False

    def restore(self, sender_id: str, counter: int) -> None:
        """Set the last counter of a participant."""
        for known in (self._counters, self._of_others):
            known.pop(sender_id, None)
        counters = self._counters if self._keys.signs(sender_id) else self._of_others
        counters[sender_id] = counter
        if len(counters) > _COUNTERS_KEPT:
            counters.popitem(last=False)

    def _last(self, sender_id: str) -> int:
        """Return the last counter of a participant, or -1."""
        return self._counters.get(sender_id, self._of_others.get(sender_id, -1))

    def signs_sync(self, sender_id: str) -> bool:
        """True if this participant signed a sync message lately."""
        return self._last(sender_id) >= 0

    def take_changed(self) -> dict[str, int]:
        """Take the counters that changed since the last call, by sender id."""
        changed, self._changed = self._changed, {}
        return changed

    def unproven(self, heard: HeardPacket) -> bool:
        """True if what the packet says its sender has is no proof: anybody could have written it."""
        message = heard.message
        if heard.proof is not None or isinstance(message, Refusal) or is_placed(message):
            return False
        return not self.takes_the_word_of(message.sender_id)

    def takes_the_word_of(self, sender_id: str) -> bool:
        """True if what this participant says without a signature counts; never in the name of a key that we know."""
        return self._unsigned_counts and not self._keys.signs(sender_id)
