"""Pages of the history from a Store: one stretch after the other, each until there is no more of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from sdschat.catchup.values import Stretch, Want
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.wire.store_codec import MAX_ITEMS, Key, Range


class Fetched(Protocol):
    """`store_client.Fetched`."""

    @property
    def packets(self) -> tuple[bytes, ...]: ...

    @property
    def more(self) -> bool: ...

    @property
    def floor(self) -> int: ...

    @property
    def last(self) -> Key | None: ...


class Client(Protocol):
    """What is used of `store_client.StoreClient`."""

    def stores(self) -> list[str]: ...

    def page(self, store: str, asked: Range, done: Callable[[Fetched | None], None]) -> None: ...


class StorePages:
    """One want at a time. `took` gets packets, and whether they are the last; `failed` is told where none come, and
    `floor` from which date on the Store has anything at all."""

    def __init__(
        self, client: Client, took: Callable[[Sequence[bytes], bool], None], failed: Callable[[str], None],
        floor: Callable[[str, int], None],
    ) -> None:  # fmt: skip
        self._client = client
        self._took = took
        self._failed = failed
        self._floor = floor
        self._left: deque[Stretch] = deque()
        self._round = 0  # answers to an earlier want are not looked at

    def fetch(self, store: str, want: Want) -> None:
        self._round += 1
        self._left = deque(want.stretches)
        self._ask(store, want, self._round, None, want.limit)

    def cancel(self) -> None:
        self._round += 1

    def _ask(self, store: str, want: Want, number: int, after: Key | None, left: int) -> None:
        stretch = self._left[0]
        low, high = stretch.low, stretch.high
        if after is None and low.message_id and not want.newest_first:
            after = Key(low.lamport, low.message_id)
        last = high.lamport if high.message_id else high.lamport - 1
        asked = Range(low.lamport, min(max(last, low.lamport), MAX_LAMPORT), after, want.newest_first, _limit(left))

        def done(fetched: Fetched | None) -> None:
            if number != self._round:
                return
            if fetched is None:
                self._round += 1
                self._failed(store)
                return
            rest = left - len(fetched.packets)
            if fetched.floor:
                self._floor(store, fetched.floor)
            if fetched.more and fetched.last is not None and rest > 0:
                self._took(fetched.packets, False)
                self._go_on(store, want, number, fetched.last, rest)
                return
            self._left.popleft()
            while self._left and self._left[0].high.lamport < fetched.floor:
                self._left.popleft()
            over = not self._left or rest <= 0
            self._took(fetched.packets, over)
            if not over:
                self._go_on(store, want, number, None, rest)

        self._client.page(store, asked, done)

    def _go_on(self, store: str, want: Want, number: int, after: Key | None, left: int) -> None:
        """Unless what was taken has ended it."""
        if number == self._round:
            self._ask(store, want, number, after, left)


def _limit(left: int) -> int:
    return max(1, min(left, MAX_ITEMS))
