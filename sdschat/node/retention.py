"""The limits of what a node keeps: packets of others that are too old or too much go, oldest first, and ids stay."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from sdschat.node.clock import Clock
from sdschat.node.events import MessageDelivered, NodeEvent, TroubleMet
from sdschat.node.node import Node
from sdschat.node.silent_senders import ForgottenValues, SilentSenders
from sdschat.node.stranger_bodies import StrangerBodies
from sdschat.node.sync.extension import SyncExtension
from sdschat.sds.limits import IDS_KEPT, MAX_LAMPORT
from sdschat.store.archive import Archived, archived, newest_sizes
from sdschat.store.errors import DiskFull, StoreUnavailable
from sdschat.store.files import RESERVE_BYTES
from sdschat.store.retention import (
    bound_wal,
    drop_oldest,
    forget_kept_as_ids,
    forget_oldest,
    give_back,
    make_compact,
    merge_search,
    space,
)
from sdschat.store.retention_floor import RetentionFloor, floor_of
from sdschat.store.store import Store

EVERY: Final = 10.0  # seconds between two looks at what is too old or too much
EVERY_WHEN_FULL: Final = 2.0
STEP: Final = 200  # packets dropped at once: the loop goes on in between
_EVENTS_STEP: Final = 10 * STEP  # rows of the journal at once
_PAGES: Final = 64  # of the file given back, or of the search index merged, at once
PAUSE: Final = 0.05  # seconds between two steps
_LATE_KEPT: Final = 10_000
# Shares of what the database may use. Packets get what is left, and at least a quarter.
_IDS_SHARE: Final = 2
_IDS_LEAST_SHARE: Final = 8  # where ids take more than is counted, since each is of another sender
_IDS_AT_ONCE: Final = 16  # the part of them that goes in one look then: rows of their senders go behind them
_JOURNAL_SHARE: Final = 8
_PACKETS_SHARE: Final = 4
_EVENT_BYTES: Final = 300  # of the journal, about
_PACKET_BYTES: Final = 2000  # at least, with its row and its text, about
_COPIES: Final = 4  # of a long text in the database: in the packet, to be read, and to be searched
_OVERHEAD: Final = 1000  # bytes of a packet besides its text, about
_SAMPLE: Final = 1000  # packets of which the sizes are looked at
_WALS: Final = 4
_SPARE_SHARE: Final = 2
_NEAR: Final = 0.9  # of the size: then the user is told


class RetentionLimits(NamedTuple):
    """Limits of the age and the size of the data that is kept. 0: for ever, without a bound."""

    age: int = 0  # milliseconds
    size: int = 0  # bytes of the database in use


class Retention:
    """The limits of one node, and the steps that keep to them. Make it before the first channel is joined."""

    def __init__(
        self,
        node: Node,
        store: Store,
        limits: RetentionLimits,
        clock: Clock | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` tells the user something."""
        self.node = node
        self._stranger_bodies = StrangerBodies(node, store)
        self._silent_senders = SilentSenders(node, store)
        self._forgotten_values = ForgottenValues(node, store)
        self.limits = limits
        self._store = store
        self._clock = clock or Clock()
        self._floors: dict[str, RetentionFloor] = {}
        self._late: dict[str, list[str]] = {}
        self._compact: set[str] = set()  # channels in which nothing is left to be made compact
        self._warn = warn
        self._warned = self._is_near = False
        # For the write-ahead log, twice as long where a reader holds it, and for what comes in until the next look, in
        # the file and in the log; and for the space that is reserved beside the database.
        self._spare = min(_WALS * bound_wal(store, limits.size) + RESERVE_BYTES, limits.size // _SPARE_SHARE)
        node.listen(self._hear)

    def floor(self, channel: str) -> RetentionFloor:
        found = self._floors.get(channel)
        if found is None:
            found = self._floors[channel] = floor_of(self._store, channel)
        return found

    def _hear(self, event: NodeEvent) -> None:
        """Note a message that comes in below the floor. It is archived, since the log has it, and dropped with the next
        look."""
        if isinstance(event.body, MessageDelivered):
            message = event.body.said.message
            if (message.lamport_timestamp or 0) < self.floor(event.channel).lamport:
                late = self._late.setdefault(event.channel, [])
                if len(late) < _LATE_KEPT:
                    late.append(message.message_id)

    async def keep(self) -> None:
        """Keep the profile within its limits until cancelled, in steps too short to be felt."""
        while True:
            with contextlib.suppress(DiskFull, StoreUnavailable):
                for _ in self.tidy():
                    await asyncio.sleep(PAUSE)
                self._tell_near()
            await asyncio.sleep(self.pause())

    def pause(self) -> float:
        """Return the seconds until the next look: less where little room is left, for a flood fills a megabyte in five
        seconds."""
        full = self.limits.size and space(self._store.connection).used + 2 * self._spare > self.limits.size
        return EVERY_WHEN_FULL if full or self.node.gate.share.fills else EVERY

    def _tell_near(self) -> None:
        """Tell the user once that the size is nearly reached."""
        size, used = self.limits.size, space(self._store.connection).used
        if size and used >= size * _NEAR and not self._is_near:
            self._is_near = True
            self._warn(near(used, size))

    def tidy(self) -> Iterator[None]:
        """Drop once, step by step, what exceeds the limits."""
        yield from self._make_compact()
        if self.limits.age:
            before = self._clock.now().wall - self.limits.age
            for channel in self._store.channels():
                while self._drop(channel, before):
                    yield
        for channel in self._store.channels():
            while self._forget_kept_as_ids(channel):
                yield
        yield from self._stranger_bodies.tidy()
        yield from self._silent_senders.tidy()
        yield from self._forgotten_values.tidy()
        if self.limits.size:
            yield from self._make_room()
        if space(self._store.connection).shrinks:
            while give_back(self._store, _PAGES):
                yield

    def _make_compact(self) -> Iterator[None]:
        """Remove, once a run, the rows of the log that an earlier version left of what it dropped."""
        for channel in self._store.channels():
            if channel not in self._compact:
                while make_compact(self._store, channel, STEP):
                    yield
                self._compact.add(channel)

    def _make_room(self) -> Iterator[None]:
        """Drop the oldest first, whichever channel it is of. Whatever else takes room, the newest packets stay, and ids
        without packets and the journal have their share and no more."""
        size = self.limits.size - self._spare
        if space(self._store.connection).used <= size:
            return
        stay = _number_within(newest_sizes(self._store, _SAMPLE), size // _PACKETS_SHARE)
        while space(self._store.connection).used > size:
            # A flood writes events all the time: where few are too many, it is for packets to go.
            trimmed = self._store.trim_journal(size // _JOURNAL_SHARE // _EVENT_BYTES, _EVENTS_STEP)
            if trimmed == _EVENTS_STEP or (trimmed and space(self._store.connection).used <= size):
                yield
                continue
            channels = archived(self._store)
            if sum(one.ids_bytes for one in channels) > size // _IDS_SHARE:
                self._forget_ids(channels)
                yield
                continue
            kept = [(one.oldest, one.channel) for one in channels if one.packets]
            spare = sum(one.packets for one in channels) - stay
            if spare <= 0 or not kept or not self._drop(min(kept)[1], MAX_LAMPORT, min(STEP, spare)):
                break
            yield
        else:
            return
        while merge_search(self._store, _PAGES):
            yield
        if space(self._store.connection).used > size:
            yield from self._forget_ids_of_many(size)

    def _forget_ids_of_many(self, size: int) -> Iterator[None]:
        """Let go of some ids, since nothing else is left to go, and soon of the rows of senders without any."""
        most = sum(one.floor.ids for one in archived(self._store)) // _IDS_AT_ONCE
        for _ in range(0, most, STEP):
            channels = archived(self._store)
            taken, ids = sum(one.ids_bytes for one in channels), sum(one.floor.ids for one in channels)
            over = taken - size // _IDS_LEAST_SHARE
            if over <= 0:
                return
            self._forget_ids(channels, min(STEP, over * ids // taken + 1))
            yield
        self._silent_senders.hurry()

    def _forget_ids(self, channels: Sequence[Archived], most: int = STEP) -> None:
        """Let go of the oldest ids, and tell the operator once that there is not enough room for all of them."""
        oldest = min((one for one in channels if one.floor.ids), key=lambda one: one.floor.ids_from)
        taken = sum(one.ids_bytes for one in channels)
        if not self._warned:
            self._warned = True
            self._warn(dropping_ids(taken))
        self._begin_later(oldest.channel, forget_oldest(self._store, oldest.channel, most, self._clock.now().wall))

    def _forget_kept_as_ids(self, channel: str) -> bool:
        """Let go of some ids of messages that exceeded a limit long ago. The log does not begin later for that, since
        anybody can make such ids: other nodes delete them at the same age. Return True if there may be more of them."""
        session = self.node.sessions.get(channel)
        if session is not None and session.private is not None:
            return False  # those of messages from before we joined
        now, before = self._clock.now().wall, self.floor(channel)
        floor = self._floors[channel] = forget_kept_as_ids(self._store, channel, now - IDS_KEPT, STEP, now)
        return floor.ids_gone > before.ids_gone

    def _begin_later(self, channel: str, floor: RetentionFloor) -> None:
        """Let the log of a channel begin later than before."""
        self._floors[channel] = floor
        session = self.node.sessions.get(channel)
        if session is not None:
            session.channel.raise_horizon(self._clock.now(), floor.ids_from)
            for extension in session.extensions:
                if isinstance(extension, SyncExtension):
                    extension.catchup.begin_later(floor.ids_from)
            session.mark_ready()

    def _drop(self, channel: str, before: int, most: int = STEP) -> bool:
        """Drop some packets of one channel. Return True if there may be more to drop."""
        old = self.floor(channel)
        late = tuple(self._late.pop(channel, ()))
        new = drop_oldest(self._store, channel, before, most, self._clock.now().wall, late)
        self._floors[channel] = new
        return new.lamport > old.lamport


def _number_within(sizes: Sequence[int], room: int) -> int:
    """Return how many of the newest packets fit into so many bytes, by the sizes of some of them."""
    taken = 0
    for number, size in enumerate(sizes):
        taken += max(_PACKET_BYTES, _COPIES * (size - _OVERHEAD))
        if taken > room:
            return number
    return len(sizes) if len(sizes) < _SAMPLE else room * len(sizes) // taken


def crowded(taken: int, size: int) -> str:
    """Say that ids take too much of the room, for the operator; nothing where they do not."""
    return dropping_ids(taken) if size and taken * _IDS_SHARE >= size else ""


def dropping_ids(taken: int) -> str:
    """Say that ids go, too, and why."""
    return (
        f"ids of messages whose packets were dropped take {taken / 2**20:,.1f} MiB, half of --max-size or of what the "
        "log of the database leaves of it: the oldest ids are dropped too, and the history begins later. A larger "
        "--max-size avoids that, or --keep with a shorter time"
    )


def near(used: int, size: int) -> str:
    """Say that the database is nearly as large as it may be, for the user."""
    return (
        f"the database takes {used / 2**20:,.1f} MiB of the {size / 2**20:,.1f} MiB of store.max_size: the oldest "
        "texts of others are dropped, their ids stay, and so does everything of yours"
    )


def keep_within_limits(node: Node, store: Store, size: int) -> Retention:
    """Make the limits of an ordinary node: it drops nothing for its age."""
    return Retention(node, store, RetentionLimits(size=size), warn=lambda text: node.emit(TroubleMet(text)))
