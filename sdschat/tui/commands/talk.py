"""Commands for talking to one participant alone."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.node.view.values import conversation_id
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import count, reason_text, short, tagged_nick, whole_nick


def _msg(host: Host, argument: str) -> None:
    """Open a conversation, and send the text to it if there is one."""
    if not argument:
        _list(host)
        return
    sender_id, text = addressed(host, argument)
    host.show_channel(host.open_talk(conversation_id(host.room, sender_id)))
    if text:
        host.send(text)


def addressed(host: Host, argument: str) -> tuple[str, str]:
    """Split an argument into sender id and text."""
    try:
        return host.view.find_person(host.room, argument.removeprefix("@"))
    except ValueError as error:
        raise CommandError(reason_text(error)) from error


def _list(host: Host) -> None:
    found = host.view.all_partners(host.room)
    if not found:
        raise CommandError("/msg needs somebody: /msg bob hello. Nothing was said to one alone here yet.")
    lines = ["conversations of two here, the last one first; /msg NICK shows one:"]
    for peer in found:
        place = conversation_id(host.room, peer)
        lines.append(
            f"  {host.label(place)} {short(peer, 8)}: {count(host.view.conversation(place).count(), 'message')}"
        )
    host.answer("\n".join(lines), "conversations of two")


def people(host: Host, argument: str) -> Iterable[str]:
    """Return the names to complete, the one heard last first, whole and with what tells them from others of that nick.
    Only the first word is a nick."""
    if " " in argument:
        return ()
    people = sorted(host.view.channel(host.room).people(), key=lambda person: -person.heard_at)
    return [tagged_nick(whole_nick(one.nick), one.tag) for one in people if one.nick and not one.own]


COMMANDS = (
    Command(
        "msg",
        "/msg [NICK TEXT]",
        "A direct message: write to one participant alone",
        _msg,
        aliases=("query", "dm"),
        complete=people,
        details="Opens a conversation of its own in the list of channels; what is written there goes to them alone.\n"
        "It is sealed for their key, kept, and sent again until they have it, also if they are away now.\n"
        "/msg NICK shows it; instead of the nick, the beginning of the id will do. /part closes it and keeps what was\n"
        "said. Without NICK: the conversations that there are.",
    ),
)
