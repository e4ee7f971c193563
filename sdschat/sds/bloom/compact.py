"""Our own filter: 523 bytes for 256 ids by default, and the part of the log that it speaks of; reading that of a peer.

A filter is a sequence of sections. All integers are big-endian, bodies have bit 0 in the lowest bit of byte 0.

    window  C4 | hashes u8 | bits u24 | floor u48 | body
    print   C5 | low u48 | high u48 | count u16 | fingerprint u64
    range   C6 | hashes u8 | bits u24 | low u48 | high u48 | seed u32 | body

The window section is always there: every message that its sender holds with a Lamport timestamp of at least `floor`
is in it, so what is dated later and is not in it is lacking for certain. A sync message may carry one more section:
a fingerprint of the ids of one range of the log, or, in answer to one that differed, a filter over that range with a
seed of its own, so that a false positive of one filter is none of the next.

An id sets the bits `(a + b*i + c*i(i-1)/2 + d*i(i-1)(i-2)/6) mod bits` for i below `hashes`. Of the two unsigned
numbers of 64 bits that MurmurHash3 x64 128 makes of its UTF-8 bytes, a and c are the lower and upper half of the first,
b and d those of the second. In filters as small as these, double hashing (two numbers, a + b*i) makes ids share all
their bits up to ten times as often as the number of bits that are set would say, and alike in the filters of all who
hold the same ids.
Sizes are halves of one another, so a large filter folds into a small one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import mmh3

from sdschat.sds.bloom import waku
from sdschat.sds.bloom.waku import WakuFilter

WINDOW, PRINT, RANGE = 0xC4, 0xC5, 0xC6
OLD_WINDOW = 0xC1  # signed or unsigned numbers, by the version of mmh3 at the sender: its bits mean nothing
MAX_BITS = 1 << 18
MAX_HASHES = 20  # an error rate of one in a million
# The numbers of ids are remembered for filters up to this shape, which a capacity of 256 is well within. Others are
# looked into bit by bit: who sends filters of ever other shapes shall cost neither memory nor much time.
USUAL_BITS, USUAL_HASHES = 1 << 13, 16
MAX_FILL = 0.60  # an honest filter at capacity is half full; a fuller one claims too much to be believed
_WINDOW_HEAD = struct.Struct(">BBBHHI")  # u24 as u8+u16, u48 as u16+u32
_PRINT = struct.Struct(">BHIHIHQ")
_RANGE_HEAD = struct.Struct(">BBBHHIHII")
WINDOW_HEAD_BYTES = _WINDOW_HEAD.size
_FOLDS = 4  # sizes: full, a half, a quarter, an eighth


class Shape(NamedTuple):
    hashes: int
    bits: int


class RangePrint(NamedTuple):
    """Count and sum of the ids in somebody's log from `low` to `high`, both included."""

    low: int
    high: int
    ids: int
    fingerprint: int


class RangeFilter(NamedTuple):
    """A filter over the ids from `low` to `high`, both included."""

    low: int
    high: int
    hashes: int
    bits: int
    seed: int
    body: bytes

    def holds(self, item: str) -> bool:
        return _holds(self.body, item, self.hashes, self.bits, self.seed)

    def made_of(self, ids: list[str]) -> bytes:
        """Return the body that this filter would have if these were its ids."""
        return body_of(ids, self.hashes, self.bits, self.seed)


@lru_cache(maxsize=64)
def shape_for(capacity: int, error_rate: float) -> Shape:
    """Return the smallest shape that holds `capacity` ids at `error_rate`, in whole bytes at every fold."""
    unit = 8 << (_FOLDS - 1)
    wanted = -capacity * math.log(error_rate) / math.log(2) ** 2
    bits = max(unit, math.ceil(wanted / unit) * unit)
    hashes = min(MAX_HASHES, max(1, round(bits / capacity * math.log(2))))
    return Shape(hashes, bits)


