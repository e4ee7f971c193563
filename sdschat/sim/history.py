"""The world with catching up in it: every node also compares its log with others and fetches what it lacks, by the
production code of `sdschat.catchup` and MVDS, over the same bad network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sdschat.catchup.exchange import Exchange, TakenIn
from sdschat.catchup.memory import MemoryLog
from sdschat.catchup.peers import HistorySource
from sdschat.catchup.provider import HistoryProvider, StoredMessage
from sdschat.catchup.rests import Rests
from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import Frame, LogKey, RangeSummary, State
from sdschat.mvds.pages import Pages
from sdschat.sds.channel import Channel
from sdschat.sds.events import Delivered, Event, RepairCancelled
from sdschat.sds.memory import MemoryStore
from sdschat.sds.rows import Append, ChannelRow, Put, Write
from sdschat.sds.state import Ready
from sdschat.sds.values import Message, MessageKind, Now
from sdschat.sim.actions import act
from sdschat.sim.check_events import check_events
from sdschat.sim.check_state import check_sizes
from sdschat.sim.check_writes import check_writes
from sdschat.sim.network import mix
from sdschat.sim.node import SimNode
from sdschat.sim.oracle import NodeRecord
from sdschat.sim.scenario import Action, Violation
from sdschat.sim.world import ARRIVAL, WAKE, World
from sdschat.wire.catchup_codec import Records, SyncCodec

_GROUP = b"pages of the simulated channel  "
_SETTLE = 300  # milliseconds from connecting to comparing
_CODEC = SyncCodec()


class Parcel(NamedTuple):
    """A packet to one participant, on a topic of `what`: sync, store/query or store/answer."""

    frm: str
    to: str
    what: str
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
    """The history side of a node, beside its engine; gone with the process."""

    def __init__(self, world: HistoryWorld, node: SimNode, now: Now) -> None:
        self.world = world
        self.node = node
        self.codec = world.codec
        self.name = node.plan.name  # under which others write to it
        self.low = self.since(now)
        self.begin_at: int | None = now.mono + _SETTLE if node.online else None
        self.complete = False
        self.reach = self.low  # from where on the log is complete
        self.came: set[str] = set()  # by catching up, and not told yet
        assert isinstance(node.store, Disk)
        self._entries = node.store.index
        self._drawn = node.boots << 20
        self.seeker = CatchUpSession(self, self._draw, self.rests())
        self.exchange = Exchange(
            self.seeker,
            HistoryProvider(self),
            self,
            carrier=Pages(_GROUP, node.plan.name.encode(), now),
            codec=_CODEC,
            intake=self,
        )

    def since(self, now: Now) -> int:
        """The date from which on the history is wanted."""
        return 0

    def rests(self) -> Rests:
        """The table of who rests after failing."""
        return Rests()

    def _draw(self) -> int:
        self._drawn += 1
        return mix(self.node.index << 40 | self._drawn)

    # What the world tells.

    def present(self, others: Sequence[SimNode], now: Now) -> None:
        """We are connected, and these are here."""
        if not self.seeker.begun:
            self.begin_at = self.begin_at or now.mono + _SETTLE
        self.seeker.sources(self.sources(others, now), now.mono)
        self.exchange.settle(now)

    def offline(self, now: Now) -> None:
        self.begin_at = None
        self.exchange.offline()

    def sources(self, others: Sequence[SimNode], now: Now) -> list[HistorySource]:
        """Return those present that can be asked, the best first."""
        return [HistorySource(other.plan.name) for other in others]

    def hear(self, parcel: Parcel, now: Now) -> None:
        found = _CODEC.decode(parcel.packet)
        if isinstance(found, Frame):
            self.exchange.frame(parcel.frm, found, now)
        elif isinstance(found, Records):
            self.records(parcel.frm, found, now)
        else:
            raise Violation("H2", f"{self.node.plan.name} could not read what {parcel.frm} sent")
        self._witness(now)

    def records(self, frm: str, found: Records, now: Now) -> None:
        self.exchange.records(frm, found.payload, now)

    def _witness(self, now: Now) -> None:
        """Tell the engine who turned out to have what we have."""
        channel = self.node.channel
        if channel is not None:
            for stretch, ids in self.exchange.proven(lambda: channel.unacknowledged):
                channel.equal_range(now, self.world.sender_at(stretch.peer), "compared", ids)

    def next_wake(self) -> int | None:
        if self.exchange.posts:
            return 0  # at once
        due = [when for when in (self.begin_at, self.exchange.next_wake()) if when is not None]
        return min(due, default=None)

    def advance(self, now: Now) -> None:
        if self.begin_at is not None and self.begin_at <= now.mono:
            self.begin_at = None
            self.seeker.begin(LogKey(self.low, ""), LogKey(max(now.wall, self.low) + 1, ""), now.mono)
            self.world.people_changed()
        when = self.exchange.next_wake()
        if when is not None and when <= now.mono:
            self.exchange.advance(now)
        self._witness(now)

    def take(self, ready: Ready, now: Now) -> list[Parcel]:
        """Return the parcels to be sent once everything of this step is saved."""
        posts, self.exchange.posts = self.exchange.posts, []
        return [Parcel(self.name, post.peer, "sync", post.payload) for post in posts]

    def saved(self) -> None:
        """Everything of this step is saved."""

    # `Log` and `Library`, over the disk.

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary:
        return self._entries.summary(low, high)

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]:
        return self._entries.keys(low, high, limit)

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        return self._entries.cut(low, high, parts)

    def stored(
        self, low: LogKey, high: LogKey, newest_first: bool, limit: int, max_bytes: int
    ) -> Sequence[StoredMessage]:
        keys = list(self._entries.keys(low, high))
        found: list[StoredMessage] = []
        for key in (keys[::-1] if newest_first else keys)[:limit]:
            found.append(StoredMessage(LogKey(*key), self.packet(key[1]) or b""))
            max_bytes -= len(found[-1].raw)
            if max_bytes <= 0:
                break
        return found

    def packet(self, message_id: str) -> bytes | None:
        row = self.node.store.history.row(message_id)
        return None if row is None else row.raw

    # `Intake`.

    def take_in(self, packets: Sequence[bytes], via: str, now: Now) -> TakenIn:
        channel = self.node.channel
        assert channel is not None
        found: list[LogKey] = []
        absent: set[str] = set()
        new = 0
        for raw in packets:
            message = self.codec.decode(raw)
            if not isinstance(message, Message) or message.kind is not MessageKind.CONTENT:
                raise Violation("I13", f"{self.node.plan.name} was sent history that is no message")
            key = LogKey(message.lamport_timestamp or 0, message.message_id)
            if not self.seeker.wanted(key):
                if via == "store":  # its ranges are of whole dates
                    continue
                raise Violation("H1", f"{self.node.plan.name} was sent {key.message_id[:8]}, which it did not want")
            here = channel.state.holds(message.message_id)
            if here or channel.receive_history(now, message, raw, via):
                found.append(key)
                new += not here
                if not here:
                    self.came.add(message.message_id)
                holds = channel.state.holds
                absent.update(one.message_id for one in message.causal_history if not holds(one.message_id))
        return TakenIn(found, new, False, len(absent.difference(key.message_id for key in found)))


_AT_REST: Final = 3_600_000  # a Store that had not got something is asked for it again, ever more rarely


def _lowest(writes: list[Write], horizon: int) -> int:
    """The join horizon after these writes."""
    rows = (write.row for write in writes if isinstance(write, Put))
    return min((row.horizon for row in rows if isinstance(row, ChannelRow)), default=horizon)


class HistoryWorld(World):
    """`companions` by the index of their node, for as long as its process lives."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.companions: dict[int, Companion] = {}
        self.fetched = 0
        self.parcels: Counter[str] = Counter()  # sent, by what they are
        for node in self.nodes:
            node.store = self.disk()

    def disk(self) -> Disk:
        return Disk()

    def companion(self, node: SimNode, now: Now) -> Companion:
        return Companion(self, node, now)

    def act(self, action: Action) -> None:
        if action.verb == "gone for long":
            node = self.nodes[action.node]
            node.kill()
            node.gone = True
        else:
            act(self, action)

    def came_back(self) -> int:
        """The faults are over, and everyone is there: for how many milliseconds yet something is done to them."""
        return 0

    def sender_at(self, address: str) -> str:
        """The participant that others reach there."""
        return address

    def check(self) -> None:
        """Everything has converged."""

    def check_rest(self) -> None:
        """H4: in bounded time nobody compares, fetches, asks a Store or answers any more."""
        turn = self.scenario.config.sync_interval
        until = self.time + _AT_REST + 20 * turn
        while True:
            before = self.parcels.copy()
            self.run(self.time + 3 * turn, self.act)
            sent = self.parcels - before
            if not sent:
                return
            if self.time >= until:
                what = ", ".join(f"{count} on {name}" for name, count in sorted(sent.items()))
                raise Violation("H4", f"in three quiet sync intervals: {what}")

    def owed_from(self, node: SimNode) -> int:
        """The date from which on the node is owed everything."""
        return 0

    def boot(self, node: SimNode) -> None:
        self.companions.pop(node.index, None)
        super().boot(node)
        self.companions[node.index] = self.companion(node, node.now(self.time))
        self.people_changed()
        if node.channel is not None:
            self._set_wake(node, node.channel)

    def people_changed(self) -> None:
        """Tell each companion who is here: a broker tells, as soon as somebody comes or goes."""
        here = [node for node in self.nodes if node.channel is not None and node.online and not node.gone]
        for node in self.nodes:
            companion = self.companions.get(node.index)
            if companion is None or node.channel is None:
                continue
            if not node.online:
                companion.offline(node.now(self.time))
            else:
                companion.present([other for other in here if other is not node], node.now(self.time))
            self._set_wake(node, node.channel)

    def flush(self, node: SimNode) -> None:
        companion, channel = self.companions.get(node.index), node.channel
        if companion is None or channel is None:
            super().flush(node)
            return
        ready = channel.take()
        parcels = companion.take(ready, node.now(self.time))
        if companion.complete and node.armed != "before-writes":
            record = self.oracle.records[node.index]
            lowest = _lowest(ready.writes, record.horizon)
            if lowest == companion.reach < record.horizon:  # which is the one way in which it may move
                record.horizon = lowest
        if node.armed and self._dies(node, ready):
            del self.companions[node.index]
            self.people_changed()
            return
        if ready.writes:
            check_writes(self.oracle, self.oracle.records[node.index], ready.writes)
        node.store.apply(ready.writes)
        if ready.writes or ready.packets or ready.events:
            self._engine_did(node, companion, ready)
        for parcel in parcels:
            self._post(node, parcel)
        companion.saved()
        self._set_wake(node, channel)

    def _engine_did(self, node: SimNode, companion: Companion, ready: Ready) -> None:
        record = self.oracle.records[node.index]
        for packet in ready.packets:
            self._publish(node, packet)
        record.settle()
        self._check_events(record, companion, ready.events)
        self.trace.step(self.time, node.index, ready)
        check_sizes(record)

    def _check_events(self, record: NodeRecord, companion: Companion, events: list[Event]) -> None:
        """Check events. A message that came as history is told at once, with the parents that are not here yet as its
        gap: for that moment it counts as older than joining."""
        put_off, record.put_off = record.put_off, {}  # to be looked at when all events are
        for event in events:
            history = isinstance(event, Delivered) and event.message.message_id in companion.came
            horizon = record.horizon
            if isinstance(event, Delivered) and history:
                companion.came.discard(event.message.message_id)
                self.fetched += 1
                record.horizon = 1 << 62
            elif isinstance(event, RepairCancelled):
                put_off.pop(event.message_id, None)
            check_events(self.oracle, record, [event])
            record.horizon = horizon
        record.put_off = put_off
        check_events(self.oracle, record, [])

    def receivers(self, parcel: Parcel) -> list[int]:
        return [self.oracle.index[parcel.to]]

    def _post(self, node: SimNode, parcel: Parcel) -> None:
        if not node.online:
            return
        self.trace.sent(self.time, node.index, parcel.packet)
        self.parcels[parcel.what] += 1
        for receiver in self.receivers(parcel):
            what = f"{node.index} to {receiver}"
            count = self._counts.get(what, 0)
            self._counts[what] = count + 1
            for delay in self.network.fates(self.network.packet(node.index, what, count), node.index, receiver):
                self.schedule(self.time + delay, ARRIVAL, receiver, parcel)

    def _arrive(self, node: SimNode, arrival: Any) -> None:
        if not isinstance(arrival, Parcel):
            super()._arrive(node, arrival)
            return
        companion = self.companions.get(node.index)
        if companion is None or node.channel is None or not node.online:
            return
        now = node.now(self.time)
        companion.hear(arrival, now)
        self._step(node, companion, now)

    def _step(self, node: SimNode, companion: Companion, now: Now) -> None:
        """After anything that happened to a companion."""
        channel = node.channel
        assert channel is not None
        if companion.seeker.state is State.DONE and companion.seeker.begun and not companion.complete:
            companion.complete = True
            companion.reach = max(companion.low, companion.seeker.reach.lamport)
            channel.lower_horizon(now, companion.reach)
        self.flush(node)

    # Time.

    def _set_wake(self, node: SimNode, channel: Channel) -> None:
        super()._set_wake(node, channel)
        companion = self.companions.get(node.index)
        if companion is None:
            return
        due = companion.next_wake()
        if due is not None:
            at = max(due - node.mono_base, self.time)
            if node.wake_at is None or at < node.wake_at:
                node.wake_at = at
                self.schedule(at, WAKE, node.index, None)

    def _wake(self, node: SimNode) -> None:
        companion = self.companions.get(node.index)
        if companion is None or node.channel is None or node.wake_at != self.time:
            super()._wake(node)
            return
        now = node.now(self.time)
        when = companion.next_wake()
        if when is not None and when <= now.mono:
            companion.advance(now)
            self._step(node, companion, now)
        if node.channel is not None:
            node.wake_at = self.time
            super()._wake(node)
