"""Commands that say whose messages are shown and kept."""

from __future__ import annotations

from collections.abc import Callable

from sdschat.tui.commands.talk import addressed, people
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import count, nick_text, reason_text


def _mute(host: Host, argument: str) -> None:
    try:
        name, _ = _set(host, "mute", argument, lambda sender_id: host.node.mute(sender_id, True))
    except CommandError:
        if argument not in map(host.label, host.workspace.order):
            raise
        raise CommandError(f"{argument} is a channel: /notify none, typed there, lets nothing of it be news.") from None
    host.warn(
        f"nothing that {name} says is shown, here and in other channels, also from before | /unmute takes it back"
    )


def _unmute(host: Host, argument: str) -> None:
    name, sender_id = _set(host, "unmute", argument, lambda sender_id: host.node.mute(sender_id, False))
    if host.node.gate.is_ignored(sender_id):
        host.warn(f"{name} is not muted any more, but still ignored, and not shown | /unignore {name}")
    else:
        host.warn(f"what {name} says is shown again; what was said meanwhile is in the log")


def _ignore(host: Host, argument: str) -> None:
    name, _ = _set(host, "ignore", argument, lambda sender_id: host.node.ignore(sender_id, True))
    host.warn(
        f"nothing of {name} is shown, and only the ids of it are kept, in open channels | /unignore takes it back"
    )


def _unignore(host: Host, argument: str) -> None:
    name, sender_id = _set(host, "unignore", argument, lambda sender_id: host.node.ignore(sender_id, False))
    if host.node.gate.is_muted(sender_id):
        host.warn(f"what {name} says is kept again, but still muted, and not shown | /unmute {name}")
    else:
        host.warn(f"what {name} says is shown again; of what was said meanwhile there are only ids | /show {name}")


def _show(host: Host, argument: str) -> None:
    catchup = None if host.conversation.peer else host.view.catchup(host.channel)
    if catchup is None:
        raise CommandError("/show is for channels: of what somebody said over the limit it fetches the texts.")
    found = 0

    def fetch(sender_id: str) -> None:
        nonlocal found
        if host.node.gate.is_muted(sender_id):
            raise ValueError("What they say is muted or ignored here. /unmute or /unignore comes first.")
        found = catchup.show(sender_id)

    name, _ = _set(host, "show", argument, fetch)
    if not found:
        raise CommandError(f"Nothing that {name} said is kept as an id alone.")
    host.warn(f"fetching the texts of {count(found, 'message')} of {name} from whoever is here")


def _set(host: Host, command: str, argument: str, change: Callable[[str], None]) -> tuple[str, str]:
    """Change what is shown or kept of a participant, who may be in another channel. Return their name and id."""
    if not argument:
        raise CommandError(f"/{command} needs somebody: a nick, or the beginning of an id.")
    sender_id, rest = addressed(host, argument)
    if rest:
        raise CommandError("Name one participant, and nothing else.")
    try:
        change(sender_id)
    except ValueError as error:
        raise CommandError(reason_text(error)) from error
    host.workspace.reload()
    host.log_view.refresh_rows()
    proven = (host.view.channel(each).presence_nick(sender_id) for each in host.node.sessions)
    nick = host.view.channel(host.channel).nick_of(sender_id) or next(filter(None, proven), "")
    return host.model.name_of(sender_id, nick_text(nick)), sender_id


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
    Command(
        "ignore",
        "/ignore NICK",
        "Keep nothing of what somebody says but ids",
        _ignore,
        complete=people,
        details="As /mute, but the texts are not kept either: only the ids are in the log, which stays equal to that\n"
        "of the others. It holds in open channels; in private ones it is as /mute.",
    ),
    Command(
        "show",
        "/show NICK",
        "Fetch what somebody said over the limit",
        _show,
        complete=people,
        details="Of what exceeds the limit of a sender only ids are kept. This fetches the texts, the newest 2,000 at\n"
        "once, from whoever is here and has them, and puts them at their places.",
    ),
    Command("unignore", "/unignore NICK", "Keep and show what somebody says again", _unignore, complete=people),
)