@lru_cache(maxsize=4096)  # 700 bytes each, for our own shape
def mask(item: str, hashes: int, bits: int) -> int:
    """Return the bits of an id, as one number. Not for a shape that somebody else chose, unless it is a usual one."""
    value = 0
    for at in _places(item, hashes, bits, 0):
        value |= 1 << at
    return value


def _numbers(item: str, seed: int) -> tuple[int, int]:
    """Return the two halves of MurmurHash3 x64 128. Arguments go by name: some versions of mmh3 take `signed` by its
    position and then ignore it."""
    one, two = mmh3.hash64(key=item, seed=seed, x64arch=True, signed=False)
    return one, two


def _places(item: str, hashes: int, bits: int, seed: int) -> Iterator[int]:
    """Yield the bits that an id sets. Each number is made of the one before by three additions."""
    one, two = _numbers(item, seed)
    number, first, second, third = one & 0xFFFFFFFF, two & 0xFFFFFFFF, one >> 32, two >> 32
    for _ in range(hashes):
        yield number % bits
        number += first
        first += second
        second += third


def _holds(body: bytes, item: str, hashes: int, bits: int, seed: int = 0) -> bool:
    """True if all bits of an id are set. Most often the first or second one says no."""
    return all(body[at >> 3] >> (at & 7) & 1 for at in _places(item, hashes, bits, seed))


def body_of(ids: list[str], hashes: int, bits: int, seed: int) -> bytes:
    """Return the filter of these ids."""
    body = bytearray(bits >> 3)
    for item in ids:
        for at in _places(item, hashes, bits, seed):
            body[at >> 3] |= 1 << (at & 7)
    return bytes(body)


def fold(value: int, bits: int, to: int) -> int:
    """Return a filter of `bits` as the filter of `to` bits that the same ids would have made."""
    while bits > to:
        bits >>= 1
        value = (value & ((1 << bits) - 1)) | (value >> bits)
    return value


@lru_cache(maxsize=64)
def sizes(shape: Shape) -> tuple[int, ...]:
    """Return the sizes that a filter of this shape folds into."""
    return tuple(shape.bits >> fold for fold in range(_FOLDS))


def folded_bits(shape: Shape, capacity: int, count: int) -> int:
    """Return the smallest fold at which `count` ids are no denser than `capacity` ids are at full size."""
    bits = shape.bits
    for _ in range(_FOLDS - 1):
        if count * shape.bits > capacity * (bits >> 1):
            break
        bits >>= 1
    return bits


def encode_window(value: int, shape: Shape, bits: int, floor: int) -> bytes:
    body = fold(value, shape.bits, bits).to_bytes(bits >> 3, "little")
    head = _WINDOW_HEAD.pack(WINDOW, shape.hashes, bits >> 16, bits & 0xFFFF, floor >> 32, floor & 0xFFFFFFFF)
    return head + body


def encode_print(what: RangePrint) -> bytes:
    low, high = what.low, what.high
    count = min(what.ids, 0xFFFF)
    return _PRINT.pack(PRINT, low >> 32, low & 0xFFFFFFFF, high >> 32, high & 0xFFFFFFFF, count, what.fingerprint)


def encode_range(ids: list[str], low: int, high: int, error_rate: float, seed: int) -> bytes:
    shape = shape_for(max(8, len(ids)), error_rate)
    head = _RANGE_HEAD.pack(
        RANGE,
        shape.hashes,
        shape.bits >> 16,
        shape.bits & 0xFFFF,
        low >> 32,
        low & 0xFFFFFFFF,
        high >> 32,
        high & 0xFFFFFFFF,
        seed,
    )
    return head + body_of(ids, shape.hashes, shape.bits, seed)


@lru_cache(maxsize=16_384)
def _id_print(item: str) -> int:
    return _numbers(item, 0x5D5)[0]


def fingerprint(ids: list[str]) -> int:
    """Return a number that tells sets of ids apart; the order does not matter. A sum, so that doubles do not cancel
    out."""
    return sum(map(_id_print, ids)) & 0xFFFFFFFFFFFFFFFF


