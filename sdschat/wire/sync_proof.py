"""The proof of a sync message: a field behind the packet, which other implementations ignore, to values and back.
Verifies nothing."""

from __future__ import annotations

from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from sdschat.wire.chat_codec import KEY_BYTES, SIGNATURE_BYTES
from sdschat.wire.chat_pb2 import SyncProof as PbProof

FIELD: Final = 15001
_TAG: Final = b"\xca\xa9\x07"  # of the field, as bytes with their length before them
MOST_BYTES: Final = 128  # of a proof, with its tag; the length of what is shorter takes one byte


class SyncProof(NamedTuple):
    author_key: bytes
    counter: int
    signature: bytes


def with_proof(packet: bytes, proof: SyncProof) -> bytes:
    """Append the proof to a packet."""
    body = PbProof(**proof._asdict()).SerializeToString(deterministic=True)
    return packet + _TAG + bytes([len(body)]) + body


def split_proof(packet: bytes) -> tuple[bytes, SyncProof | None]:
    """Return the packet without its proof, and the proof. Total: what is no whole, canonical proof stays in the
    packet."""
    start = packet.rfind(_TAG, -MOST_BYTES)
    if start < 0:
        return packet, None
    try:
        parsed = PbProof.FromString(packet[start + len(_TAG) + 1 :])
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return packet, None
    proof = SyncProof(parsed.author_key, parsed.counter, parsed.signature)
    rest = packet[:start]
    whole = len(proof.author_key) == KEY_BYTES and len(proof.signature) == SIGNATURE_BYTES
    return (rest, proof) if whole and with_proof(rest, proof) == packet else (packet, None)
