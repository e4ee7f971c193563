"""Everything about a message, as lines of text, and who made its channel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sdschat.node.view.roles import Roles, roles_of
from sdschat.node.view.values import Conversation, Lost, Shown
from sdschat.tui.host import Host
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import GapItem, MessageItem, first_line, first_words, gap_words
from sdschat.tui.model.status import provenance
from sdschat.tui.model.words import TEXT_LIMIT, apart, clean, clean_name, count, day_and_time, duration, listed, short

_ID: Final = 128
_COPY: Final = 400
_WHOLE: Final = 1 << 20  # characters: more than a message can have
_NAMED: Final = 8  # messages that wait for one that is missing
_TEXT: Final = 50  # letters of a message that tell it from others


def details_of(host: Host, model: ChannelModel, shown: Shown) -> Iterator[str]:
    """Yield everything about a message, line by line."""
    entry = model.entry_for(shown)
    yield apart(first_line(entry))
    yield ""
    if entry.own:
        first, *more = model.told_of(entry).split(" | ")
        yield first
        for part in more:
            name, colon, value = part.partition(": ")
            yield _about(name.partition(",")[0], value) if colon else _about("state", part)
    else:
        who, _, *how = provenance(entry, "").split(" | ")
        yield _about("from", ", ".join((who, *how)))
    role = role_of(host, model.conversation, shown.sender_id)
    if role:
        yield _about("role", role)
    by = "" if entry.own else ", by the author's clock"
    yield _about("written", f"{day_and_time(entry.sent_at or entry.at)}{by}")
    if not entry.own:
        yield _about("here", day_and_time(entry.received_at))
    if entry.reply_to:
        original = model.conversation.message(entry.reply_to)
        text = "not here" if original is None else _in_short(host, model, model.entry_for(original))
        yield _about("answers", f"{short(entry.reply_to, 8)} {text}")
        if original is not None:
            yield _about("", f"{'p in the log (F6), or ' if host.has_keys else ''}/original, jumps there")
    label = "follows"
    for name in entry.dependencies:
        before = model.conversation.message(name)
        text = "not here" if before is None else _in_short(host, model, model.entry_for(before))
        yield _about(label, f"{short(name, 8)} {text}")
        label = ""
    yield _about("id", clean_name(entry.message_id, limit=_ID))
    if shown.other_copy:
        yield f"another copy of it has {clean_name(shown.other_copy, limit=_COPY)}; the first one stands"
    if "\n" in entry.text or len(entry.text) > len(first_line(entry)):
        yield ""
        yield "the whole text:"
        cut = len(entry.text) >= TEXT_LIMIT  # else another text may stand for it, as of somebody who is muted
        text = clean(shown.text or "", limit=_WHOLE, lines=True).strip("\n") if cut else entry.text
        yield from map(apart, text.split("\n"))


def details_of_gap(model: ChannelModel, gap: GapItem, now: int) -> Iterator[str]:
    """Yield everything about a missing or a lost message, line by line."""
    yield gap_words(gap, now)
    what = gap.what
    if isinstance(what, Lost):
        yield _about("lost", day_and_time(what.at))
    else:
        label, more = "named", len(what.named_by) - _NAMED
        for waiting in what.named_by[:_NAMED]:
            yield _about(label, f"by {short(waiting.message_id, 8)} of {model.name_of(waiting.sender_id)}, which waits")
            label = ""
        if more > 0:
            yield _about(label, f"and by {count(more, 'more message')}")
        yield _about("missed", f"since {day_and_time(what.since)}")
        yield _about("lost", f"in {duration(what.lost_at - now)} of connection, unless it comes")
    yield _about("id", clean_name(gap.message_id, limit=_ID))


def _about(label: str, value: str) -> str:
    return f"  {label:<7}  {value}"


def _in_short(host: Host, model: ChannelModel, entry: MessageItem) -> str:
    name = apart(model.name_of(entry.sender_id, entry.nick))
    return f"{name}: {apart(first_words(entry, _TEXT, host.glyphs.cut))}"


def roles_words(host: Host, roles: Roles) -> str:
    """Return in a sentence who made the channel, and who are its admins."""
    made = f"{_called(host, roles.creator)} made this channel" if roles.creator else "It is not known who made it"
    admins = [_called(host, one) for one in roles.admins]
    return f"{made}; admins: {listed(admins, most=len(admins))}." if admins else f"{made}."


def role_of(host: Host, conversation: Conversation, sender_id: str) -> str:
    """Return the role of a participant in a channel; empty in an open one, and in a conversation of two."""
    roles = None if conversation.peer else roles_of(host.node, conversation.channel)
    return "" if roles is None else roles.of(sender_id)


def _called(host: Host, sender_id: str) -> str:
    return "you" if sender_id == host.node.sender_id else host.model.name_of(sender_id)
