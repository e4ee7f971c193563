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
    """Each field stands for the setting named in its comment."""

    epoch: int = 1 * SECOND  # mvds.epoch: at most one payload a peer in each
    mode: Mode = Mode.INTERACTIVE  # mvds.mode: where neither the message nor the peer says otherwise
    ordering: Ordering = "causal"  # mvds.ordering: hand over after the parents, or as it comes
    packet_bytes: int = 64 * KIB  # mvds.packet_bytes: a payload is split at this size
    payload_bytes: int = 1 * MIB  # mvds.payload_bytes: what one peer is sent in one epoch; the rest waits
    backoff_first: int = 2  # mvds.backoff_first: epochs until the second sending: an answer takes up to one each way
    backoff_max: int = 4096  # mvds.backoff_max: epochs between two sendings, at most
    backoff_low: int = 64  # mvds.backoff_low: where it goes on after the bound
    jitter: float = 0.25  # mvds.jitter: by what part a delay may be longer or shorter
    expire_after: int = 14  # mvds.expire_after: sendings without contact; 0 for no end
    presence_interval: int = 10 * SECOND  # mvds.presence_interval: a peer's records come forward once in it
    presence_batch: int = 1000  # mvds.presence_batch: as many of them at a time
    lost_after: int = 10 * MINUTE  # mvds.lost_after: how long a message waits for parents; 0 for ever
    fetch_parents: bool = True  # mvds.fetch_parents: ask whoever sent a message for the parents we lack
    forward: bool = False  # mvds.forward: offer what came from one peer to the others (2/MVDS has no such rule)
    metadata: bool = True  # mvds.metadata: name parents in own messages
    timestamp_unit: Unit = "ns"  # mvds.timestamp_unit: "s" as the Go implementation has it

    def __post_init__(self) -> None:
        for problem in self.problems():
            raise ValueError(problem)

    def problems(self) -> list[str]:
        """What is wrong with these values, in words that name the setting, the value and what would do."""
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
        """A duration as a number of whole epochs, rounded up."""
        return -(-duration // self.epoch)
