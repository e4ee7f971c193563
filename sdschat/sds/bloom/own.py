"""The filter of received ids that a participant sends (spec: Participant state).

It has two generations, each of half the capacity. When the younger is full, the elder is forgotten and the younger
takes its place, so that neither adding an id nor rolling over costs more in a long history than in a short one.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.sds.bloom import compact, waku


class OwnFilter:
    """Filter of the ids we hold; `floor` promises that all that we hold and is dated no earlier is in it."""

    __slots__ = (
        "_body",
        "_cached",
        "_elder_newest",
        "_value",
        "_young_body",
        "_young_newest",
        "_young_value",
        "capacity",
        "elder",
        "filter_format",
        "floor",
        "generation",
        "shape",
        "young",
    )

    def __init__(self, filter_format: str, capacity: int, error_rate: float, floor: int) -> None:
        # "compact" or "waku".
        self.filter_format = filter_format
        # Number of ids of both generations.
        self.capacity = waku.CAPACITY if filter_format == "waku" else capacity
        # Bits and hashes of the compact filter at its full size. They never change.
        self.shape = compact.shape_for(capacity, error_rate)
        # Number of ids in each generation. A roll is due once `young` is half of `capacity`, or both fill it.
        self.elder = self.young = 0
        # The highest Lamport time in each generation; -1: none.
        self._elder_newest = self._young_newest = -1
        # Bytes of the filter as it is; None: to be made when they are asked for.
        self._cached: bytes | None = None
        # Set by `restart`: `floor`, a Lamport time; `generation`, a count of rolls; and the bits of both generations
        # and of the younger one, as numbers (`_value`, `_young_value`, compact) and as bytes (`_body`, `_young_body`,
        # waku). The bits of the younger one are part of the others.
        self.restart((), floor, 0)

    @property
    def count(self) -> int:
        return self.elder + self.young

    @property
    def full(self) -> bool:
        """Return True if the younger generation is full, or both are: time to roll over."""
        return self.young >= self.capacity // 2 or self.count >= self.capacity

    @property
    def next_floor(self) -> int:
        """Return the floor from which on the filter would be complete without its elder generation."""
        return max(self.floor, self._elder_newest + 1)

    @property
    def size(self) -> int:
        """Return the most bytes that `to_bytes` gives."""
        return waku.BYTES if self.filter_format == "waku" else compact.WINDOW_HEAD_BYTES + (self.shape.bits >> 3)

    def add(self, message_id: str, lamport: int) -> None:
        if self.filter_format == "waku":
            waku.add(self._body, message_id)
            waku.add(self._young_body, message_id)
        else:
            shape = self.shape
            bits = compact.mask(message_id, shape.hashes, shape.bits)
            self._value |= bits
            self._young_value |= bits
        self.young += 1
        if lamport > self._young_newest:
            self._young_newest = lamport
        self._cached = None

    def add_to_elder(self, message_id: str, lamport: int) -> None:
        """Add an id whose row does not tell its generation, as it is restored."""
        if self.filter_format == "waku":
            waku.add(self._body, message_id)
        else:
            self._value |= compact.mask(message_id, self.shape.hashes, self.shape.bits)
        self.elder += 1
        self._elder_newest = max(self._elder_newest, lamport)
        self._cached = None

    def roll(self) -> None:
        """Forget the elder generation."""
        self.floor = self.next_floor
        self._close_generation()
        self._value = self._young_value
        self._body = self._young_body
        self._open_generation()
        self.generation += 1

    def restart(self, ids: Iterable[tuple[int, str]], floor: int, generation: int) -> None:
        """Hold just these (Lamport, id), as the elder generation: all that we hold from `floor` on."""
        self.floor = floor
        self.generation = generation
        self._value = 0
        self._body = bytearray(waku.BYTES) if self.filter_format == "waku" else bytearray()
        self._open_generation()
        for lamport, message_id in ids:
            self.add(message_id, lamport)
        self._close_generation()
        self._open_generation()

    def _close_generation(self) -> None:
        self.elder, self._elder_newest = self.young, self._young_newest

    def _open_generation(self) -> None:
        self._young_value = 0
        self._young_body = bytearray(waku.BYTES) if self.filter_format == "waku" else bytearray()
        self._body = bytearray(self._body)  # a copy: what was the younger generation's is now the whole's
        self.young = 0
        self._young_newest = -1
        self._cached = None

    def to_bytes(self) -> bytes:
        """Return the bytes for the field `bloom_filter`."""
        if self._cached is None:
            if self.filter_format == "waku":
                self._cached = bytes(self._body)
            else:
                bits = compact.folded_bits(self.shape, self.capacity, self.count)
                self._cached = compact.encode_window(self._value, self.shape, bits, self.floor)
        return self._cached

    def compare(self, theirs: compact.CompactFilter) -> tuple[int, int] | None:
        """Return the bits that only we have set, and bits that only they have, or nothing where the two do not
        compare."""
        bits, shape = theirs.bits, self.shape
        if self.filter_format == "waku" or theirs.hashes != shape.hashes or bits not in compact.sizes(shape):
            return None
        ours = compact.fold(self._value, shape.bits, bits)
        return ours & ~theirs.value, theirs.value & ~ours

    def beyond(self, theirs: waku.WakuFilter, explained: Iterable[str]) -> bool:
        """True if this filter, of the waku format, has bits that theirs lacks, but for those of the `explained` ids."""
        ours_only = int.from_bytes(self._body, "big") & ~int.from_bytes(theirs.body, "big")
        if ours_only:
            known = bytearray(waku.BYTES)
            for message_id in explained:
                waku.add(known, message_id)
            ours_only &= ~int.from_bytes(known, "big")
        return bool(ours_only)
