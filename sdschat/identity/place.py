"""The place of a message in the log, which its author signs: the fields of the packet around the content."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from sdschat.identity.content import misnamed, signature_problem
from sdschat.identity.signing import PLACED_DOMAIN, sender_id_of
from sdschat.sds.values import Draft, HistoryEntry, Message, MessageKind, Reason, Refusal
from sdschat.wire.chat_codec import DIGEST_BYTES, PLACED_MAGIC, Place, decode_envelope, is_canonical

_NONE: Final = b""


def history_digest(entries: Iterable[HistoryEntry]) -> bytes:
    """Return 20 bytes of SHA-256 over the ids and sender ids in their order, each with its length in four bytes before
    it. Hints are left out: a Store's hint may be added by whoever passes the message on."""
    digest = sha256()
    for entry in entries:
        for text in (entry.message_id, entry.sender_id or ""):
            raw = text.encode()
            digest.update(len(raw).to_bytes(4) + raw)
    return digest.digest()[:DIGEST_BYTES]


def filter_digest(bloom_filter: bytes | None) -> bytes:
    """Return 20 bytes of SHA-256 of the filter; no filter is an empty one."""
    return sha256(bloom_filter or _NONE).digest()[:DIGEST_BYTES]


def place_of(device: bytes, sequence: int, previous: str, draft: Draft) -> Place:
    """Return the place of the next message of a device: its number, the id of the one before, and its place in the log.
    An ephemeral message has no place in either."""
    lamport = draft.lamport_timestamp or 0
    digests = history_digest(draft.causal_history), filter_digest(draft.bloom_filter)
    if not lamport:
        return Place(device, 0, b"", 0, *digests)
    return Place(device, sequence, bytes.fromhex(previous), lamport, *digests)


def is_placed(message: Message) -> bool:
    """True if the content says that its place is signed."""
    return (message.content or b"").startswith(PLACED_MAGIC)


def refusal_of(message: Message) -> Refusal | None:
    """Return the reason why a message, decoded from a packet, is not what it says; None for what is, or cannot be
    checked. Signatures are not looked at."""
    if is_placed(message):
        reason, why = Reason.ALTERED, altered(message)
    elif message.kind is MessageKind.CONTENT:
        reason, why = Reason.MISNAMED, misnamed(message.content or b"", message.sender_id, message.message_id)
    else:
        return None
    return Refusal(reason, why, message.sender_id, message.message_id) if why else None


def forged(message: Message) -> Refusal | None:
    """Return a refusal if the author of a message with a signed place, which `refusal_of` found to be what it says, did
    not sign it."""
    envelope = decode_envelope(message.content or b"")
    if envelope is None:
        why = "its content is not in the one form that can be signed"
    else:
        why = signature_problem(envelope, PLACED_DOMAIN, message.channel_id)
    return Refusal(Reason.ALTERED, why, message.sender_id, message.message_id) if why else None


def altered(message: Message) -> str:
    """Return the difference between a message with a signed place and what its author signed, in words for the user;
    empty if there is none.

    The id of such a message is the hash of the content, which
    has digests of everything else, so no two packets of one id that pass here differ in what the log is made of.
    """
    content = message.content or b""
    envelope = decode_envelope(content)
    if envelope is None or envelope.place is None or not is_canonical(envelope, content):
        return "its content is not in the one form that can be signed"
    place = envelope.place
    if sender_id_of(envelope.author_key) != message.sender_id:
        return "it was written by another than the packet says"
    if sha256(content).hexdigest() != message.message_id:
        return "it is not the message whose id it bears"
    if place.lamport != (message.lamport_timestamp or 0):
        return "its author signed another Lamport time"
    if place.history != history_digest(message.causal_history):
        return "its author signed another causal history"
    if place.filter != filter_digest(message.bloom_filter):
        return "its author signed another filter"
    return ""
