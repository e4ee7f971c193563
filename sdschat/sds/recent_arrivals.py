"""Messages that came so lately that they may still be on their way to others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from sdschat.sds.bloom.compact import Shape, mask
from sdschat.sds.limits import ARRIVALS_KEPT


class RecentArrivals:
    """Ids in the order in which they came, which is the order in which they go.

    Every filter that is heard asks which bits they set. So that this costs the same however many there are, it is kept
    in two parts: for each of the older ones the bits of it and all older ones after it, and one sum for the newer ones.
    When the last of the older ones has gone, the newer ones take their place.
    """

    __slots__ = ("_came", "_newer", "_newer_bits", "_older")

    def __init__(self, came: Iterable[tuple[int, str]] = ()) -> None:
        # By message id: when it came, in monotonic milliseconds, ascending. At most `ARRIVALS_KEPT`.
        self._came = OrderedDict((message_id, at) for at, message_id in came)
        # Id, time, and the bits of it and of all before it in this list; the oldest of all is the last. An id that
        # has gone from `_came` is removed when it is the last.
        self._older: list[tuple[str, int, int]] = []
        # Ids that came after those in `_older` and are not in `_newer_bits`. Empty while `_older` is.
        self._newer: list[str] = []
        # Bits of the other ids that came after those in `_older`, in a filter of the own shape.
        self._newer_bits = 0

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._came

    def __iter__(self) -> Iterator[str]:
        return iter(self._came)

    def note(self, message_id: str, at: int) -> None:
        came = self._came
        if message_id in came:  # and was dropped since
            self.forget(message_id)
        came[message_id] = at
        if len(came) > ARRIVALS_KEPT:
            came.popitem(last=False)
        if self._older:
            self._newer.append(message_id)
            if len(self._newer) > len(came):  # nobody asks
                self._start_anew()

    def forget(self, message_id: str) -> None:
        if self._came.pop(message_id, None) is not None:
            self._start_anew()  # its bits cannot be taken out of sums

    def trim(self, until: int) -> None:
        """Those that came up to then are no longer fresh."""
        came = self._came
        while came:
            first = next(iter(came))
            if came[first] > until:
                break
            del came[first]

    def bits(self, shape: Shape) -> int:
        """All bits that they set in a filter of this shape, which is the same one every time."""
        came, older = self._came, self._older
        while older and came.get(older[-1][0]) != older[-1][1]:  # gone, even where it came again since
            older.pop()
        if not older:
            self._start_anew()
            bits = 0
            for message_id, at in reversed(came.items()):
                bits |= mask(message_id, shape.hashes, shape.bits)
                older.append((message_id, at, bits))
            return bits
        for message_id in self._newer:
            self._newer_bits |= mask(message_id, shape.hashes, shape.bits)
        self._newer.clear()
        return older[-1][2] | self._newer_bits

    def _start_anew(self) -> None:
        self._older.clear()
        self._newer.clear()
        self._newer_bits = 0
