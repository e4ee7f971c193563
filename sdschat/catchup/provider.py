"""Serving pages to whoever wants them: a few are on their way, and each that arrived makes room for the next.

Pure: packets come from a `HistoryLibrary`, pages go to whoever carries them, and what arrived is told.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from sdschat.catchup import values
from sdschat.catchup.responder import AT_ONCE, Budget, ReadingBudgets
from sdschat.catchup.sketch import Shortener
from sdschat.catchup.values import Declined, Frame, HistoryPage, IdOnly, LogKey, Stretch, Want, behind, makes_up

PAGE_BYTES: Final = 32 * 1024
PAGE_PACKETS: Final = 256
PACKET_BYTES: Final = 192 * 1024  # larger ones are left to Stores and to repair
WINDOW_FIRST: Final = 3  # pages on their way to one peer: one more for each that arrives soon, half as many otherwise
WINDOW_LEAST: Final = 2
WINDOW_MOST: Final = 24
SOON: Final = 1_500  # milliseconds
SERVED: Final = 8  # peers at the same time
# Who takes pages slowly gives its place to another one, for anybody can want pages and take none.
PLACE: Final = 5_000  # milliseconds for which it has the place however slowly it takes them
SLOW: Final = 1_000  # milliseconds for a page
GIVES_WAY: Final = 300_000  # milliseconds afterwards, in which it takes nobody's place, and gives its own at once
_GIVING_WAY: Final = 1024  # peers remembered
_ID_BYTES: Final = 64  # of an id without its packet, about
_SHA256: Final = re.compile("[0-9a-f]{64}")
_LOOKED: Final = 32  # stretches looked into for one page


class StoredMessage(NamedTuple):
    """A message, and the packet it came in; an empty one where that is gone. `sender_id`: where only the id was ever
    kept, which is passed on as such."""

    key: LogKey
    raw: bytes
    sender_id: str = ""


class HistoryLibrary(Protocol):
    """Messages of the log with their packets."""

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]: ...

    def stored(
        self, low: LogKey, high: LogKey, newest_first: bool, limit: int, max_bytes: int
    ) -> Sequence[StoredMessage]:
        """Return the first of a stretch, or the last in descending order; at least one if there is one."""

    def message(self, message_id: str) -> StoredMessage | None: ...


class Shipment(NamedTuple):
    """A page for a peer."""

    peer: str
    page: HistoryPage


class _Serving:
    """One peer's want, and where it stands."""

    __slots__ = (
        "arrived", "began", "chosen", "frame", "left", "newest_first", "next", "sent_at", "stretches", "window",
    )  # fmt: skip

    def __init__(self, frame: Frame, want: Want, began: int) -> None:
        self.frame = frame
        self.stretches = deque(want.stretches)
        self.chosen: deque[str] = deque()  # of the stretch at hand, by short ids
        self.left = min(want.limit, values.WANTED_MOST)
        self.newest_first = want.newest_first
        self.next = 0
        self.sent_at: deque[int] = deque()  # of the pages that are on their way
        self.window = WINDOW_FIRST
        self.began = began
        self.arrived = 0  # pages since then

    @property
    def done(self) -> bool:
        """True if the last page is out."""
        return self.left <= 0


