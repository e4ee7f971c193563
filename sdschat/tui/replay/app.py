"""The chat over a recording."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import termios
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType

from sdschat.node.events import Joined, NodeEvent
from sdschat.node.recording.reader import Recording
from sdschat.node.recording.replay import ONLY_SHOWN
from sdschat.tui import app
from sdschat.tui.app import ChatApp
from sdschat.tui.host import Command, Host
from sdschat.tui.later import later
from sdschat.tui.model.results import CommandError
from sdschat.tui.preferences import Preferences
from sdschat.tui.replay.player import SPEEDS, Player
from sdschat.tui.terminal import OutlastingDriver

_MOST: Final = 100_000
_LAST_KEYS: Final = 0.01  # seconds in which keys that were read already come


def _count(argument: str) -> int:
    if not argument:
        return 1
    if not (argument.isascii() and argument.isdigit() and 0 < int(argument) <= _MOST):
        raise CommandError(f"{argument[:20]!r} is no number of steps. /step 10 takes ten, /step one.")
    return int(argument)


def _speed(argument: str) -> float:
    try:
        speed = float(argument.rstrip("x"))
    except ValueError:
        speed = 0.0
    if not 0.01 <= speed <= 1000:
        raise CommandError("/speed needs a number from 0.01 to 1000: /speed 10 is ten times as fast.")
    return speed


def commands_of(app: ReplayApp) -> tuple[Command, ...]:
    """Return the commands that move this recording."""

    def play(host: Host, argument: str) -> None:
        app.action_play()

    def step(host: Host, argument: str) -> None:
        app.action_step(_count(argument))

    def back(host: Host, argument: str) -> None:
        app.action_rewind(_count(argument))

    def speed(host: Host, argument: str) -> None:
        app.set_speed(_speed(argument))

    return (
        Command("play", "/play", "Go on, or stop for a while (F8)", play, ("pause",), group="replay"),
        Command("step", "/step [N]", "To the next thing that happened (F9)", step, group="replay"),
        Command("back", "/back [N]", "Before the last thing that happened (Shift+F9)", back, group="replay"),
        Command("speed", "/speed N", "So many times as fast (F10 faster, Shift+F10 slower)", speed, group="replay"),
    )


KEYS: Final = "F8 play, F9 step, Ctrl+C twice leaves, Shift+F9 back, F10 faster"


class GoingOn(OutlastingDriver):
    """Leaves the modes of the terminal as they are where another pass follows: keys that are pressed meanwhile are not
    shown, and wait there for that pass."""

    @property
    def _replay(self) -> ReplayApp:
        assert isinstance(self._app, ReplayApp)
        return self._app

    def start_application_mode(self) -> None:
        super().start_application_mode()
        self._replay.modes = self.attrs_before = self._replay.modes or self.attrs_before

    def stop_application_mode(self) -> None:
        if self._replay.back_to is not None:
            self.attrs_before = None
        super().stop_application_mode()

    def disable_input(self) -> None:
        if self._replay.back_to is None:
            super().disable_input()
        elif not self.exit_event.is_set():  # the same, without dropping what waits
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)
            self._disable_mouse_support()
            self.exit_event.set()
            if self._key_thread is not None:
                self._key_thread.join()
            self.exit_event.clear()


class ReplayApp(ChatApp):
    """One pass through a recording. To go back, it ends, and a new one is made at an earlier place."""

    CSS_PATH = str(Path(app.__file__).with_name("app.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f8", "play", "Play or pause", id="replay-play", priority=True),
        Binding("f9", "step", "Next step", id="replay-step", priority=True),
        Binding("shift+f9,f21", "rewind", "Step back", id="replay-back", priority=True),
        Binding("f10", "faster(1)", "Faster", id="replay-faster", priority=True),
        Binding("shift+f10,f22", "faster(-1)", "Slower", id="replay-slower", priority=True),
    ]

    def __init__(
        self,
        player: Player,
        *,
        place: int = 0,
        ascii_only: bool = False,
        theme: str | None = None,
        modes: list[Any] | None = None,
        typed: Sequence[events.Key] = (),
    ) -> None:
        """`place`: begin there. What came before is heard first, so that a moment looks the same whichever way one came
        to it. `modes` of the terminal and `typed` keys are left by the pass before."""
        channels = player.recording.channels
        super().__init__(
            player.conversations(),
            channels,
            Preferences(bell=False),
            ascii_only=ascii_only,
            theme_now=theme,
            commands=commands_of(self),
        )
        self.player = player
        self._place = place
        self.back_to: int | None = None
        self.modes = modes  # of the terminal before the first pass
        self.typed = list(typed)  # keys that wait: until this pass is on the screen, or for the next one
        self._takes_keys = False
        if self.driver_class is OutlastingDriver:
            self.driver_class = GoingOn
        self._where = ""  # what was said last of where the recording stands

    def on_mount(self) -> None:
        """Start to play, after the chat is mounted: Textual calls the handlers of both classes."""
        self.set_interval(0.25, self._say_where)
        self._playing = self.player.begin(self.fail, self._place)
        self.call_after_refresh(self._take_keys)

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key) or event.is_forwarded or (self._takes_keys and self.back_to is None):
            await super().on_event(event)
        else:
            self.typed.append(event)

    async def _take_keys(self) -> None:
        typed, self.typed, self._takes_keys = self.typed, [], True
        for event in typed:
            await self.on_event(event)

    def on_unmount(self) -> None:
        """Stop playing, before the chat is unmounted."""
        self._playing.cancel()

    def _hear(self, event: NodeEvent) -> None:
        if isinstance(event.body, Joined) and event.channel in self.workspace.models:
            # Messages from before the recording came with this event.
            self.workspace.models[event.channel].open_at_end()
        super()._hear(event)

    def _say_where(self) -> None:
        """Say above the input where the recording stands, unless something else is to be read there."""
        if self.panes.said("hint") in ("", self._where):
            self._say_now()

    def _say_now(self) -> None:
        keys = "" if self.panes.frames.titled else f" | {KEYS}"  # the frame names them
        self._where = f"{self.player.status()}{keys}"
        self.panes.hint(self._where)

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        raise CommandError(ONLY_SHOWN)

    def action_play(self) -> None:
        if self.player.at_end:
            self.action_rewind(len(self.player.recording.steps))
        elif self.player.playing:
            self.player.pause()
        else:
            self.player.play()
        self._say_now()

    def action_step(self, count: int = 1) -> None:
        self.player.pause()
        self.player.step(count)
        self._say_now()

    def action_rewind(self, count: int = 1) -> None:
        self.player.pause()
        self.back_to = self.player.place_back(count)
        if self._driver is not None:
            self._driver.disable_input()
        later(self, _LAST_KEYS, lambda: self.exit(0))

    def action_faster(self, by: int) -> None:
        speed = self.player.speed
        at = bisect_right(SPEEDS, speed) if by > 0 else bisect_left(SPEEDS, speed) - 1
        self.set_speed(SPEEDS[max(0, min(len(SPEEDS) - 1, at))])

    def set_speed(self, speed: float) -> None:
        self.player.set_speed(speed)
        self._say_now()


async def run_replay(recording: Recording, *, speed: float, paused: bool, ascii_only: bool, theme: str | None) -> int:
    """Show the recording until the user quits, and return the exit code."""
    player = Player(recording, speed=speed, playing=not paused)
    place, lens, modes, typed = 0, "", None, list[events.Key]()
    try:
        while True:
            await player.open()
            shown = ReplayApp(player, place=place, ascii_only=ascii_only, theme=theme, modes=modes, typed=typed)
            if lens:
                shown.call_later(shown.lens.open, lens)
            try:
                await shown.run_async()
            finally:
                shown.view.close()
            if shown.crash is not None:
                raise shown.crash
            if shown.back_to is None:
                return shown.return_code or 0
            place = shown.back_to
            lens, modes, typed = shown.lens.shown, shown.modes, shown.typed
    finally:
        if modes is not None:  # an error between two passes left them
            with contextlib.suppress(OSError, ValueError, termios.error):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, modes)
        with contextlib.suppress(asyncio.CancelledError):
            await player.close()
