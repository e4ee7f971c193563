"""The view of the faults that are injected here, with the commands that change them."""

from __future__ import annotations

from typing import Final

from sdschat.tui.lens.lines import Line, columns, heading, line, paragraph
from sdschat.tui.lens.view_input import Sight
from sdschat.tui.model.cleaning import clean

USES: Final = (
    ("/fault loss 30% in", "lose packets; in, out or both ways"),
    ("/fault duplicate 10%", "send or take some twice"),
    ("/fault reorder 20%", "hold some back"),
    ("/fault corrupt 5%", "flip a bit in some"),
    ("/fault delay 500ms out", "half to one and a half of it"),
    ("/fault partition bob", "hear nothing that bob wrote"),
    ("/fault rejoin bob", "hear it again"),
    ("/fault offline", "no connection"),
    ("/fault online", "connected again"),
    ("/fault skew +90s", "this clock is wrong"),
    ("/fault off", "no faults"),
)


def view(sight: Sight) -> list[Line]:
    active = clean(sight.faults, limit=200)
    lines = [heading("faults injected here")]
    lines.append(line((f"  {active}", "refused") if active else ("  none", "acked")))
    lines += [line((f"  {clean(words, limit=120)}", "note")) for words in sight.carried]
    text = "They lie between this node and the broker, are never saved, and end with the program."
    lines += [line(""), *paragraph(text, sight.width, "note", 2), line("")]
    return lines + [columns((26,), (f"  {use}", "link"), (what, "note")) for use, what in USES]
