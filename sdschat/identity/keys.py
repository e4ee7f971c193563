"""The key of one profile, as a value."""

from __future__ import annotations

from sdschat.identity.signing import key_pair, sender_id_of, sign, unseal

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
