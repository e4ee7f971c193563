"""Rows for missing messages: each stands before the first message that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from sdschat.node.view.values import Key, Lost, MissingMessage, RetrievalState
from sdschat.tui.model.items import GapItem, MessageItem
from sdschat.tui.model.words import clock, countdown, listed

Namer = Callable[[str | None], str]


def gap_items(
    missing: Iterable[MissingMessage], lost: Mapping[str, Lost], entries: Iterable[MessageItem], name: Namer
) -> Iterator[GapItem]:
    """Yield a gap for every missing message, and for every lost one that one of `entries` names."""
    for entry in missing:
        first = entry.named_by[0] if entry.named_by else None
        before: Key = (entry.since, "") if first is None else (first.lamport, first.message_id)
        waiter = "" if first is None else name(first.sender_id)
        yield GapItem(entry, before, name(entry.sender_id), waiter, tuple(map(name, entry.answerers)))
    if lost:
        seen: set[str] = set()
        for row in entries:
            for dependency in row.dependencies:
                given_up = lost.get(dependency)
                if given_up is not None and dependency not in seen:
                    seen.add(dependency)
                    yield GapItem(given_up, row.key, name(given_up.sender_id), "")


def gap_words(gap: GapItem, now: int) -> str:
    """Return the text of a gap at this moment."""
    by = f" by {gap.author}" if gap.author else ""
    if isinstance(gap.what, Lost):
        return f"1 message{by} is lost: nobody gave it to us until {clock(gap.what.at)}"
    waits = f", and {gap.waiter}'s waits for it" if gap.waiter else ""
    return f"1 message{by} missing{waits}: {asking_words(gap, gap.what, now)}"


def asking_words(gap: GapItem, what: MissingMessage, now: int) -> str:
    """Return in words the state of the request for a missing message: asker, time, and possible answerers."""
    left = what.due - now
    others = [name for name in gap.answerers if name]
    may = f"; {listed(others)} may answer" if others else "; nobody is here to answer"
    if what.asking is RetrievalState.WAITING:
        return f"we ask in {countdown(left)}{may}"
    if what.asking is RetrievalState.DUE:
        return f"we ask with the next packet{may}"
    if what.asking is RetrievalState.ASKED:
        times = "" if what.attempts < 2 else f" {what.attempts} times"
        return f"asked{times}{may}; again in {countdown(left)}"
    if what.asking is RetrievalState.RELYING:
        return f"relying on another's request{may}; we ask in {countdown(left)}"
    return "not asked for while there is no connection"
