"""Settings of an engine, checked once, when they are made. Durations are in milliseconds, back-off is in epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sdschat.mvds.limits import KIB, MAX_PACKET_BYTES, MIB
from sdschat.mvds.values import Mode

SECOND = 1000
MINUTE = 60 * SECOND

Ordering = Literal["causal", "eventual"]
Unit = Literal["s", "ms", "ns"]


@dataclass(frozen=True, slots=True)
class Config:
    """Each field is the setting named in its comment. Times are in milliseconds unless the comment says epochs."""

    epoch: int = 1 * SECOND  # mvds.epoch: length of an epoch; at most one payload per peer and epoch
    mode: Mode = Mode.INTERACTIVE  # mvds.mode: used where neither the message nor the peer sets one
    ordering: Ordering = "causal"  # mvds.ordering: deliver after the parents, or on arrival
    packet_bytes: int = 64 * KIB  # mvds.packet_bytes: a payload is split into packets of at most this size
    payload_bytes: int = 1 * MIB  # mvds.payload_bytes: most bytes to one peer in one epoch; further records wait
    backoff_first: int = 2  # mvds.backoff_first: epochs until the second sending: an answer takes up to one each way
    backoff_max: int = 4096  # mvds.backoff_max: most epochs between two sendings
    backoff_low: int = 64  # mvds.backoff_low: epochs with which the delay goes on after the maximum
    jitter: float = 0.25  # mvds.jitter: largest part by which a delay is made longer or shorter
    expire_after: int = 14  # mvds.expire_after: sendings without contact until a record rests; 0: never
    presence_interval: int = 10 * SECOND  # mvds.presence_interval: a peer's records are brought forward once in it
    presence_batch: int = 1000  # mvds.presence_batch: most records brought forward at a time
    lost_after: int = 10 * MINUTE  # mvds.lost_after: time that a message waits for parents; 0: for ever
    fetch_parents: bool = True  # mvds.fetch_parents: request absent parents from the sender of the child
    forward: bool = False  # mvds.forward: offer received messages to the other peers (2/MVDS has no such rule)
    metadata: bool = True  # mvds.metadata: name parents in own messages
    timestamp_unit: Unit = "ns"  # mvds.timestamp_unit: "s" as the Go implementation has it

    def __post_init__(self) -> None:
        for problem in self.problems():
            raise ValueError(problem)

    def problems(self) -> list[str]:
        """Return one text for each wrong value: the setting, its value and the values allowed."""
        found: list[str] = []

        def within(name: str, value: float, low: float, high: float) -> None:
            if not low <= value <= high:
                found.append(f"{name} is {value}, and must be from {low} to {high}")

        day = 24 * 60 * MINUTE
        within("mvds.epoch", self.epoch, 1, 60 * MINUTE)
        within("mvds.packet_bytes", self.packet_bytes, 1024, MAX_PACKET_BYTES)
        within("mvds.payload_bytes", self.payload_bytes, self.packet_bytes, 1024 * MIB)
        within("mvds.backoff_first", self.backoff_first, 2, 1_000_000)
        within("mvds.backoff_max", self.backoff_max, self.backoff_first, 1_000_000)
        within("mvds.backoff_low", self.backoff_low, 1, self.backoff_max)
        within("mvds.jitter", self.jitter, 0, 0.5)
        within("mvds.expire_after", self.expire_after, 0, 10_000)
        within("mvds.presence_interval", self.presence_interval, 0, day)
        within("mvds.presence_batch", self.presence_batch, 1, 100_000)
        within("mvds.lost_after", self.lost_after, 0, 30 * day)
        return found

    def epochs(self, duration: int) -> int:
        """Return a duration as a number of whole epochs, rounded up."""
        return -(-duration // self.epoch)
