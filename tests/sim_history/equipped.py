"""A simulated node with everything that a real one has beside its engine: it asks Stores or is one, and writes to
others alone. All of it is the production code; only disk, network and clock are simulated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sdschat.catchup.peers import HistorySource, Rests
from sdschat.catchup.values import CatchUpState
from sdschat.mvds.engine import Engine
from sdschat.mvds.events import Delivered
from sdschat.mvds.memory import MemoryStore
from sdschat.mvds.values import Mode
from sdschat.mvds.values import Write as DirectWrite
from sdschat.node.channel.presence import STORE
from sdschat.node.store_client.verify import StoreReputation
from sdschat.node.sync.direct import CONFIG, pair_group
from sdschat.node.sync.history_sync import DAY
from sdschat.node.sync.store_pages import StorePages
from sdschat.sds.state import Ready
from sdschat.sds.values import Append, Now, Write
from sdschat.sim.companion import Companion, Disk, Parcel
from sdschat.sim.node import CHANNEL, SimNode
from sdschat.sim.scenario import Violation
from sdschat.wire.catchup_codec import DIRECT, PAGES, Records, SyncCodec
from tests.sim_history.booth import Booth, Shelf
from tests.sim_history.lying import FLOORS, BusyQuota, LyingShelf
from tests.sim_history.people import LIES

if TYPE_CHECKING:
    from tests.sim_history.world import StoreWorld

_CODEC = SyncCodec()


class FullDisk(Disk):
    """Direct messages are on it too, and where each message of the log is kept. One step is one transaction."""

    __slots__ = ("direct", "numbers", "pending", "places", "since")

    def __init__(self) -> None:
        super().__init__()
        self.direct = MemoryStore()
        self.pending: tuple[DirectWrite, ...] = ()
        self.places: list[str] = []
        self.numbers: dict[str, int] = {}
        self.since: int | None = None  # how far back the history is wanted

    def place(self, message_id: str) -> int:
        return self.numbers[message_id]

    def apply(self, writes: Iterable[Write]) -> None:
        known = list(writes)
        super().apply(known)
        for write in known:
            if isinstance(write, Append):
                self.numbers[write.row.entry.message_id] = len(self.places)
                self.places.append(write.row.entry.message_id)
        self.direct.apply(self.pending)
        self.pending = ()


class Equipped(Companion):
    """See `Companion`."""

    def __init__(self, world: StoreWorld, node: SimNode, now: Now) -> None:
        self.standing = StoreReputation()
        super().__init__(world, node, now)
        self.everyone = world
        self.person = world.people[node.index]
        self.name = self.person.address
        assert isinstance(node.store, FullDisk)
        self.disk = node.store
        self.disk.pending = ()
        lies = self.person.lies
        shelf = LyingShelf(self, lies, self._did) if lies else Shelf(self)
        quota = BusyQuota(self._did) if lies == "busy" else None
        self.booth = Booth(self, self.person, self.standing, shelf if self.person.store else None, self._floor, quota)
        self.pages = StorePages(self.booth.client, self.catch_up, self._took, self._store_failed)
        self.direct = Engine(CONFIG, self.name.encode(), self.disk.direct, now, self.disk.direct.snapshot())
        self._now = now
        self._connected = False
        self._others: Sequence[SimNode] = ()
        self._check_events: list[tuple[bytes, bytes]] = []

    def _did(self, what: str) -> None:
        """Count what this Store did that it should not."""
        self.everyone.reached[what] += 1

    def _floor(self, channel: str) -> int:
        """The date from which on this Store says to have anything."""
        floor = FLOORS.get(self.person.lies, 0)
        if floor:
            self._did(self.person.lies)
        return floor

    def since(self, now: Now) -> int:
        """The date from which on it is wanted: by `history.on_join` at the first start, and kept after that."""
        assert isinstance(self.node.store, FullDisk)
        if self.node.store.since is None:
            assert self.node.channel is not None
            horizon = self.node.channel.state.horizon
            on_join = self.world.people[self.node.index].on_join  # type: ignore[attr-defined]
            self.node.store.since = min(horizon, {"all": 0, "24h": max(0, now.wall - DAY)}.get(on_join, horizon))
        return self.node.store.since

    def rests(self) -> Rests:
        return self.standing.rests

    # What the world tells.

    def present(self, others: Sequence[SimNode], now: Now) -> None:
        self._now, self._others = now, others
        if not self._connected:
            self._connected = True
            for part in self.booth.parts:
                part.connected(now)
        people = [self.everyone.people[other.index] for other in others]
        before, presence = self.booth.presence.online, self.booth.presence
        presence.online = {person.address: person.address for person in people}
        presence.roles = {person.address: STORE for person in people if person.store}
        for person in people:
            if person.address not in before:
                self._meet(person.address)
                self.direct.peer_online(person.address, now)
        for gone in before.keys() - presence.online:
            self.exchange.gone(gone)
            self.direct.peer_offline(gone, now)
        super().present(others, now)

    def offline(self, now: Now) -> None:
        super().offline(now)
        self.pages.cancel()
        if self._connected:
            self._connected = False
            for part in self.booth.parts:
                part.disconnected(now)
        self.booth.presence.online, self.booth.presence.roles = {}, {}

    def sources(self, others: Sequence[SimNode], now: Now) -> list[HistorySource]:
        stores = self.booth.client.stores()
        people = [self.everyone.people[other.index] for other in others]
        return [
            *(HistorySource(one, True) for one in stores),
            *(HistorySource(one.address) for one in people if one.address not in stores),
        ]

    def hear(self, parcel: Parcel, now: Now) -> None:
        self._now = now
        if parcel.what == "sync":
            super().hear(parcel, now)
        else:
            self.booth.hear(parcel.what, parcel.frm, parcel.packet, now)

    def records(self, frm: str, found: Records, now: Now) -> None:
        if found.lane == PAGES:
            super().records(frm, found, now)
            return
        self._meet(frm)
        self.direct.receive(frm, found.payload, now)

    def next_wake(self) -> int | None:
        due = [super().next_wake(), self.booth.next_wake(), self.direct.next_wake() if self._connected else None]
        return min((when for when in due if when is not None), default=None)

    def advance(self, now: Now) -> None:
        self._now = now
        super().advance(now)
        self.booth.advance(now)
        when = self.direct.next_wake()
        if when is not None and when <= now.mono:
            self.direct.advance(now)

    def process(self, ready: Ready, now: Now) -> list[Parcel]:
        self._now = now
        posts = self.booth.take(ready, now, self._settle)
        parcels = super().process(ready, now)
        parcels += [Parcel(self.name, post.to, post.what, post.payload) for post in posts]
        direct = self.direct.take()
        self.disk.pending = direct.writes
        parcels += [
            Parcel(self.name, packet.peer, "sync", _CODEC.encode_records(packet.payload, DIRECT))
            for packet in direct.packets
        ]
        came = [event for event in direct.events if isinstance(event, Delivered) and event.peer]
        self._check_events += [(event.message_id, event.message.body) for event in came]
        return parcels

    def saved(self) -> None:
        told, self._check_events = self._check_events, []
        for message_id, body in told:
            self.everyone.letters.came(message_id, body, self.node.index)

    # Direct messages.

    def write(self, to: str, body: bytes, now: Now) -> bytes:
        self._meet(to)
        return self.direct.send(pair_group(CHANNEL, self.name, to), body, now, mode=Mode.BATCH)

    def _meet(self, other: str) -> None:
        self.direct.join(pair_group(CHANNEL, self.name, other), (other,))

    # Pages of Stores.

    def _settle(self) -> None:
        if self.booth.left:
            liars = {self.everyone.at[store] for store in self.booth.left}
            self.booth.left.clear()
            if not all(self.everyone.people[at].lies in LIES for at in liars):
                raise Violation("H3", f"{self.node.plan.name} takes an honest Store for a liar")
            self.everyone.noticed += len(liars)
            for at in liars:
                self.everyone.reached[f"left: {self.everyone.people[at].lies}"] += 1
            self.catch_up.sources(self.sources(self._others, self._now), self._now.mono)
        if self.catch_up.ranges is not None:
            (store, want), self.catch_up.ranges = self.catch_up.ranges, None
            self.pages.fetch(store, want)

    def _took(self, packets: Sequence[bytes], last: bool) -> str:
        if self.catch_up.state is CatchUpState.LOADING:
            self.everyone.from_stores += len(packets)
        why = self.exchange.take_in(packets, last, self._now, "store")
        self.exchange.settle(self._now)
        return why

    def _store_failed(self, store: str) -> None:
        self.catch_up.failed(store, self._now.mono)
        self.catch_up.sources(self.sources(self._others, self._now), self._now.mono)
        self.exchange.settle(self._now)
