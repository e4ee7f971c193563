"""The state of an own message, drawn: a cell for each participant who is here, or a sign and words."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment

from sdschat.tui.model.items import Fate, Phase
from sdschat.tui.model.words import Glyphs
from sdschat.tui.themes import Line, LineStyle

_MOST_CELLS: Final = 8  # participants; above them stands a bar
_WORDS: Final = {Phase.QUEUED: "queued", Phase.UNACKED: "unacked", Phase.MAYBE: "perhaps", Phase.ACKED: "acked"}
_STYLES: Final = {Phase.MAYBE: "maybe"}  # names of styles that are not the word


def fate_words(fate: Fate, glyphs: Glyphs) -> tuple[str, str]:
    """Return sign, word and counts of a state, and the name of its style."""
    if fate.refused:
        return f"{glyphs.refused} refused", "refused"
    sign = (glyphs.queued, glyphs.unacked, glyphs.maybe, glyphs.acked)[fate.phase]
    number = len(fate.known if fate.phase is Phase.ACKED else fate.perhaps)
    counted = f" {number}" if number and fate.phase >= Phase.MAYBE else ""
    unproven = f", unproven {len(fate.unproven)}" if fate.unproven else ""
    word = fate.word or f"{_WORDS[fate.phase]}{counted}"
    return f"{sign} {word}{unproven}", _STYLES.get(fate.phase, _WORDS[fate.phase])


def tick(fate: Fate, present: tuple[str, ...], line_style: LineStyle) -> Line:
    """Return the living tick of a message: who of those `present` is known to have it, perhaps has it, or says so
    unsigned. Once all of them are known to have it, one quiet sign is left."""
    glyphs = line_style.glyphs
    if fate.full:
        return [Segment(glyphs.acked, line_style.style("time"))]
    if not present or fate.word or fate.past or fate.phase is Phase.QUEUED:
        words, name = fate_words(fate, glyphs)
        return [Segment(words, line_style.style(name))]
    known = len(fate.known.intersection(present))
    style = line_style.style("acked" if known else "maybe" if fate.perhaps else "unacked")
    counted = Segment(f" {known}/{len(present)}", style)
    if len(present) > _MOST_CELLS:
        filled = known * _MOST_CELLS // len(present)
        return [Segment(glyphs.full * filled + glyphs.empty * (_MOST_CELLS - filled), style), counted]
    return [*(Segment(cell(fate, one, glyphs), line_style.nick_style(one)) for one in present), counted]


def cell(fate: Fate, participant: str, glyphs: Glyphs) -> str:
    """Return the sign for what is known of one participant."""
    if participant in fate.known:
        return glyphs.known
    if participant in fate.perhaps:
        return glyphs.maybe
    return glyphs.unproven if participant in fate.unproven else glyphs.nothing
