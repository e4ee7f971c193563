"""Envelopes and announcements of members' channels, to bytes and back. Decoding is total; nothing is verified."""

from __future__ import annotations

from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from sdschat.timber import limits
from sdschat.wire import timber_pb2 as pb
from sdschat.wire.chat_codec import MAX_NICK_BYTES
from sdschat.wire.names import has_control, longer_than

MAX_CONTACTS: Final = 64
_MOST: Final = limits.MAX_PACKET_BYTES + 1024


class TimberEnvelope(NamedTuple):
    """A packet with its sender."""

    author_key: bytes
    nick: str
    packet: bytes
    signature: bytes


class Announcement(NamedTuple):
    """Names the data set of a channel, and members who give its state."""

    genesis: bytes  # the first operation
    genesis_signature: bytes
    contacts: tuple[bytes, ...]  # keys
    number: int
    signature: bytes


def encode_timber_envelope(envelope: TimberEnvelope) -> bytes:
    return pb.TimberEnvelope(**envelope._asdict()).SerializeToString(deterministic=True)


def decode_timber_envelope(payload: bytes) -> TimberEnvelope | None:
    """Return the envelope; None for other bytes."""
    if len(payload) > _MOST:
        return None
    try:
        parsed = pb.TimberEnvelope.FromString(payload)
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return None
    found = TimberEnvelope(parsed.author_key, parsed.nick, parsed.packet, parsed.signature)
    if len(found.author_key) != limits.KEY_BYTES or len(found.signature) != limits.SIGNATURE_BYTES:
        return None
    if longer_than(found.nick, MAX_NICK_BYTES) or has_control(found.nick):
        return None
    return found


def encode_announcement(one: Announcement) -> bytes:
    made = pb.TimberAnnouncement(contacts=one.contacts, number=one.number, signature=one.signature)
    made.genesis.raw, made.genesis.signature = one.genesis, one.genesis_signature
    return made.SerializeToString(deterministic=True)


def decode_announcement(payload: bytes) -> Announcement | None:
    """Return the announcement; None for other bytes."""
    if len(payload) > limits.MAX_OPERATION_BYTES + MAX_CONTACTS * (limits.KEY_BYTES + 2):
        return None
    try:
        parsed = pb.TimberAnnouncement.FromString(payload)
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return None
    contacts = tuple(parsed.contacts)
    if not 1 <= len(contacts) <= MAX_CONTACTS or any(len(key) != limits.KEY_BYTES for key in contacts):
        return None
    genesis = parsed.genesis
    if not 1 <= parsed.number <= limits.MAX_NUMBER or not genesis.raw:
        return None
    return Announcement(genesis.raw, genesis.signature, contacts, parsed.number, parsed.signature)
