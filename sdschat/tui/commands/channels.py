"""Commands about channels and the people in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.cells import cell_len

from sdschat.node.view.roles import roles_of
from sdschat.node.view.values import Participant, peer_of
from sdschat.tui.commands.details import roles_words
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError, quoted_words
from sdschat.tui.model.status import heard_words
from sdschat.tui.model.words import clean, count, fitted, nick_text, short, tagged_nick
from sdschat.tui.preferences import LEVELS

_MOST: Final = 24  # columns of a nick in a list


async def join(host: Host, argument: str) -> None:
    """Open channels, and show the first of them."""
    if not argument:
        raise CommandError("/join needs a channel: /join lobby.")
    names = quoted_words(argument, '/join takes several channels: /join dev "my room".')
    if option := next((name for name in names if name.startswith("--")), ""):
        raise CommandError(
            f"/join takes names and links, and no option such as {clean(option, limit=40)}. /create makes a private "
            "channel; one program is on one broker, which sdschat join --broker names."
        )
    try:
        for name in names:
            host.view.written(name)  # all are names or links, before one is opened
        for name in names:
            await host.view.leave_if_removed(name)
        opened = [host.open_channel(name) for name in names]
    except ValueError as error:
        raise CommandError(str(error)) from error
    host.show_channel(opened[0])


async def _part(host: Host, argument: str) -> None:
    name = _named(host, argument) if argument else host.shown
    if host.workspace.channels() == [name]:
        raise CommandError("This is the only channel that is open. /quit leaves the program.")
    label = host.label(name)
    for talk in () if peer_of(name) else host.workspace.talks_only_of(name):
        await host.close_channel(talk)
    await host.close_channel(name)
    history = "" if peer_of(name) else "; its history stays, and /join opens it again"
    waiting = 0 if peer_of(name) else host.view.unacknowledged(name)
    if waiting:
        history += f". {count(waiting, 'message')} to one participant alone {'goes' if waiting == 1 else 'go'} on then"
    host.warn(f"{label} is closed{history}")


def _go(host: Host, argument: str) -> None:
    if not argument:
        raise CommandError("/go needs a number or a name: /go 2, /go lobby.")
    if argument.isdecimal() and 1 <= int(argument) <= len(host.order):
        host.show_channel(host.order[int(argument) - 1])
        return
    host.show_channel(_named(host, argument))


def _named(host: Host, argument: str) -> str:
    labels = {name: host.label(name) for name in host.order}
    found = [name for name in host.order if argument in (name, labels[name])] or [
        name for name in host.order if labels[name].lower().startswith(argument.lower())
    ]
    if not found:
        raise CommandError(f"No open channel is called {clean(argument, limit=60)}. /join opens it.")
    return found[0]


def _next(host: Host, argument: str) -> None:
    name = host.workspace.next_active()
    if name is None:
        host.warn("nothing is unread in the other channels")
        return
    host.show_channel(name)


def _channels(host: Host, argument: str) -> None:
    lines = []
    for number, name in enumerate(host.order, 1):
        model = host.models[name]
        unread = f", {model.unread} unread" if model.unread else ""
        said = count(model.conversation.count(), "message")
        lines.append(f"{number} {host.label(name)}: {host.badge(name)}, {said}{unread}")
    host.answer("\n".join(lines), "channels")


def _who(host: Host, argument: str) -> None:
    now = host.view.now().wall
    people = host.conversation.people()
    connected = host.view.connected(host.channel)
    people = [person._replace(online=person.online and connected) for person in people]
    here = f"{sum(person.online for person in people)} here" if connected else "not connected"
    roles = roles_of(host.node, host.channel)
    lines = [f"{here}, {len(people)} known:"]
    width = min(_MOST, max((cell_len(person_name(person)) for person in people), default=0))
    for person in people:
        role = "" if roles is None or not roles.of(person.sender_id) else f", {roles.of(person.sender_id)}"
        lines.append(f"  {fitted(person_name(person), width, host.glyphs.cut)}  {person_line(person, now)}{role}")
    if roles is not None:
        lines.append(roles_words(host, roles))
    host.answer("\n".join(lines), "people")


def person_name(person: Participant) -> str:
    return tagged_nick(nick_text(person.nick), person.tag) or "(nothing signed yet)"


def person_line(person: Participant, now: int) -> str:
    """Return what is known of a participant, without the nick."""
    words = heard_words(person._replace(hidden=""), now)
    if person.online and not person.own:
        words = f"here, {'heard ' if person.heard_here else ''}{words}"
    verified = ", verified" if person.verified else ""
    hidden = f", {person.hidden}" if person.hidden else ""
    return f"{short(person.sender_id, 8)}  {words}{verified}{hidden}"


def _split(host: Host, argument: str) -> None:
    if argument:
        host.split(_named(host, argument))
    elif len(host.order) < 2:
        raise CommandError("There is but one channel. /join another one, then /split CHANNEL shows both.")
    else:
        host.split(None)


def _notify(host: Host, argument: str) -> None:
    level = argument.lower()
    if not level:
        host.answer(f"news of this channel: {host.preferences.level(host.shown)}", "notify")
        return
    if level not in LEVELS:
        raise CommandError(f"/notify takes one of {', '.join(LEVELS)}.")
    host.preferences.notify[host.shown] = level
    host.save_preferences()
    host.warn(f"from now on, {level} of what is said here counts as news" if level == "all" else f"notify: {level}")


def _open_names(host: Host, argument: str) -> Iterable[str]:
    return [host.label(name) for name in host.order]


COMMANDS = (
    Command(
        "join",
        "/join CHANNEL [MORE]",
        "Open another channel, or several",
        join,
        aliases=("j",),
        group="channels",
        details='A name with spaces stands in quotes: /join dev "my room".',
    ),
    Command(
        "part",
        "/part [CHANNEL]",
        "Leave a channel; its history stays",
        _part,
        aliases=("close",),
        group="channels",
        complete=_open_names,
    ),
    Command(
        "go",
        "/go CHANNEL",
        "Show a channel, by number or name (Alt+1 to Alt+9)",
        _go,
        aliases=("win", "window", "buffer"),
        group="channels",
        complete=_open_names,
    ),
    Command("next", "/next", "The next channel with something unread (Alt+A)", _next, group="channels"),
    Command("channels", "/channels", "List the channels that are open", _channels, group="channels"),
    Command(
        "who",
        "/who",
        "Who is here, and when the others were heard last",
        _who,
        aliases=("names", "members"),
        group="channels",
    ),
    Command(
        "split",
        "/split [CHANNEL]",
        "Show two channels at once; again: one",
        _split,
        group="channels",
        complete=_open_names,
    ),
    Command(
        "notify",
        "/notify [LEVEL]",
        "What counts as news here: all, mentions, none",
        _notify,
        group="channels",
        complete=lambda host, argument: LEVELS,
        details="With notify_command in tui.toml a program of yours tells of it too: /help preferences.",
    ),
)
