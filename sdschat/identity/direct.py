"""Direct messages: signed by their author for one reader, and sealed so that nobody else can read them.

The signature covers the channel and the reader, so a reader cannot pass the message on as if it were for somebody else.
The seal is libsodium's sealed box for the reader's key: each message has a new key, which is deleted after its use.
"""

from __future__ import annotations

from nacl.bindings import crypto_box_seal, crypto_sign_ed25519_pk_to_curve25519

from sdschat.identity.content import ContentKind, Keys, OpenedContent, Verdict, open_as, seal_as
from sdschat.identity.keys import Identity
from sdschat.identity.signing import DIRECT_DOMAIN, LINK_DOMAIN, signed_bytes, verify


def seal_direct(
    identity: Identity, reader_key: bytes, channel: str, text: str, *, reader: str, nick: str, sent_time: int,
    nonce: bytes, kind: ContentKind = ContentKind.TEXT, reply_to: str = "",
) -> bytes:  # fmt: skip
    """Return the sealed message for the reader. Raises ValueError for a text or nick that cannot be sent."""
    content = seal_as(
        identity, DIRECT_DOMAIN, _to(channel, reader), text, nick=nick, sent_time=sent_time, nonce=nonce, kind=kind,
        reply_to=reply_to,
    )  # fmt: skip
    return crypto_box_seal(content, crypto_sign_ed25519_pk_to_curve25519(reader_key))


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
