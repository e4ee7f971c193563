"""Screens as text files, to be compared: the text and the colours of every line.

    SDSCHAT_UPDATE_SNAPSHOTS=1 python -m pytest tests/tui/test_snapshots.py     writes them anew; look at the difference

Times and ids differ from run to run; each is replaced by something of the same width.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from rich.segment import Segment
from rich.style import Style

FOLDER = Path(__file__).with_name("snapshots")
_DAY = re.compile(r"─* (Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ \w{3} \d{4} ─*")
_VARYING = (
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d{3}\+00:00)?"), lambda found: "12:00:00" + ".000+00:00" * bool(found[1])),
    (re.compile(r"(?<=[ ›])\d\d:\d\d\b"), lambda found: "12:00"),  # noqa: RUF001
    (_DAY, lambda found: " Sat 1 Jan 2000 ".center(len(found[0]), "─")),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), lambda found: "2000-01-01"),
    (re.compile(r"(?<=  )[0-9a-f]{4}(?=$|  | │)"), lambda found: "0000"),
    (re.compile(r"\b\ds ago"), lambda found: "1s ago"),
    (re.compile(r"\b[0-9a-f]{8}(?= ⋅)"), lambda found: "00000000"),
)


def compare(name: str, strips: list[list[Segment]]) -> None:
    """Compare a screen with its file. Fail with the difference."""
    found = picture(strips)
    path = FOLDER / f"{name}.txt"
    if os.environ.get("SDSCHAT_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = "\n".join(difflib.unified_diff(kept.splitlines(), found.splitlines(), "kept", "now", lineterm=""))
    assert not difference, f"{path.name} differs:\n{difference}"


def picture(strips: list[list[Segment]]) -> str:
    """Return the text of all lines, then their styles."""
    texts = [_steady("".join(segment.text for segment in strip).rstrip()) for strip in strips]
    styles = [_styles(strip) for strip in strips]
    return "\n".join([*texts, "", *(f"{at:2} {style}" for at, style in enumerate(styles) if style), ""])


def _steady(text: str) -> str:
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text.rstrip()


def _styles(strip: list[Segment]) -> str:
    """Return runs of letters by style; of blanks only the background counts."""
    runs: list[tuple[str, int]] = []
    for text, style, _ in strip:
        name = _name(style, blank=not text.strip())
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + len(text))
        else:
            runs.append((name, len(text)))
    return " ".join(name for name, _ in runs)


def _name(style: Style | None, blank: bool) -> str:
    if style is None:
        return "-"
    colour = "" if blank or style.color is None else style.color.name
    ground = "" if style.bgcolor is None else f"/{style.bgcolor.name}"
    signs = {"b": style.bold, "d": style.dim, "i": style.italic, "u": style.underline, "r": style.reverse}
    return f"{colour}{ground}{'+' * (not blank)}{'' if blank else ''.join(key for key, on in signs.items() if on)}"
