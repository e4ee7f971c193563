"""The signature of a sync message: who says that it has these messages. It has no content that could bear one."""

from __future__ import annotations

from typing import Final

from sdschat.identity.signing import SYNC_DOMAIN, Identity, sender_id_of, signed_bytes, verify
from sdschat.sds.values import Codec, Message, MessageKind, Refusal
from sdschat.wire.sync_proof import MOST_BYTES, SyncProof, split_proof, with_proof

_NO_SIGNATURE: Final = b""


def sign_sync(identity: Identity, channel: str, counter: int, packet: bytes) -> bytes:
    """Return the packet of a sync message with the proof that its sender made it, for this channel."""
    proof = SyncProof(identity.public_key, counter, _NO_SIGNATURE)
    return with_proof(packet, proof._replace(signature=identity.sign(_signed(proof, channel, packet))))


def wrong_proof(proof: SyncProof, channel: str, sender_id: str, packet: bytes) -> str:
    """Return the fault of a proof, in words for the user; empty if there is none. `packet`: what it was split from."""
    if sender_id_of(proof.author_key) != sender_id:
        return "it was signed by another than the packet says"
    try:
        signed = _signed(proof, channel, packet)
    except UnicodeEncodeError:  # a channel name from outside with half of a surrogate pair
        return "its channel has no readable name"
    return "" if verify(proof.author_key, signed, proof.signature) else "its sender did not sign this"


def _signed(proof: SyncProof, channel: str, packet: bytes) -> bytes:
    return signed_bytes(SYNC_DOMAIN, (proof.author_key, proof.counter, channel, packet))


class SigningCodec:
    """A `Codec` that signs the sync messages it encodes. The engine that uses it knows nothing of that."""

    def __init__(self, codec: Codec, identity: Identity, channel: str) -> None:
        self._codec = codec
        self._identity = identity
        self._channel = channel

    def encode(self, message: Message) -> bytes:
        packet = self._codec.encode(message)
        if message.kind is not MessageKind.SYNC:
            return packet
        # The counter: the Lamport time goes up with each sync message, also over a restart.
        return sign_sync(self._identity, self._channel, message.lamport_timestamp or 0, packet)

    def size(self, message: Message) -> int:
        return self._codec.size(message) + (MOST_BYTES if message.kind is MessageKind.SYNC else 0)

    def decode(self, packet: bytes) -> Message | Refusal:
        return self._codec.decode(split_proof(packet)[0])
