"""One participant: the production engine, a disk in memory, two clocks, and the ways in which a machine fails.

Between participants: the fate of each packet on its way to each receiver.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from sdschat.sds.channel import Channel
from sdschat.sds.config import Config
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Codec, Message, Now, OutgoingRow, Refusal
from sdschat.sim.literal import LiteralPeer
from sdschat.sim.scenario import START, Plan, Rates
from sdschat.wire.sds_codec import SdsCodec

_MASK = (1 << 64) - 1


def mix(value: int) -> int:
    """Return 64 well-mixed bits of a number (the finalizer of SplitMix64)."""
    value = (value * 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


class SimNetwork:
    """Loses, doubles and delays. A fate follows from the seed, the packet, its sender and receiver, and no more."""

    __slots__ = ("_duplicate", "_loss", "_rates", "_seed", "_tail", "blocked", "calm")

    def __init__(self, seed: int, rates: Rates) -> None:
        self._seed = mix(seed)
        self._rates = rates
        self._loss = int(rates.loss * 65536)
        self._duplicate = int(rates.duplicate * 65536)
        self._tail = int(rates.tail * 65536)
        self.blocked: frozenset[tuple[int, int]] = frozenset()
        self.calm = False

    def packet(self, sender: int, what: str, count: int) -> int:
        """Return the number of a packet: the `count`th time that `sender` sends `what`."""
        return self._seed ^ (crc32(what.encode()) << 24) ^ (count << 8) ^ sender

    def fates(self, packet: int, sender: int, receiver: int) -> list[int]:
        """Return the delays of the copies that arrive; none where the packet is lost."""
        if (sender, receiver) in self.blocked:
            return []
        rates = self._rates
        bits = mix(packet ^ (receiver << 16))
        if self.calm:
            return [1 + (bits & 63)]
        if (bits & 0xFFFF) < self._loss:
            return []
        delays = [self._delay(bits >> 16)]
        if self._duplicate and ((bits >> 48) & 0xFFFF) < self._duplicate:
            extra = mix(bits)
            delays.append(self._delay(extra) + rates.latency)
            if not extra & 7:
                delays.append(rates.tail_ms + (extra >> 40) % (rates.tail_ms + 1))
        return delays

    def _delay(self, bits: int) -> int:
        rates = self._rates
        delay = 1 + rates.latency + (bits & 0xFFFF) * rates.jitter // 65536
        if self._tail and (bits >> 16) & 0xFFFF < self._tail:
            # A heavy tail: half of the slow packets take twice as long as the other half, and so on.
            delay += rates.tail_ms >> ((bits >> 2) & 3)
        return delay


def split(groups: tuple[tuple[int, ...], ...], nodes: int) -> frozenset[tuple[int, int]]:
    """Return the pairs that a partition into these groups keeps apart; a node in no group is alone."""
    side = {node: index for index, group in enumerate(groups) for node in group}
    return frozenset(
        (one, other)
        for one in range(nodes)
        for other in range(nodes)
        if one != other and side.get(one, -1 - one) != side.get(other, -1 - other)
    )


CHANNEL = "lobby"


class Copied(NamedTuple):
    """A disk, as `NodeRecord` knows it."""

    horizon: int
    log: dict[str, int]
    buffered: dict[str, int]
    future_dated: dict[str, None]
    outgoing: dict[str, OutgoingRow]
    last_own: int


class Backup(NamedTuple):
    """A copy of a disk, and of what the world knows of it."""

    store: MemoryStore
    copied: Copied


Arrival = tuple[bytes, Message | Refusal]


class SimNode:
    """The machine survives what its process does not: the disk, and how far off its wall clock is."""

    __slots__ = (
        "armed",
        "backup",
        "batch",
        "boots",
        "channel",
        "config",
        "gone",
        "inbox",
        "index",
        "later",
        "literal",
        "mono_base",
        "online",
        "plan",
        "skew",
        "store",
        "wake_at",
    )

    def __init__(self, index: int, plan: Plan, config: Config, later: Config | None = None) -> None:
        self.index = index
        self.plan = plan
        self.config = config
        self.later = later  # the settings from its second start on
        self.literal: LiteralPeer | None = None
        self.backup: Backup | None = None
        self.store = MemoryStore(plan.bodies or None)
        self.skew = plan.skew
        self.batch = plan.batch
        self.channel: Channel | None = None
        self.online = True
        self.gone = plan.joins
        self.armed = ""  # the point of the next step at which the process dies
        self.inbox: list[Arrival] = []
        self.wake_at: int | None = None
        self.boots = 0
        self.mono_base = 0

    def now(self, time: int) -> Now:
        return Now(START + time + self.skew, self.mono_base + time)

    def boot(self, time: int, codec: Codec) -> Channel:
        """Start the process. Its monotonic clock starts anew, somewhere."""
        if self.boots and self.later is not None:
            self.config = self.later
        self.boots += 1
        self.mono_base = mix(self.index * 1000 + self.boots) % 1_000_000_000 - time
        self.wake_at = None
        self.armed = ""
        self.inbox = []
        self.channel = self.open(time, codec)
        return self.channel

    def boot_literal(self, time: int, codec: Codec) -> LiteralPeer:
        """Start a peer that is the specification and no more. It has neither engine nor disk."""
        self.boots += 1
        self.literal = LiteralPeer(CHANNEL, self.plan.name, self.config, codec, self.now(time), self.plan.literal)
        return self.literal

    def open(self, time: int, codec: Codec) -> Channel:
        """Open the engine as it comes from the disk, which is also how one is replaced without anybody noticing."""
        name = self.plan.participant
        return Channel(
            CHANNEL,
            name,
            codec=codec,
            history=self.store.history,
            secret=b"secret of " + name.encode(),
            now=self.now(time),
            config=self.config,
            snapshot=self.store.snapshot(),
            online=self.online,
        )

    def has_packet(self, message_id: str) -> bool:
        """True if it could send this message."""
        if self.literal is not None:
            return message_id in self.literal.bodies
        return self.channel is not None and self.channel.state.packet_of(message_id) is not None

    def kill(self) -> None:
        """Kill the process: whatever was not written is gone, and so are packets that arrived and were not looked
        at."""
        self.channel = None
        self.inbox = []
        self.wake_at = None
        self.armed = ""


class SharedCodec:
    """The production codec, but that equal bytes are decoded once: decoding is pure, and everyone hears the same."""

    __slots__ = ("_codec", "_known", "encode", "size")

    def __init__(self, max_message_bytes: int) -> None:
        self._codec = SdsCodec(max_message_bytes)
        self._known: dict[bytes, Message | Refusal] = {}
        self.encode, self.size = self._codec.encode, self._codec.size

    def decode(self, packet: bytes) -> Message | Refusal:
        known = self._known.get(packet)
        if known is None:
            known = self._known[packet] = self._codec.decode(packet)
        return known
