"""Stores that do what they should not, each in one way. What was really done is counted."""

from __future__ import annotations

from collections.abc import Callable

from sdschat.node.store_server.quota import Quota
from sdschat.store.archive import ArchivedMessage, ArchiveRange
from tests.sim_history.booth import Shelf

FLOORS = {"absurd floor": 2**42, "impossible floor": 2**52}
_TENTH = 10


class LyingShelf(Shelf):
    """Gives what an honest one gives, and then something else. `did` is called with what was done."""

    def __init__(self, companion: object, way: str, did: Callable[[str], None]) -> None:
        super().__init__(companion)  # type: ignore[arg-type]
        self._way = way
        self._did = did

    def by_id(self, channel: str, message_id: str) -> ArchivedMessage | None:
        kept = super().by_id(channel, message_id)
        if kept is None or self._way in ("denies by id", "empty pages") or self._omitted(message_id):
            if kept is not None:
                self._did(self._way)
            return None
        if self._way == "altered":
            self._did(self._way)
            return kept._replace(raw=kept.raw[:-3] + bytes(byte ^ 1 for byte in kept.raw[-3:]))
        if self._way == "another message":
            places = self._companion.node.store.places  # type: ignore[attr-defined]
            other = super().by_id(channel, places[(self._place(message_id) + 1) % len(places)])
            assert other is not None
            self._did(self._way)
            return kept._replace(raw=other.raw)
        return kept

    def page(self, channel: str, span: ArchiveRange) -> tuple[list[ArchivedMessage], bool]:
        way, self._way = self._way, ""
        # Other bytes in a page show by the envelope of a content, and what is said in a simulation has none.
        found, more = super().page(channel, span)
        self._way = way
        if way == "another message" and len(found) > 1:
            self._did(way)
            return [one._replace(raw=found[at - 1].raw) for at, one in enumerate(found)], more
        if way == "empty pages" and found:
            self._did(way)
            return [], False
        if way == "omits every other" and len(found) > 1:
            self._did(way)
            return found[::2], more
        if way == "omits every tenth" and any(self._omitted(one.message_id) for one in found):
            self._did(way)
            return [one for one in found if not self._omitted(one.message_id)] or found[:1], more
        if way == "disordered" and len(found) > 1:
            self._did(way)
            return found[::-1], more
        return found, more

    def _omitted(self, message_id: str) -> bool:
        return self._way == "omits every tenth" and self._place(message_id) % _TENTH == _TENTH - 1


class BusyQuota(Quota):
    """Asks for patience two times of three."""

    def __init__(self, did: Callable[[str], None]) -> None:
        super().__init__()
        self._did = did
        self._asked = 0

    def may_have(self, asker: str, now: int) -> bool:
        self._asked += 1
        if self._asked % 3:
            self._did("busy")
            return False
        return True
