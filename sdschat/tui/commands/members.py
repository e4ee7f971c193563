"""Commands of members' channels: changing a post, taking it back, leaving."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.node.view.members import has_members, members_of
from sdschat.tui.host import Command, Host
from sdschat.tui.model.items import first_words
from sdschat.tui.model.results import CommandError, is_like_an_id
from sdschat.tui.model.words import clean_name

_QUOTED = 40


def _edit(host: Host, argument: str) -> None:
    try:
        members = members_of(host.view.node, host.channel)
        word, _, rest = argument.partition(" ")
        named = _named(host, word) if is_like_an_id(word) else None
        if named is None and is_like_an_id(word):
            raise CommandError(
                f"{_no_post(word)} Nothing is changed. To begin a text with {word}, name the post first."
            )
        message_id, text = (named, rest.strip()) if named is not None else (_chosen(host), argument)
        if not text:
            raise CommandError(
                "/edit needs a text: /edit [ID] TEXT. Without an id it changes the selected post, or your last."
                + (" A space and Tab write the text as it is." if host.has_keys else "")
            )
        members.edit(message_id, text)
    except ValueError as error:
        raise CommandError(f"Not changed: {error}") from error


def _edit_words(host: Host, argument: str) -> Iterable[str]:
    """Return the text as it is of the post that would be changed."""
    word = argument.strip()
    if word and not (argument.endswith(" ") and is_like_an_id(word)):
        return ()
    try:
        message_id = _named(host, word) if word else _chosen(host)
        placed = members_of(host.view.node, host.channel).log.get(message_id or "")
    except (CommandError, ValueError):
        return ()
    return (placed.post.text,) if placed is not None and placed.post.own and placed.post.text else ()


def _delete(host: Host, argument: str) -> None:
    try:
        members = members_of(host.view.node, host.channel)
        members.require_voice()
        *words, last = argument.split() or [""]
        word = " ".join(words if last == "yes" else [*words, last])
        message_id = _named(host, word) if word else _chosen(host)
        if message_id is None:
            raise CommandError(_no_post(word))
        shown = host.conversation.message(message_id)
        if shown is None:
            raise CommandError("That post is not here.")
        if not shown.own and not members.is_creator:
            raise CommandError("Not deleted: its author and who made the channel can take a post back.")
        if last != "yes":
            quoted = first_words(host.model.entry_for(shown), _QUOTED, host.glyphs.cut)
            host.warn(f"“{quoted}” would be taken back, from everybody. /delete {message_id[:8]} yes does it.")
            return
        members.delete(message_id)
    except ValueError as error:
        raise CommandError(f"Not deleted: {error}") from error


def _chosen(host: Host) -> str:
    """Return the selected post, or else the own one that was written last."""
    if host.selection is not None:
        return host.selection
    own = [shown for shown in host.conversation.messages(limit=200) if shown.own]
    if not own:
        raise CommandError("There is no post of yours here. Select one with Alt+Up, or give the beginning of its id.")
    return own[-1].message_id


def _named(host: Host, word: str) -> str | None:
    """Return the post whose id begins with a word; None if there is none, or several."""
    found = host.conversation.find_ids(word.lower(), 2) if len(word) >= 3 else []
    return found[0] if len(found) == 1 else None


def _no_post(word: str) -> str:
    return f"No single post here has an id that begins with {clean_name(word)}."


async def _leave(host: Host, argument: str) -> None:
    """Give up writing in a members' channel; in a channel of another kind, do what /part does."""
    if not has_members(host.view.node, host.channel):
        await host.registry.find("part").run(host, argument)  # type: ignore[misc]
        return
    if argument != "yes":
        host.warn(
            f"You would write nothing more in {clean_name(host.channel)}, and still read it. /leave yes does it; /part "
            "closes the channel here."
        )
        return
    try:
        members_of(host.view.node, host.channel).leave()
    except ValueError as error:
        raise CommandError(str(error)) from error
    host.answer(
        f"You have left {clean_name(host.channel)}: you write nothing more there, and still read it until /part.",
        "leave",
    )


COMMANDS = (
    Command(
        "edit",
        "/edit [ID] TEXT",
        "Change a post of yours, in a members' channel",
        _edit,
        details="ID: the beginning of an id, with a digit and a letter in it, or of eight signs. Without one, the "
        "selected post, or the last one of yours. Tab behind /edit and a space writes the text as it is, to be "
        "corrected. An edited post says so.",
        complete=_edit_words,
        group="members",
    ),
    Command(
        "delete",
        "/delete [ID] [yes]",
        "Take back a post, in a members' channel",
        _delete,
        details="It asks first; yes does it. The post is gone from the screens at once, and from all disks once it is "
        "settled. Only its author may, and who made the channel.",
        group="members",
    ),
    Command(
        "leave",
        "/leave",
        "Write nothing more in a members' channel; as /part in another",
        _leave,
        details="In a members' channel it asks first, and /part only stops looking at it here.",
        group="members",
    ),
)
