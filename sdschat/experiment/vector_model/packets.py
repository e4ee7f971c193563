"""Packets on their way, and their receivers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.group import Array, Draws, Flags, Group, StepDraws
from sdschat.experiment.vector_model.timer_wheel import NOBODY, Indices
from sdschat.sds.bloom import compact
from sdschat.sds.bloom.compact import RangePrint
from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.config import SPEC
from sdschat.sds.values import HistoryEntry, Message
from sdschat.sim.scenario import START
from sdschat.wire.sds_codec import SdsCodec

LIVE: Final = ("message", "sync")
_COUNTED: Final = 4_096  # the loss of so many packets together is too rare for any random draw
_FEW: Final = 64  # senders; with more it makes no difference that a sender does not receive its own packet
_CODEC = SdsCodec()
_CAPACITY, _ERROR = SPEC.bloom_capacity, SPEC.bloom_error_rate


class PacketGroup(NamedTuple):
    """The common content of all equal packets of one step."""

    kind: str  # message, sync, answer, push, resend
    number: int  # the message it carries; -1 for none
    held: int  # the messages in its filter
    named: int
    requested: int
    range_high: int  # the last message of its range; -1: the packet has no range
    range_of: int  # the messages of the range that its sender holds
    range_filter: bool  # True: a filter of the whole range; False: a fingerprint


class Step:
    """All packets sent in one step, equal ones together."""

    __slots__ = ("low", "sent")

    def __init__(self) -> None:
        self.sent: dict[PacketGroup, Indices] = {}
        self.low: dict[PacketGroup, Array] = {}  # the join horizon of each sender, at which its range begins

    def add(self, packet: PacketGroup, senders: Indices, low: Array | None = None) -> None:
        if packet in self.sent:
            senders = np.concatenate([self.sent[packet], senders])
            low = None if low is None else np.concatenate([self.low[packet], low])
        self.sent[packet] = senders
        if low is not None:
            self.low[packet] = low

    def live(self) -> Step:
        """Return the step without rebroadcasts: only packets about the present."""
        found = Step()
        found.sent = {packet: senders for packet, senders in self.sent.items() if packet.kind in LIVE}
        found.low = self.low
        return found

    def senders(self, which: Callable[[PacketGroup], object]) -> Indices:
        found = [senders for packet, senders in self.sent.items() if which(packet)]
        return np.concatenate(found) if found else NOBODY


class Ears:
    """The receivers of a step's packets. One draw each: who hears a rarer packet also hears a more common one.

    With a single packet in a step that is exact. In large groups it is drawn only for those that are asked for.
    """

    __slots__ = ("_drawn", "_everyone", "_group", "_loss")

    def __init__(self, group: Group) -> None:
        self._group = group
        self._everyone: Draws | None = None
        self._drawn = StepDraws(group.random)
        self._loss = np.float32(group.setting.loss)
        if group.heard is not None:
            self._of_everyone()

    def any_of(self, senders: Indices) -> Flags:
        """Return True for each participant that hears at least one packet of these senders."""
        draw = self._of_everyone()
        heard: Flags = draw >= self._loss ** len(senders)
        if self._group.now < self._group.setting.warm_up:
            heard &= self._group.here()
        if len(senders) <= _FEW:
            heard[senders] &= draw[senders] >= self._of_others(len(senders))
        return heard

    def who_of(self, who: Indices, senders: Indices) -> Indices:
        """Do what `any_of` does, but only for these participants, in order; return those that hear one."""
        draw = self._of(who)
        heard: Flags = draw >= self._loss ** len(senders)
        if self._group.now < self._group.setting.warm_up:
            heard &= self._group.here(who)
        if len(senders) <= _FEW:
            mine = _places(who, senders)
            heard[mine] &= draw[mine] >= self._of_others(len(senders))
        return who[heard]

    def any_counted(self, counts: Array, who: Indices) -> Flags:
        """Do what `any_of` does, but only for these participants, each with its own number of packets."""
        lost = _all_lost(self._group.setting.loss)[np.minimum(counts, _COUNTED)]
        heard: Flags = (self._of(who) >= lost) & self._group.here(who) & (counts > 0)
        return heard

    def _of_others(self, count: int) -> np.float32:
        """Return the probability that a sender loses all packets of the other senders; nobody hears its own packet."""
        return self._loss ** (count - 1) if count > 1 else np.float32(2)

    def _of_everyone(self) -> Draws:
        if self._everyone is None:
            self._everyone = self._drawn.of(self._group.everyone)
        return self._everyone

    def _of(self, who: Indices) -> Draws:
        return self._everyone[who] if self._everyone is not None else self._drawn.of(who)


def _places(who: Indices, some: Indices) -> Indices:
    """Return the places of some participants among others, which are in order."""
    at = np.searchsorted(who, some)
    there = at < len(who)
    there[there] = who[at[there]] == some[there]
    return at[there]


@lru_cache(maxsize=16)
def _all_lost(loss: float) -> npt.NDArray[np.float32]:
    return np.float32(loss) ** np.arange(_COUNTED + 1, dtype=np.float32)


def _id(at: int) -> str:
    return sha256(b"%d" % at).hexdigest()


@lru_cache(maxsize=4096)
def packet_bytes(
    name: str, content: int, held: int, named: int, requested: int, layout: str = "compact", section: str = ""
) -> int:
    """Return the size of a packet. `section`: "print", or "range" with its number of ids, like "range 5"."""
    own = OwnFilter(layout, _CAPACITY, _ERROR, START)
    for at in range(held):
        own.add(_id(at), START)
    packed = own.to_bytes() + _section(section)
    entries = [HistoryEntry(_id(at), None, name) for at in range(named + requested)]
    message_id = _id(-1) if content else "sync-" + _id(-1)[:32]
    message = Message(
        name,
        message_id,
        "lobby",
        START,
        tuple(entries[:named]),
        packed,
        tuple(entries[named:]),
        b"." * content if content else None,
    )
    return len(_CODEC.encode(message))


def _section(section: str) -> bytes:
    if section == "print":
        return compact.encode_print(RangePrint(START, START, 1, 1))
    if section:
        ids = [_id(at) for at in range(int(section.split()[1]))]
        return compact.encode_range(ids, START, START, _ERROR, 1)
    return b""
