"""Stores that lie, each in one way."""

from __future__ import annotations

from sdschat.store.archive import Kept, Span
from tests.sim_history.booth import Shelf


class LyingShelf(Shelf):
    """What an honest one gives, and then something else."""

    def __init__(self, companion: object, way: str) -> None:
        super().__init__(companion)  # type: ignore[arg-type]
        self._way = way

    def by_id(self, channel: str, message_id: str) -> Kept | None:
        kept = super().by_id(channel, message_id)
        if kept is None or self._way == "nothing there":
            return None
        if self._way == "other bytes":
            return kept._replace(raw=kept.raw[:-3] + bytes(byte ^ 1 for byte in kept.raw[-3:]))
        if self._way == "another message":
            places = self._companion.node.store.places  # type: ignore[attr-defined]
            other = super().by_id(channel, places[(self._place(message_id) + 1) % len(places)])
            assert other is not None
            return kept._replace(raw=other.raw)
        return kept

    def page(self, channel: str, span: Span) -> tuple[list[Kept], bool]:
        if self._way == "nothing there":
            return [], False
        way = self._way
        if way == "other bytes":
            # In a page it shows by the envelope of a content that its bytes are others, and what is said in a
            # simulation has none: nobody could tell.
            self._way = ""
        found, more = super().page(channel, span)
        self._way = way
        if self._way == "leaves out":
            return found[::2], more
        return (found[::-1], more) if self._way == "turns around" else (found, more)
