"""Answers of a Store: by id, by hint, and by page, out of the messages that it has committed."""

from __future__ import annotations

from typing import Final, Protocol

from sdschat.node.store_client.hint import hint_of, read_hint
from sdschat.store.archive import ArchivedMessage, ArchiveRange
from sdschat.wire.store_codec import MAX_ANSWER_BYTES, Item, Range, StoreAnswer, StoreKey, StoreQuery, WantedMessage

PAGE_BYTES: Final = 192 * 1024  # of packets in one answer; a single one may be larger
_ITEM_BYTES: Final = 256  # what an item takes beside its packet, at most


class ArchiveReader(Protocol):
    """Interface to the archive, as answering needs it; `store.archive.LogArchive` is the real one."""

    def by_id(self, channel: str, message_id: str) -> ArchivedMessage | None: ...

    def at(self, channel: str, place: int) -> ArchivedMessage | None: ...

    def place_of(self, channel: str, message_id: str) -> int | None: ...

    def page(self, channel: str, span: ArchiveRange) -> tuple[list[ArchivedMessage], bool]: ...


class Answerer:
    """Answers for one channel, in the name of one Store."""

    __slots__ = ("_archive", "_channel", "_me", "page_bytes")

    def __init__(self, me: str, channel: str, archive: ArchiveReader) -> None:
        self._me = me
        self._channel = channel
        self._archive = archive
        self.page_bytes = min(PAGE_BYTES, MAX_ANSWER_BYTES // 2)

    def answer(self, query: StoreQuery, floor: int) -> StoreAnswer:
        """Answer a query. `floor`: packets dated before it were dropped."""
        if query.range is not None:
            return self._page(query, query.range, floor)
        if query.confirm:
            return self._confirm(query, floor)
        return self._messages(query, floor)

    def hint(self, message_id: str) -> bytes | None:
        """Return a hint by which others can ask us for a message; None if we do not have it in full."""
        place = self._archive.place_of(self._channel, message_id)
        return None if place is None else hint_of(self._me, place)

    def _page(self, query: StoreQuery, asked: Range, floor: int) -> StoreAnswer:
        low = max(asked.low, floor)
        if low > asked.high:
            return StoreAnswer(query.query_id, floor=floor)
        span = ArchiveRange(low, asked.high, asked.after, asked.newest_first, asked.limit, self.page_bytes)
        kept, more = self._archive.page(self._channel, span)
        items = tuple(Item("", one.raw) for one in kept)
        last = StoreKey(kept[-1].lamport, kept[-1].message_id) if more else None
        return StoreAnswer(query.query_id, items, more=more, floor=floor, last=last)

    def _confirm(self, query: StoreQuery, floor: int) -> StoreAnswer:
        items: list[Item] = []
        unknown: list[str] = []
        for message_id in dict.fromkeys(one.message_id for one in query.wanted if one.message_id):
            hint = self.hint(message_id)
            if hint is None:
                unknown.append(message_id)
            else:
                items.append(Item(message_id, b"", hint))
        return StoreAnswer(query.query_id, tuple(items), tuple(unknown), floor=floor)

    def _messages(self, query: StoreQuery, floor: int) -> StoreAnswer:
        """Return as many of the wanted messages as fit; `more` says that some were left out."""
        items: dict[str, Item] = {}
        unknown: dict[str, None] = {}
        size = 0
        for wanted in query.wanted:
            kept = self._find(wanted)
            if kept is None:
                if wanted.message_id:
                    unknown[wanted.message_id] = None
                continue
            if kept.message_id in items:
                continue
            size += len(kept.raw) + _ITEM_BYTES
            if items and size > self.page_bytes:
                return StoreAnswer(query.query_id, tuple(items.values()), tuple(unknown), True, floor)
            items[kept.message_id] = Item(kept.message_id, kept.raw, hint_of(self._me, kept.place))
        return StoreAnswer(query.query_id, tuple(items.values()), tuple(unknown), floor=floor)

    def _find(self, wanted: WantedMessage) -> ArchivedMessage | None:
        """Find a message by its hint, if that is one of ours and leads to what is wanted; else by its id."""
        hint = read_hint(wanted.hint)
        if hint is not None and hint.store == self._me:
            kept = self._archive.at(self._channel, hint.place)
            if kept is not None and wanted.message_id in ("", kept.message_id):
                return kept
        return self._archive.by_id(self._channel, wanted.message_id) if wanted.message_id else None
