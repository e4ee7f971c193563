"""Write the moving picture of the README, `screenshots/theatre.svg`, from four real nodes.

`python -m tests.screenshots.theatre [FILE]`. Prints the number of frames, and the size.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.node.settings import make_settings
from sdschat.node.tools.local_group import LocalGroup
from sdschat.tui.theatre.app import TheatreApp
from sdschat.tui.theatre.group import TheatreGroup
from tests.screenshots.pictures import svg_of

FILE: Final = Path(__file__).resolve().parents[2] / "screenshots" / "theatre.svg"
SIZE: Final = (94, 24)
_APART: Final = (("ann", "the left side"), ("bob", "the right side"), ("carol", "of the cut"), ("dave", "on its own"))
_LONGEST, _SHORTEST = 2.4, 0.9  # seconds that a frame is shown
_PATIENCE: Final = 60.0
_OUTER: Final = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
_NOT_SEEN: Final = re.compile(
    r"<!--.*?-->|<defs>.*?</defs>| clip-path=\"[^\"]*\"| shape-rendering=\"[^\"]*\"|<text [^>]*>(?:&#160;|\s)*</text>",
    re.DOTALL,
)
_GROUND: Final = re.compile(r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/>')
_BOX: Final = re.compile(r'viewBox="([^"]*)"')


class Frame(NamedTuple):
    """A picture, and the seconds for which it stood on the screen."""

    svg: str
    seconds: float


async def film(folder: Path) -> list[Frame]:
    """Play a cut and its mending, and return what was seen."""
    watched = TheatreGroup(LocalGroup(folder, make_settings({"sds.sync_interval": 2000}, "demo"), "demo"))
    await watched.open()
    try:
        app = TheatreApp(watched, 0.3)
        async with app.run_test(size=SIZE) as pilot:
            found: list[Frame] = []

            async def shoot(text: str, until: Callable[[], bool], least: float = 0.0) -> None:
                """Look on until something is true; keep each picture that differs from the one before."""
                began = shown = time.monotonic()
                while not until() or time.monotonic() - began < least:
                    assert time.monotonic() - began < _PATIENCE, text
                    await pilot.pause(0.3)
                    app.draw()
                    await pilot.pause()
                    svg, now = svg_of(app, "sdschat demo --theatre"), time.monotonic()
                    if not found or _words(found[-1].svg) != _words(svg):
                        found.append(Frame(svg, 0.0))
                    found[-1] = found[-1]._replace(seconds=found[-1].seconds + now - shown)
                    shown = now

            for nick, text in (("ann", "hello, all"), ("bob", "hi ann"), ("dave", "good morning")):
                watched.say(nick, text)
            begins = "Four nodes, four databases. Equal logs have one fingerprint."
            app.tell(begins)
            await shoot(begins, watched.equal, 1.5)
            watched.split()
            await shoot("The left half cannot hear the right half.", lambda: True, 1.0)
            for nick, text in _APART:
                watched.say(nick, text)
                await shoot("The logs come apart.", lambda: True, 0.6)
            watched.mend()
            watched.say("bob", "there you are")
            await shoot("The links are mended: the gaps close.", watched.equal, 1.0)
            await shoot("One log again, in one order, on all four.", lambda: True, 2.0)
            return found
    finally:
        await watched.close()


def _words(svg: str) -> str:
    return re.sub(r"terminal-\d+", "", svg)


def joined(svg: str) -> str:
    """Return a picture in which neighbours of one colour in a row are one rectangle."""
    drawn: list[str] = []
    parts: list[re.Match[str]] = []
    at = 0
    for found in _GROUND.finditer(svg):
        if not parts or found.start() != at or found.group(1, 3) != parts[-1].group(1, 3):
            drawn += [_rectangle(parts), svg[at : found.start()]]
            parts = []
        parts.append(found)
        at = found.end()
    return "".join((*drawn, _rectangle(parts), svg[at:]))


def _rectangle(parts: list[re.Match[str]]) -> str:
    if not parts:
        return ""
    fill, x, y, _, height = parts[0].groups()
    width = round(float(parts[-1][2]) + float(parts[-1][4]) - float(x), 2)
    return f'<rect fill="{fill}" x="{x}" y="{y}" width="{width:g}" height="{height}"/>'


def moving(frames: list[Frame]) -> str:
    """Return one picture that shows the frames one after the other, for ever."""
    times = [min(_LONGEST, max(_SHORTEST, frame.seconds)) for frame in frames]
    total = sum(times)
    rules, groups, at = [".frame { visibility: hidden; }"], [], 0.0
    for number, (frame, seconds) in enumerate(zip(frames, times, strict=True)):
        low, high = 100 * at / total, 100 * (at + seconds) / total
        off = f"0%, {low:.3f}% {{ visibility: hidden; }}" if number else ""
        rules.append(
            f"@keyframes f{number} {{ {off} {low + 0.001:.3f}%, {high:.3f}% {{ visibility: visible; }} "
            f"{high + 0.001:.3f}%, 100% {{ visibility: hidden; }} }}"
        )
        rules.append(f".f{number} {{ animation: f{number} {total:.2f}s step-end infinite; }}")
        inner = _OUTER.search(frame.svg)
        assert inner is not None
        drawn = joined(re.sub(r"terminal-\d+", f"t{number}", _NOT_SEEN.sub("", inner[1])))
        groups.append(f'<g class="frame f{number}">{drawn}</g>')
        at += seconds
    box = _BOX.search(frames[0].svg)
    assert box is not None
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box[1]}">'
    return "\n".join((head, "<style>", *rules, "</style>", *groups, "</svg>", ""))


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.screenshots.theatre", description=__doc__)
    asked.add_argument("file", type=Path, nargs="?", default=FILE)
    file = asked.parse_args().file
    with tempfile.TemporaryDirectory() as folder:
        frames = asyncio.run(film(Path(folder)))
    text = moving(frames)
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(frames)} frames, {len(text) // 1024} KiB")


if __name__ == "__main__":
    main()
