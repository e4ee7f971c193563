"""The envelopes in `content` (`SDC1` or `SDC2`, then a message of `proto/chat.proto`) to values and back. Verifies
nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from sdschat.wire.chat_pb2 import Chat, PlacedChat
from sdschat.wire.names import has_control, longer_than

MAGIC: Final = b"SDC1"
OPERATION: Final = 2  # the kind of a content that changes the members of a private channel
PLACED_MAGIC: Final = b"SDC2"
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 16
PLACED_NONCE_BYTES: Final = 8  # the number of a placed message tells two of the same text apart already
SIGNATURE_BYTES: Final = 64
DEVICE_BYTES: Final = 8
ID_BYTES: Final = 32
DIGEST_BYTES: Final = 20
MAX_NICK_BYTES: Final = 128
MAX_REPLY_TO_BYTES: Final = 128
MAX_SENT_TIME: Final = 253_402_300_799_999  # the end of the year 9999, the last that a calendar can show
_DECODED_KEPT: Final = 256  # a content is looked at several times on its way: checked, verified, shown, counted


class Place(NamedTuple):
    """The place of a message in the log, and in the chain of its author's device, as the author signed it."""

    device: bytes
    sequence: int  # 0: an ephemeral message, which has no place in the log
    previous: bytes  # id of the device's message before this one; empty in the first one
    lamport: int
    history: bytes  # digest of the causal history
    filter: bytes  # digest of the filter


class Envelope(NamedTuple):
    """The fields as the author's program wrote them. None of them is verified."""

    author_key: bytes
    nonce: bytes
    nick: str
    sent_time: int
    kind: int
    text: str
    reply_to: str
    signature: bytes
    place: Place | None = None  # None: `SDC1`


def encode_envelope(envelope: Envelope) -> bytes:
    """Return the canonical encoding of these values: fields in order, defaults left out."""
    key, nonce, nick, sent_time, kind, text, reply_to, signature, place = envelope
    if place is None:
        chat = Chat(
            author_key=key,
            nonce=nonce,
            nick=nick,
            sent_time=sent_time,
            kind=kind,
            text=text,
            reply_to=reply_to,
            signature=signature,
        )
        return MAGIC + chat.SerializeToString(deterministic=True)
    device, sequence, previous, lamport, history, bloom_filter = place
    placed = PlacedChat(
        author_key=key,
        nonce=nonce,
        nick=nick,
        sent_time=sent_time,
        kind=kind,
        text=text,
        reply_to=reply_to,
        signature=signature,
        device=device,
        sequence=sequence,
        previous=previous,
        lamport=lamport,
        history=history,
        filter=bloom_filter,
    )
    return PLACED_MAGIC + placed.SerializeToString(deterministic=True)


def is_ours(content: bytes) -> bool:
    """True if the content begins as one of our envelopes does, readable or not."""
    return content.startswith((MAGIC, PLACED_MAGIC))


@lru_cache(maxsize=_DECODED_KEPT)
def decode_envelope(content: bytes) -> Envelope | None:
    """Return the values, or None if the bytes are no envelope: then they are content of another program. Total."""
    if content.startswith(PLACED_MAGIC):
        return _decode_placed(content)
    if not content.startswith(MAGIC):
        return None
    try:
        chat = Chat.FromString(content[len(MAGIC) :])
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return None
    envelope = _envelope(chat, None)
    return envelope if _well_formed(envelope, NONCE_BYTES) else None


def _decode_placed(content: bytes) -> Envelope | None:
    try:
        chat = PlacedChat.FromString(content[len(PLACED_MAGIC) :])
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return None
    place = Place(chat.device, chat.sequence, chat.previous, chat.lamport, chat.history, chat.filter)
    envelope = _envelope(chat, place)
    return envelope if _well_formed(envelope, PLACED_NONCE_BYTES) and _well_placed(place) else None


def _envelope(chat: Chat | PlacedChat, place: Place | None) -> Envelope:
    return Envelope(
        chat.author_key,
        chat.nonce,
        chat.nick,
        chat.sent_time,
        chat.kind,
        chat.text,
        chat.reply_to,
        chat.signature,
        place,
    )


def _well_formed(envelope: Envelope, nonce_bytes: int) -> bool:
    return (
        len(envelope.author_key) == KEY_BYTES
        and len(envelope.nonce) == nonce_bytes
        and len(envelope.signature) == SIGNATURE_BYTES
        and not longer_than(envelope.nick, MAX_NICK_BYTES)
        and not has_control(envelope.nick)
        and envelope.sent_time <= MAX_SENT_TIME
        and not longer_than(envelope.reply_to, MAX_REPLY_TO_BYTES)
        and not has_control(envelope.reply_to)
    )


def _well_placed(place: Place) -> bool:
    """Return True if the fields of a place fit together: a message has a number and a Lamport time, an ephemeral one
    neither; all but the first name the one before."""
    return (
        len(place.device) == DEVICE_BYTES
        and len(place.history) == DIGEST_BYTES
        and len(place.filter) == DIGEST_BYTES
        and len(place.previous) == (ID_BYTES if place.sequence > 1 else 0)
        and (place.sequence == 0) == (place.lamport == 0)
    )


@lru_cache(maxsize=_DECODED_KEPT)
def is_canonical(envelope: Envelope, content: bytes) -> bool:
    """True if `content` is the canonical encoding of the envelope.

    Protobuf allows many encodings of one message. As the id of a message is the hash of its content, anybody could
    otherwise write a signed content anew, with an unknown field or in another order, and have it shown twice.
    """
    return encode_envelope(envelope) == content
