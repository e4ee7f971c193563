"""Playing a recording: at its own speed, step by step, and back; and the same on the screen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from sdschat.node.events import MessageDelivered, NodeEvent, PresenceChanged
from sdschat.node.recording.reader import Recording, read_recording
from sdschat.node.recording.recorder import Recorder
from sdschat.tui.replay.app import ReplayApp
from sdschat.tui.replay.player import LONGEST_PAUSE, Player
from tests.cli.processes import command
from tests.cli.processes import run as run_program
from tests.node.worlds import world
from tests.tui.terminal import Terminal

TEXTS = ("one", "two", "three")
_STEP, _STEP_BACK = "\x1b[20~", "\x1b[20;2~"  # as terminals send F9 and Shift+F9


async def record(folder: Path, path: Path) -> None:
    """Record ann's node while bob sends three messages."""
    async with world(folder) as w:
        recorders: list[Recorder] = []
        ann = w.start("ann", before=lambda node: recorders.append(Recorder(node, path)))
        bob = w.start("bob")
        await ann.until(PresenceChanged)
        said: list[str] = []
        for text in TEXTS:
            said.append(text)
            bob.node.send("lobby", text)
            await ann.until_texts(*said)
            told = ann.node.clock.now().wall
            while ann.node.clock.now().wall == told:  # what is told in one millisecond is one step
                await asyncio.sleep(0)
    recorders[0].close()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("recorded")
    asyncio.run(record(folder, folder / "run.jsonl"))
    return read_recording(folder / "run.jsonl")


def play(recording: Recording, story: Callable[[Player, list[str]], Awaitable[None]]) -> None:
    async def run() -> None:
        player = Player(recording, playing=False)
        await player.open()
        told: list[str] = []
        player.node.listen(lambda event: told.extend(texts_of(event)))
        try:
            await story(player, told)
        finally:
            await player.close()

    asyncio.run(run())


def texts_of(event: NodeEvent) -> list[str]:
    return [event.body.said.opened.text or ""] if isinstance(event.body, MessageDelivered) else []


def test_a_step_goes_to_the_next_thing_that_was_told(recording: Recording) -> None:
    async def story(player: Player, told: list[str]) -> None:
        places = []
        while not player.at_end:
            player.step()
            places.append(player.node.place)
        assert told == list(TEXTS)
        steps = recording.steps
        assert all(steps[place - 1].has_event for place in places[:-1])
        assert places == sorted(set(places))

    play(recording, story)


def test_back_is_the_place_before_the_last_step(recording: Recording) -> None:
    async def story(player: Player, told: list[str]) -> None:
        player.step(4)
        fourth = player.node.place
        player.step()
        assert player.place_back() == fourth
        player.step(3)
        assert player.place_back(4) == fourth
        assert player.place_back(10_000) <= fourth
        await player.open(fourth)
        assert player.node.place == fourth

    play(recording, story)


def test_played_fast_it_comes_to_its_end(recording: Recording) -> None:
    async def story(player: Player, told: list[str]) -> None:
        player.set_speed(1000)
        player.play()
        running = asyncio.ensure_future(player.run())
        async with asyncio.timeout(10):
            while not player.at_end:
                await asyncio.sleep(0.01)
        running.cancel()
        assert told == list(TEXTS)
        assert "at its end" in player.status()
        assert player.node.time.at == recording.steps[-1].at

    play(recording, story)


def test_paused_nothing_moves(recording: Recording) -> None:
    async def story(player: Player, told: list[str]) -> None:
        running = asyncio.ensure_future(player.run())
        for _ in range(5):
            await asyncio.sleep(0)
        running.cancel()
        assert player.node.place == 0
        assert "paused" in player.status()

    play(recording, story)


def test_a_long_silence_is_cut_short(recording: Recording) -> None:
    silent = recording._replace(
        steps=[recording.steps[0], *(step._replace(at=step.at + 3_600_000) for step in recording.steps[1:])]
    )

    async def story(player: Player, told: list[str]) -> None:
        player.node.step()
        await player._wait_for_next()
        step = player.node.next
        assert step is not None
        assert step.at - player.node.time.at <= LONGEST_PAUSE * 1000

    play(silent, story)


