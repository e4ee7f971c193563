"""Screens beside the chat in one open channel, for `overlays`: the first screen, private and members' channels, talk to
one alone, the theatre, the members at work, and a recording."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from textual.app import App
from textual.pilot import Pilot

from sdschat.cli.demo import QUICK
from sdschat.node.members.opening import install
from sdschat.node.recording.reader import read_recording
from sdschat.node.settings import Value, make_settings
from sdschat.node.sync import extension
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.tools.local_group import LocalGroup
from sdschat.tui.demo.director import Director
from sdschat.tui.demo.stage import make_app
from sdschat.tui.replay.app import ReplayApp
from sdschat.tui.replay.player import Player
from sdschat.tui.theatre.app import TheatreApp
from sdschat.tui.theatre.group import TheatreGroup
from sdschat.tui.theatre.members import MembersGroup
from sdschat.tui.theatre.members_app import MembersApp
from tests.tui.record.test_player import record
from tests.tui.stage import stage
from tests.tui.test_members import SHORT
from tests.tui.test_reading import unheard

Shoot = Callable[[str, App[Any], Pilot[Any]], Awaitable[None]]  # at all sizes, under this name
Look = dict[str, Any]  # options of every application
_SIZE: Final = (200, 50)
_SOON_LOST: Final[dict[str, Value]] = {"push.enabled": False, "sds.lost_after": 400}


def drawn_as(look: str) -> Look:
    """Return the options that draw an application in a theme, or with the signs of ASCII alone and no colours."""
    return {"theme": "plain" if look == "ascii" else look, "ascii_only": look == "ascii"}


async def _first(folder: Path, look: Look, shoot: Shoot) -> None:
    async with stage(folder, "ann", **look, size=_SIZE, peers=("bob",), syncs=True) as s:
        await s.until_text("2 here")
        await shoot("first", s.app, s.pilot)
        await s.enter("/msg bob I have left the spare key under the bench")
        await s.until_text("✓")
        await shoot("direct", s.app, s.pilot)
        s.app.show_channel("lobby")
        injection = Injection(s.app.node, "lobby")
        injection.share("loss", 0.3, "in")
        await s.until_text("FAULTS ON")
        await shoot("faults-on", s.app, s.pilot)
        injection.off()
        injection.offline(True)
        await s.until_text("OFFLINE")
        await s.enter("nobody hears this yet")
        await shoot("offline", s.app, s.pilot)


async def _lost(folder: Path, look: Look, shoot: Shoot) -> None:
    async with stage(folder, "ann", size=_SIZE, peers=("bob", "carol"), changes=_SOON_LOST, **look) as s:
        await s.until_text("3 here")
        await unheard(s, "the tide turns at nine")
        s.say("then we leave at eight", "carol")
        await s.until_text("1 lost")
        await shoot("lost", s.app, s.pilot)


async def _removal(folder: Path, look: Look, shoot: Shoot) -> None:
    async with stage(folder, "ann", size=_SIZE, syncs=True, **look) as s:
        await s.enter("/create garden")
        await s.until_text("private, key 1")
        await s.enter("/invite")
        await s.until_text("sdschat:")
        link = s.app.clipboard
        await s.press("escape")
        bob = s.world.start("bob", link, before=extension.install)
        await s.until_text("2 here")
        bob.node.send(s.app.shown, "thank you for the invitation")
        await s.until_text("thank you")
        await s.enter("/remove bob")
        await s.until_text("would be removed")
        await shoot("remove-question", s.app, s.pilot)


async def _demo(folder: Path, look: Look, shoot: Shoot) -> None:
    director = Director(LocalGroup(folder, make_settings(QUICK, "demo"), "demo"), 3, 0.2)
    await director.open()
    app = make_app(director, **look)

    def tell(text: str) -> None:
        app.call_later(app.show_notice, text)

    director.show_notice = tell
    try:
        async with app.run_test(size=_SIZE) as pilot:
            await director.watching.wait()
            playing = asyncio.ensure_future(director.play())
            for name in ("demo-begins", "demo-goes-on"):
                await pilot.pause(5.0)
                await shoot(name, app, pilot)
            playing.cancel()
    finally:
        app.view.close()
        await director.close()


async def _private(folder: Path, look: Look, shoot: Shoot) -> None:
    async with stage(folder, "ann", **look, size=_SIZE) as s:
        await s.enter("/create sealed")
        await s.until_text("private, key 1")
        await shoot("private", s.app, s.pilot)
        await s.enter("/invite")
        await s.until_text("sdschat:")
        await shoot("private-invite", s.app, s.pilot)


async def _members(folder: Path, look: Look, shoot: Shoot) -> None:
    async with stage(folder, "ann", **look, size=_SIZE, changes=SHORT, extends=install) as s:
        await s.enter("/create garden members")
        await s.until_text("you are its first member")
        bob = s.world.start("bob", "garden", changes=SHORT, before=install)
        await s.until_text("bob (")
        await s.enter("/invite bob")
        await s.until_text("bob is a member")
        await s.enter("who waters the roses?")
        await s.until_text("settled")
        bob.node.say("garden", "I do, until Sunday")
        await s.until_text("until Sunday")
        await s.enter("/edit who waters the roses today?")
        await s.until_text("(edited)")
        await shoot("members-channel", s.app, s.pilot)
        for view in ("tree", "clock", "checkpoint", "committee"):
            await s.enter(f"/lens {view}")
            await shoot(f"members-{view}", s.app, s.pilot)


async def _theatre(folder: Path, look: Look, shoot: Shoot) -> None:
    watched = TheatreGroup(LocalGroup(folder, make_settings({"sds.sync_interval": 2000}, "demo"), "demo"))
    await watched.open()
    try:
        app = TheatreApp(watched, 0.3, **look)
        async with app.run_test(size=_SIZE) as pilot:
            watched.say("ann", "hello, all")
            while not watched.equal():
                await pilot.pause(0.2)
            app.tell("Four nodes, four databases. Equal logs have one fingerprint.")
            await shoot("theatre", app, pilot)
            watched.split()
            for nick, text in (("ann", "the left side"), ("bob", "the right side"), ("carol", "of the cut")):
                watched.say(nick, text)
            await pilot.pause(0.5)
            await shoot("theatre-cut", app, pilot)
            await pilot.press("f1")
            await shoot("theatre-help", app, pilot)
    finally:
        await watched.close()


async def _members_demo(folder: Path, look: Look, shoot: Shoot) -> None:
    watched = MembersGroup(LocalGroup(folder, make_settings(QUICK, "demo"), "garden"), folder)
    await watched.open()
    try:
        app = MembersApp(watched, **look)
        async with app.run_test(size=_SIZE) as pilot:
            await pilot.pause(1.0)
            await shoot("theatre-members", app, pilot)
    finally:
        await watched.close()


async def _replay(folder: Path, look: Look, shoot: Shoot) -> None:
    await record(folder, folder / "run.jsonl")
    player = Player(read_recording(folder / "run.jsonl"), playing=False)
    await player.open()
    app = ReplayApp(player, **look)
    try:
        async with app.run_test(size=_SIZE) as pilot:
            await shoot("replay-beginning", app, pilot)
            app.set_speed(1000)
            await pilot.press("f8")
            for _ in range(50):
                await pilot.pause(0.1)
            await shoot("replay-end", app, pilot)
    finally:
        app.view.close()
        await player.close()


PLACES: Final[Mapping[str, Callable[[Path, Look, Shoot], Awaitable[None]]]] = {
    "first": _first,
    "private": _private,
    "removal": _removal,
    "lost": _lost,
    "demo": _demo,
    "members": _members,
    "theatre": _theatre,
    "members-demo": _members_demo,
    "replay": _replay,
}
