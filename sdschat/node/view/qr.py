"""QR codes in half blocks, two rows of modules in a row of text; or in signs of ASCII."""

from __future__ import annotations

from typing import Final

_QUIET: Final = 2  # light modules around the code
_IN_ASCII: Final = {True: "##", False: "  "}
_BLOCKS: Final = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_lines(text: str, *, dark_ink: bool = False, ascii_only: bool = False) -> list[str]:
    """Return the lines of a QR code, to be shown light on dark: a block is a light module. With `dark_ink` they are for
    dark on light: a block is a dark one. Many readers take a code in wrong colours for none. `ascii_only`: two signs of
    ASCII for a module, which needs twice as many columns and lines."""
    import segno  # slow to import, and seldom needed

    matrix = [[bool(module) for module in row] for row in segno.make(text, error="l", micro=False).matrix]
    side = len(matrix) + 2 * _QUIET
    light = [[True] * side for _ in range(side + side % 2)]
    for y, row in enumerate(matrix, _QUIET):
        for x, dark in enumerate(row, _QUIET):
            light[y][x] = not dark
    if ascii_only:
        return ["".join(_IN_ASCII[module is not dark_ink] for module in row) for row in light[:side]]
    pairs = zip(light[::2], light[1::2], strict=True)
    return [
        "".join(_BLOCKS[above is not dark_ink, below is not dark_ink] for above, below in zip(*pair, strict=True))
        for pair in pairs
    ]
