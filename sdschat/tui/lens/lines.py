"""Lines of a view: pieces of text with the name of a style each, which the theme turns into colours."""

from __future__ import annotations

from sdschat.tui.model.words import Glyphs
from sdschat.tui.model.wrapping import fitted, wrapped

Span = tuple[str, str]  # the text, and the name of its style; empty: the style of ordinary text
Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    return tuple((part, "") if isinstance(part, str) else part for part in parts)


def plain(shown: Line) -> str:
    return "".join(text for text, _ in shown)


def heading(text: str) -> Line:
    return ((text, "lens-heading"),)


def paragraph(text: str, width: int, style: str = "note", indent: int = 0) -> list[Line]:
    """Return a text, broken into as many lines as it needs."""
    lead = " " * indent
    return [((lead + text[low:high], style),) for low, high in wrapped(text, max(8, width - indent))]


def columns(widths: tuple[int, ...], *cells: str | Span) -> Line:
    """Return a line of cells, each cut or filled to its width; one cell more than widths takes the rest."""
    found: list[Span] = []
    for place, cell in enumerate(cells):
        text, style = (cell, "") if isinstance(cell, str) else cell
        found.append((f"{fitted(text, widths[place])} " if place < len(widths) else text, style))
    return tuple(found)


def seconds(milliseconds: int) -> str:
    """Return a duration as 0.3 s, 30 s or 2 m."""
    if milliseconds >= 120_000:
        return f"{milliseconds / 60_000:.3g} m"
    return f"{max(0, milliseconds) / 1000:.3g} s"


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """Return a bar of `width` characters, filled for this share."""
    filled = round(max(0.0, min(1.0, share)) * width)
    return glyphs.full * filled + glyphs.empty * (width - filled)
