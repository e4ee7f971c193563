"""Ed25519 as this program uses it: the exact bytes that are signed, and the strict check of a signature.

libsodium's check is strict: S must be below the group order, and public keys and R of small order or in a non-canonical
encoding are refused. `tests/identity/test_vectors.py` checks this for the installed build.

Also the key of one profile, as a value.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from nacl.bindings import (
    crypto_box_seal,
    crypto_box_seal_open,
    crypto_sign,
    crypto_sign_BYTES,
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
    crypto_sign_open,
    crypto_sign_PUBLICKEYBYTES,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import BadSignatureError, CryptoError

# A signature made for one purpose must mean nothing for another, so every purpose has a tag of its own.
CONTENT_DOMAIN: Final = b"sdschat/content/v1\0"
PLACED_DOMAIN: Final = b"sdschat/content/v2\0"
SYNC_DOMAIN: Final = b"sdschat/sync/v1\0"
PRESENCE_DOMAIN: Final = b"sdschat/presence/v1\0"
LEAVE_DOMAIN: Final = b"sdschat/leave/v1\0"
DIRECT_DOMAIN: Final = b"sdschat/direct/v1\0"
LINK_DOMAIN: Final = b"sdschat/link/v1\0"
TIMBER_DOMAIN: Final = b"sdschat/timber/packet/v1\0"
ANNOUNCE_DOMAIN: Final = b"sdschat/timber/announcement/v1\0"

_SENDER_ID_DIGITS: Final = 32
_PREFIX: Final = 4  # letters of an id, at least
_BEGINNING: Final = 8  # letters of an id that are shown, at least
_DIGITS: Final = 20  # of a number in a name, up to which its value counts


@lru_cache(maxsize=256)
def sender_id_of(public_key: bytes) -> str:
    """Return the participant id of a key: the first 32 hex digits of its SHA-256."""
    return hashlib.sha256(public_key).hexdigest()[:_SENDER_ID_DIGITS]


def nicks_by_sender(keys: Iterable[tuple[bytes, str, int]]) -> dict[str, str]:
    """Return the nick that was last claimed for each of these keys, by sender id. Keys without a nick are left out."""
    return {sender_id_of(key): nick for key, nick, _ in keys if nick}


def nick_of(keys: Iterable[tuple[bytes, str, int]], public_key: bytes) -> str:
    """Return the nick that was last claimed for this key; empty if there is none."""
    return next((nick for key, nick, _ in keys if key == public_key), "")


def by_name(name: str) -> str:
    """Return the sort key of a name in a list: letters of any case are alike, and `ann2` stands before `ann10`."""
    return re.sub(r"\d+", lambda number: number[0].zfill(_DIGITS), name.casefold())


def goes_by(sender_id: str, nick: str, name: str) -> bool:
    """True if somebody has this name, in letters of any case, or an id that begins with it, or both: `ann 4cb9`."""
    return nick.casefold() == name.casefold() or _has_id(sender_id, nick, name)


def ids_called(name: str, known: Iterable[tuple[str, str]]) -> list[str]:
    """Return the sender ids of all whom a name may mean. `known`: sender ids with nicks. The same letters of a nick
    come before those of another case. Anybody may take another's id for a nick, so that both are found by the beginning
    of an id; a whole id means one alone. An @ in front is part of the name only where nobody has it without."""
    pairs = list(known)
    if any(sender_id == name for sender_id, _ in pairs):
        return [name]
    if name.startswith("@") and (spoken_to := ids_called(name[1:], pairs)):
        return spoken_to
    found = {one for one, nick in pairs if nick == name or _has_id(one, nick, name)}
    return sorted(found or {one for one, nick in pairs if goes_by(one, nick, name)})


def beginning_of(sender_id: str, others: Iterable[str], least: int = _BEGINNING) -> str:
    """Return the first `least` letters of an id, or as many more as it takes to tell it from all others. Anybody can
    make a key whose id begins with the eight letters of another one."""
    alike = {other[: len(sender_id)] for other in others} - {sender_id}
    while least < len(sender_id) and (alike := {other for other in alike if other.startswith(sender_id[:least])}):
        least += 1
    return sender_id[:least]


def _has_id(sender_id: str, nick: str, name: str) -> bool:
    """True if a name is the beginning of this id, alone or behind the nick."""
    head, _, beginning = name.rpartition(" ")
    theirs = not head or head.casefold() == nick.casefold()
    return theirs and len(beginning) >= _PREFIX and sender_id.startswith((beginning, beginning.lower()))


def signed_bytes(domain: bytes, values: Iterable[bytes | str | int]) -> bytes:
    """Return the tag, then each value with its length in four bytes before it; numbers take eight bytes, big-endian.

    The lengths ensure that two different lists of values never give the same bytes. The protobuf encoding is not
    signed, because other implementations may write it differently.
    """
    parts = [domain]
    for value in values:
        raw = value.encode() if isinstance(value, str) else value.to_bytes(8) if isinstance(value, int) else value
        parts += (len(raw).to_bytes(4), raw)
    return b"".join(parts)


def key_pair(seed: bytes) -> tuple[bytes, bytes]:
    """Derive the public and secret key from 32 random bytes."""
    public, secret = crypto_sign_seed_keypair(seed)
    return public, secret


def sign(secret_key: bytes, message: bytes) -> bytes:
    """Return the signature alone, 64 bytes."""
    return crypto_sign(message, secret_key)[:crypto_sign_BYTES]


def seal_for(public_key: bytes, payload: bytes) -> bytes:
    """Return a payload that only the holder of this key opens, with `unseal`: a sealed box of libsodium. Raises
    RuntimeError or ValueError where nobody can have signed with such a key: it is no point of the curve."""
    return crypto_box_seal(payload, crypto_sign_ed25519_pk_to_curve25519(public_key))


def unseal(public_key: bytes, secret_key: bytes, sealed: bytes) -> bytes | None:
    """Return the content of a box sealed to this key, or None. Never raises: any bytes are allowed."""
    try:
        public = crypto_sign_ed25519_pk_to_curve25519(public_key)
        return crypto_box_seal_open(sealed, public, crypto_sign_ed25519_sk_to_curve25519(secret_key))
    except (CryptoError, ValueError, TypeError):
        return None


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """True if the holder of the key signed these bytes. Never raises: a wrong length gives False."""
    if len(public_key) != crypto_sign_PUBLICKEYBYTES or len(signature) != crypto_sign_BYTES:
        return False
    try:
        crypto_sign_open(signature + message, public_key)
    except BadSignatureError:
        return False
    return True


SEED_BYTES = 32


class Identity:
    """A profile's Ed25519 key. The secret part never appears in a repr, a log or a pickle."""

    __slots__ = ("_secret", "public_key", "sender_id")

    def __init__(self, seed: bytes) -> None:
        """`seed` is 32 random bytes: the whole secret."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"the seed of a key has {SEED_BYTES} bytes, not {len(seed)}")
        self.public_key, self._secret = key_pair(seed)
        self.sender_id = sender_id_of(self.public_key)

    def sign(self, message: bytes) -> bytes:
        """Return the signature, 64 bytes. The message must begin with a domain tag: see `signing.signed_bytes`."""
        return sign(self._secret, message)

    def unseal(self, sealed: bytes) -> bytes | None:
        """Return the content of a box sealed for this key, or None if it cannot be opened."""
        return unseal(self.public_key, self._secret, sealed)

    def reveal_seed(self) -> bytes:
        """Return the secret itself. Only the key file and its backup may use it."""
        return self._secret[:SEED_BYTES]

    def __repr__(self) -> str:
        return f"Identity(sender_id={self.sender_id!r})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("an identity is not to be pickled: its key would leave the key file")
