"""Commands that exist only while a recording is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.tui.commands.registry import Command
from sdschat.tui.errors import CommandError
from sdschat.tui.host import Host

if TYPE_CHECKING:
    from sdschat.tui.replay.app import ReplayApp

_MOST: Final = 100_000


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
        Command("play", "/play", "go on, or stop for a while (F8)", play, ("pause",), group="lens"),
        Command("step", "/step [N]", "to the next thing that happened (F9)", step, group="lens"),
        Command("back", "/back [N]", "before the last thing that happened (Shift+F9)", back, group="lens"),
        Command("speed", "/speed N", "so many times as fast (F10 faster, Shift+F10 slower)", speed, group="lens"),
    )
