"""Commands that search the history: their words, their hits, and the list of these."""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from typing import Final

from sdschat.node.tasks import start
from sdschat.node.view.moments import parse_search
from sdschat.node.view.searching import HistorySearch, SearchQuery, senders_called
from sdschat.tui.host import Command, Host
from sdschat.tui.model.from_events import mention_of
from sdschat.tui.model.items import first_words
from sdschat.tui.model.results import CommandError, Mark, Page
from sdschat.tui.model.words import HIT, clean, count, reason_text, when

FOUND: Final = 200
_SHOWN: Final = 120
_QUICK: Final = 0.3  # seconds that the keys wait for a search
_WHOLE_WORDS: Final = "Words are found whole, or by their beginning."


def wanted_by(host: Host, text: str) -> SearchQuery:
    """Return what a line of search words asks for, with `from:`, `to:me`, `since:` and `before:`. Raises
    CommandError."""
    try:
        asked = parse_search(text, host.view.now().wall)
    except ValueError as error:
        raise CommandError(clean(str(error))) from error
    senders = set[str]()
    for name in asked.names:
        found = senders_called(host.view, host.channel, name)
        if not found:
            raise CommandError(f"Nobody known here goes by {clean(name, limit=40)}.")
        senders.update(found)
    names_us = mention_of(host.node.nick, *host.preferences.highlight) if asked.to_me else None
    return SearchQuery(asked.text, tuple(sorted(senders)), asked.since, asked.before, names_us)


async def _search(host: Host, argument: str) -> None:
    if not argument:
        raise CommandError("/search needs words: /search release notes from:bob since:2d. /hit goes on, /hits lists.")
    model, wanted = host.model, wanted_by(host, argument)
    found = await HistorySearch(host.node, model.conversation, wanted, FOUND).run()
    if not found:
        wider = host.has_keys and len(host.order) > 1 and wanted == SearchQuery(wanted.words)
        elsewhere = " Ctrl+P looks in all open channels." if wider else ""
        words = clean(argument, limit=80)
        raise CommandError(f"Nothing in this channel has all of: {words}. {_WHOLE_WORDS}{elsewhere}")
    model.hits, model.hit_at = found, len(found)
    if host.model is model:
        host.mark(wanted.words)
        step_hit(host, -1)


async def _mentions(host: Host, argument: str) -> None:
    """List what was said to the user. No index knows it: in a long history the keys do not wait, and it is told."""
    looks = start(
        _find_mentions(host, wanted_by(host, f"{argument} to:me")), lambda error: host.refuse(reason_text(error))
    )
    await asyncio.wait([looks], timeout=_QUICK if host.has_keys else None)
    if not looks.done():
        host.warn("looking through the whole history; you can go on")


async def _find_mentions(host: Host, wanted: SearchQuery) -> None:
    model, clock = host.model, asyncio.get_running_loop()
    began = clock.time()
    found = await HistorySearch(host.node, model.conversation, wanted, FOUND).run()
    if not found:
        of_that = "" if wanted == SearchQuery(names_us=wanted.names_us) else "of that "
        host.warn(
            f"nothing {of_that}here is to you: it has neither your nick nor a word of /highlight, and answers no "
            f"message of yours{_elsewhere(host, '. ')}"
        )
        return
    model.hits, model.hit_at = found, len(found) - 1
    if host.model is model:
        host.mark(wanted.words)
    waits = host.model is model and host.waits
    if host.has_keys and clock.time() >= began + _QUICK and not waits:  # the keys are in the middle of something
        host.warn(f"{_most(found)} to you in {host.label(model.name)}: /hits there lists them{_elsewhere(host, '. ')}")
    else:
        _hits(host, "")
        if words := _elsewhere(host):
            host.warn(words)


def _elsewhere(host: Host, before: str = "") -> str:
    """Return where messages to the user are unread besides the log that is shown."""
    models = [model for name, model in host.workspace.models.items() if name != host.model.name and model.mentions]
    places = ", ".join(f"{model.mentions} in {host.label(model.name)}" for model in models)
    return f"{before}Unread to you: {places}" if places else ""


def step_hit(host: Host, step: int) -> None:
    """Jump to an older hit of the search, or to a newer one. Raises CommandError at the last one."""
    hits = host.model.hits
    if not hits:
        raise CommandError("There was no search here. /search WORDS looks through the whole history.")
    at = host.model.hit_at + step
    if not 0 <= at < len(hits):
        more = ". before:TIME among the words finds older ones" if step < 0 and len(hits) == FOUND else ""
        raise CommandError(f"That was the {'oldest' if step < 0 else 'newest'} hit of {_most(hits)}{more}.")
    host.model.hit_at = at
    host.log_view.jump_to(hits[at], choose=True)
    keys = "F6, then n older, N newer; or /hit, /hit back" if host.has_keys else "/hit older, /hit back newer"
    host.warn(f"{HIT} {hit_words(host)}, newest first: {said_by(host)} | {keys}; /hits lists")