async def until(app: ReplayApp, condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not condition():
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def shown(recording: Recording, size: tuple[int, int] = (120, 30)) -> AsyncIterator[tuple[ReplayApp, Pilot[Any]]]:
    """Open the recording on the screen at its beginning, paused."""
    player = Player(recording, playing=False)
    await player.open()
    app = ReplayApp(player)
    try:
        async with app.run_test(size=size) as pilot:
            yield app, pilot
    finally:
        app.view.close()
        await player.close()


def screen(app: ReplayApp) -> str:
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def test_the_chat_shows_a_recording_that_is_stepped_through_played_and_gone_back_in(recording: Recording) -> None:
    async def story() -> None:
        async with shown(recording) as (app, pilot):
            await until(app, lambda: "RECORDING paused" in screen(app))
            assert " one " not in screen(app)
            for _ in range(60):
                if any(entry.text == "one" for entry in app.model.timeline.entries.values()):
                    break
                await pilot.press("f9")
                await pilot.pause()
            await until(app, lambda: " one " in screen(app))  # a busy machine draws it some steps later
            assert "three" not in screen(app)
            await pilot.press("f10")
            assert app.player.speed > 1
            app.set_speed(1000)
            await pilot.press("f8")
            await until(app, lambda: "three" in screen(app))
            for line in ("not to be sent", "/reconnect", "/resend"):
                app.panes.hint("")
                app.composer.put(line)
                await pilot.press("enter")
                await pilot.pause(0.6)  # where the recording stands is said every quarter of a second
                assert "nothing can be sent" in screen(app)
                app.composer.put("")
            app.composer.put("/back 2")
            await pilot.press("enter")
            await until(app, lambda: app.back_to is not None)
        assert app.back_to is not None
        assert 0 < app.back_to < len(recording.steps)

    asyncio.run(story())


def test_a_moment_looks_the_same_whichever_way_one_came_to_it(recording: Recording) -> None:
    """After a step back a line *new* stood above what had been read already."""

    async def story() -> None:
        async with shown(recording) as (app, _):
            await until(app, lambda: "RECORDING paused" in screen(app))
            app.action_step(10_000)
            await until(app, lambda: "three" in screen(app))
            place = app.player.place_back(1)
        forth, back = [await _log_at(recording, place, by_steps=by_steps) for by_steps in (True, False)]
        assert forth == back
        assert any("one" in line for line in back)

    asyncio.run(story())


async def _log_at(recording: Recording, place: int, *, by_steps: bool) -> list[str]:
    """Return the log on the screen at a place, to which one stepped, or came back."""
    player = Player(recording, playing=False)
    await player.open()
    app = ReplayApp(player, place=0 if by_steps else place)
    try:
        async with app.run_test(size=(120, 30)) as pilot:
            await until(app, lambda: "RECORDING paused" in screen(app))
            while by_steps and player.node.place < place:
                app.action_step()
                await pilot.pause()
            await pilot.pause(0.5)
            return [line for line in screen(app).splitlines()[1:-4] if line.strip()]
    finally:
        app.view.close()
        await player.close()


def test_a_recording_names_the_keys_of_the_chat_and_its_own(recording: Recording) -> None:
    async def story() -> None:
        async with shown(recording) as (app, _):
            await until(app, lambda: "F1 help  F2 lens" in screen(app))
            assert {"help", "lens", "replay-play"} <= {action for action, _, _ in app.key_table()}

    asyncio.run(story())


def test_a_recording_offers_nothing_that_it_cannot_do(recording: Recording) -> None:
    async def story() -> None:
        async with shown(recording) as (app, pilot):
            await until(app, lambda: "RECORDING paused" in screen(app))
            assert "at this moment of the recording" in screen(app)
            assert " was connecting " in screen(app).split("F1 help")[0], "the recorded one, not this program"
            assert "! WAS CONNECTING" in screen(app)
            seen = [screen(app)]
            app.action_step(10_000)
            await until(app, lambda: "! WAS OFFLINE" in screen(app))
            app.player.node._session("lobby").silent.faults_text = "loss 30% in"
            app.panes.draw_banners()
            await until(app, lambda: "! FAULTS WERE ON: loss 30% in" in screen(app))
            seen.append(screen(app))
            for text in seen:
                assert "recording of lobby" in text
                assert "F8 play or pause" in text
                assert not any(
                    words in text for words in ("/fault off", "/reconnect", "you write", "others join", "Enter send")
                )
            await pilot.resize_terminal(60, 15)
            await until(app, lambda: "F8 play or pause" in screen(app))
            await pilot.resize_terminal(60, 11)
            await until(app, lambda: "F8 play," in screen(app))

    asyncio.run(story())


def test_playing_that_fails_ends_the_application(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: Player, place: int) -> None:
        raise RuntimeError("planted")

    async def story() -> None:
        player = Player(recording, playing=False)
        await player.open()
        app = ReplayApp(player)
        await app.run_async(headless=True)
        assert str(app.crash) == "planted"
        app.view.close()
        await player.close()

    monkeypatch.setattr(Player, "run", broken)
    asyncio.run(story())


def test_what_was_said_before_the_recording_is_in_the_log(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            w.start("ann").node.send("lobby", "said before")
        recorders: list[Recorder] = []
        async with world(tmp_path) as w:
            ann = w.start("ann", before=lambda node: recorders.append(Recorder(node, tmp_path / "run.jsonl")))
            ann.node.send("lobby", "said now")
            await ann.until_texts("said now")
        recorders[0].close()
        async with shown(read_recording(tmp_path / "run.jsonl")) as (app, pilot):
            await pilot.press(*["f9"] * len(app.player.recording.steps))
            await until(app, lambda: "said now" in screen(app))
            assert "said before" in screen(app)

    asyncio.run(story())


def test_the_keys_that_are_named_have_the_way_out(recording: Recording) -> None:
    async def story(size: tuple[int, int]) -> None:
        async with shown(recording, size) as (app, _):
            await until(app, lambda: "Ctrl+C twice leaves" in screen(app))

    for size in ((120, 30), (80, 24)):
        asyncio.run(story(size))


@pytest.mark.parametrize(
    ("slower", "back"), [("shift+f10", "shift+f9"), ("f22", "f21")], ids=["as named", "as terminals send them"]
)
def test_a_recording_is_slowed_down_and_gone_back_in_by_keys(recording: Recording, slower: str, back: str) -> None:
    async def story() -> None:
        async with shown(recording) as (app, pilot):
            await pilot.press("f9", "f9", slower)
            assert app.player.speed < 1
            await pilot.press(back)
            assert app.back_to is not None

    asyncio.run(story())


def test_no_key_is_lost_while_the_recording_goes_back(tmp_path: Path) -> None:
    """Each step back is a new pass. What is pressed meanwhile is for that one."""
    path = tmp_path / "run.jsonl"
    asyncio.run(record(tmp_path, path))
    steps = sum(step.has_event for step in read_recording(path).steps)
    with Terminal(command("replay", str(path), "--paused"), tmp_path) as terminal:
        terminal.until_text("RECORDING paused")
        terminal.press(_STEP * steps)
        terminal.until_text("RECORDING at its end", TEXTS[-1])
        terminal.press(_STEP_BACK * steps)
        terminal.until_text("nobody has written anything yet")
        terminal.press("/quit\r")
        assert terminal.wait() == 0
        assert terminal.restored()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("missing.jsonl",), "cannot be read: No such file"),
        (("wrong.jsonl",), "is no recording"),
        (("wrong.jsonl", "--speed", "0"), "--speed is 0"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_a_reason(
    tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "wrong.jsonl").write_text("hello\n")
    done = run_program(tmp_path, "replay", *arguments)
    assert done.returncode == 2
    assert complaint in " ".join(done.stderr.split())
