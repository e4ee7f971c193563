"""The envelope in `content`, `SDC1` and then `proto/chat.proto`, to values and back. Verifies nothing."""

from __future__ import annotations

from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from sdschat.wire.chat_pb2 import Chat
from sdschat.wire.names import has_control, longer_than

MAGIC: Final = b"SDC1"
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 16
SIGNATURE_BYTES: Final = 64
MAX_NICK_BYTES: Final = 128
MAX_REPLY_TO_BYTES: Final = 128


class Envelope(NamedTuple):
    """The fields of `Chat` as the author's program wrote them. None of them is verified."""

    author_key: bytes
    nonce: bytes
    nick: str
    sent_time: int
    kind: int
    text: str
    reply_to: str
    signature: bytes


def encode_envelope(envelope: Envelope) -> bytes:
    """Return the canonical encoding of these values: fields in order, defaults left out."""
    return MAGIC + Chat(**envelope._asdict()).SerializeToString(deterministic=True)


def decode_envelope(content: bytes) -> Envelope | None:
    """Return the values, or None if the bytes are no envelope: then they are content of another program. Total."""
    if not content.startswith(MAGIC):
        return None
    try:
        chat = Chat.FromString(content[len(MAGIC) :])
    except DecodeError:
        return None
    envelope = Envelope(
        chat.author_key,
        chat.nonce,
        chat.nick,
        chat.sent_time,
        chat.kind,
        chat.text,
        chat.reply_to,
        chat.signature,
    )
    return envelope if _well_formed(envelope) else None


def _well_formed(envelope: Envelope) -> bool:
    return (
        len(envelope.author_key) == KEY_BYTES
        and len(envelope.nonce) == NONCE_BYTES
        and len(envelope.signature) == SIGNATURE_BYTES
        and not longer_than(envelope.nick, MAX_NICK_BYTES)
        and not has_control(envelope.nick)
        and not longer_than(envelope.reply_to, MAX_REPLY_TO_BYTES)
        and not has_control(envelope.reply_to)
    )


def is_canonical(envelope: Envelope, content: bytes) -> bool:
    """True if `content` is the canonical encoding of the envelope.

    Protobuf allows many encodings of one message. As the id of a message is the hash of its content, anybody could
    otherwise write a signed content anew, with an unknown field or in another order, and have it shown twice.
    """
    return encode_envelope(envelope) == content
