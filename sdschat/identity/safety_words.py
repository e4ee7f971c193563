"""Six words of two keys, which two people compare: the same on both sides only if each has the other's true key.

The words are the English list of BIP-39 (github.com/bitcoin/bips, bip-0039/english.txt, MIT): 2048 words, no two with
the same first four letters. Six of them are 66 bits of BLAKE2b over both keys.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from nacl.bindings import crypto_generichash_blake2b_salt_personal

COUNT: Final = 6
_BITS: Final = 11  # of a word
_BYTES: Final = 9  # 72 bits; the last six are left out
_PURPOSE: Final = b"sdschat words   "


def safety_words(one: bytes, other: bytes) -> tuple[str, ...]:
    """Return the words of two public keys, in whatever order these are given."""
    digest = crypto_generichash_blake2b_salt_personal(b"".join(sorted((one, other))), digest_size=32, person=_PURPOSE)
    bits = int.from_bytes(digest[:_BYTES]) >> (8 * _BYTES - _BITS * COUNT)
    words = _words()
    return tuple(words[bits >> _BITS * place & 2047] for place in reversed(range(COUNT)))


@cache
def _words() -> tuple[str, ...]:
    return tuple(resources.files("sdschat.identity").joinpath("words.txt").read_text(encoding="ascii").split())
