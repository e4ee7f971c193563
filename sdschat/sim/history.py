"""The world with catching up in it: every node also compares its log with others and fetches what it lacks, by the
production code of `sdschat.catchup` and MVDS, over the same bad network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sdschat.catchup.exchange import Exchange, TakenIn
from sdschat.catchup.library import Librarian, Stored
from sdschat.catchup.memory import MemoryLog
from sdschat.catchup.progress import State
from sdschat.catchup.seeker import Seeker
from sdschat.catchup.sources import Source
from sdschat.catchup.values import Frame, Key, Summary
from sdschat.mvds.pages import Pages
from sdschat.sds.channel import Channel
from sdschat.sds.events import Delivered, Event, RepairCancelled
from sdschat.sds.memory import MemoryStore
from sdschat.sds.rows import Append, ChannelRow, Put, Write
from sdschat.sds.values import Codec, Kind, Message, Now
from sdschat.sim.ledger import Seen
from sdschat.sim.network import mix
from sdschat.sim.node import Node
from sdschat.sim.on_events import check_events
from sdschat.sim.on_state import check_sizes
from sdschat.sim.on_writes import check_writes
from sdschat.sim.scenario import Violation
from sdschat.sim.world import ARRIVAL, WAKE, World
from sdschat.wire.catchup_codec import Records, SyncCodec

_GROUP = b"pages of the simulated channel  "
_SETTLE = 300  # milliseconds from connecting to comparing
_CODEC = SyncCodec()


class Sync(NamedTuple):
    """A packet on sync/<to>/<from>."""

    frm: str
    packet: bytes


class Disk(MemoryStore):
    """A disk in memory that keeps sums over its log."""

    __slots__ = ("index",)

    def __init__(self) -> None:
        super().__init__()
        self.index = MemoryLog()

    def apply(self, writes: Iterable[Write]) -> None:
        known = list(writes)
        super().apply(known)
        keys = [write.row.entry[:2] for write in known if isinstance(write, Append)]
        if keys:
            self.index.add(keys)


class Companion:
    """What a node has beside its engine; gone with the process."""

    def __init__(self, node: Node, codec: Codec, now: Now) -> None:
        self.node = node
        self.codec = codec
        self.begin_at: int | None = now.mono + _SETTLE if node.online else None
        self.complete = False
        self.came: set[str] = set()  # by catching up, and not told yet
        assert isinstance(node.store, Disk)
        self._entries = node.store.index
        self._drawn = node.boots << 20
        self.seeker = Seeker(self, self._draw)
        self.exchange = Exchange(
            self.seeker, Librarian(self), self, carrier=Pages(_GROUP, node.plan.name.encode(), now), codec=_CODEC,
            intake=self,
        )  # fmt: skip

    def _draw(self) -> int:
        self._drawn += 1
        return mix(self.node.index << 40 | self._drawn)

    # `Log` and `Library`, over the disk.

    def summary(self, low: Key, high: Key) -> Summary:
        return self._entries.summary(low, high)

    def keys(self, low: Key, high: Key, limit: int) -> Sequence[tuple[int, str]]:
        return self._entries.keys(low, high, limit)

    def cut(self, low: Key, high: Key, parts: int) -> list[Key]:
        return self._entries.cut(low, high, parts)

    def stored(self, low: Key, high: Key, newest_first: bool, limit: int, max_bytes: int) -> Sequence[Stored]:
        keys = list(self._entries.keys(low, high))
        return [Stored(Key(*key), self.packet(key[1]) or b"") for key in (keys[::-1] if newest_first else keys)[:limit]]

    def packet(self, message_id: str) -> bytes | None:
        row = self.node.store.history.row(message_id)
        return None if row is None else row.raw

    # `Intake`.

    def take_in(self, packets: Sequence[bytes], via: str, now: Now) -> TakenIn:
        channel = self.node.channel
        assert channel is not None
        found: list[Key] = []
        new = 0
        for raw in packets:
            message = self.codec.decode(raw)
            if not isinstance(message, Message) or message.kind is not Kind.CONTENT:
                raise Violation("I13", f"{self.node.plan.name} was sent history that is no message")
            key = Key(message.lamport_timestamp or 0, message.message_id)
            if not self.seeker.wanted(key):
                raise Violation("H1", f"{self.node.plan.name} was sent {key.message_id[:8]}, which it did not want")
            here = channel.state.holds(message.message_id)
            if here or channel.receive_history(now, message, raw, via):
                found.append(key)
                new += not here
                if not here:
                    self.came.add(message.message_id)
        return TakenIn(found, new, False)


def _lowers(writes: list[Write]) -> bool:
    rows = (write.row for write in writes if isinstance(write, Put))
    return any(isinstance(row, ChannelRow) and row.horizon == 0 for row in rows)


class HistoryWorld(World):
    """`companions` by the index of their node, for as long as its process lives."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.companions: dict[int, Companion] = {}
        self.fetched = 0
        for node in self.nodes:
            node.store = Disk()

    def boot(self, node: Node) -> None:
        self.companions.pop(node.index, None)
        super().boot(node)
        self.companions[node.index] = Companion(node, self.codec, node.now(self.time))
        self.people_changed()
        if node.channel is not None:
            self._set_wake(node, node.channel)

    def people_changed(self) -> None:
        """Who is here: a broker tells, as soon as somebody comes or goes."""
        here = [node for node in self.nodes if node.channel is not None and node.online and not node.gone]
        for node in self.nodes:
            companion = self.companions.get(node.index)
            if companion is None or node.channel is None:
                continue
            now = node.now(self.time)
            if not node.online:
                companion.begin_at = None
                companion.exchange.offline()
            else:
                if not companion.seeker.begun:
                    companion.begin_at = companion.begin_at or now.mono + _SETTLE
                others = [Source(other.plan.name) for other in here if other is not node]
                companion.seeker.sources(others, now.mono)
                companion.exchange.settle(now)

    def flush(self, node: Node) -> None:
        companion, channel = self.companions.get(node.index), node.channel
        if companion is None or channel is None:
            super().flush(node)
            return
        ready = channel.take()
        posts, companion.exchange.posts = companion.exchange.posts, []
        if companion.complete and node.armed != "before-writes" and _lowers(ready.writes):
            self.ledger.seen[node.index].horizon = 0  # which is the one way in which it may move
        if node.armed and self._dies(node, ready):
            del self.companions[node.index]
            self.people_changed()
            return
        seen = self.ledger.seen[node.index]
        check_writes(self.ledger, seen, ready.writes)
        node.store.apply(ready.writes)
        for packet in ready.packets:
            self._publish(node, packet)
        for post in posts:
            self._post(node, post.peer, post.payload)
        seen.settle()
        self._told(seen, companion, ready.events)
        self.trace.step(self.time, node.index, ready)
        check_sizes(seen)
        self._set_wake(node, channel)

    def _told(self, seen: Seen, companion: Companion, events: list[Event]) -> None:
        """What came as history is told at once, with the parents that are not here yet as its gap: for that moment it
        counts as older than joining."""
        put_off, seen.put_off = seen.put_off, {}  # to be looked at when all events are
        for event in events:
            history = isinstance(event, Delivered) and event.message.message_id in companion.came
            horizon = seen.horizon
            if isinstance(event, Delivered) and history:
                companion.came.discard(event.message.message_id)
                self.fetched += 1
                seen.horizon = 1 << 62
            elif isinstance(event, RepairCancelled):
                put_off.pop(event.message_id, None)
            check_events(self.ledger, seen, [event])
            seen.horizon = horizon
        seen.put_off = put_off
        check_events(self.ledger, seen, [])

    def _post(self, node: Node, to: str, packet: bytes) -> None:
        receiver = self.ledger.index[to]
        if not node.online:
            return
        what = f"{node.index} to {receiver}"
        count = self._counts.get(what, 0)
        self._counts[what] = count + 1
        self.trace.sent(self.time, node.index, packet)
        for delay in self.network.fates(self.network.packet(node.index, what, count), node.index, receiver):
            self.schedule(self.time + delay, ARRIVAL, receiver, Sync(node.plan.name, packet))

    def _arrive(self, node: Node, arrival: Any) -> None:
        if not isinstance(arrival, Sync):
            super()._arrive(node, arrival)
            return
        companion = self.companions.get(node.index)
        if companion is None or node.channel is None or not node.online:
            return
        found = _CODEC.decode(arrival.packet)
        now = node.now(self.time)
        if isinstance(found, Frame):
            companion.exchange.frame(arrival.frm, found, now)
        elif isinstance(found, Records):
            companion.exchange.records(arrival.frm, found.payload, now)
        else:
            raise Violation("H2", f"{node.plan.name} could not read what {arrival.frm} sent")
        self._step(node, companion, now)

    def _step(self, node: Node, companion: Companion, now: Now) -> None:
        """After anything that happened to a companion."""
        channel = node.channel
        assert channel is not None
        if companion.seeker.state is State.DONE and companion.seeker.begun and not companion.complete:
            companion.complete = True
            channel.lower_horizon(now, 0)
        self.flush(node)

    # Time.

    def _set_wake(self, node: Node, channel: Channel) -> None:
        super()._set_wake(node, channel)
        companion = self.companions.get(node.index)
        if companion is None:
            return
        due = [when for when in (companion.begin_at, companion.exchange.next_wake()) if when is not None]
        if due:
            at = max(min(due) - node.mono_base, self.time)
            if node.wake_at is None or at < node.wake_at:
                node.wake_at = at
                self.schedule(at, WAKE, node.index, None)

    def _wake(self, node: Node) -> None:
        companion = self.companions.get(node.index)
        if companion is None or node.channel is None or node.wake_at != self.time:
            super()._wake(node)
            return
        now = node.now(self.time)
        if companion.begin_at is not None and companion.begin_at <= now.mono:
            companion.begin_at = None
            companion.seeker.begin(Key(0, ""), Key(now.wall + 1, ""), now.mono)
            self.people_changed()
        when = companion.exchange.next_wake()
        if when is not None and when <= now.mono:
            companion.exchange.advance(now)
            self._step(node, companion, now)
        if node.channel is not None:
            node.wake_at = self.time
            super()._wake(node)
