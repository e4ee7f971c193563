"""The filter of `@waku/sds`: 10000 ids at an error rate of 0.001, 150000 bits in 64-bit words, MSB first.

Its shape is fixed; peers that speak it drop packets with a shorter filter. See tests/vectors/sds_js.json.
"""

from __future__ import annotations

from functools import lru_cache

import mmh3

CAPACITY = 10_000
HASHES = 10
BITS = 150_000
BYTES = 18_752
_MARK_AT, _MARK = BYTES - 8, 0x80  # the last of the 16 bits that stand for no place


@lru_cache(maxsize=4096)
def _places(item: str) -> tuple[tuple[int, int], ...]:
    """Return (byte, bit mask) of every bit of an item: double hashing over MurmurHash3 x86_32, read as signed, absolute
    value. XOR 7 turns the byte order within each 64-bit word."""
    first = abs(mmh3.hash(item)) % BITS
    second = abs(mmh3.hash(item + " b")) % BITS
    bits = [(first + n * second) % BITS for n in range(HASHES)]
    return tuple(((bit >> 3) ^ 7, 1 << (bit & 7)) for bit in bits)


def add(body: bytearray, item: str) -> None:
    for index, mask in _places(item):
        body[index] |= mask


def as_follower(body: bytes) -> bytes:
    """Return the filter with the mark of those who speak so only because another one does. Who takes them for peers of
    this format goes on as long as they do, and they as long as it does."""
    return body[:_MARK_AT] + bytes((body[_MARK_AT] | _MARK,)) + body[_MARK_AT + 1 :]


def is_of_follower(body: bytes) -> bool:
    return bool(body[_MARK_AT] & _MARK)


class WakuFilter:
    """A received filter of this format. It says nothing of the time it covers."""

    __slots__ = ("_fill", "body")

    floor = 0
    hashes = HASHES
    range_print = None
    range_filter = None

    def __init__(self, body: bytes) -> None:
        self.body = body
        self._fill = -1.0

    def holds(self, item: str) -> bool:
        body = self.body
        return all(body[index] & mask for index, mask in _places(item))

    @property
    def fill(self) -> float:
        if self._fill < 0:
            self._fill = int.from_bytes(self.body, "big").bit_count() / BITS
        return self._fill
