"""A node's history side in a simulation: it compares its log with others and fetches what it lacks, by the production
code of `sdschat.catchup` and MVDS."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from sdschat.catchup.exchange import Exchange, TakenIn
from sdschat.catchup.index import RangeIndex, split
from sdschat.catchup.peers import HistorySource, Rests
from sdschat.catchup.provider import HistoryProvider, StoredMessage
from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import HIGHEST, LOWEST, Ask, Frame, LogKey, Question, QuestionKind, RangeSummary
from sdschat.mvds.pages import Pages
from sdschat.sds.memory import MemoryStore
from sdschat.sds.state import Ready
from sdschat.sds.values import Append, Message, MessageKind, Now, Write
from sdschat.sim.node import SharedCodec, SimNode, mix
from sdschat.sim.scenario import Scenario, Violation
from sdschat.wire.catchup_codec import Records, SyncCodec

_GROUP = b"pages of the simulated channel  "
_SETTLE = 300  # milliseconds from connecting to comparing
_CODEC = SyncCodec()
_ODD = 5  # parts or cells: fewer than a comparison asks for


class Parcel(NamedTuple):
    """A packet to one participant, on a topic of `what`: sync, store/query or store/answer."""

    frm: str
    to: str
    what: str
    packet: bytes


def odd_question(frm: str, to: str, number: int) -> Parcel:
    """Return a question that no comparison asks, such as for no cells. Each number asks another one."""
    kinds = list(QuestionKind)
    question = Question(kinds[number % len(kinds)], LOWEST, HIGHEST, number // len(kinds) % _ODD)
    return Parcel(frm, to, "sync", _CODEC.encode_frame(Frame(number, 1, Ask(number, (question,)))))


class MemoryLog:
    """A log in memory, as a comparison wants it: sorted keys, and the index over them."""

    def __init__(self, keys: Iterable[tuple[int, str]] = ()) -> None:
        self._keys = sorted(keys)
        self.index = RangeIndex(split(LOWEST, self._keys))

    def add(self, keys: Sequence[tuple[int, str]]) -> None:
        self._keys = sorted([*self._keys, *keys])
        self.index.apply(self.index.draft(keys, (), self.keys))

    def discard(self, keys: Sequence[tuple[int, str]]) -> None:
        gone = set(keys)
        self._keys = [key for key in self._keys if key not in gone]
        self.index.apply(self.index.draft((), keys, self.keys))

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary:
        return self.index.summary(low, high, self.keys)

    def keys(self, low: LogKey, high: LogKey, limit: int = -1) -> Sequence[tuple[int, str]]:
        found = self._keys[bisect_left(self._keys, low) : bisect_left(self._keys, high)]
        return found if limit < 0 else found[:limit]

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        return self.index.cut(low, high, parts, self.keys)


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


class CompanionWorld(Protocol):
    """The world, as far as a companion uses it."""

    scenario: Scenario
    codec: SharedCodec
    time: int

    def sender_at(self, address: str) -> str:
        """Return the participant that others reach there."""

    def people_changed(self) -> None:
        """Tell each companion who is here."""


class Companion:
    """The history side of a node, beside its engine; gone with the process."""

    def __init__(self, world: CompanionWorld, node: SimNode, now: Now) -> None:
        self.world = world
        self.node = node
        self.codec = world.codec
        self.name = node.plan.name  # under which others write to it
        self.low = self.since(now)
        self.begin_at: int | None = now.mono + _SETTLE if node.online else None
        self.complete = False
        self.reach = self.low  # from where on the log is complete
        self.came: set[str] = set()  # by catching up, and not told yet
        self.given: set[str] = set()  # the same, with what was here, since all were asked last
        assert isinstance(node.store, Disk)
        self._entries = node.store.index
        self._drawn = node.boots << 20
        self.catch_up = CatchUpSession(self, self._draw, self.rests())
        self.exchange = Exchange(
            self.catch_up,
            HistoryProvider(self),
            self,
            carrier=Pages(_GROUP, node.plan.name.encode(), now),
            codec=_CODEC,
            intake=self,
        )

    def since(self, now: Now) -> int:
        """Return the date from which on the history is wanted."""
        return 0

    def rests(self) -> Rests:
        """Return the table of who rests after failing."""
        return Rests()

    def _draw(self) -> int:
        self._drawn += 1
        return mix(self.node.index << 40 | self._drawn)

    def end(self, now: Now) -> None:
        """End catching up, and check H5: what all who were asked gave waits no more for what none of them gave."""
        channel, given = self.node.channel, self.given
        if channel is None or not given:
            return
        self.given = set()
        buffered = channel.state.incoming.buffered
        self.came.update(given & buffered.keys())
        channel.end_history(now)
        for message_id in given & buffered.keys():
            unmet = buffered[message_id].unmet
            if unmet and unmet.keys().isdisjoint(buffered.keys() - given):
                raise Violation("H5", f"{self.node.plan.name} was given {message_id[:8]}, and does not show it")

    # What the world tells.

    def present(self, others: Sequence[SimNode], now: Now) -> None:
        """Take in which others are here, while we are connected."""
        if not self.catch_up.begun:
            self.begin_at = self.begin_at or now.mono + _SETTLE
        self.catch_up.sources(self.sources(others, now), now.mono)
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
        if self.exchange.frames:
            return 0  # at once
        due = [when for when in (self.begin_at, self.exchange.next_wake()) if when is not None]
        return min(due, default=None)

    def advance(self, now: Now) -> None:
        if self.begin_at is not None and self.begin_at <= now.mono:
            self.begin_at = None
            self.catch_up.begin(LogKey(self.low, ""), LogKey(max(now.wall, self.low) + 1, ""), now.mono)
            self.world.people_changed()
        when = self.exchange.next_wake()
        if when is not None and when <= now.mono:
            self.exchange.advance(now)
        self._witness(now)

    def process(self, ready: Ready, now: Now) -> list[Parcel]:
        """Return the parcels to be sent once everything of this step is saved."""
        frames, self.exchange.frames = self.exchange.frames, []
        return [Parcel(self.name, frame.peer, "sync", frame.payload) for frame in frames]

    def saved(self) -> None:
        """Note that everything of this step is saved."""

    # `ComparedLog` and `HistoryLibrary`, over the disk.

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
            found.append(self.message(key[1]) or StoredMessage(LogKey(*key), b""))
            max_bytes -= len(found[-1].raw)
            if max_bytes <= 0:
                break
        return found

    def message(self, message_id: str) -> StoredMessage | None:
        row = self.node.store.history.row(message_id)
        return None if row is None else StoredMessage(LogKey(*row.entry[:2]), row.raw)

    # `HistoryIntake`.

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
            if not self.catch_up.wanted(key):
                if via == "store":  # its ranges are of whole dates
                    continue
                raise Violation("H1", f"{self.node.plan.name} was sent {key.message_id[:8]}, which it did not want")
            here = channel.state.holds(message.message_id)
            if channel.receive_history(now, message, raw, via) or here:
                self.given.add(message.message_id)
                found.append(key)
                new += not here
                if not here:
                    self.came.add(message.message_id)
                holds = channel.state.holds
                absent.update(one.message_id for one in message.causal_history if not holds(one.message_id))
        return TakenIn(found, new, False, len(absent.difference(key.message_id for key in found)))
