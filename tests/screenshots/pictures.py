"""An application as SVG. Installed fonts only: a picture fetches nothing."""

from __future__ import annotations

import re
from pathlib import Path

from textual.app import App

from tests.screenshots.scenes import SCENES

_FONT_FACE = re.compile(r"\s*@font-face\s*\{.*?\}", re.DOTALL)
_FAMILY = re.compile(r"font-family:\s*Fira Code,\s*monospace")
_FONTS = "font-family: DejaVu Sans Mono, Menlo, Consolas, monospace"


def svg_of(app: App[int], title: str) -> str:
    found = app.export_screenshot(title=title)
    return _FAMILY.sub(_FONTS, _FONT_FACE.sub("", found))


def write(folder: Path, name: str, app: App[int]) -> None:
    (folder / f"{name}.svg").write_text(svg_of(app, SCENES[name].title), encoding="utf-8")
