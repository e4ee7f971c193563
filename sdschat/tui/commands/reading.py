"""Commands that find, show and copy messages of the log."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.node.view.moments import parse_moment
from sdschat.tui.commands.channels import join
from sdschat.tui.commands.details import details_of, details_of_gap
from sdschat.tui.host import Command, Host
from sdschat.tui.model.from_events import invites_in, links_in
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import clean, clock, count, day, short

_LINKS = 20
_LOOKED_THROUGH = 200  # messages with the beginning of a link
_MINUTE = 60_000  # milliseconds


def _goto(host: Host, argument: str) -> None:
    if not argument:
        raise CommandError("/goto needs a time or an id: /goto 10:02, /goto 2025-11-20, /goto 2h, /goto a3f9.")
    try:
        at = parse_moment(argument, host.view.now().wall)
    except ValueError as error:
        host.select(_named(host, argument, error))
        return
    key = host.conversation.dated(at)
    if key is None:
        host.log_view.jump_to_end()
        host.warn(f"nothing was said since {clock(at)} on {day(at)}")
        return
    host.log_view.jump_to(key, top=True, choose=True)
    oldest = key[0]
    if oldest - at >= _MINUTE and not host.conversation.messages(before=key, limit=1):
        host.warn(f"nothing from then is here: the oldest message is of {clock(oldest)} on {day(oldest)}")


def _named(host: Host, prefix: str, no_time: ValueError) -> str:
    """Return the id that begins so. The error says that the text is no time either."""
    try:
        return host.find_message(prefix)
    except CommandError as error:
        raise CommandError(f"{clean(str(no_time))} {error}") from None


def _end(host: Host, argument: str) -> None:
    host.log_view.jump_to_end()
    host.lens.forget_named()


def _start(host: Host, argument: str) -> None:
    host.log_view.action_start()


def _more(host: Host, argument: str) -> None:
    if argument not in ("", "back"):
        raise CommandError("/more goes on in the log, and /more back goes back.")
    host.log_view.action_pages(-1 if argument else 1)


def _unread(host: Host, argument: str) -> None:
    unread = host.model.unread_line
    while (message_id := unread.next()) is not None:
        shown = host.conversation.message(message_id)
        if shown is None or shown.hidden:
            unread.drop(message_id)
            continue
        host.log_view.jump_to(shown.key)
        if unread.mentions > unread.is_mention(message_id):
            host.warn("Alt+U goes on to messages to you, /mentions lists them")
        return
    line = unread.after
    key = None if line is None else next((shown.key for shown in host.conversation.messages(after=line, limit=1)), None)
    if key is None:
        host.warn("everything in this channel is read")
        return
    host.log_view.jump_to(key)


def _late(host: Host, argument: str) -> None:
    late = host.model.next_late()
    if late is None:
        host.warn("no message came late, or all that did were looked at")
        return
    host.select(late)
    left = len(host.model.late.unseen)
    host.warn(f"{count(left, 'more message')} came late: Alt+L" if left else "that was the last one that came late")


def info(host: Host, argument: str) -> None:
    """Answer with everything about a message, or about a gap."""
    message_id = host.message_in_question(argument)
    shown = host.conversation.message(message_id)
    if shown is None:
        _gap_info(host, message_id)
        return
    model, before = host.model, shown

    def details() -> str:
        """Return everything about the message as it is now; as it was, if the log does not have it any more."""
        shown = model.conversation.message(message_id) or before
        return "\n".join(details_of(host, model, shown))

    host.answer(details(), "message", details)


def _gap_info(host: Host, message_id: str) -> None:
    model = host.model
    before = model.timeline.gaps.get(message_id)
    if before is None:
        raise CommandError("That message is not in this log.")

    def details() -> str:
        """Return everything about the gap as it is now; as it was, once the message is here."""
        gap = model.timeline.gaps.get(message_id, before)
        return "\n".join(details_of_gap(model, gap, model.view.now().wall))

    host.answer(details(), "lost" if before.lost else "missing", details)


def _links(host: Host, argument: str) -> None:
    found = _recent_links(host)
    if not found:
        host.warn("there is no link in this log")
        return
    lines = ["links, newest first; /open N opens one, /copy link N copies it:"]
    wide = len(str(len(found)))
    lines += [f"  {number:>{wide}} {link}" for number, link in enumerate(found, 1)]
    host.answer("\n".join(lines), "links")


def _recent_links(host: Host) -> list[str]:
    """Return the newest links of the whole log, newest first."""
    found: dict[str, None] = {}
    for shown in reversed(host.conversation.search("http", limit=_LOOKED_THROUGH)):
        found.update(dict.fromkeys(links_in(host.model.entry_for(shown).text)))
        if len(found) >= _LINKS:
            break
    return list(found)[:_LINKS]


def _link(host: Host, number: str) -> str:
    entry = None if number else host.model.timeline.entries.get(host.selection or "")
    found = _recent_links(host) if entry is None else [*invites_in(entry.text), *links_in(entry.text)]
    if not found:
        where = "this log" if entry is None else "the selected message"
        raise CommandError(f"There is no link in {where}.")
    if number and not (number.isdecimal() and 1 <= int(number) <= len(found)):
        raise CommandError(f"There is no link {clean(number, limit=20)}. /links numbers them.")
    return found[int(number or 1) - 1]


async def _open(host: Host, argument: str) -> None:
    """Open a link in the browser, or join by an invite, after a question. Nothing is passed to a shell."""
    number, _, sure = argument.partition(" ")
    link = _link(host, number if number != "yes" else "")
    if invites_in(link) == [link]:
        if "yes" in (number, sure):
            await join(host, link)
        else:
            host.warn("this is an invite to a private channel; /open yes joins it")
        return
    if "yes" not in (number, sure):
        host.warn(f"{link} would be opened in your browser. /open {number + ' ' if number else ''}yes does it.")
        return
    import webbrowser

    if not webbrowser.open(link):
        raise CommandError(f"No browser was found to open {link}")


def _copy(host: Host, argument: str) -> None:
    what, _, which = argument.partition(" ")
    if what == "link":
        host.copy(_link(host, which), "The link")
        return
    message_id = host.find_message("" if what in ("id", "text") else argument)
    shown = host.conversation.message(message_id)
    if shown is None:
        raise CommandError("That message is not in this log.")
    entry = host.model.entry_for(shown)
    named = f"message {short(message_id)} by {host.model.name_of(entry.sender_id, entry.nick)}"
    if what == "id":
        host.copy(message_id, f"The id of {named}")
    else:
        host.copy(entry.text, f"The {named}")


def _copy_words(host: Host, argument: str) -> Iterable[str]:
    return ("id", "text", "link")


COMMANDS = (
    Command(
        "goto",
        "/goto TIME",
        "Jump to a time, or to a message by its id",
        _goto,
        aliases=("g",),
        group="reading",
        details="TIME is 10:02, 2025-11-20, 2025-11-20 10:02, 30m, 2h or 3d ago, today, yesterday. Instead, the first\n"
        "letters of an id may be given.",
    ),
    Command("end", "/end", "Jump to the newest message", _end, group="reading"),
    Command("start", "/start", "Jump to the oldest message", _start, group="reading"),
    Command(
        "more",
        "/more [back]",
        "Scroll down, or back up",
        _more,
        group="reading",
        details="With --plain it lists the messages below those that were listed last, or those above them.",
        complete=lambda host, argument: ("back",),
    ),
    Command(
        "unread",
        "/unread",
        "Jump to the first unread message",
        _unread,
        group="reading",
        details="Once more, to the first one to you that was not on the screen. /mentions lists what was said to you.",
    ),
    Command("late", "/late", "Jump to the next message that came late", _late, group="reading"),
    Command("info", "/info [ID]", "Everything about a message", info, group="reading"),
    Command("links", "/links", "List the newest links of the log", _links, aliases=("urls",), group="reading"),
    Command(
        "open",
        "/open [N]",
        "Open a link in the browser",
        _open,
        group="reading",
        reaches_out=True,
        details="N as /links numbers them; without it, the first link of the selected message. It asks first. An "
        "invite to a private channel it joins.",
    ),
    Command(
        "copy",
        "/copy [ID]",
        "Copy a message; /copy id, /copy link N",
        _copy,
        aliases=("y",),
        group="reading",
        complete=_copy_words,
    ),
)
