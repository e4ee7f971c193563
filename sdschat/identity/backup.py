"""A profile's key in a file that a passphrase opens: Argon2id for the passphrase, XChaCha20-Poly1305 for the rest.

With the key are its owner's nick, so that others meet the same person, and the names of the owner's private channels,
so that another machine knows which names are private.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_pwhash_alg,
    crypto_pwhash_ALG_ARGON2ID13,
)
from nacl.exceptions import CryptoError

from sdschat.identity.keyfile import KeyFileError
from sdschat.identity.signing import SEED_BYTES, Identity

SHORTEST: Final = 8  # characters of a passphrase
HEADER: Final = "sdschat identity backup v"
_KEY_ALONE: Final = f"{HEADER}1"  # as it was made before
_WITH_NAMES: Final = f"{HEADER}2"  # likewise: without a nick
_WITH_NICK: Final = f"{HEADER}3"
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 24
# The second choice of RFC 9106: a guess costs 64 MiB and a fifth of a second.
_PASSES: Final = 3
_MEMORY: Final = 64 * 1024 * 1024


class ExportedIdentity(NamedTuple):
    identity: Identity
    private_channels: tuple[str, ...]  # full names
    nick: str = ""  # empty: the file does not have it


def seal_identity(identity: Identity, passphrase: str, nick: str, private_channels: Sequence[str] = ()) -> str:
    """Return the text of the file. Raises KeyFileError for a passphrase that is too short."""
    if len(passphrase) < SHORTEST:
        raise KeyFileError(f"The passphrase has {len(passphrase)} characters, and needs {SHORTEST}. Take six words.")
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    key = _key(passphrase, salt)
    plain = identity.reveal_seed() + "\n".join((nick, *private_channels)).encode()
    sealed = crypto_aead_xchacha20poly1305_ietf_encrypt(plain, _WITH_NICK.encode(), nonce, key)
    return f"{_WITH_NICK}\nsalt {salt.hex()}\nnonce {nonce.hex()}\nkey {sealed.hex()}\n"


def open_identity(text: str, passphrase: str) -> ExportedIdentity:
    """Return the content of the text of such a file. Raises KeyFileError."""
    with contextlib.suppress(ValueError):
        header, salt, nonce, sealed, rest = text.split("\n")
        values = [
            bytes.fromhex(line.removeprefix(name))
            for line, name in ((salt, "salt "), (nonce, "nonce "), (sealed, "key "))
        ]
        whole = len(values[0]) == _SALT_BYTES and len(values[1]) == _NONCE_BYTES and not rest
        if whole and header in (_KEY_ALONE, _WITH_NAMES, _WITH_NICK):
            return _opened(header, values[0], values[1], values[2], passphrase)
    raise KeyFileError("This is not a whole file of `sdschat export-identity`. Give the file as it was written.")


def _opened(header: str, salt: bytes, nonce: bytes, sealed: bytes, passphrase: str) -> ExportedIdentity:
    try:
        plain = crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, header.encode(), nonce, _key(passphrase, salt))
        names = plain[SEED_BYTES:].decode()
        nick, _, names = names.partition("\n") if header == _WITH_NICK else ("", "", names)
        return ExportedIdentity(Identity(plain[:SEED_BYTES]), tuple(names.split("\n")) if names else (), nick)
    except (CryptoError, ValueError) as error:
        raise KeyFileError("The passphrase does not open this file, or the file is damaged.") from error


def _key(passphrase: str, salt: bytes) -> bytes:
    return crypto_pwhash_alg(32, passphrase.encode(), salt, _PASSES, _MEMORY, crypto_pwhash_ALG_ARGON2ID13)
