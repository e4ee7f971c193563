"""Commands that there are only while a recording is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from sdschat.tui.commands.registry import Command, CommandError

if TYPE_CHECKING:
    from sdschat.tui.host import Host
    from sdschat.tui.record.app import ReplayApp

_MOST: Final = 100_000


def _app(host: Host) -> ReplayApp:
    return cast("ReplayApp", host.app)


def _count(argument: str) -> int:
    if not argument:
        return 1
    if not (argument.isascii() and argument.isdigit() and 0 < int(argument) <= _MOST):
        raise CommandError(f"{argument[:20]!r} is no number of steps. /step 10 takes ten, /step one.")
    return int(argument)


def _play(host: Host, argument: str) -> None:
    _app(host).action_play()


def _step(host: Host, argument: str) -> None:
    _app(host).action_step(_count(argument))


def _back(host: Host, argument: str) -> None:
    _app(host).action_rewind(_count(argument))


def _speed(host: Host, argument: str) -> None:
    try:
        speed = float(argument.rstrip("x"))
    except ValueError:
        speed = 0.0
    if not 0.01 <= speed <= 1000:
        raise CommandError("/speed needs a number from 0.01 to 1000: /speed 10 is ten times as fast.")
    _app(host).set_speed(speed)


COMMANDS: Final[tuple[Command, ...]] = (
    Command("play", "/play", "go on, or stop for a while (F8)", _play, ("pause",), group="lens"),
    Command("step", "/step [N]", "to the next thing that happened (F9)", _step, group="lens"),
    Command("back", "/back [N]", "before the last thing that happened (Shift+F9)", _back, group="lens"),
    Command("speed", "/speed N", "so many times as fast (F10 faster, Shift+F10 slower)", _speed, group="lens"),
)