class CompactFilter:
    """A received filter of this format."""

    __slots__ = ("_body", "_fill", "bits", "floor", "hashes", "range_filter", "range_print", "value")

    def __init__(self, hashes: int, bits: int, floor: int, value: int) -> None:
        self.hashes = hashes
        self.bits = bits
        self.floor = floor
        self.value = value
        self.range_print: RangePrint | None = None
        self.range_filter: RangeFilter | None = None
        self._fill = -1.0
        usual = bits <= USUAL_BITS and hashes <= USUAL_HASHES
        self._body = b"" if usual else value.to_bytes(bits >> 3, "little")

    def holds(self, item: str) -> bool:
        if self._body:
            return _holds(self._body, item, self.hashes, self.bits)
        bits = mask(item, self.hashes, self.bits)
        return self.value & bits == bits

    @property
    def fill(self) -> float:
        if self._fill < 0:
            self._fill = self.value.bit_count() / self.bits
        return self._fill


def decode(packet: bytes) -> CompactFilter | str:
    """Return a filter, or what is wrong with it. Total: any bytes give an answer."""
    if len(packet) < _WINDOW_HEAD.size:
        return "too short for a filter"
    _, hashes, bits_high, bits_low, floor_high, floor_low = _WINDOW_HEAD.unpack_from(packet)
    bits = (bits_high << 16) | bits_low
    if not (1 <= hashes <= MAX_HASHES and 8 <= bits <= MAX_BITS and bits % 8 == 0):
        return f"impossible shape: {hashes} hashes, {bits} bits"
    end = _WINDOW_HEAD.size + (bits >> 3)
    if len(packet) < end:
        return f"cut short: {len(packet)} of {end} bytes"
    value = int.from_bytes(packet[_WINDOW_HEAD.size : end], "little")
    found = CompactFilter(hashes, bits, (floor_high << 32) | floor_low, value)
    if len(packet) > end and (problem := _decode_section(found, packet, end)):
        return problem
    return found


def _decode_section(found: CompactFilter, packet: bytes, at: int) -> str:
    """Return the optional second section. What we do not know is left alone: a later version may have put it there."""
    tag, left = packet[at], len(packet) - at
    if tag == PRINT:
        if left != _PRINT.size:
            return "fingerprint of a wrong length"
        _, low_high, low_low, high_high, high_low, count, total = _PRINT.unpack_from(packet, at)
        found.range_print = RangePrint((low_high << 32) | low_low, (high_high << 32) | high_low, count, total)
    elif tag == RANGE:
        if left < _RANGE_HEAD.size:
            return "range filter cut short"
        _, hashes, bits_high, bits_low, low_high, low_low, high_high, high_low, seed = _RANGE_HEAD.unpack_from(
            packet, at
        )
        bits = (bits_high << 16) | bits_low
        possible = 1 <= hashes <= MAX_HASHES and 8 <= bits <= MAX_BITS and bits % 8 == 0
        if not possible or left != _RANGE_HEAD.size + (bits >> 3):
            return "range filter of an impossible shape"
        body = packet[at + _RANGE_HEAD.size :]
        found.range_filter = RangeFilter(
            (low_high << 32) | low_low, (high_high << 32) | high_low, hashes, bits, seed, body
        )
    return ""


ReceivedFilter = CompactFilter | WakuFilter


def read_filter(packet: bytes) -> ReceivedFilter | str:
    """Return the filter, or why it is ignored. The shape tells the format; nothing else is taken from the sender's
    word."""
    if len(packet) == waku.BYTES:
        return WakuFilter(packet)
    if packet[:1] == bytes([WINDOW]):
        return _read_compact(packet)
    if packet[:1] == bytes([OLD_WINDOW]):
        return "written by an older version of sdschat, to be updated there"
    return f"unknown layout of {len(packet)} bytes"


@lru_cache(maxsize=16)  # several channels of one process hear the same packet
def _read_compact(packet: bytes) -> CompactFilter | str:
    return decode(packet)
