"""The command that lists strangers, and opens them: keys that came when too many did."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import ago, count, nick_text, reason_text, short

_LISTED: Final = 50


def _strangers(host: Host, argument: str) -> None:
    verb, _, name = argument.partition(" ")
    if not argument:
        _list(host)
    elif verb == "open" and name.strip():
        _open(host, name.strip())
    else:
        raise CommandError("/strangers lists them, /strangers open KEY or /strangers open all shows what they say.")


def _list(host: Host) -> None:
    found, now = host.view.strangers(host.channel), host.view.now().wall
    if not found:
        host.warn("nobody waits here: everybody who speaks is shown")
        return
    lines = [f"{count(len(found), 'sender')} more, whose messages are not shown; /strangers open KEY or all:"]
    for one in found[:_LISTED]:
        said = f"{count(one.messages, 'message')}, the last {ago(now - one.heard_at)}"
        lines.append(f"  {nick_text(one.nick) or '(unsigned)'} {short(one.sender_id, 8)}: {said}")
    if len(found) > _LISTED:
        lines.append(f"  and {len(found) - _LISTED} more")
    host.answer("\n".join(lines), "strangers")


def _open(host: Host, name: str) -> None:
    try:
        opened = host.view.open_strangers(host.channel, name)
    except ValueError as error:
        raise CommandError(reason_text(error)) from error
    host.warn(f"{count(opened, 'sender')} opened: what they say is shown, and what they said before")


def _complete(host: Host, argument: str) -> Iterable[str]:
    if " " not in argument:
        return ("open",)
    found = host.view.strangers(host.channel)
    return [f"open {name}" for name in ("all", *(short(one.sender_id, 8) for one in found[:_LISTED]))]


COMMANDS = (
    Command(
        "strangers",
        "/strangers [open KEY|all]",
        "List or open new keys that wait",
        _strangers,
        complete=_complete,
        details="New keys cost nothing to make. At most 20 in a minute are shown as people; the others wait here,\n"
        "with their messages in the log and not on the screen. Who speaks again when fewer come is shown; so is whom\n"
        "you open, answer, write to or verify. It is kept with the profile, and holds for `pipe` and `log` too.",
    ),
)
