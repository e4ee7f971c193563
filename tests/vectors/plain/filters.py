"""The compact filter: three sections, and the bits that an id sets."""

from __future__ import annotations

from tests.vectors.plain.murmur import murmur

WINDOW, PRINT, RANGE = 0xC4, 0xC5, 0xC6


def bits_of(item: str, hashes: int, bits: int, seed: int = 0) -> list[int]:
    """The bits of an id by the formula of sdschat/sds/README.md, one by one, with unsigned numbers."""
    one, two = murmur(item.encode(), seed)
    a, c = one % 2**32, one // 2**32
    b, d = two % 2**32, two // 2**32
    return [(a + b * i + c * (i * (i - 1) // 2) + d * (i * (i - 1) * (i - 2) // 6)) % bits for i in range(hashes)]


def body(ids: list[str], hashes: int, bits: int, seed: int = 0) -> bytes:
    value = 0
    for item in ids:
        for bit in bits_of(item, hashes, bits, seed):
            value |= 1 << bit
    return value.to_bytes(bits // 8, "little")


def window(ids: list[str], hashes: int, bits: int, floor: int) -> bytes:
    return bytes([WINDOW, hashes]) + bits.to_bytes(3, "big") + floor.to_bytes(6, "big") + body(ids, hashes, bits)


def fingerprint(ids: list[str]) -> int:
    return sum(murmur(item.encode(), 0x5D5)[0] for item in ids) % 2**64


def print_of(ids: list[str], low: int, high: int) -> bytes:
    dates = low.to_bytes(6, "big") + high.to_bytes(6, "big")
    return bytes([PRINT]) + dates + len(ids).to_bytes(2, "big") + fingerprint(ids).to_bytes(8, "big")


def range_of(ids: list[str], hashes: int, bits: int, low: int, high: int, seed: int) -> bytes:
    head = bytes([RANGE, hashes]) + bits.to_bytes(3, "big") + low.to_bytes(6, "big") + high.to_bytes(6, "big")
    return head + seed.to_bytes(4, "big") + body(ids, hashes, bits, seed)
