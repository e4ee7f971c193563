"""Packets on their way, and who hears them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sdschat.pipeline.model.draws import Draws
from sdschat.pipeline.model.group import Array, Flags, Group
from sdschat.pipeline.model.wheel import Indices

LIVE: Final = ("message", "sync")
_COUNTED: Final = 4_096  # that so many packets are all lost is rarer than any draw can tell
_NOBODY: Final = np.zeros(0, dtype=np.int64)
_FEW: Final = 64  # senders; among more, that one of them does not hear itself makes no difference


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

    With a single packet in a step, which is the rule in small groups, that is exact. In large groups it is drawn only
    for those of whom it is asked.
    """

    __slots__ = ("_drawn", "_everyone", "_group", "_loss", "loss")

    def __init__(self, group: Group) -> None:
        self._group = group
        self._everyone: Draws | None = None
        self._drawn = group.draws.anew()
        self.loss = group.setting.loss
        self._loss = np.float32(self.loss)
        if group.heard is not None:
            self._of_everyone()

    def any_of(self, senders: Indices) -> Flags:
        """Who hears at least one of the packets of these senders."""
        draw = self._of_everyone()
        heard: Flags = draw >= self._loss ** len(senders)
        if self._group.now < self._group.setting.warm_up:
            heard &= self._group.here()
        if len(senders) <= _FEW:
            heard[senders] &= draw[senders] >= self._of_others(len(senders))
        return heard

    def who_of(self, who: Indices, senders: Indices) -> Indices:
        """As `any_of`, of these alone."""
        draw = self._of(who)
        heard: Flags = draw >= self._loss ** len(senders)
        if self._group.now < self._group.setting.warm_up:
            heard &= self._group.here(who)
        if len(senders) <= _FEW:
            mine = np.isin(who, senders)
            heard[mine] &= draw[mine] >= self._of_others(len(senders))
        return who[heard]

    def any_counted(self, counts: Array, who: Indices) -> Flags:
        """As `any_of`, for these alone, where the number of packets that count differs from one to the other."""
        lost = _all_lost(self.loss)[np.minimum(counts, _COUNTED)]
        heard: Flags = (self._of(who) >= lost) & self._group.here(who) & (counts > 0)
        return heard

    def _of_others(self, count: int) -> np.float32:
        """The chance that all the packets of others are lost, for one of so many senders; nobody hears their own."""
        return self._loss ** (count - 1) if count > 1 else np.float32(2)

    def _of_everyone(self) -> Draws:
        if self._everyone is None:
            self._everyone = self._drawn.everyone(self._group.random)
        return self._everyone

    def _of(self, who: Indices) -> Draws:
        return self._everyone[who] if self._everyone is not None else self._drawn.of(who, self._group.random)


@lru_cache(maxsize=16)
def _all_lost(loss: float) -> npt.NDArray[np.float32]:
    """The chance that all of 0, 1, 2, … packets are lost."""
    return np.float32(loss) ** np.arange(_COUNTED + 1, dtype=np.float32)
