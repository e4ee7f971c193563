"""Wiping the disk: texts that were changed or taken back leave no trace, once a compaction has removed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sdschat.timber.events import Compacted, Report, StateAdopted

_WIPE_AGAIN: Final = 1000  # ms


class Wiping:
    """Times are monotonic milliseconds. `wipe` returns False where a reader is in the way."""

    def __init__(self, wipe: Callable[[], bool]) -> None:
        self._wipe = wipe
        self._unsure = False  # texts may be on the disk that a compaction before this start should have wiped
        self._drafts = False  # a text that only we have was changed or taken back in this turn
        self.due: int | None = None

    def begin(self, *, kept: bool) -> None:
        """Begin. `kept`: the data set was on the disk before, perhaps with texts to wipe."""
        self._unsure = kept

    def draft_changed(self) -> None:
        self._drafts = True

    def process(self, reports: Iterable[Report], now: int) -> bool:
        """True if the disk is to be wiped with what this turn saves, after these reports."""
        ends = [report for report in reports if isinstance(report, Compacted | StateAdopted)]
        wipes = any(self._unsure or isinstance(end, StateAdopted) or end.wipes for end in ends)
        self._unsure = self._unsure and not ends
        wipes, self._drafts = wipes or self._drafts, False
        if wipes:
            self.due = now + _WIPE_AGAIN  # where a reader was in the way
        return wipes

    def advance(self, now: int) -> None:
        if self.due is not None and self.due <= now:
            self.due = None if self._wipe() else now + _WIPE_AGAIN
