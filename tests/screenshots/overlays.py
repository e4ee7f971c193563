"""Write every sheet, overlay and screen at four sizes, dark, light and without colour, to be looked at:
`python -m tests.screenshots.overlays FOLDER [NAME…]`. None of them is kept. A name is one of `OVERLAYS` or `PLACES`.
`--look dark,ascii` takes others, and `--size 20x4,40x10` other sizes. `python -m tests.screenshots.sheets FOLDER` puts
several on one sheet."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from textual.app import App
from textual.events import AppBlur, AppFocus
from textual.pilot import Pilot

from sdschat.node.events import MessageDelivered
from sdschat.node.tools.fault_injection import Injection
from tests.screenshots.elsewhere import PLACES, drawn_as
from tests.screenshots.pictures import svg_of
from tests.screenshots.scenes import TALK
from tests.tui.stage import Stage, stage

SIZES: Final = ((60, 15), (80, 24), (120, 40), (200, 50))
LOOKS: Final = ("dark", "light", "plain")
Sizes = Sequence[tuple[int, int]]
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


async def _away(s: Stage) -> None:
    """Another window has the keys for three minutes, and somebody writes."""
    s.app.post_message(AppBlur())
    await s.until(lambda: s.app.away is not None, "the absence")
    assert s.app.away is not None
    s.app.away._since -= 180_000
    s.say("ann: the rope is in the boathouse", "carol", channel="harbour")
    await s.until(lambda: s.app.model.mentions > 0, "what is to ann")
    s.app.post_message(AppFocus())
    await s.until(lambda: s.app.away is None, "the return")


async def _share(s: Stage) -> None:
    file = s.world.folder / "page.html"
    file.unlink(missing_ok=True)
    await _typed(f"/share {file}")(s)


async def _thread(s: Stage) -> None:
    if not any(entry.reply_to for entry in s.app.model.timeline.messages()):
        await _pressed("alt+up", "f6", "r")(s)
        await _typed("and the boat is out of the water")(s)
        await _pressed("escape")(s)
    await _pressed("alt+up", "f6", "t")(s)


_created = itertools.count(1)


async def _create(s: Stage) -> None:
    await _typed(f"/create sealed{next(_created)}")(s)
    await s.pilot.pause(0.3)


async def _unacked(s: Stage) -> None:
    """Nobody hears what is written now, so that the cells of the tick are seen."""
    injection = Injection(s.app.node, "harbour")
    injection.share("loss", 1.0, "in")
    if len([entry for entry in s.app.model.timeline.messages() if entry.own]) < 5:
        s.app.send("does anybody hear this?")
    await _pressed("alt+up")(s)
    injection.off()


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
    await s.until(lambda: bool(s.app.model.timeline.gaps), "the gap")


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
    "palette-theme": _pressed("ctrl+p", text="theme"),
    "palette-message": _pressed("ctrl+p", text="rope"),
    "search": _pressed("ctrl+f", text="rope"),
    "search-nothing": _pressed("ctrl+f", text="zzz"),
    "hits": _hits,
    "selected": _pressed("alt+up"),
    "info": _pressed("f5"),
    "reply": _pressed("alt+up", "f6", "r"),
    "split": _typed("/split dev"),
    "bare": _typed("/bare"),
    **{name: _typed(f"/{name}") for name in ("who", "outbox", "links", "keys", "mute", "msg", "verify", "notify")},
    "create": _create,
    "unacked": _unacked,
    "thread": _thread,
    "share": _share,
    "help-of-one": _typed("/help goto"),
    "unknown": _typed("/nothing"),
    **{name: _typed(f"/{name}") for name in ("alias", "invite")},
    **{f"lens-{name}": _typed(f"/lens {name}") for name in ("why", "repair", "packet", "graph", "matrix")},
    **{f"lens-{name}": _typed(f"/lens {name}") for name in ("filter", "peers", "events", "faults")},
    "away": _away,
    "gap": _gap,
    "lens-repair-gap": _typed("/repair"),
}


async def take(profiles: Path, folder: Path, look: str, names: list[str], sizes: Sizes = SIZES) -> None:
    """Take all pictures of one look."""
    async with stage(profiles, "ann", "harbour", "dev", peers=_PEERS, size=(200, 50), **drawn_as(look)) as s:
        for nick, text in TALK:
            s.say(text, nick, channel="harbour") if nick != "ann" else s.app.send(text)
            await s.until_text(text.split("\n")[-1][:30])
        for name in names:
            for width, height in sizes:
                await s.pilot.resize_terminal(width, height)
                await s.pilot.pause()
                await OVERLAYS[name](s)
                await s.pilot.pause(0.05)
                _write(folder / f"{name}-{width}x{height}-{look}", s.app)
                await _close(s)


def _write(base: Path, app: App[Any]) -> None:
    strips = app.screen._compositor.render_strips()
    lines = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
    base.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    base.with_suffix(".svg").write_text(svg_of(app, base.name), encoding="utf-8")


async def take_elsewhere(profiles: Path, folder: Path, look: str, place: str, sizes: Sizes = SIZES) -> None:
    """Take all pictures of one look in another place."""

    async def shoot(name: str, app: App[Any], pilot: Pilot[Any]) -> None:
        for width, height in sizes:
            await pilot.resize_terminal(width, height)
            await pilot.pause(0.5)
            _write(folder / f"{name}-{width}x{height}-{look}", app)
        await pilot.resize_terminal(200, 50)  # what follows waits for texts that have room there

    await PLACES[place](profiles, drawn_as(look), shoot)


async def _close(s: Stage) -> None:
    """Show the channel again, and nothing over it."""
    s.app.composer.put("")
    if s.app.workspace.beside:
        s.app.split(None)
    await s.pilot.press("escape", "escape")  # the palette is a screen of its own
    for _ in range(3):
        s.app.action_escape()
    s.app.show_channel("harbour")
    s.app.panes.channels = s.app.panes.members = True
    s.app.panes.fit()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots.overlays", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[*OVERLAYS, *PLACES, []], metavar="NAME")
    parser.add_argument("--look", default=",".join(LOOKS), help="dark, light, contrast, plain or ascii, with commas")
    parser.add_argument("--size", default=",".join(f"{width}x{height}" for width, height in SIZES))
    wanted = parser.parse_args()
    folder, names = wanted.folder, wanted.names or [*OVERLAYS, *PLACES]
    sizes = [(int(width), int(height)) for width, _, height in (size.partition("x") for size in wanted.size.split(","))]
    folder.mkdir(parents=True, exist_ok=True)
    overlays = [name for name in names if name in OVERLAYS]
    for look in wanted.look.split(","):
        if overlays:
            with tempfile.TemporaryDirectory() as profiles:
                asyncio.run(take(Path(profiles), folder, look, overlays, sizes))
        for place in (name for name in names if name in PLACES):
            with tempfile.TemporaryDirectory() as profiles:
                asyncio.run(take_elsewhere(Path(profiles), folder, look, place, sizes))
    print(f"{len(list(folder.glob('*.svg')))} pictures in {folder}")


if __name__ == "__main__":
    main()
