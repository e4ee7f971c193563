"""Signatures of members' channels: envelopes of packets, and the announcement of a data set. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sdschat.identity.signing import ANNOUNCE_DOMAIN, TIMBER_DOMAIN, Identity, sender_id_of, signed_bytes, verify
from sdschat.timber.values import Kind, Operation, operation_bytes, operation_id
from sdschat.wire.members_codec import (
    Announcement,
    TimberEnvelope,
    decode_announcement,
    decode_timber_envelope,
    encode_announcement,
    encode_timber_envelope,
)
from sdschat.wire.timber_codec import TimberCodec

_UNSIGNED = b""


class DataSet(NamedTuple):
    """An announced data set, verified."""

    data_set: bytes
    creator: bytes  # key
    contacts: tuple[bytes, ...]  # keys
    number: int
    payload: bytes  # of the announcement


class FoundDataSet(NamedTuple):
    """The data set that a first operation begins. `is_signed`: by the key that it names as its creator's."""

    data_set: bytes
    creator: bytes  # key
    is_signed: bool


def seal_packet(identity: Identity, channel: str, data_set: bytes, nick: str, packet: bytes) -> bytes:
    """Return the envelope of a packet of ours."""
    envelope = TimberEnvelope(identity.public_key, nick, packet, _UNSIGNED)
    signature = identity.sign(_packet_bytes(channel, data_set, envelope))
    return encode_timber_envelope(envelope._replace(signature=signature))


def open_packet(payload: bytes, channel: str, data_set: bytes, sender_id: str) -> TimberEnvelope | str:
    """Return the envelope, or the reason why it is not of this sender and this data set."""
    envelope = decode_timber_envelope(payload)
    if envelope is None:
        return "it is no packet"
    if sender_id_of(envelope.author_key) != sender_id:
        return "it was signed by another than its topic says"
    if not verify(envelope.author_key, _packet_bytes(channel, data_set, envelope), envelope.signature):
        return "its sender did not sign it, or not for this data set"
    return envelope


def claimed_member(sender_id: str) -> bytes:
    """Return the beginning of the member id that a topic claims; empty where it claims none."""
    try:
        return bytes.fromhex(sender_id)
    except ValueError:
        return b""


def announce(identity: Identity, channel: str, genesis: Operation, contacts: Sequence[bytes], number: int) -> bytes:
    """Return the announcement of a data set of ours."""
    one = Announcement(genesis.raw, genesis.signature, tuple(contacts), number, _UNSIGNED)
    return encode_announcement(one._replace(signature=identity.sign(_announcement_bytes(channel, one))))


def data_set_of(one: Announcement) -> FoundDataSet | None:
    """Return what an announcement begins with, whoever signed the announcement; None if that is no first operation."""
    genesis = TimberCodec().decode_operation(one.genesis, one.genesis_signature)
    if not isinstance(genesis, Operation) or genesis.body.event is None:
        return None
    creator = genesis.body.event.body.key
    if genesis.body.event.body.kind is not Kind.GENESIS or genesis.body.slot or genesis.body.seq != 1:
        return None
    is_signed = verify(creator, operation_bytes(b"", genesis.raw), genesis.signature)
    return FoundDataSet(operation_id(b"", genesis.raw), creator, is_signed)


def read_announcement(payload: bytes, channel: str) -> DataSet | None:
    """Return the data set that is announced; None unless its creator signed it for this channel."""
    one = decode_announcement(payload)
    if one is None:
        return None
    found = data_set_of(one)
    if found is None or not found.is_signed:
        return None
    data_set, creator, _ = found
    if not verify(creator, _announcement_bytes(channel, one), one.signature):
        return None
    return DataSet(data_set, creator, one.contacts, one.number, payload)


def first_operation(payload: bytes) -> Operation:
    """Return the first operation of a data set, from an announcement that was read before."""
    one = decode_announcement(payload)
    assert one is not None
    genesis = TimberCodec().decode_operation(one.genesis, one.genesis_signature)
    assert isinstance(genesis, Operation)
    return genesis


def _packet_bytes(channel: str, data_set: bytes, envelope: TimberEnvelope) -> bytes:
    return signed_bytes(TIMBER_DOMAIN, (channel, data_set, envelope.author_key, envelope.nick, envelope.packet))


def _announcement_bytes(channel: str, one: Announcement) -> bytes:
    return signed_bytes(ANNOUNCE_DOMAIN, (channel, one.genesis, one.genesis_signature, one.number, *one.contacts))
