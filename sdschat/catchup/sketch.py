"""Short ids and sums of them: which few of a thousand messages differ, in a few dozen bytes.

Each message of a stretch goes into three cells that follow from its short id, and a cell is the exclusive or of what
is in it (an invertible Bloom lookup table without counts). The difference of two such cells is the short id of the
only message that differs there, if there is only one; short ids carry a check, so a sum of several is not taken for
one. The salt is new in each comparison: nobody can make messages whose short ids collide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

_PRIME: Final = (1 << 61) - 1
_CHECK_FACTOR: Final = 0x1B873593CC9E2D51 % _PRIME
_SPREAD: Final = 0x0E2DA9B1F6C3A4D7
_ID_BITS: Final = 48
_CHECK_BITS: Final = 16
_CHECK_MASK: Final = (1 << _CHECK_BITS) - 1
LEAST_CELLS: Final = 3  # one for each of the three that a message goes into


class Shortener:
    """Makes short ids of 64 bits: 48 of a keyed hash that is quick, and a check of 16."""

    __slots__ = ("_add", "_factor")

    def __init__(self, salt: int) -> None:
        drawn = int.from_bytes(blake2b(salt.to_bytes(8, "big"), digest_size=16).digest(), "big")
        self._factor = drawn % (_PRIME - 1) + 1
        self._add = (drawn >> 64) % _PRIME

    def short(self, message_id: str) -> int:
        text = int.from_bytes(message_id.encode("utf-8", "surrogatepass"), "big")
        value = ((text % _PRIME) * self._factor + self._add) % _PRIME >> (61 - _ID_BITS)
        return value << _CHECK_BITS | _check(value)

    def shorts(self, keys: Iterable[tuple[int, str]]) -> list[int]:
        return [self.short(message_id) for _, message_id in keys]


def _check(value: int) -> int:
    return value * _CHECK_FACTOR % _PRIME >> (61 - _CHECK_BITS)


def is_one(cell: int) -> bool:
    """True if a difference of cells is the short id of a single message: wrong once in 65,536 times."""
    return _check(cell >> _CHECK_BITS) == cell & _CHECK_MASK


def fill(shorts: Iterable[int], cells: int) -> list[int]:
    """Return the cells of a sketch: each short id goes into one cell of each third. `cells` is a multiple of three."""
    found = [0] * cells
    third = cells // 3
    for short in shorts:
        one, two, three = _places(short, third)
        found[one] ^= short
        found[two] ^= short
        found[three] ^= short
    return found


def _places(short: int, third: int) -> tuple[int, int, int]:
    return (
        (short >> _CHECK_BITS) % third,
        third + (short >> 32) % third,
        2 * third + (short >> 26) * _SPREAD % _PRIME % third,
    )


class SketchDifference(NamedTuple):
    theirs: tuple[int, ...]  # short ids of what we lack
    ours: int  # how many of ours they lack
    whole: bool  # nothing else differs


def differ(ours: list[int], cells: Sequence[int]) -> SketchDifference:
    """Hold our short ids against the cells of another: whatever is alone in a cell is found, and taken out of its
    other cells, where that may leave another one alone."""
    known = set(ours)
    third = len(cells) // 3
    left = [mine ^ other for mine, other in zip(fill(ours, len(cells)), cells, strict=True)]
    found: dict[int, None] = {}
    look = [at for at, cell in enumerate(left) if cell]
    while look:
        at = look.pop()
        short = left[at]
        if not short or not is_one(short) or short in found:
            continue
        places = _places(short, third)
        if at not in places:
            continue
        found[short] = None
        for place in places:
            left[place] ^= short
            look.append(place)
    theirs = tuple(short for short in found if short not in known)
    return SketchDifference(theirs, len(found) - len(theirs), not any(left))
