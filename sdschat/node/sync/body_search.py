"""Fetching the bodies of messages that a node keeps as ids, because the user wants to read them after all."""

from __future__ import annotations

from typing import Final

from sdschat.catchup.wanted_bodies import WantedBodies
from sdschat.node.events import BodiesFetched
from sdschat.store.dropped_packets import of_sender
from sdschat.store.errors import as_store_error
from sdschat.store.packets import ChannelLog
from sdschat.store.retention_floor import floor_of
from sdschat.store.store import Store

MOST: Final = 2000  # bodies fetched for one command, the newest


class BodySearch:
    """The wanted bodies of one channel. They are compared for and fetched like messages that are not here at all."""

    def __init__(self, store: Store, channel: str) -> None:
        self._store = store
        self._channel = channel
        self.log = WantedBodies(ChannelLog(store, channel))
        self._asked = 0  # bodies wanted since nothing was
        self._done: BodiesFetched | None = None

    def seek(self, sender_id: str) -> int:
        """Want the newest bodies of a sender. Return the number of ids of theirs without a body, at most `MOST`. What
        is dated before the retention floor was dropped for its age or its size, and would be again."""
        number = self._store.number(self._channel)
        if number is None:
            return 0
        low = floor_of(self._store, self._channel).lamport
        with as_store_error(self._store.path):
            keys = of_sender(self._store.connection, number, sender_id, low, MOST)
        self._asked += self.log.want(keys)
        return len(keys)

    def end(self) -> None:
        """End the search: everybody who is here was asked."""
        if self._asked:
            left = self.log.give_up()
            self._done = BodiesFetched(self._asked - left, left)
            self._asked = 0

    def take(self) -> list[BodiesFetched]:
        """Take what is to be told."""
        done, self._done = self._done, None
        return [] if done is None else [done]
