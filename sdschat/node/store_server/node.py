"""Making a node a Store: its parts, its channels, and what it does by the clock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from sdschat import __version__
from sdschat.node.clock import Clock
from sdschat.node.node import Node
from sdschat.node.retention import EVERY, PAUSE, STEP, Retention, ServedChannel
from sdschat.node.store_server.metrics import COUNTS, Counts, MetricsSnapshot
from sdschat.node.store_server.server import Shared, StoreServer
from sdschat.store.archive import LogArchive, archived, database_space
from sdschat.store.errors import DiskFull, StoreUnavailable
from sdschat.store.store import Store

_STEPS_UNTOLD: Final = 100


class StoreNode(Retention):
    """Everything that is a Store's own about a node. Make it before the first channel is joined."""

    def __init__(
        self,
        node: Node,
        store: Store,
        keeping: ServedChannel,
        clock: Clock | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` tells the operator something."""
        super().__init__(node, store, keeping, clock, warn)
        self._started = self._clock.now().wall
        self.shared = Shared(
            node.gate.identity,
            LogArchive(store),
            lambda name: self.floor(name).lamport,
            asyncio.get_running_loop().call_soon,
        )
        node.extend(lambda session: StoreServer(self.shared))

    @property
    def counts(self) -> Counts:
        return self.shared.counts

    def snapshot(self) -> MetricsSnapshot:
        """Return the contents and the activity of this Store at this moment."""
        connected = {name: session.transport.connected for name, session in self.node.sessions.items()}
        channels, room = archived(self._store), database_space(self._store)
        return MetricsSnapshot(
            __version__, self._started / 1000, self.counts, channels, connected, room, self.keeping.size
        )

    def save_counts(self) -> None:
        """For `sdschat store status`, which is another process."""
        counts = {**asdict(self.counts), "started": self._started, "saved": self._clock.now().wall, "pid": os.getpid()}
        counts["max_size"] = self.keeping.size
        with self._store.transaction() as transaction:
            transaction.set_value(COUNTS, json.dumps(counts).encode())

    async def keep(self) -> None:
        """Drop what is too old or too much, and give its room back, in steps too short to be felt. Until cancelled."""
        while True:
            with contextlib.suppress(DiskFull, StoreUnavailable):
                self.save_counts()
                for step, _ in enumerate(self.tidy(), start=1):
                    await asyncio.sleep(PAUSE)
                    if not step % _STEPS_UNTOLD:  # there may be hours of it, and all the while it is asked how it is
                        self.save_counts()
                self.save_counts()
            await asyncio.sleep(EVERY)

    def _drop(self, channel: str, before: int, most: int = STEP) -> bool:
        before_it = self.floor(channel).packets
        more = super()._drop(channel, before, most)
        self.counts.dropped_packets += self.floor(channel).packets - before_it
        return more