def hit_words(host: Host) -> str:
    """Return the number of the hit that is shown, and that of all hits."""
    hits = host.model.hits
    return f"{len(hits) - host.model.hit_at} of {_most(hits)}"


def _most(hits: Sized) -> str:
    """Return the number of hits, and that there may be older ones."""
    return f"the newest {FOUND}" if len(hits) == FOUND else str(len(hits))


def said_by(host: Host) -> str:
    """Return who wrote the hit that is shown, and when: its row need not say so."""
    shown = host.conversation.message(host.model.hits[host.model.hit_at][1])
    if shown is None:
        return ""
    entry = host.model.entry_for(shown)
    return f"{host.model.name_of(entry.sender_id, entry.nick)}, {when(entry.at, host.view.now().wall)}"


def _hit(host: Host, argument: str) -> None:
    hits = host.model.hits
    if argument.isdecimal():
        if not 1 <= int(argument) <= len(hits):
            raise CommandError(f"There is no hit {clean(argument, limit=20)}. /hits lists those of the last search.")
        host.model.hit_at = len(hits) - int(argument)
        step_hit(host, 0)
    elif argument in ("", "older", "back", "newer"):
        step_hit(host, 1 if argument in ("back", "newer") else -1)
    else:
        raise CommandError("/hit takes a number of /hits, or back.")


def hits_page(host: Host) -> Page:
    """Return the hits of the last search, newest first; Enter jumps to one. Raises CommandError if there is none."""
    if not host.model.hits:
        raise CommandError("There was no search here. /search WORDS looks through the whole history.")
    lines, marks, now = [], list[list[Mark]](), host.view.now().wall
    for number, key in enumerate(reversed(host.model.hits), 1):
        shown = host.conversation.message(key[1])
        if shown is None:
            lines.append(f"{number:>3} (not here any more)")
            marks.append([])
            continue
        entry = host.model.entry_for(shown)
        head = f"{number:>3} {when(entry.at, now)}  "
        who = host.model.name_of(entry.sender_id, entry.nick)
        lines.append(f"{head}{who}: {first_words(entry, _SHOWN, host.glyphs.cut)}")
        marks.append([(0, len(head), "time"), (len(head), len(head + who), f"nick:{entry.sender_id}")])
    runs = [f"hit {number}" for number in range(1, len(lines) + 1)]
    chosen = len(lines) - 1 - min(host.model.hit_at, len(lines) - 1)
    title = f"the newest {FOUND} hits" if len(lines) == FOUND else count(len(lines), "hit")
    return Page(title, lines, runs, "goes there", marks=marks, chosen=chosen)


def _hits(host: Host, argument: str) -> None:
    page = hits_page(host)
    host.show_pages([page], page.title)
    if not host.has_keys:
        host.warn("/hit N jumps to one")


COMMANDS = (
    Command(
        "search",
        "/search WORDS",
        "Find messages in the whole history of this channel",
        _search,
        aliases=("find", "lastlog", "grep"),
        group="reading",
        details="All words must occur, in any order; the last one may be a beginning. from:NICK, from:me,\n"
        "to:me, since:TIME and before:TIME leave out others: /search rope from:carol since:2d. It jumps to the\n"
        "newest hit and marks words.\n"
        "Ctrl+F does the same while you type, Ctrl+P in all open channels. With the log focused (F6), n goes to the\n"
        "next older hit, N to the newer.",
    ),
    Command(
        "hit",
        "/hit [back]",
        "The next older hit of a search; back: the next newer",
        _hit,
        group="reading",
        details="/hit N jumps to the hit with this number, as /hits lists them.",
        complete=lambda host, argument: ("back",),
    ),
    Command("hits", "/hits", "List the hits of the last search; Enter jumps to one", _hits, group="reading"),
    Command(
        "mentions",
        "/mentions [WORDS]",
        "List what was said to you here, newest first",
        _mentions,
        aliases=("highlights",),
        group="reading",
        details="Messages with your nick or a word of /highlight, and answers to yours; Enter jumps to one, /hit goes\n"
        "on to older ones. WORDS as in /search, which takes to:me for the same.",
    ),
)
