"""Write every sheet, overlay and screen at four sizes, dark, light and without colour, to be looked at:
`python -m tests.screenshots.overlays FOLDER [NAME…]`. None of them is kept. A name is one of `OVERLAYS` or `PLACES`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from textual.app import App
from textual.pilot import Pilot

from sdschat.node.events import MessageDelivered
from sdschat.node.tools.fault_injection import Injection
from tests.screenshots.elsewhere import PLACES
from tests.screenshots.pictures import svg_of
from tests.screenshots.scenes import TALK
from tests.tui.stage import Stage, stage

SIZES: Final = ((60, 15), (80, 24), (120, 40), (200, 50))
THEMES: Final = ("dark", "light", "plain")
_PEERS: Final = ("bob", "carol", "dave")
_UNHEARD: Final = "the ferry is here, gate 3"


def _typed(*lines: str) -> Callable[[Stage], Awaitable[None]]:
    async def open_it(s: Stage) -> None:
        for line in lines:
            s.app.composer.put(line)
            await s.pilot.press("enter")
            await s.pilot.pause(0.1)

    return open_it


def _pressed(*keys: str, text: str = "") -> Callable[[Stage], Awaitable[None]]:
    async def open_it(s: Stage) -> None:
        await s.pilot.press(*keys, *text)
        await s.pilot.pause(0.4 if text else 0.1)  # the search waits for a pause between two keys

    return open_it


async def _hits(s: Stage) -> None:
    await _pressed("ctrl+f", text="the")(s)
    await _pressed("tab")(s)


async def _gap(s: Stage) -> None:
    """Bob says something that ann does not hear, and carol says that she has it."""
    if s.app.model.timeline.gaps:
        return
    injection = Injection(s.app.node, "harbour")
    injection.partition(s.peers["bob"].node.sender_id, "bob")
    s.say(_UNHEARD, channel="harbour")
    await s.peers["carol"].until(MessageDelivered, lambda told: told.said.opened.text == _UNHEARD)
    s.say("then I shall be on it in a minute", "carol", channel="harbour")
    await s.until_text("1 missing")


OVERLAYS: Final[Mapping[str, Callable[[Stage], Awaitable[None]]]] = {
    "help": _pressed("f1"),
    "help-keys": _pressed("f1", "tab"),
    "help-commands": _pressed("f1", "tab", "tab"),
    "help-signs": _pressed("f1", "tab", "tab", "tab"),
    "help-filtered": _pressed("f1", "tab", "tab", text="join"),
    "help-nothing": _pressed("f1", text="zzz"),
    "channels": _pressed("f3"),
    "members": _pressed("f4"),
    "palette": _pressed("ctrl+p"),
    "palette-words": _pressed("ctrl+p", text="ro"),
    "search": _pressed("ctrl+f", text="rope"),
    "search-nothing": _pressed("ctrl+f", text="zzz"),
    "hits": _hits,
    "selected": _pressed("alt+up"),
    "info": _pressed("f5"),
    "reply": _pressed("alt+up", "f6", "r"),
    "split": _typed("/split dev"),
    "bare": _typed("/bare"),
    **{name: _typed(f"/{name}") for name in ("who", "outbox", "links", "legend", "keys", "thread", "mute", "msg")},
    "create": _typed("/create sealed"),
    **{name: _typed(f"/{name}") for name in ("alias", "invite")},
    **{f"lens-{name}": _typed(f"/lens {name}") for name in ("why", "repair", "packet", "graph", "matrix")},
    **{f"lens-{name}": _typed(f"/lens {name}") for name in ("filter", "peers", "events", "faults")},
    "gap": _gap,
    "lens-repair-gap": _typed("/repair"),
}


async def take(profiles: Path, folder: Path, theme: str, names: list[str]) -> None:
    """Take all pictures of one theme."""
    async with stage(profiles, "ann", "harbour", "dev", peers=_PEERS, theme=theme, size=SIZES[-1]) as s:
        for nick, text in TALK:
            s.say(text, nick, channel="harbour") if nick != "ann" else s.app.send(text)
            await s.until_text(text.split("\n")[-1][:30])
        for name in names:
            for width, height in SIZES:
                await s.pilot.resize_terminal(width, height)
                await s.pilot.pause()
                await OVERLAYS[name](s)
                await s.pilot.pause(0.05)
                _write(folder / f"{name}-{width}x{height}-{theme}", s.app)
                await _close(s)


def _write(base: Path, app: App[Any]) -> None:
    strips = app.screen._compositor.render_strips()
    lines = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
    base.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    base.with_suffix(".svg").write_text(svg_of(app, base.name), encoding="utf-8")


async def take_elsewhere(profiles: Path, folder: Path, theme: str, place: str) -> None:
    """Take all pictures of one theme in another place."""

    async def shoot(name: str, app: App[Any], pilot: Pilot[Any]) -> None:
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await pilot.pause(0.5)
            _write(folder / f"{name}-{width}x{height}-{theme}", app)

    await PLACES[place](profiles, theme, shoot)


async def _close(s: Stage) -> None:
    """Show the channel again, and nothing over it."""
    s.app.composer.put("")
    if s.app.desktop.beside:
        s.app.split(None)
    await s.pilot.press("escape", "escape")  # the palette is a screen of its own
    for _ in range(3):
        s.app.action_escape()
    s.app.show_channel("harbour")
    s.app.panes.channels = s.app.panes.members = True
    s.app.panes.fit()


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:] or [*OVERLAYS, *PLACES]
    folder.mkdir(parents=True, exist_ok=True)
    overlays = [name for name in names if name in OVERLAYS]
    for theme in THEMES:
        if overlays:
            with tempfile.TemporaryDirectory() as profiles:
                asyncio.run(take(Path(profiles), folder, theme, overlays))
        for place in (name for name in names if name in PLACES):
            with tempfile.TemporaryDirectory() as profiles:
                asyncio.run(take_elsewhere(Path(profiles), folder, theme, place))
    print(f"{len(list(folder.glob('*.svg')))} pictures in {folder}")


if __name__ == "__main__":
    main()
