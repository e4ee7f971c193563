"""Messages as a node would sign them, and contents as it signed them until 0.1.0."""

from __future__ import annotations

from hashlib import sha256

from sdschat.identity.content import ContentKind, seal, seal_as
from sdschat.identity.place import place_of
from sdschat.identity.signing import CONTENT_DOMAIN, Identity
from sdschat.sds.values import Draft, HistoryEntry, Message

DEVICE = b"a device"


def signed_message(
    identity: Identity,
    channel: str,
    text: str,
    lamport: int | None,
    *,
    nick: str = "ann",
    sent_time: int = 1,
    nonce: bytes = bytes(8),
    history: tuple[HistoryEntry, ...] = (),
    bloom_filter: bytes | None = None,
    device: bytes = DEVICE,
    sequence: int = 1,
    previous: str = "",
) -> Message:
    """Return a message with its place signed; without a Lamport time it is ephemeral."""
    place = place_of(device, sequence, previous, Draft(lamport, history, bloom_filter))
    content = seal(identity, channel, text, nick=nick, sent_time=sent_time, nonce=nonce, place=place)
    name = sha256(content).hexdigest()
    return Message(identity.sender_id, name, channel, lamport, history, bloom_filter, content=content)


def old_content(
    identity: Identity, channel: str, text: str, *, nick: str = "ann", sent_time: int = 1, nonce: bytes = bytes(16)
) -> bytes:
    """Return a content of the form `SDC1`."""
    kind = ContentKind.TEXT
    return seal_as(
        identity, CONTENT_DOMAIN, channel, text, nick=nick, sent_time=sent_time, nonce=nonce, kind=kind, reply_to=""
    )
