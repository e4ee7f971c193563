"""Commands that follow answers: to the message that one answers, and the whole chain of them."""

from __future__ import annotations

import asyncio
from typing import Final

from sdschat.node.view.values import Conversation, Shown
from sdschat.tui.host import Command, Host
from sdschat.tui.model.items import first_words
from sdschat.tui.model.results import CommandError, Mark, Page
from sdschat.tui.model.words import count, short, when

_HIGHEST: Final = 100  # answers to answers that are followed upwards
_LATER: Final = 2_000  # messages after the first one that are looked at for answers
_WINDOW: Final = 200
_TEXT: Final = 200
_DEEPEST: Final = 12  # steps to the right, at most


def _original(host: Host, argument: str) -> None:
    shown = host.conversation.message(host.find_message(argument))
    if shown is None or not shown.reply_to:
        raise CommandError("That message answers no other one.")
    if host.conversation.message(shown.reply_to) is None:
        raise CommandError(f"It answers {short(shown.reply_to, 8)}, which is not here.")
    host.select(shown.reply_to)


def _top_of(conversation: Conversation, message_id: str) -> tuple[Shown, str]:
    """Return the first message of the chain that is here, and the id of the one before it that is not, or nothing."""
    shown = conversation.message(message_id)
    if shown is None:
        raise CommandError("That message is not in this log.")
    seen = {shown.message_id}
    while shown.reply_to and shown.reply_to not in seen and len(seen) < _HIGHEST:
        above = conversation.message(shown.reply_to)
        if above is None:
            return shown, shown.reply_to
        seen.add(above.message_id)
        shown = above
    return shown, ""


async def _answers(conversation: Conversation, top: Shown) -> tuple[list[tuple[int, Shown]], bool]:
    """Return the chain with the depth of each message, and True if there are later messages that were not looked at."""
    under: dict[str, list[Shown]] = {top.message_id: []}
    after, seen = top.key, 0
    while seen < _LATER and (found := conversation.messages(after=after, limit=_WINDOW)):
        for shown in found:
            if shown.reply_to in under:
                under[shown.reply_to].append(shown)
                under.setdefault(shown.message_id, [])
        after, seen = found[-1].key, seen + len(found)
        await asyncio.sleep(0)
    chain, waiting = [], [(0, top)]
    while waiting:
        depth, shown = waiting.pop()
        chain.append((depth, shown))
        waiting += [(depth + 1, answer) for answer in reversed(under[shown.message_id])]
    return chain, seen >= _LATER


async def _thread(host: Host, argument: str) -> None:
    conversation, chosen = host.conversation, host.find_message(argument)
    top, absent = _top_of(conversation, chosen)
    chain, more = await _answers(conversation, top)
    if len(chain) == 1 and not absent:
        raise CommandError("That message answers no other one, and nobody answered it.")
    lines = [f"answers {short(absent, 8)}, which is not here"] if absent else []
    runs = [f"goto {top.message_id}"] if absent else []
    marks: list[list[Mark]] = [[] for _ in lines]
    now = host.view.now().wall
    for depth, shown in chain:
        entry = host.model.entry_for(shown)
        who = host.model.name_of(entry.sender_id, entry.nick)
        here = "  (the one you chose)" if shown.message_id == chosen else ""
        head = f"{'  ' * min(depth, _DEEPEST)}{when(entry.at, now)} "
        lines.append(f"{head}{who}: {first_words(entry, _TEXT, host.glyphs.cut)}{here}")
        marks.append([(0, len(head), "time"), (len(head), len(head + who), f"nick:{entry.sender_id}")])
        runs.append(f"goto {shown.message_id}")
    if more:
        lines.append(f"answers more than {_LATER:,} messages later are not shown")
        runs.append(f"goto {chain[-1][1].message_id}")
        marks.append([])
    title = f"thread: {count(len(chain), 'message')}"
    host.show_pages([Page(title, lines, runs, "goes there", marks=marks)], title)


COMMANDS = (
    Command(
        "thread",
        "/thread [ID]",
        "The chain of answers that a message belongs to; Enter jumps to one",
        _thread,
        group="reading",
        details="In the log (F6): t.",
    ),
    Command(
        "original",
        "/original [ID]",
        "Jump to the message that this one answers",
        _original,
        group="reading",
        details="In the log (F6): p.",
    ),
)
