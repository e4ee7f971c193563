"""Jitter without a random number generator.

Timers must not line up between participants, and must not be predictable by a peer that picks ids. A keyed hash
of what the timer is for gives both, and needs no state: an engine restored from disk draws what it would have drawn.
"""

from __future__ import annotations

from hashlib import blake2b


class Jitter:
    """Numbers that look random to everyone who lacks the secret."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret[:64]

    def below(self, bound: int, *what: str | int) -> int:
        """A number from 0 to `bound - 1`, always the same for the same `what`."""
        text = "\0".join(map(str, what)).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=8, key=self._secret).digest()
        return int.from_bytes(digest, "big") % bound if bound > 0 else 0

    def token(self, *what: str | int) -> str:
        """32 hex digits, always the same for the same `what`."""
        text = "\0".join(map(str, what)).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=16, key=self._secret).hexdigest()
