"""Commands that say whose messages are shown."""

from __future__ import annotations

from sdschat.tui.commands.talk import addressed, people
from sdschat.tui.errors import CommandError
from sdschat.tui.host import Command, Host
from sdschat.tui.model.cleaning import nick_text, reason_text, short


def _mute(host: Host, argument: str) -> None:
    name = _set(host, argument, True)
    host.warn(f"what {name} says is not shown from now on, here and in other channels | /unmute takes it back")


def _unmute(host: Host, argument: str) -> None:
    name = _set(host, argument, False)
    host.warn(f"what {name} says is shown again; what was said meanwhile is in the log")


def _set(host: Host, argument: str, muted: bool) -> str:
    """Mute a participant or show them again. Return their name."""
    if not argument:
        raise CommandError(f"/{'mute' if muted else 'unmute'} needs somebody: a nick, or the beginning of an id.")
    sender_id, rest = addressed(host, argument)
    if rest:
        raise CommandError("Name one participant, and nothing else.")
    try:
        host.view.mute(sender_id, muted)
    except ValueError as error:
        raise CommandError(reason_text(error)) from error
    here = {person.sender_id: person.nick for person in host.view.channel(host.room).people()}
    return nick_text(here.get(sender_id) or host.view.nick_of(sender_id)) or f"<{short(sender_id, 8)}>"


COMMANDS = (
    Command(
        "mute",
        "/mute NICK",
        "Show nothing of what somebody says",
        _mute,
        complete=people,
        details="Their messages stay in the log, so that it is equal to that of the others, and are shown again after\n"
        "/unmute. It is kept with the profile, and holds for `pipe`, `log` and searches too.",
    ),
    Command("unmute", "/unmute NICK", "Show what somebody says again", _unmute, complete=people),
)
