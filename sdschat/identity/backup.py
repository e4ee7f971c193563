"""A profile's key in a file that a passphrase opens: Argon2id for the passphrase, XChaCha20-Poly1305 for the key."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Final

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_pwhash_alg,
    crypto_pwhash_ALG_ARGON2ID13,
)
from nacl.exceptions import CryptoError

from sdschat.identity.keyfile import KeyFileError
from sdschat.identity.signing import Identity

SHORTEST: Final = 8  # characters of a passphrase
_HEADER: Final = "sdschat identity backup v1"
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 24
# The second choice of RFC 9106: a guess costs 64 MiB and a fifth of a second.
_PASSES: Final = 3
_MEMORY: Final = 64 * 1024 * 1024


def seal_identity(identity: Identity, passphrase: str, random: Callable[[int], bytes] = os.urandom) -> str:
    """Return the text of the file. Raises KeyFileError for a passphrase that is too short."""
    if len(passphrase) < SHORTEST:
        raise KeyFileError(f"The passphrase has {len(passphrase)} characters, and needs {SHORTEST}. Take six words.")
    salt, nonce = random(_SALT_BYTES), random(_NONCE_BYTES)
    key = _key(passphrase, salt)
    sealed = crypto_aead_xchacha20poly1305_ietf_encrypt(identity.reveal_seed(), _HEADER.encode(), nonce, key)
    return f"{_HEADER}\nsalt {salt.hex()}\nnonce {nonce.hex()}\nkey {sealed.hex()}\n"


def open_identity(text: str, passphrase: str) -> Identity:
    """Return the identity in the text of such a file. Raises KeyFileError."""
    with contextlib.suppress(ValueError):
        header, salt, nonce, sealed, rest = text.split("\n")
        values = [
            bytes.fromhex(line.removeprefix(name))
            for line, name in ((salt, "salt "), (nonce, "nonce "), (sealed, "key "))
        ]
        if header == _HEADER and not rest and len(values[0]) == _SALT_BYTES and len(values[1]) == _NONCE_BYTES:
            return _opened(values[0], values[1], values[2], passphrase)
    raise KeyFileError("This is not a whole file of `sdschat export-identity`. Give the file as it was written.")


def _opened(salt: bytes, nonce: bytes, sealed: bytes, passphrase: str) -> Identity:
    try:
        seed = crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, _HEADER.encode(), nonce, _key(passphrase, salt))
        return Identity(seed)
    except (CryptoError, ValueError) as error:
        raise KeyFileError("The passphrase does not open this file, or the file is damaged.") from error


def _key(passphrase: str, salt: bytes) -> bytes:
    return crypto_pwhash_alg(32, passphrase.encode(), salt, _PASSES, _MEMORY, crypto_pwhash_ALG_ARGON2ID13)
