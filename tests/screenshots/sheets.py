"""Put pictures of `overlays` together on sheets, as PNG, so that many are looked at in a short time:
`python -m tests.screenshots.sheets FOLDER OUT [PART…]`. A part is one of a picture's name. Needs Chromium."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

# By the columns of the terminal: pictures beside one another, pictures on a sheet, and pixels.
_LAYOUTS: Final = {60: (3, 9, 1480), 80: (3, 6, 1480), 120: (2, 4, 1300), 200: (1, 2, 1100)}
_OTHERS: Final = (4, 16, 1480)
_GAP, _CAPTION = 4, 16
_BOX: Final = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_SIZE: Final = re.compile(r"-(\d+)x(\d+)-")
_LEFT, _TOP, _SIDES, _ENDS = 8, 40, 16, 48  # of a picture: the window around the terminal, which is cut away


def sheets(folder: Path, parts: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield pages of HTML with several pictures each, with their widths and heights."""
    found: dict[int, list[Path]] = {}
    for path in sorted(folder.glob("*.svg")):
        size = _SIZE.search(path.stem)
        if size is not None and all(part in path.stem for part in parts):
            found.setdefault(int(size[1]), []).append(path)
    for columns, paths in sorted(found.items()):
        beside, most, width = _LAYOUTS.get(columns, _OTHERS)
        for at in range(0, len(paths), most):
            page, height = _page(paths[at : at + most], beside, width)
            yield page, width, height


def _page(paths: Sequence[Path], beside: int, width: int) -> tuple[str, int]:
    room = (width - _GAP * (beside + 1)) // beside
    drawn, heights = [], []
    for number, path in enumerate(paths):
        svg = path.read_text(encoding="utf-8")
        box = _BOX.search(svg)
        assert box is not None, path
        wide, high = float(box[1]) - _SIDES, float(box[2]) - _ENDS
        heights.append(round(room * high / wide) + _CAPTION + _GAP)
        shown = f'viewBox="{_LEFT} {_TOP} {wide} {high}" width="{room}" height="{heights[-1] - _CAPTION - _GAP}"'
        svg = re.sub(r"terminal-\d+", f"t{number}", svg.replace(box[0], shown, 1))
        caption = f'<div style="font:11px sans-serif;height:{_CAPTION}px;background:#fd8">{path.stem}</div>'
        drawn.append(f"<div>{caption}{svg}</div>")
    rows = [max(heights[at : at + beside]) for at in range(0, len(heights), beside)]
    grid = f"display:grid;grid-template-columns:repeat({beside},{room}px);gap:{_GAP}px;padding:{_GAP}px"
    page = f'<body style="margin:0;background:#888"><div style="{grid}">{"".join(drawn)}</div></body>'
    return page, sum(rows) + 2 * _GAP


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.screenshots.sheets", description=__doc__)
    asked.add_argument("folder", type=Path, help="where the pictures are")
    asked.add_argument("out", type=Path, help="where the sheets are written")
    asked.add_argument("parts", nargs="*", metavar="part", help="a part of a picture's name")
    given = asked.parse_args()
    folder, out, parts = given.folder, given.out.resolve(), given.parts
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is not installed.")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for number, (page, width, height) in enumerate(sheets(folder, parts)):
            source, target = Path(place) / "page.html", out / f"{'-'.join(parts) or 'all'}-{number:02d}.png"
            source.write_text(page, encoding="utf-8")
            options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={place}/p")
            shot = (f"--screenshot={target}", f"--window-size={width},{height}", source.as_uri())
            subprocess.run((browser, *options, *shot), check=True, capture_output=True, timeout=120)
            print(target)


if __name__ == "__main__":
    main()
