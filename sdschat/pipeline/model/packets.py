"""Packets on their way, and who hears them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sdschat.pipeline.model.group import Array, Flags, Group
from sdschat.pipeline.model.wheel import Indices

LIVE: Final = ("message", "sync")
_COUNTED: Final = 4_096  # that so many packets are all lost is rarer than any draw can tell
_NOBODY: Final = np.zeros(0, dtype=np.int64)


class Packet(NamedTuple):
    """What packets of one step that say the same have in common."""

    kind: str  # message, sync, answer, push, resend
    number: int  # which message it bears; -1 for none
    held: int  # what its filter claims
    named: int
    requested: int
    range_high: int  # -1: it says nothing of a range
    range_of: int  # what its sender holds of that
    range_filter: bool  # all of it, rather than a fingerprint


class Step:
    """All packets that are sent in one step, those that say the same together."""

    __slots__ = ("low", "sent")

    def __init__(self) -> None:
        self.sent: dict[Packet, Indices] = {}
        self.low: dict[Packet, Array] = {}  # the join horizon that each sender's range goes down to

    def add(self, packet: Packet, senders: Indices, low: Array | None = None) -> None:
        if packet in self.sent:
            senders = np.concatenate([self.sent[packet], senders])
            low = None if low is None else np.concatenate([self.low[packet], low])
        self.sent[packet] = senders
        if low is not None:
            self.low[packet] = low

    def live(self) -> Step:
        """Those that speak of the present: no rebroadcasts."""
        found = Step()
        found.sent = {packet: senders for packet, senders in self.sent.items() if packet.kind in LIVE}
        found.low = self.low
        return found

    def senders(self, which: Callable[[Packet], object]) -> Indices:
        """Of all packets for which this holds."""
        found = [senders for packet, senders in self.sent.items() if which(packet)]
        return np.concatenate(found) if found else _NOBODY


class Ears:
    """Who hears which of the packets of a step: one draw each, so that who hears the rarer also hears the commoner.

    With a single packet in a step, which is the rule in small groups, that is exact.
    """

    __slots__ = ("_draw", "_here", "_loss", "loss")

    def __init__(self, group: Group) -> None:
        self._draw: npt.NDArray[np.float32] = group.random.random(group.count, dtype=np.float32)
        self._here: Flags = group.here
        self.loss = group.setting.loss
        self._loss = np.float32(self.loss)

    def any_of(self, senders: Indices) -> Flags:
        """Who hears at least one of the packets of these senders."""
        count = len(senders)
        heard: Flags = (self._draw >= self._loss**count) & self._here
        if count <= 64:
            others = self._loss ** (count - 1) if count > 1 else np.float32(2)
            heard[senders] &= self._draw[senders] >= others
        return heard

    def any_counted(self, counts: Array, who: Indices) -> Flags:
        """As `any_of`, for these alone, where the number of packets that count differs from one to the other."""
        lost = _all_lost(self.loss)[np.minimum(counts, _COUNTED)]
        heard: Flags = (self._draw[who] >= lost) & self._here[who] & (counts > 0)
        return heard


@lru_cache(maxsize=16)
def _all_lost(loss: float) -> npt.NDArray[np.float32]:
    """The chance that all of 0, 1, 2, … packets are lost."""
    return np.float32(loss) ** np.arange(_COUNTED + 1, dtype=np.float32)
