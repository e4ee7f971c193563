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
    channel, name = host.channel, host.open_talk(conversation_id(sender_id))
    if not host.conversation.peer:
        host.view.direct(name).near(channel)
    host.show_channel(name)
    if text:
        host.send(text)


def addressed(host: Host, argument: str) -> tuple[str, str]:
    """Split an argument into sender id and text. A colon behind the nick, as in front of what one says to somebody in a
    channel, is no part of it."""
    name, space, text = argument.partition(" ")
    try:
        return host.view.find_person(host.channel, argument)
    except ValueError as error:
        if name.endswith((":", ",")):
            return addressed(host, f"{name[:-1]}{space}{text}")
        raise CommandError(reason_text(error)) from error


def _list(host: Host) -> None:
    found = host.view.all_partners()
    if not found:
        raise CommandError("/msg needs somebody: /msg bob hello. Nothing was said to one alone here yet.")
    lines = ["conversations of two here, the last one first; /msg NICK shows one:"]
    for peer in found:
        name = conversation_id(peer)
        lines.append(f"  {host.label(name)} {short(peer, 8)}: {count(host.view.conversation(name).count(), 'message')}")
    host.answer("\n".join(lines), "conversations of two")


def people(host: Host, argument: str) -> Iterable[str]:
    """Return the names to complete, of this channel before those of others, the one heard last first, whole and with
    what tells them from others of that nick. Only the first word is a nick."""
    if " " in argument:
        return ()
    channels = sorted(
        {model.conversation.channel for model in host.models.values()}, key=lambda name: name != host.channel
    )
    found = {
        one.sender_id: one
        for name in channels
        for one in sorted(host.view.channel(name).people(), key=lambda person: -person.heard_at)
    }
    return [tagged_nick(whole_nick(one.nick), one.tag) for one in found.values() if one.nick and not one.own]


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
