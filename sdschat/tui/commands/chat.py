"""Commands that send messages, and send them again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Final

from sdschat.node.view.tags import is_namesake
from sdschat.node.view.values import by_name
from sdschat.tui.host import Command, Host
from sdschat.tui.model.delivery import name_of
from sdschat.tui.model.items import MessageItem, first_words
from sdschat.tui.model.results import CommandError, is_like_an_id
from sdschat.tui.model.words import count, duration, listed, nick_text, short
from sdschat.tui.row_lines import fate_words

_NOTHING: Final = "nothing waits to be acknowledged"
_LISTED: Final = 20


def _me(host: Host, argument: str) -> None:
    if not argument:
        raise CommandError("/me needs a text: /me waves.")
    host.send(argument, action=True)


def _say(host: Host, argument: str) -> None:
    if not argument:
        raise CommandError("/say needs a text.")
    host.send(argument)


def _reply(host: Host, argument: str) -> None:
    """Answer the message whose id begins the argument, or the selected one. With one selected, a first word that may
    also be one of a text is one."""
    word, _, text = argument.partition(" ")
    may_be_id = len(word) >= 3 and (host.selection is None or (text and is_like_an_id(word)))
    found = host.conversation.find_ids(word, 2) if may_be_id else []
    if len(found) == 1:
        message_id = found[0]
    else:
        message_id, text = host.find_message(""), argument
    if not text:
        raise CommandError("/reply needs a text: /reply [ID] TEXT. Without an id it answers the selected message.")
    host.send(text, reply_to=message_id)


def _nick(host: Host, argument: str) -> None:
    if argument in ("", host.node.nick):
        raise CommandError(f"You are {nick_text(host.node.nick)}. /nick NICK changes that.")
    before = nick_text(host.node.nick)
    try:
        host.view.set_nick(argument)
    except ValueError as error:
        raise CommandError(str(error)) from error
    host.workspace.watch_words()
    host.show_notice(f"{before} is now known as {nick_text(host.node.nick)}. The key, and so who you are, is the same.")
    if any(is_namesake(host.node, person.sender_id, person.nick) for person in host.conversation.people()):
        host.warn("Another key goes by this nick: ids stand beside both, and others are warned. /nick changes yours.")


def _outbox(host: Host, argument: str) -> None:
    waiting, partly = host.conversation.open_messages(), host.model.fates.unconfirmed()
    lines = [f"{len(waiting)} of yours not acknowledged yet, oldest first:"] if waiting else [_NOTHING]
    now = host.view.now().wall
    for entry in _listed(host, waiting):
        assert entry.fate is not None
        state, age = fate_words(entry.fate, host.glyphs)[0], duration(now - entry.received_at)
        state = state if host.has_keys else state.partition(" ")[2]  # a sign alone is read out
        lines.append(_line(host, entry, f"{state}, written {age} ago"))
    lines += _more(waiting)
    if partly:
        names = {person.sender_id: name_of(person) for person in host.conversation.people()}
        lines.append(f"{len(partly)} of yours acknowledged, and not confirmed by all:")
        for entry in _listed(host, list(partly)):
            lack = sorted((names.get(one, short(one, 8)) for one in partly[entry.message_id]), key=by_name)
            lines.append(_line(host, entry, f"not confirmed by {listed(lack)}"))
        lines += _more(partly)
    host.answer("\n".join(lines), "outbox")


def _listed(host: Host, ids: Sequence[str]) -> list[MessageItem]:
    """Return the first of these messages by the time at which they were written, as far as they are here."""
    found = [shown for message_id in ids if (shown := host.conversation.message(message_id)) is not None]
    found.sort(key=lambda shown: shown.received_at)
    return [host.model.entry_for(shown) for shown in found[:_LISTED]]


def _line(host: Host, entry: MessageItem, state: str) -> str:
    return f"  {short(entry.message_id)} {state}: {first_words(entry, 60, host.glyphs.cut)}"


def _more(ids: Sized) -> list[str]:
    return [f"  and {len(ids) - _LISTED} more"] if len(ids) > _LISTED else []


def _resend(host: Host, argument: str) -> None:
    _need_network(host)
    if host.conversation.peer:
        raise CommandError("What is said to one alone is sent again by itself as soon as they are here.")
    if not host.view.connected(host.channel):
        host.warn("there is no connection: it goes out by itself once there is one; /reconnect tries now")
        return
    ids = [host.find_message(argument)] if argument else host.conversation.open_messages()
    found = host.view.resend(host.channel, ids)
    if not found and argument:
        raise CommandError("That message does not wait: it is acknowledged, or not yours.")
    host.warn(f"{count(found, 'message')} sent again" if found else _NOTHING)


def _reconnect(host: Host, argument: str) -> None:
    _need_network(host)
    if host.view.connected(host.channel):
        where = "" if host.view.guest else f", to {host.node.broker or 'the broker of this machine'}"
        host.warn(f"this channel is connected{where}")
        return
    host.view.retry_now(host.channel)
    host.warn("trying to connect now")


def _need_network(host: Host) -> None:
    if host.view.recorded:
        raise CommandError(host.view.recorded)


def _ids(host: Host, argument: str) -> Iterable[str]:
    return [short(entry.message_id, 8) for entry in reversed(list(host.model.timeline.messages()))]


COMMANDS = (
    Command("me", "/me TEXT", "Say what you do: * ann waves", _me),
    Command("say", "/say TEXT", "Send a text that begins with a slash", _say, details="The same as writing //TEXT."),
    Command(
        "reply",
        "/reply [ID] TEXT",
        "Answer a message",
        _reply,
        aliases=("r",),
        complete=_ids,
        details="Without ID it answers the selected message. Of an id the first letters are enough. Alt+Up selects.",
    ),
    Command("nick", "/nick NICK", "Go by another name", _nick),
    Command("outbox", "/outbox", "What of yours is not acknowledged, or not confirmed by all", _outbox),
    Command(
        "resend",
        "/resend [ID]",
        "Send again now what of yours is not acknowledged",
        _resend,
        complete=_ids,
        details="All of it in this channel, or one message. Without this it goes out again by itself: /outbox, /why.",
    ),
    Command("reconnect", "/reconnect", "Connect now, without waiting for the next attempt", _reconnect),
)
