"""The filter of received ids that a participant sends (spec: Participant state).

Two generations share one set of bits: what was kept at the last roll-over, and what came since. When the filter holds
`capacity` ids it rolls over: it is made anew from the newest half of them. Both adding an id and rolling over cost
the same whatever the length of the history; the roll is paid for by the additions before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.sds.bloom import compact, waku


class OwnFilter:
    """Which ids we hold; `floor` promises that all that we hold and is dated no earlier is in it."""

    __slots__ = ("_body", "_cached", "_value", "capacity", "count", "floor", "generation", "layout", "shape")

    def __init__(self, layout: str, capacity: int, error_rate: float, floor: int) -> None:
        self.layout = layout
        self.capacity = waku.CAPACITY if layout == "waku" else capacity
        self.shape = compact.shape_for(capacity, error_rate)
        self.floor = floor
        self.generation = 0
        self.count = 0
        self._value = 0
        self._body = bytearray(waku.BYTES) if layout == "waku" else bytearray()
        self._cached: bytes | None = None

    @property
    def full(self) -> bool:
        return self.count >= self.capacity

    def add(self, message_id: str) -> None:
        if self.layout == "waku":
            waku.add(self._body, message_id)
        else:
            self._value |= compact.mask(message_id, self.shape.hashes, self.shape.bits)
        self.count += 1
        self._cached = None

    def restart(self, ids: Iterable[str], floor: int, generation: int) -> None:
        """Roll over: hold just these ids, all that we hold from `floor` on."""
        self._value = 0
        self._body = bytearray(waku.BYTES) if self.layout == "waku" else bytearray()
        self.count = 0
        self.floor = floor
        self.generation = generation
        for message_id in ids:
            self.add(message_id)

    def to_bytes(self) -> bytes:
        """What goes into `bloom_filter`."""
        if self._cached is None:
            if self.layout == "waku":
                self._cached = bytes(self._body)
            else:
                bits = compact.folded_bits(self.shape, self.capacity, self.count)
                self._cached = compact.encode_window(self._value, self.shape, bits, self.floor)
        return self._cached

    def compare(self, theirs: compact.CompactFilter) -> tuple[int, int] | None:
        """Bits that only we have set, and bits that only they have, or nothing where the two do not compare."""
        bits, shape = theirs.bits, self.shape
        if self.layout == "waku" or theirs.hashes != shape.hashes or bits not in compact.sizes(shape):
            return None
        ours = compact.fold(self._value, shape.bits, bits)
        return ours & ~theirs.value, theirs.value & ~ours
