"""QR codes in half blocks: two rows of modules in a row of text."""

from __future__ import annotations

from typing import Final

_QUIET: Final = 2  # light modules around the code
_BLOCKS: Final = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_lines(text: str) -> list[str]:
    """Return the lines of a QR code. A block is a light module, so they are to be shown light on dark."""
    import segno  # slow to import, and seldom needed

    matrix = [[bool(module) for module in row] for row in segno.make(text, error="l", micro=False).matrix]
    side = len(matrix) + 2 * _QUIET
    light = [[True] * side for _ in range(side + side % 2)]
    for y, row in enumerate(matrix, _QUIET):
        for x, dark in enumerate(row, _QUIET):
            light[y][x] = not dark
    pairs = zip(light[::2], light[1::2], strict=True)
    return ["".join(_BLOCKS[above, below] for above, below in zip(*pair, strict=True)) for pair in pairs]
