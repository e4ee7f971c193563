"""Events about Stores: questions asked, their results, and Stores that lied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sdschat.sds.values import Now
from sdschat.store.journal import JournalRow


class StoreAsked(NamedTuple):
    """`why`: missing (dependencies), hints (is it archived yet?) or page (of the history)."""

    store_id: str
    why: str
    message_ids: tuple[str, ...]


class StoreAnswered(NamedTuple):
    """Every message was compared with its id. What it has not (`unknown`) is left to repair."""

    store_id: str
    why: str
    message_ids: tuple[str, ...]
    unknown: tuple[str, ...]
    messages: int


class StoreSilent(NamedTuple):
    """No answer: another Store is asked, or it is left to repair. `reason`: silent, busy or clock."""

    store_id: str
    why: str
    message_ids: tuple[str, ...]
    reason: str


class StoreLeft(NamedTuple):
    """A Store lied, and is not asked again. `detail` says what it did, for a person."""

    store_id: str
    nick: str
    detail: str


StoreEvent = StoreAsked | StoreAnswered | StoreSilent | StoreLeft


def journal_rows(events: Sequence[StoreEvent], channel: str, now: Now) -> list[JournalRow]:
    """Return rows for the journal: for every message that was missing, whether a Store helped or it was left to repair.
    A Store left for a lie has a row too."""
    rows: list[JournalRow] = []
    for event in events:
        at = JournalRow("", channel, now.wall, now.mono * 1000, peer=event.store_id)
        match event:
            case StoreAsked(why=why, message_ids=ids):
                rows.append(at._replace(event="store_asked", deps=ids, cause=why))
            case StoreAnswered(why=why, message_ids=ids, unknown=unknown):
                if why != "page":  # their messages have rows of their own
                    rows.append(at._replace(event="store_answered", deps=ids, cause=why))
                if unknown:
                    rows.append(at._replace(event="store_unknown", deps=unknown, cause=why))
            case StoreSilent(message_ids=ids, reason=reason):
                rows.append(at._replace(event="store_silent", deps=ids, cause=reason))
            case StoreLeft(detail=detail):
                rows.append(at._replace(event="store_left", cause=detail))
    return rows
