"""Commands for talking to one participant alone."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.node.view.values import conversation_id
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import count, nick_text, reason_text, short


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
    """Split an argument into sender id and text. A nick may have spaces: the longest one that fits is taken."""
    nicks = [person.nick for person in host.view.channel(host.room).people() if person.nick and not person.own]
    fitting = [nick for nick in nicks if f"{argument} ".startswith(f"{nick} ")]
    name = max(fitting, key=len, default=argument.partition(" ")[0])
    try:
        return host.view.find_person(host.room, name.removeprefix("@")), argument[len(name) :].strip()
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
    """Return the nicks to complete, the one heard last first. Only the first word is a nick."""
    if " " in argument:
        return ()
    people = sorted(host.view.channel(host.room).people(), key=lambda person: -person.heard_at)
    return [nick for person in people if not person.own and (nick := nick_text(person.nick))]


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
