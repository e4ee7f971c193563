"""Signing of our own contents, and verification of received contents."""

from __future__ import annotations

import hashlib
import unicodedata
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple, Protocol

from sdschat.identity.signing import (
    CONTENT_DOMAIN,
    DIRECT_DOMAIN,
    LINK_DOMAIN,
    PLACED_DOMAIN,
    Identity,
    seal_for,
    sender_id_of,
    signed_bytes,
    verify,
)
from sdschat.sds.values import Codec, Message
from sdschat.wire.chat_codec import (
    MAX_NICK_BYTES,
    MAX_REPLY_TO_BYTES,
    NONCE_BYTES,
    OPERATION,
    PLACED_NONCE_BYTES,
    Envelope,
    Place,
    decode_envelope,
    encode_envelope,
    is_canonical,
)

_NO_SIGNATURE: Final = b""


class ContentKind(IntEnum):
    """The kind of a content. A number not listed here comes from a newer version of the program: show its text."""

    TEXT = 0
    ACTION = 1  # "/me waves"
    OPERATION = OPERATION  # on the members of a private channel: see `sdschat.identity.private`


class Verdict(StrEnum):
    """The result of checking a received content's signature. The results differ, so show each one as itself."""

    KNOWN = "known"  # signed, by a key seen before
    NEW = "new"  # signed, by a key never seen before
    UNSIGNED = "unsigned"  # made by another program: plain content, and nothing proves its sender
    BAD_SIGNATURE = "bad_signature"  # names an author who did not sign this content
    NOT_MEMBER = "not_member"  # in a private channel: its author was no member when it was written
    MISMATCHED = "mismatched"  # the signature is valid, but the packet has another sender's id or another message's id

    @property
    def signed(self) -> bool:
        """True if the author is proven."""
        return self in (Verdict.KNOWN, Verdict.NEW)


class Keys(Protocol):
    """The known keys, as verification needs them; `sdschat.identity.key_book.KeyBook` is the real implementation."""

    def knows(self, public_key: bytes) -> bool: ...

    def signs(self, sender_id: str) -> bool: ...


class OpenedContent(NamedTuple):
    """A content, decoded and verified. Trust its nick, author, time and reply only as far as the verdict allows."""

    verdict: Verdict
    text: str | None  # None: the content is not UTF-8, so there is no text to show
    kind: int = ContentKind.TEXT
    nick: str = ""
    author_key: bytes = b""
    sent_time: int = 0  # epoch milliseconds, by the author's clock
    reply_to: str = ""
    place: Place | None = None  # None: the place in the log is not signed
    why: str = ""  # an explanation for the user, where the verdict alone is not clear


def seal(
    identity: Identity,
    channel: str,
    text: str,
    *,
    nick: str,
    sent_time: int,
    nonce: bytes,
    place: Place,
    kind: ContentKind = ContentKind.TEXT,
    reply_to: str = "",
) -> bytes:
    """Return the signed content of a message. `nonce` is 8 fresh random bytes."""
    envelope = Envelope(identity.public_key, nonce, nick, sent_time, kind, text, reply_to, _NO_SIGNATURE, place)
    return _seal(identity, PLACED_DOMAIN, channel, envelope)


def seal_as(
    identity: Identity,
    domain: bytes,
    channel: str,
    text: str,
    *,
    nick: str,
    sent_time: int,
    nonce: bytes,
    kind: int,
    reply_to: str,
) -> bytes:
    """Return a content signed for another purpose: `domain` is the tag of that purpose."""
    envelope = Envelope(identity.public_key, nonce, nick, sent_time, kind, text, reply_to, _NO_SIGNATURE)
    return _seal(identity, domain, channel, envelope)


def open_as(content: bytes, domain: bytes, channel: str, sender_id: str, keys: Keys) -> OpenedContent | None:
    """Decode and verify a content made by `seal_as`. None if the bytes are not one of our envelopes."""
    envelope = decode_envelope(content)
    return None if envelope is None else _judge(envelope, content, domain, channel, sender_id, keys)


