"""Commands that send messages, and send them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.tui.host import Command, Host
from sdschat.tui.model.items import first_words
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import count, duration, nick_text, short
from sdschat.tui.row_lines import fate_words

_NOTHING: Final = "nothing waits to be acknowledged"


def _me(host: Host, argument: str) -> None:
    if not argument:
        raise CommandError("/me needs a text: /me waves.")
    host.send(argument, action=True)


def _say(host: Host, argument: str) -> None:
    if not argument:
        raise CommandError("/say needs a text.")
    host.send(argument)


def _reply(host: Host, argument: str) -> None:
    """Answer the message whose id begins the argument, or the selected one."""
    word, _, text = argument.partition(" ")
    found = host.conversation.find_ids(word.lower(), 2) if len(word) >= 3 else []
    if len(found) == 1 and (host.selection is None or text):
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
    host.desktop.watch_words()
    host.show_notice(f"{before} is now known as {nick_text(host.node.nick)}. The key, and so who you are, is the same.")


def _outbox(host: Host, argument: str) -> None:
    found = host.conversation.open_messages()
    if not found:
        host.answer(_NOTHING, "outbox")
        return
    glyphs, now = host.glyphs, host.view.now().wall
    lines = [f"{len(found)} of yours not acknowledged yet, oldest first:"]
    for message_id in found[:20]:
        shown = host.conversation.message(message_id)
        if shown is None:
            continue
        entry = host.model.entry_for(shown)
        assert entry.fate is not None
        state, age = fate_words(entry.fate, glyphs)[0], duration(now - entry.received_at)
        state = state if host.has_keys else state.partition(" ")[2]  # a sign alone is read out
        lines.append(f"  {short(message_id)} {state}, written {age} ago: {first_words(entry, 60, glyphs.cut)}")
    if len(found) > 20:
        lines.append(f"  and {len(found) - 20} more")
    host.answer("\n".join(lines), "outbox")


def _resend(host: Host, argument: str) -> None:
    _need_network(host)
    if host.conversation.peer:
        raise CommandError("What is said to one alone is sent again by itself as soon as they are here.")
    if not host.view.connected(host.room):
        raise CommandError("There is no connection. It goes out by itself once there is one; /reconnect tries now.")
    ids = [host.find_message(argument)] if argument else host.conversation.open_messages()
    found = host.view.resend(host.room, ids)
    if not found and argument:
        raise CommandError("That message does not wait: it is acknowledged, or not yours.")
    host.warn(f"{count(found, 'message')} sent again" if found else _NOTHING)


def _reconnect(host: Host, argument: str) -> None:
    _need_network(host)
    if host.view.connected(host.room):
        raise CommandError("This channel is connected.")
    host.view.retry_now(host.room)
    host.warn("trying to connect now")


def _need_network(host: Host) -> None:
    if host.view.recorded:
        raise CommandError(host.view.recorded)


def _ids(host: Host, argument: str) -> Iterable[str]:
    return [short(entry.message_id, 6) for entry in reversed(list(host.model.timeline.messages()))]


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
    Command("outbox", "/outbox", "What of yours is not acknowledged yet", _outbox),
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
