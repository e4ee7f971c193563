"""An application as SVG, and as PNG. Installed fonts only: a picture fetches nothing."""

from __future__ import annotations

import re
from pathlib import Path

from textual.app import App

from tests.screenshots.scenes import SCENES

_FONT_FACE = re.compile(r"\s*@font-face\s*\{.*?\}", re.DOTALL)
_FAMILY = re.compile(r"font-family:\s*Fira Code,\s*monospace")
_FONTS = "font-family: DejaVu Sans Mono, Menlo, Consolas, monospace"
# Signs that the font with which PNGs are drawn lacks, and what it has in their place.
_DRAWN_AS = str.maketrans({"⧗": "◷"})


def svg_of(app: App[int], title: str) -> str:
    found = app.export_screenshot(title=title)
    return _FAMILY.sub(_FONTS, _FONT_FACE.sub("", found))


def write(folder: Path, name: str, app: App[int]) -> None:
    """Both files of a picture."""
    import cairosvg  # type: ignore[import-untyped]

    svg = svg_of(app, SCENES[name].title)
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    cairosvg.svg2png(
        bytestring=svg.translate(_DRAWN_AS).encode(), write_to=str(folder / f"{name}.png"), output_width=1400
    )
