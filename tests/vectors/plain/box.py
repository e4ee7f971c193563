"""The sealed box of libsodium: X25519, XSalsa20 and Poly1305, with the key of one message beside it."""

from __future__ import annotations

from hashlib import blake2b

from tests.vectors.plain.curve import x25519

_BASE = (9).to_bytes(32, "little")
_WORDS = [int.from_bytes(b"expand 32-byte k"[at : at + 4], "little") for at in (0, 4, 8, 12)]
_COLUMNS = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
_ROWS = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))


def sealed_box(message: bytes, reader: bytes, once: bytes) -> bytes:
    """Seal a text. `reader`: the X25519 key of its reader; `once`: the secret that is drawn for this message alone."""
    shown = x25519(once, _BASE)
    nonce = blake2b(shown + reader, digest_size=24).digest()
    key = _hsalsa(_hsalsa(x25519(once, reader), bytes(16)), nonce[:16])
    stream = b"".join(_block(key, nonce[16:], at) for at in range(len(message) // 64 + 2))
    text = bytes(a ^ b for a, b in zip(message, stream[32:], strict=False))
    return shown + _tag(stream[:32], text) + text


def _tag(key: bytes, text: bytes) -> bytes:
    """Poly1305."""
    factor = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(text), 16):
        piece = text[at : at + 16] + b"\1"
        total = (total + int.from_bytes(piece, "little")) * factor % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def _hsalsa(key: bytes, nonce: bytes) -> bytes:
    stirred = _stirred(_start(key, nonce))
    return _bytes([stirred[at] for at in (0, 5, 10, 15, 6, 7, 8, 9)])


def _block(key: bytes, nonce: bytes, at: int) -> bytes:
    start = _start(key, nonce + at.to_bytes(8, "little"))
    return _bytes([(a + b) % 2**32 for a, b in zip(start, _stirred(start), strict=True)])


def _start(key: bytes, middle: bytes) -> list[int]:
    words, inner = _numbers(key), _numbers(middle)
    return [_WORDS[0], *words[:4], _WORDS[1], *inner, _WORDS[2], *words[4:], _WORDS[3]]


def _stirred(start: list[int]) -> list[int]:
    """Ten double rounds of Salsa20."""
    state = list(start)
    for _ in range(10):
        for quarter in (*_COLUMNS, *_ROWS):
            a, b, c, d = quarter
            for into, one, two, by in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
                total = (state[one] + state[two]) % 2**32
                state[into] ^= (total << by | total >> (32 - by)) % 2**32
    return state


def _numbers(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def _bytes(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)
