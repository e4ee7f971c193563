"""One participant: the production engine, a disk in memory, two clocks, and the ways in which a machine fails."""

from __future__ import annotations

from sdschat.sds.channel import Channel
from sdschat.sds.config import Config
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Codec, Message, Now, Refusal
from sdschat.sim.network import mix
from sdschat.sim.scenario import START, Plan

CHANNEL = "lobby"

Arrival = tuple[bytes, Message | Refusal]


class Node:
    """The machine survives what its process does not: the disk, and how far off its wall clock is."""

    __slots__ = (
        "armed",
        "batch",
        "boots",
        "channel",
        "config",
        "gone",
        "inbox",
        "index",
        "mono_base",
        "online",
        "plan",
        "skew",
        "store",
        "wake_at",
    )

    def __init__(self, index: int, plan: Plan, config: Config) -> None:
        self.index = index
        self.plan = plan
        self.config = config
        self.store = MemoryStore()
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
        self.boots += 1
        self.mono_base = mix(self.index * 1000 + self.boots) % 1_000_000_000 - time
        self.wake_at = None
        self.armed = ""
        self.inbox = []
        self.channel = self.open(time, codec)
        return self.channel

    def open(self, time: int, codec: Codec) -> Channel:
        """The engine as it comes from the disk, which is also how one is replaced without anybody noticing."""
        name = self.plan.name
        return Channel(
            CHANNEL, name, codec=codec, history=self.store.history, secret=b"secret of " + name.encode(),
            now=self.now(time), config=self.config, snapshot=self.store.snapshot(), online=self.online,
        )  # fmt: skip

    def kill(self) -> None:
        """Whatever was not written is gone, and so are packets that arrived and were not looked at."""
        self.channel = None
        self.inbox = []
        self.wake_at = None
        self.armed = ""
