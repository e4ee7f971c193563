"""Packets of private channels, by an implementation of its own: ChaCha20, Poly1305 and HChaCha20 in plain Python.

The construction is that of draft-irtf-cfrg-xchacha-03; the derived keys are BLAKE2b of RFC 7693.
"""

from __future__ import annotations

from base64 import b32encode
from hashlib import blake2b
from struct import pack, unpack
from typing import Any

_MASK = 0xFFFFFFFF
_WORDS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)


def _rounds(state: list[int]) -> list[int]:
    x = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for first, second, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[first] = (x[first] + x[second]) & _MASK
            mixed = x[third] ^ x[first]
            x[third] = ((mixed << turn) | (mixed >> (32 - turn))) & _MASK

    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for column in range(4):
            quarter(column, (column + 1) % 4 + 4, (column + 2) % 4 + 8, (column + 3) % 4 + 12)
    return x


def _block(key: bytes, counter: int, nonce: bytes) -> bytes:
    state = [*_WORDS, *unpack("<8I", key), counter, *unpack("<3I", nonce)]
    return pack("<16I", *((a + b) & _MASK for a, b in zip(state, _rounds(state), strict=True)))


def _hchacha(key: bytes, nonce: bytes) -> bytes:
    mixed = _rounds([*_WORDS, *unpack("<8I", key), *unpack("<4I", nonce)])
    return pack("<8I", *mixed[:4], *mixed[12:])


def _chacha(key: bytes, nonce: bytes, text: bytes) -> bytes:
    stream = b"".join(_block(key, 1 + index, nonce) for index in range(-(-len(text) // 64)))
    return bytes(a ^ b for a, b in zip(text, stream, strict=False))


def _poly(key: bytes, message: bytes) -> bytes:
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for start in range(0, len(message), 16):
        total = (total + int.from_bytes(message[start : start + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def xchacha20_poly1305(key: bytes, nonce: bytes, text: bytes, associated: bytes) -> bytes:
    """Return the ciphertext and the tag."""
    inner, short = _hchacha(key, nonce[:16]), bytes(4) + nonce[16:]
    sealed = _chacha(inner, short, text)
    padded = b"".join(each + bytes(-len(each) % 16) for each in (associated, sealed))
    return sealed + _poly(_block(inner, 0, short)[:32], padded + pack("<QQ", len(associated), len(sealed)))


def _size(plain: int) -> int:
    wanted = plain + 4 + 8 + 24 + 4 + 16
    for size in (256, 512, 1024, 2048, 4096):
        if wanted <= size:
            return size
    return (wanted + 4095) // 4096 * 4096


def _packet(secret: bytes, topic: str, plain: bytes, nonce: bytes) -> dict[str, Any]:
    epoch = blake2b(key=secret, person=b"sdschat epoch id", digest_size=32).digest()[:8]
    key = blake2b(key=secret, person=b"sdschat epochkey", digest_size=32).digest()
    header = b"SDE1" + epoch
    padded = pack(">I", len(plain)) + plain
    padded += bytes(_size(len(plain)) - 56 - len(plain))
    sealed = header + nonce + xchacha20_poly1305(key, nonce, padded, header + topic.encode())
    return {
        "secret": secret.hex(),
        "epoch_id": epoch.hex(),
        "topic": topic,
        "plain": plain.hex(),
        "nonce": nonce.hex(),
        "size": len(sealed),
        "packet": sealed.hex(),
    }


def _level(salt: bytes, name: str) -> dict[str, str]:
    key = blake2b(key=salt, person=b"sdschat topic   ", digest_size=32).digest()
    hashed = blake2b(name.encode(), key=key, person=b"sdschat topic   ", digest_size=32).digest()[:20]
    return {"salt": salt.hex(), "name": name, "level": b32encode(hashed).decode().lower()}


def file() -> dict[str, Any]:
    """Return the content of `sealing.json`."""
    secret, nonce = bytes(range(32)), bytes(range(100, 124))
    plains = (b"", b"hello", bytes(200), bytes(201), "grüß".encode(), bytes(range(256)) * 3)
    return {
        "about": "Packets of private channels (SDE1), and levels of topics. Made by tests/vectors/cases/sealing.py.",
        "packets": [_packet(secret, "sds/1/eabc/msg", plain, nonce) for plain in plains]
        + [_packet(bytes(32), "sds/1/eabc/who/é", b"x", bytes(24))],
        "levels": [_level(bytes(range(16)), name) for name in ("", "alice", "ü", "0123456789abcdef" * 2)],
        "sizes": [[plain, _size(plain)] for plain in (0, 200, 201, 456, 457, 4040, 4041, 8136, 8137, 65536)],
    }
