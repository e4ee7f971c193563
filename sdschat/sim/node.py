"""One participant: the production engine, a disk in memory, two clocks, and the ways in which a machine fails."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.sds.channel import Channel
from sdschat.sds.config import Config
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Codec, Message, Now, OutgoingRow, Refusal
from sdschat.sim.literal import LiteralPeer
from sdschat.sim.network import mix
from sdschat.sim.scenario import START, Plan

CHANNEL = "lobby"


class Copied(NamedTuple):
    """A disk, as `Seen` knows it."""

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
        """The engine as it comes from the disk, which is also how one is replaced without anybody noticing."""
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
        """Whatever was not written is gone, and so are packets that arrived and were not looked at."""
        self.channel = None
        self.inbox = []
        self.wake_at = None
        self.armed = ""
