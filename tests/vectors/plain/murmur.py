"""MurmurHash3 x64 128, after the public domain code of Austin Appleby."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_ONE, _TWO = 0x87C37B91114253D5, 0x4CF5AD432745937F


def murmur(data: bytes, seed: int = 0) -> tuple[int, int]:
    """Two unsigned numbers of 64 bits."""
    one = two = seed
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        one ^= _stir(_number(data[at : at + 8]), _ONE, 31, _TWO)
        one = ((_left(one, 27) + two) * 5 + 0x52DCE729) & _MASK
        two ^= _stir(_number(data[at + 8 : at + 16]), _TWO, 33, _ONE)
        two = ((_left(two, 31) + one) * 5 + 0x38495AB5) & _MASK
    rest = data[whole:]
    one ^= _stir(_number(rest[:8]), _ONE, 31, _TWO) ^ len(data)
    two ^= _stir(_number(rest[8:]), _TWO, 33, _ONE) ^ len(data)
    one = (one + two) & _MASK
    two = (two + one) & _MASK
    one, two = _end(one), _end(two)
    one = (one + two) & _MASK
    return one, (two + one) & _MASK


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _left(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _stir(value: int, before: int, by: int, after: int) -> int:
    return _left(value * before & _MASK, by) * after & _MASK


def _end(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
