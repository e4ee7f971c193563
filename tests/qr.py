"""QR codes read back from lines of half blocks, as a camera would read them from the screen."""

from __future__ import annotations

from typing import Final

import zxingcpp

BLOCKS: Final = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}  # a block is a light module
_PIXELS: Final = 4  # the side of a module
_QUIET: Final = 4  # light modules around the code


def decoded(lines: list[str]) -> str:
    """Return the text of the QR code that these lines show."""
    rows = _modules(lines)
    side = (len(rows) + 2 * _QUIET) * _PIXELS
    picture = bytearray(b"\xff" * (side * side))
    for y, row in enumerate(rows):
        for x, dark in enumerate(row):
            for line in range(_PIXELS if dark else 0):
                start = ((y + _QUIET) * _PIXELS + line) * side + (x + _QUIET) * _PIXELS
                picture[start : start + _PIXELS] = bytes(_PIXELS)
    found = zxingcpp.read_barcode(memoryview(picture).cast("B", (side, side)))
    assert found is not None, "no QR code is seen"
    return str(found.text)


def _modules(lines: list[str]) -> list[list[int]]:
    """Return the modules, without the light ones around them."""
    if any("#" in line for line in lines):
        rows = [[int(sign == " ") for sign in line[::2]] for line in lines]
    else:
        rows = [[BLOCKS[block][half] for block in line] for line in lines for half in (0, 1)]
    dark = [index for index, row in enumerate(rows) if any(row)]
    left = min(row.index(1) for row in rows if any(row))
    side = dark[-1] - dark[0] + 1
    return [row[left : left + side] for row in rows[dark[0] : dark[-1] + 1]]
