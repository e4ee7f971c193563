"""Direct messages: signed by their author for one reader, and sealed so that nobody else can read them.

The signature covers the channel and the reader, so that no reader can pass a message on as one to somebody else. The
seal is libsodium's sealed box to the reader's key: a fresh key for every message, thrown away after it was used.
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
    """What goes to the reader. Raises ValueError for a text or nick that cannot be sent."""
    content = seal_as(
        identity, DIRECT_DOMAIN, _to(channel, reader), text, nick=nick, sent_time=sent_time, nonce=nonce, kind=kind,
        reply_to=reply_to,
    )  # fmt: skip
    return crypto_box_seal(content, crypto_sign_ed25519_pk_to_curve25519(reader_key))


def open_direct(identity: Identity, body: bytes, channel: str, sender_id: str, keys: Keys) -> OpenedContent | None:
    """What somebody wrote to us; nothing where it is not sealed for us, or not signed by whom it says. Total."""
    content = identity.unseal(body)
    if content is None:
        return None
    opened = open_as(content, DIRECT_DOMAIN, _to(channel, identity.sender_id), sender_id, keys)
    return opened if opened is not None and opened.verdict in (Verdict.KNOWN, Verdict.NEW) else None


def sign_link(identity: Identity, channel: str, reader: str, payload: bytes) -> bytes:
    """For a payload between two: without it anybody could acknowledge in another's name."""
    return identity.sign(signed_bytes(LINK_DOMAIN, (channel, reader, payload)))


def check_link(key: bytes, channel: str, reader: str, payload: bytes, signature: bytes) -> bool:
    """Whether the holder of the key sent this payload to this reader."""
    return verify(key, signed_bytes(LINK_DOMAIN, (channel, reader, payload)), signature)


def _to(channel: str, reader: str) -> str:
    """Channel and reader in one: a reader's id is of fixed length, so this says both."""
    return f"{channel}\n{reader}"
