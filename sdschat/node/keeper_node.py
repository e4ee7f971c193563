"""Making a node a Store: its parts, its channels, and what it does by the clock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final, NamedTuple

from sdschat import __version__
from sdschat.node.clock import Clock
from sdschat.node.facts import Fact, MessageDelivered
from sdschat.node.keeper import Keeper, Shared
from sdschat.node.keeper_counts import COUNTS, Counts
from sdschat.node.keeper_metrics import Snapshot
from sdschat.node.node import Node
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.store.archive import Archive
from sdschat.store.errors import DiskFull, StoreUnavailable
from sdschat.store.figures import archived, database_space
from sdschat.store.floors import Floor, floor_of
from sdschat.store.retention import drop_oldest, give_back, make_shrinkable, oldest_kept, space
from sdschat.store.store import Store

EVERY: Final = 10.0  # seconds between two looks at what is too old or too much
_STEP: Final = 200  # packets dropped at once: the loop goes on in between
_PAGES: Final = 256  # of the file given back at once
_PAUSE: Final = 0.05  # seconds between two steps
_STEPS_UNTOLD: Final = 100
_LATE_KEPT: Final = 10_000


class Keeping(NamedTuple):
    """How long and how much is kept. 0: for ever, without a bound."""

    age: int = 0  # milliseconds
    size: int = 0  # bytes of the database in use


class StoreNode:
    """Everything that is a Store's own about a node. Make it before the first channel is joined."""

    def __init__(self, node: Node, store: Store, keeping: Keeping, clock: Clock | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.node = node
        self.keeping = keeping
        self._store = store
        self._clock = clock or Clock()
        self._started = self._clock.now().wall
        self._floors: dict[str, Floor] = {}
        self._late: dict[str, list[str]] = {}
        make_shrinkable(store)
        self.shared = Shared(node.desk.identity, Archive(store), lambda name: self.floor(name).lamport, loop.call_soon)
        node.extend(lambda room: Keeper(self.shared))
        node.listen(self._hear)

    @property
    def counts(self) -> Counts:
        return self.shared.counts

    def floor(self, channel: str) -> Floor:
        found = self._floors.get(channel)
        if found is None:
            found = self._floors[channel] = floor_of(self._store, channel)
        return found

    def _hear(self, fact: Fact) -> None:
        """What comes in below the floor is archived, since the log has it, and dropped with the next look."""
        if isinstance(fact.what, MessageDelivered):
            message = fact.what.said.message
            if (message.lamport_timestamp or 0) < self.floor(fact.channel).lamport:
                late = self._late.setdefault(fact.channel, [])
                if len(late) < _LATE_KEPT:
                    late.append(message.message_id)

    def snapshot(self) -> Snapshot:
        """What it has and did, at this moment."""
        connected = {name: room.transport.connected for name, room in self.node.rooms.items()}
        channels, room = archived(self._store), database_space(self._store)
        return Snapshot(__version__, self._started / 1000, self.counts, channels, connected, room)

    def save_counts(self) -> None:
        """For `sdschat store status`, which is another process."""
        told = {**asdict(self.counts), "started": self._started, "saved": self._clock.now().wall, "pid": os.getpid()}
        with self._store.transaction() as transaction:
            transaction.set_value(COUNTS, json.dumps(told).encode())

    async def keep(self) -> None:
        """Drop what is too old or too much, and give its room back, in steps too short to be felt. Until cancelled."""
        while True:
            with contextlib.suppress(DiskFull, StoreUnavailable):
                self.save_counts()
                for step, _ in enumerate(self.tidy(), start=1):
                    await asyncio.sleep(_PAUSE)
                    if not step % _STEPS_UNTOLD:  # there may be hours of it, and all the while it is asked how it is
                        self.save_counts()
                self.save_counts()
            await asyncio.sleep(EVERY)

    def tidy(self) -> Iterator[None]:
        """One look, step by step."""
        if self.keeping.age:
            before = self._clock.now().wall - self.keeping.age
            for channel in self._store.channels():
                while self._drop(channel, before):
                    yield
        if self.keeping.size:
            yield from self._make_room()
        if space(self._store.connection).shrinks:
            while give_back(self._store, _PAGES):
                yield

    def _make_room(self) -> Iterator[None]:
        """The oldest first, whichever channel it is of."""
        while space(self._store.connection).used > self.keeping.size:
            dated = [(oldest_kept(self._store, name, self.floor(name)), name) for name in self._store.channels()]
            kept = [(lamport, name) for lamport, name in dated if lamport is not None]
            if not kept or not self._drop(min(kept)[1], MAX_LAMPORT):
                return
            yield

    def _drop(self, channel: str, before: int) -> bool:
        """Some packets of one channel; whether there may be more to drop."""
        old = self.floor(channel)
        late = tuple(self._late.pop(channel, ()))
        new = drop_oldest(self._store, channel, before, _STEP, self._clock.now().wall, late)
        self._floors[channel] = new
        self.counts.dropped_packets += new.packets - old.packets
        return new.lamport > old.lamport