def open_content(content: bytes, channel: str, sender_id: str, message_id: str, keys: Keys) -> OpenedContent:
    """Verify the content of a received message. Any bytes give a verdict, never an exception."""
    envelope = decode_envelope(content)
    if envelope is None:
        return _unsigned(content, sender_id, keys)
    domain = CONTENT_DOMAIN if envelope.place is None else PLACED_DOMAIN
    opened = _judge(envelope, content, domain, channel, sender_id, keys)
    if opened.verdict.signed and message_id != hashlib.sha256(content).hexdigest():
        # Without this check anybody could repeat one signed message under many message ids.
        return opened._replace(verdict=Verdict.MISMATCHED, why="it is not the message whose id it bears")
    if opened.verdict.signed and envelope.place is None:
        # Whoever passes such a message on chooses its place, and the messages that it seems to answer.
        return opened._replace(verdict=Verdict.UNSIGNED, why="its author signed its text, but not its place in the log")
    return opened


def envelope_of(codec: Codec, packet: bytes | None) -> Envelope | None:
    """Return the envelope in a saved packet, which is not verified again; None if there is none."""
    message = None if packet is None else codec.decode(packet)
    return decode_envelope(message.content) if isinstance(message, Message) and message.content else None


def is_of_kind(content: bytes, kind: ContentKind) -> bool:
    """True if a content says that it is of this kind, whether it is signed or not."""
    envelope = decode_envelope(content)
    return envelope is not None and envelope.kind == kind


def open_verified(content: bytes, message_id: str, keys: Keys) -> OpenedContent | None:
    """Decode the content of a message whose ids, place and signature were checked before (`place.refusal_of`,
    `place.forged`): only the knowledge of its author's key may have changed since. None if this is another content
    under the same id."""
    envelope = decode_envelope(content)
    if envelope is None or hashlib.sha256(content).hexdigest() != message_id:
        return None
    return _opened(envelope, _verdict_on(envelope.author_key, keys), "")


def signature_problem(envelope: Envelope, domain: bytes, channel: str) -> str:
    """Return the problem with the signature of an envelope, in words for the user; empty if there is none."""
    try:
        signed = _signed(domain, channel, envelope)
    except UnicodeEncodeError:  # a channel name from outside with half of a surrogate pair
        return "its channel has no readable name"
    if not verify(envelope.author_key, signed, envelope.signature):
        return "its author did not sign this, or not for this channel"
    return ""


def misnamed(content: bytes, sender_id: str, message_id: str) -> str:
    """Return the problem with the sender id or message id of a content, in words for the user; empty if there is none.

    Only our own envelopes can be checked: the right message id is the hash of the content, and the right sender id
    follows from the author's key. A content with wrong ids would take the place of the message those ids belong to.
    """
    envelope = decode_envelope(content)
    if envelope is None:
        return ""
    if sender_id_of(envelope.author_key) != sender_id:
        return "it was written by another than the packet says"
    if hashlib.sha256(content).hexdigest() != message_id:
        return "it is not the message whose id it bears"
    return ""


def claims_identity(opened: OpenedContent, identity: Identity) -> bool:
    """True if this content is proven to be written with our own key.

    If we never wrote it, somebody else uses our key. Nothing weaker may raise that alarm: anybody can copy a sender id.
    A content whose place is not signed counts: its text is.
    """
    signed = opened.verdict.signed or opened.verdict is Verdict.UNSIGNED
    return signed and opened.author_key == identity.public_key


def problems_with(text: str, nick: str, reply_to: str = "") -> list[str]:
    """Return the reasons why these cannot be sent, in words for the person who wrote them."""
    found = []
    for name, value in (("The message", text), ("The nick", nick), ("The id of the answered message", reply_to)):
        try:
            value.encode()
        except UnicodeEncodeError:
            found.append(f"{name} has half of a surrogate pair in it, which is no character. Type it again.")
    if len(nick.encode(errors="replace")) > MAX_NICK_BYTES:
        found.append(f"The nick takes more than {MAX_NICK_BYTES} bytes. Choose a shorter one.")
    if not nick.strip() or any(unicodedata.category(letter) == "Cc" for letter in nick):
        found.append("The nick is empty or has a control character in it. Choose one that can be seen.")
    if len(reply_to.encode(errors="replace")) > MAX_REPLY_TO_BYTES:
        found.append(f"The id of the answered message takes more than {MAX_REPLY_TO_BYTES} bytes. It is not an id.")
    return found