class HistoryProvider:
    """The peers that want messages of us, and the state of each want. Report events with `want`, `arrived` and
    `gave_up`; `ship` gives the pages that may go out now."""

    def __init__(
        self, library: HistoryLibrary, given: Callable[[str, StoredMessage], StoredMessage] | None = None
    ) -> None:
        """`given`: returns what a peer gets of a message, which may be its id alone."""
        self._library = library
        self._given = given
        self._serving: dict[str, _Serving] = {}
        self._give_way: dict[str, int] = {}  # those who were too slow, and until when
        self.is_held_back = False

    @property
    def peers(self) -> set[str]:
        return set(self._serving)

    def serves(self, peer: str, frame: Frame) -> bool:
        """True if this is the want that a peer is served for."""
        known = self._serving.get(peer)
        return known is not None and known.frame[:2] == frame[:2]

    def makes_room(self, peer: str, mono: int) -> tuple[str, Frame] | None:
        """Return who is too slow to keep its place where this peer wants one, and what that one wanted; None if there
        is room, or nobody is."""
        if peer in self._serving or len(self._serving) < SERVED or self._give_way.get(peer, 0) > mono:
            return None
        slow = [(one.arrived, name) for name, one in self._serving.items() if self._is_slow(name, one, mono)]
        if not slow:
            return None
        _, name = min(slow)
        self._give_way.pop(name, None)
        self._give_way[name] = mono + GIVES_WAY
        if len(self._give_way) > _GIVING_WAY:
            del self._give_way[next(iter(self._give_way))]
        return name, self._serving[name].frame

    def _is_slow(self, peer: str, serving: _Serving, mono: int) -> bool:
        took = mono - serving.began
        return self._give_way.get(peer, 0) > mono or (took >= PLACE and serving.arrived * SLOW < took)

    def want(self, peer: str, frame: Frame, want: Want, mono: int) -> Declined | None:
        """Serve a peer that wants messages. Return the reason to decline it, or None. A new want replaces the last one
        of the peer; one with a limit of 0 ends it. The same want again changes nothing: the peer has not yet got the
        first page."""
        if self.serves(peer, frame):
            return None
        known = self._serving.get(peer)
        if not want.limit or not want.stretches:
            self._serving.pop(peer, None)
            return None
        if known is None and len(self._serving) >= SERVED:
            return Declined("busy")
        new = self._serving[peer] = _Serving(frame, want, mono)
        if known is not None:
            new.window, new.began, new.arrived = known.window, known.began, known.arrived
        return None

    def arrived(self, peer: str, mono: int) -> None:
        """Note that a page is with the peer, and adapt the number of pages under way to it."""
        serving = self._serving.get(peer)
        if serving is None or not serving.sent_at:
            return
        took = mono - serving.sent_at.popleft()
        serving.arrived += 1
        # A peer that is busy taking in what it has would only be sent the same again.
        serving.window = min(WINDOW_MOST, serving.window + 1) if took < SOON else max(WINDOW_LEAST, serving.window // 2)
        if serving.done and not serving.sent_at:
            del self._serving[peer]

    def gave_up(self, peer: str) -> None:
        """Serve a peer no more: a page did not arrive, or the peer is gone."""
        self._serving.pop(peer, None)

    def ship(self, mono: int, budgets: ReadingBudgets) -> list[Shipment]:
        """Return the pages for which there is room. `is_held_back`: there are more, which take too much reading now."""
        found: list[Shipment] = []
        self.is_held_back, spent = False, 0
        for peer, serving in self._serving.items():
            while not serving.done and len(serving.sent_at) < serving.window:
                budget = budgets.of(peer, mono)
                before = budget.left
                if spent >= AT_ONCE or before <= 0:
                    self.is_held_back = True
                    break
                serving.sent_at.append(mono)
                found.append(Shipment(peer, self._page(peer, serving, budget)))
                spent += before - budget.left
        return found

    def _page(self, peer: str, serving: _Serving, budget: Budget) -> HistoryPage:
        found: list[StoredMessage] = []
        room, looked, least = PAGE_BYTES, 0, budget.left - AT_ONCE
        while serving.left > 0 and room > 0 and len(found) < PAGE_PACKETS and looked < _LOOKED:
            if budget.left <= least:
                break
            looked += not serving.chosen
            some = self._next(serving, PAGE_PACKETS - len(found), room, budget)
            if some is None:
                serving.left = 0
                break
            if self._given is not None:
                some = [given for one in some if _fits(given := self._given(peer, one))]
            found += some
            room -= sum(len(one.raw) or _ID_BYTES for one in some)
        packets = tuple(one.raw for one in found if one.raw)
        ids = tuple(IdOnly(one.key, one.sender_id) for one in found if not one.raw)
        page = HistoryPage(serving.frame.session, serving.frame.number, serving.next, packets, serving.done, ids)
        serving.next += 1
        return page

    def _next(self, serving: _Serving, most: int, room: int, budget: Budget) -> list[StoredMessage] | None:
        """Return some more of the messages that are wanted, possibly none; None at the end of them."""
        if serving.chosen:
            serving.left -= 1
            found = self._library.message(serving.chosen.popleft())
            return [found] if found is not None and _fits(found) else []
        if not serving.stretches:
            return None
        stretch = serving.stretches.popleft()
        if stretch.shorts:
            serving.chosen.extend(self._choose(stretch, serving.frame.session, budget))
            return []
        limit = min(most, serving.left)
        stored = self._library.stored(stretch.low, stretch.high, serving.newest_first, limit, room)
        serving.left -= len(stored)
        if stored:
            rest = _rest(stretch, stored[-1].key, serving.newest_first)
            if rest.low < rest.high:
                serving.stretches.appendleft(rest)
        return [one for one in stored if _fits(one)]

    def _choose(self, stretch: Stretch, salt: int, budget: Budget) -> list[str]:
        keys = self._library.keys(stretch.low, stretch.high, 2 * values.LEAF)
        budget.spend(2 * len(keys))
        if stretch.sole:
            return [message_id for _, message_id in makes_up(keys, stretch.shorts[0], salt)]
        shortener, wanted = Shortener(salt), set(stretch.shorts)
        return [message_id for _, message_id in keys if shortener.short(message_id) in wanted]


def _fits(one: StoredMessage) -> bool:
    """True if there is something to send, and a page takes it: of ids alone, those that are a SHA-256."""
    return len(one.raw) <= PACKET_BYTES if one.raw else bool(one.sender_id and _SHA256.fullmatch(one.key.message_id))


def _rest(stretch: Stretch, last: LogKey, newest_first: bool) -> Stretch:
    return stretch._replace(high=last) if newest_first else stretch._replace(low=behind(last))
