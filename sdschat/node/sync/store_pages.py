"""Pages of the history from a Store: one stretch after the other, each until there is no more of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import Stretch, Want
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.wire.store_codec import MAX_ITEMS, Range, StoreKey


class StorePage(Protocol):
    """The part of `FetchedPackets` that is used here."""

    @property
    def packets(self) -> tuple[bytes, ...]: ...

    @property
    def more(self) -> bool: ...

    @property
    def floor(self) -> int: ...

    @property
    def last(self) -> StoreKey | None: ...

    @property
    def keys(self) -> Sequence[tuple[int, str]]: ...

    @property
    def doubtful(self) -> int:
        """Return the number of packets that are here too, but cannot be used."""


class Client(Protocol):
    """The methods of `store_client.StoreClient` used here."""

    def stores(self) -> list[str]: ...

    def page(self, store: str, asked: Range, done: Callable[[StorePage | None], None]) -> None: ...

    def leave(self, store: str, why: str) -> None: ...


class StorePages:
    """Fetches what `catch_up` wants from a Store, one want at a time.

    `took` gets packets, and whether they are the last; it returns the reason to leave the Store, or nothing. Where
    none come, `failed` is called.
    """

    def __init__(
        self,
        client: Client,
        catch_up: CatchUpSession,
        took: Callable[[Sequence[bytes], bool], str],
        failed: Callable[[str], None],
    ) -> None:
        self._client = client
        self._catch_up = catch_up
        self._took = took
        self._failed = failed
        self._left: deque[Stretch] = deque()
        self._round = 0  # answers to an earlier want are not looked at

    def fetch(self, store: str, want: Want) -> None:
        self._round += 1
        self._left = deque(want.stretches)
        self._ask(store, want, self._round, None, want.limit)

    def cancel(self) -> None:
        self._round += 1

    def _ask(self, store: str, want: Want, number: int, after: StoreKey | None, left: int) -> None:
        stretch = self._left[0]
        low, high = stretch.low, stretch.high
        if after is None:
            self._catch_up.watch.begin(low, high)
            if low.message_id and not want.newest_first:
                after = StoreKey(low.lamport, low.message_id)
        last = high.lamport if high.message_id else high.lamport - 1
        asked = Range(low.lamport, min(max(last, low.lamport), MAX_LAMPORT), after, want.newest_first, _limit(left))

        def done(fetched: StorePage | None) -> None:
            if number != self._round:
                return
            if fetched is None:
                self._round += 1
                self._failed(store)
                return
            self._came(store, want, number, fetched, left)

        self._client.page(store, asked, done)

    def _came(self, store: str, want: Want, number: int, page: StorePage, left: int) -> None:
        rest = left - len(page.packets)
        if page.floor:
            self._catch_up.floor(store, page.floor)
        last = page.last if page.more else None
        why = self._catch_up.watch.gave(page.keys, page.doubtful, last, want.newest_first)
        if last is None or rest <= 0:
            self._left.popleft()
            while self._left and self._left[0].high.lamport < page.floor:
                self._left.popleft()
        over = not self._left or rest <= 0
        why = self._took(page.packets, over and not why) or why
        if why:
            self._round += 1
            self._client.leave(store, why)
            self._failed(store)
        elif not over:
            self._go_on(store, want, number, last, rest)

    def _go_on(self, store: str, want: Want, number: int, after: StoreKey | None, left: int) -> None:
        """Ask for the rest of a request, unless what was taken in has ended it."""
        if number == self._round:
            self._ask(store, want, number, after, left)


def _limit(left: int) -> int:
    return max(1, min(left, MAX_ITEMS))
