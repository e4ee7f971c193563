"""Fate of each packet on its way to each receiver."""

from __future__ import annotations

from zlib import crc32

from sdschat.sim.scenario import Rates

_MASK = (1 << 64) - 1


def mix(value: int) -> int:
    """64 well-mixed bits of a number (the finalizer of SplitMix64)."""
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
        """The number of a packet: the `count`th time that `sender` sends `what`."""
        return self._seed ^ (crc32(what.encode()) << 24) ^ (count << 8) ^ sender

    def fates(self, packet: int, sender: int, receiver: int) -> list[int]:
        """The delays of the copies that arrive; none where the packet is lost."""
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
    """Pairs that a partition into these groups keeps apart; whoever is in no group is alone."""
    side = {node: index for index, group in enumerate(groups) for node in group}
    return frozenset(
        (one, other)
        for one in range(nodes)
        for other in range(nodes)
        if one != other and side.get(one, -1 - one) != side.get(other, -1 - other)
    )