def _seal(identity: Identity, domain: bytes, channel: str, envelope: Envelope) -> bytes:
    for problem in problems_with(envelope.text, envelope.nick, envelope.reply_to):
        raise ValueError(problem)
    nonce_bytes = NONCE_BYTES if envelope.place is None else PLACED_NONCE_BYTES
    if len(envelope.nonce) != nonce_bytes:
        raise ValueError(f"a nonce has {nonce_bytes} bytes, not {len(envelope.nonce)}")
    signature = identity.sign(_signed(domain, channel, envelope))
    return encode_envelope(envelope._replace(signature=signature))


def _signed(domain: bytes, channel: str, envelope: Envelope) -> bytes:
    key, nonce, nick, sent_time, kind, text, reply_to, _, place = envelope
    said = (nick, sent_time, kind, text, reply_to)
    if place is None:
        return signed_bytes(domain, (channel, key, nonce, *said))
    return signed_bytes(domain, (channel, key, *place, *said, nonce))


def _judge(
    envelope: Envelope, content: bytes, domain: bytes, channel: str, sender_id: str, keys: Keys
) -> OpenedContent:
    if not is_canonical(envelope, content):
        return _opened(envelope, Verdict.BAD_SIGNATURE, "it was encoded anew by somebody")
    if why := signature_problem(envelope, domain, channel):
        return _opened(envelope, Verdict.BAD_SIGNATURE, why)
    if sender_id_of(envelope.author_key) != sender_id:
        return _opened(envelope, Verdict.MISMATCHED, "it was signed by another than the packet says")
    return _opened(envelope, _verdict_on(envelope.author_key, keys), "")


def _verdict_on(author_key: bytes, keys: Keys) -> Verdict:
    return Verdict.KNOWN if keys.knows(author_key) else Verdict.NEW


def _opened(envelope: Envelope, verdict: Verdict, why: str) -> OpenedContent:
    return OpenedContent(
        verdict,
        envelope.text,
        envelope.kind,
        envelope.nick,
        envelope.author_key,
        envelope.sent_time,
        envelope.reply_to,
        envelope.place,
        why,
    )


def _unsigned(content: bytes, sender_id: str, keys: Keys) -> OpenedContent:
    try:
        text: str | None = content.decode()
    except UnicodeDecodeError:
        text = None
    # An attacker could avoid the signature check by sending an unsigned content under the id of a sender that signs.
    why = "messages of this sender were signed before" if keys.signs(sender_id) else ""
    return OpenedContent(Verdict.UNSIGNED, text, why=why)


# Direct messages: signed by their author for one reader, and sealed so that nobody else can read them.
#
# The signature covers the channel and the reader, so a reader cannot pass the message on as written to another one.
# The seal is libsodium's sealed box for the reader's key: each message has a new key, which is deleted after its use.


def seal_direct(
    identity: Identity,
    reader_key: bytes,
    channel: str,
    text: str,
    *,
    reader: str,
    nick: str,
    sent_time: int,
    nonce: bytes,
    kind: ContentKind = ContentKind.TEXT,
    reply_to: str = "",
) -> bytes:
    """Return the sealed message for the reader. Raises ValueError for a text or nick that cannot be sent."""
    content = seal_as(
        identity,
        DIRECT_DOMAIN,
        _to(channel, reader),
        text,
        nick=nick,
        sent_time=sent_time,
        nonce=nonce,
        kind=kind,
        reply_to=reply_to,
    )
    return seal_for(reader_key, content)


def open_direct(identity: Identity, body: bytes, channel: str, sender_id: str, keys: Keys) -> OpenedContent | None:
    """Open a direct message to us. None if it is not sealed for us, or not signed by the named sender. Never raises."""
    content = identity.unseal(body)
    if content is None:
        return None
    opened = open_as(content, DIRECT_DOMAIN, _to(channel, identity.sender_id), sender_id, keys)
    return opened if opened is not None and opened.verdict in (Verdict.KNOWN, Verdict.NEW) else None


def sign_link(identity: Identity, channel: str, reader: str, payload: bytes) -> bytes:
    """Sign a payload between two participants. Without the signature anybody could acknowledge in another's name."""
    return identity.sign(signed_bytes(LINK_DOMAIN, (channel, reader, payload)))


def check_link(key: bytes, channel: str, reader: str, payload: bytes, signature: bytes) -> bool:
    """True if the holder of the key sent this payload to this reader."""
    return verify(key, signed_bytes(LINK_DOMAIN, (channel, reader, payload)), signature)


def _to(channel: str, reader: str) -> str:
    """Join channel and reader into one string. All ids have one length, so no two pairs give the same string."""
    return f"{channel}\n{reader}"
