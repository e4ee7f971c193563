"""Nodes that catch up with each other, in memory: a clock, a network that loses, and logs of plain bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from random import Random

from sdschat.catchup import HIGHEST, LOWEST, LogKey
from sdschat.catchup.exchange import Exchange, OutgoingFrame, TakenIn
from sdschat.catchup.peers import HistorySource
from sdschat.catchup.provider import HistoryProvider, StoredMessage
from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import AnswerFrame, Ask, Frame, RangeReply, Want
from sdschat.mvds.pages import Pages
from sdschat.mvds.values import Now
from sdschat.sim.companion import MemoryLog
from sdschat.wire.catchup_codec import Records, SyncCodec
from tests.catchup.compare import some_keys

GROUP = b"g" * 32
SENDER = "5e" * 16
Keys = list[tuple[int, str]]


class Peer:
    """A log whose packets say which message they are, and both sides of catching up."""

    def __init__(self, name: str, keys: Keys, seed: int) -> None:
        draw = Random(f"{name} {seed}")
        self.name = name
        self.log = MemoryLog(keys)
        self.order: list[tuple[int, str]] = []  # of what came, as it came
        self.twice = 0
        self.sent = 0
        self.asked = 0  # questions of comparisons, and those asked again
        self.ended = 0  # exchanges of which it said that they are over here
        self.lies = False
        self.hides = False  # says of every stretch that nothing is lacking
        self.absent = 0  # dependencies that are in none of the pages taken in, for each page
        self.bare: set[tuple[int, str]] = set()  # of which it has no more than that
        self.alive = True
        self.codec = SyncCodec()
        self.size = 200  # bytes of a packet
        self.exchange = Exchange(
            CatchUpSession(self.log, lambda: draw.getrandbits(64)),
            HistoryProvider(self),
            self.log,
            carrier=Pages(GROUP, name.encode(), Now(0, 0)),
            codec=self.codec,
            intake=self,
        )

    def pack(self, key: tuple[int, str]) -> bytes:
        return f"{key[0]} {key[1]} ".encode().ljust(self.size, b".")

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]:
        return self.log.keys(low, high, limit)

    def stored(
        self, low: LogKey, high: LogKey, newest_first: bool, limit: int, max_bytes: int
    ) -> Sequence[StoredMessage]:
        found = list(self.log.keys(low, high))
        if newest_first:
            found.reverse()
        most = min(limit, max_bytes // self.size + 1)
        made = [self._stored(key) for key in found[:most]]
        return [one._replace(raw=self.pack((1, "lie"))) for one in made] if self.lies else made

    def _stored(self, key: tuple[int, str]) -> StoredMessage:
        bare = key in self.bare
        return StoredMessage(LogKey(*key), b"" if bare else self.pack(key), SENDER if bare else "")

    def message(self, message_id: str) -> StoredMessage | None:
        return next((self._stored(key) for key in self.log.keys(LOWEST, HIGHEST) if key[1] == message_id), None)

    def put_told(self) -> None:
        """Put the ids into the log that others told, as a node does."""
        told = [one.key for one in self.exchange.session.take_told()]
        fresh = [key for key in told if not self.log.keys(key, LogKey(key[0], key[1] + "\0"))]
        self.log.add(fresh)
        self.bare.update(fresh)

    def take_in(self, packets: Sequence[bytes], via: str, now: Now) -> TakenIn:
        found = []
        for packet in packets:
            lamport, message_id, _ = packet.decode().split(" ")
            found.append(LogKey(int(lamport), message_id))
        if not all(map(self.exchange.session.wanted, found)):
            return TakenIn((), 0, True)
        here = {key for key in found if self.log.keys(key, LogKey(key[0], key[1] + "\0"))}
        fresh = [key for key in found if key not in here]
        self.twice += len(here)
        self.log.add(fresh)
        self.order += fresh
        return TakenIn(found, len(fresh), False, self.absent)


class World:
    """`loss` is the part of packets that get lost; every packet takes `delay` milliseconds."""

    def __init__(self, logs: dict[str, Keys], *, loss: float = 0.0, delay: int = 5, seed: int = 1) -> None:
        self.peers = {name: Peer(name, keys, seed) for name, keys in logs.items()}
        self.mono = 0
        self.loss = loss
        self._delay = delay
        self._draw = Random(seed)
        self._heap: list[tuple[int, int, str, str, bytes]] = []
        self._order = 0

    def now(self) -> Now:
        return Now(self.mono + 10**12, self.mono)

    def present(self, *names: str) -> None:
        """Set the peers that are present, as everybody sees them."""
        for peer in self.peers.values():
            others = [HistorySource(name) for name in names if name != peer.name]
            peer.exchange.session.sources(others, self.mono)
            peer.exchange.settle(self.now())
        self._collect()

    def begin(self, name: str, low: LogKey = LOWEST) -> None:
        peer = self.peers[name]
        peer.exchange.session.begin(low, HIGHEST, self.mono)
        peer.exchange.settle(self.now())
        self._collect()

    def kill(self, name: str) -> None:
        """It falls silent; its presence stays."""
        self.peers[name].alive = False

    def run(self, until: int, names: Iterable[str] | None = None) -> None:
        """Until then, or until these have nothing more to do."""
        while self.mono < until:
            if names is not None and not any(self.peers[name].exchange.session.active for name in names):
                return
            wakes = [when for peer in self.peers.values() if (when := peer.exchange.next_wake()) is not None]
            arrival = self._heap[0][0] if self._heap else until
            self.mono = max(self.mono, min(until, arrival, *wakes))
            while self._heap and self._heap[0][0] <= self.mono:
                _, _, frm, to, packet = heappop(self._heap)
                self._deliver(frm, to, packet)
            for peer in self.peers.values():
                when = peer.exchange.next_wake()
                if when is not None and when <= self.mono:
                    peer.exchange.advance(self.now())
            self._collect()

    def _deliver(self, frm: str, to: str, packet: bytes) -> None:
        peer = self.peers[to]
        if not peer.alive:
            return
        what = peer.codec.decode(packet)
        if isinstance(what, Frame) and isinstance(what.what, Ask) and peer.hides:
            equal = AnswerFrame((RangeReply(equal=True),) * len(what.what.questions))
            peer.exchange.frames.append(OutgoingFrame(frm, peer.codec.encode_frame(what._replace(what=equal)), True))
        elif isinstance(what, Frame):
            peer.exchange.frame(frm, what, self.now())
        elif isinstance(what, Records):
            peer.exchange.records(frm, what.payload, self.now())
        self._collect()

    def _collect(self) -> None:
        for peer in self.peers.values():
            for post in peer.exchange.frames:
                peer.sent += len(post.payload)
                found = peer.codec.decode(post.payload)
                peer.asked += isinstance(found, Frame) and isinstance(found.what, Ask)
                peer.ended += found == Frame(0, 0, Want((), 0))
                if peer.alive and self._draw.random() >= self.loss:
                    self._order += 1
                    heappush(self._heap, (self.mono + self._delay, self._order, peer.name, post.peer, post.payload))
            peer.exchange.frames.clear()

    def keys(self, name: str) -> Keys:
        return list(self.peers[name].log.keys(LOWEST, HIGHEST))


def digest_of(keys: Keys) -> str:
    return hashlib.sha256(repr(sorted(keys)).encode()).hexdigest()


def brought_together(common: int, ann: int, bob: int) -> tuple[World, Keys, Keys]:
    """Two who have some messages in common and were apart then, after they have brought each other up to date; and
    what each of them wrote alone."""
    later = [(lamport + 10**10, name) for lamport, name in some_keys(ann, 2)]
    others = [(lamport + 10**10, name) for lamport, name in some_keys(bob, 3)]
    before = some_keys(common)
    world = World({"ann": sorted(before + later), "bob": sorted(before + others)})
    for name in ("ann", "bob"):
        world.begin(name)
    world.present("ann", "bob")
    world.run(60_000, ["ann", "bob"])
    return world, sorted(later), sorted(others)
