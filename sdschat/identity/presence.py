"""The signed payload of a presence topic: a participant is here, or has left.

Both carry the number of a connection, which is greater for a later one. "Left" is signed when the connection begins,
because it is the last will that the broker publishes; it ends that connection and earlier ones, and nothing later.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from sdschat.identity.content import Keys, Verdict, open_as, seal_as
from sdschat.identity.signing import LEAVE_DOMAIN, PRESENCE_DOMAIN, Identity
from sdschat.wire.chat_codec import NONCE_BYTES, decode_envelope

_CONNECTION_BYTES: Final = 8
CHANCE_BYTES: Final = NONCE_BYTES - _CONNECTION_BYTES


class PresenceKind(IntEnum):
    HERE = 0
    LEFT = 1


class SignedPresence(NamedTuple):
    """The fields of a presence. Nothing is verified before `proven`."""

    kind: int
    nick: str
    role: str
    author_key: bytes
    connection: int
    sent_time: int  # epoch milliseconds
    payload: bytes

    @property
    def order(self) -> tuple[int, int, int]:
        """Return a key that is greater for what was said later by the same participant."""
        return self.connection, self.kind, self.sent_time

    def proven(self, channel: str, participant: str, keys: Keys) -> bool:
        """True if the key of this participant signed it for this channel."""
        opened = open_as(self.payload, _domain(self.kind), channel, participant, keys)
        return opened is not None and opened.verdict in (Verdict.KNOWN, Verdict.NEW)


def seal_presence(
    identity: Identity,
    channel: str,
    kind: PresenceKind,
    *,
    nick: str,
    role: str,
    sent_time: int,
    connection: int,
    chance: bytes,
) -> bytes:
    """Return the payload. `chance` is `CHANCE_BYTES` random bytes."""
    return seal_as(
        identity,
        _domain(kind),
        channel,
        role,
        nick=nick,
        sent_time=sent_time,
        nonce=connection.to_bytes(_CONNECTION_BYTES) + chance,
        kind=kind,
        reply_to="",
    )


def decode_presence(payload: bytes) -> SignedPresence | None:
    """Return the fields, or None if another program made the payload. Never raises."""
    envelope = decode_envelope(payload)
    if envelope is None or envelope.place is not None:
        return None
    connection = int.from_bytes(envelope.nonce[:_CONNECTION_BYTES])
    return SignedPresence(
        envelope.kind, envelope.nick, envelope.text, envelope.author_key, connection, envelope.sent_time, payload
    )


def _domain(kind: int) -> bytes:
    # A program that knows no "left" refuses its signature, and so never takes it for a presence.
    return LEAVE_DOMAIN if kind == PresenceKind.LEFT else PRESENCE_DOMAIN
