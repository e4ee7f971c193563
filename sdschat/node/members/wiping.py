"""Wiping the disk: texts that were changed or taken back leave no trace, once a compaction has removed them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sdschat.timber.events import Compacted, EventSettled, Report, StateAdopted
from sdschat.timber.values import Kind

_WIPE_AGAIN: Final = 1000  # ms


class Wiping:
    """Times are monotonic milliseconds. `wipe` returns False where a reader is in the way."""

    def __init__(self, wipe: Callable[[], bool]) -> None:
        self._wipe = wipe
        self._settled = False  # texts are settled as deleted, and still on the disk
        self._drafts = False  # a text that only we have was changed or taken back in this turn
        self.due: int | None = None

    def begin(self, *, kept: bool) -> None:
        """Begin. `kept`: the data set was on the disk before, perhaps with texts to wipe."""
        self._settled = kept

    def draft_changed(self) -> None:
        self._drafts = True

    def process(self, reports: Sequence[Report], now: int) -> bool:
        """True if the disk is to be wiped with what this turn saves, after these reports."""
        self._settled = self._settled or any(map(_deletes_texts, reports))
        wipes = self._settled and any(isinstance(report, Compacted | StateAdopted) for report in reports)
        if wipes:
            self._settled = False
        wipes, self._drafts = wipes or self._drafts, False
        if wipes:
            self.due = now + _WIPE_AGAIN  # where a reader was in the way
        return wipes

    def advance(self, now: int) -> None:
        if self.due is not None and self.due <= now:
            self.due = None if self._wipe() else now + _WIPE_AGAIN


def _deletes_texts(report: Report) -> bool:
    """True if a compaction has to remove texts from the disk, by what is reported."""
    if isinstance(report, EventSettled):
        return report.kind in (Kind.EDIT, Kind.DELETE)
    return isinstance(report, StateAdopted)
