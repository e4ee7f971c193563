"""When removals are sent again, for members that have an earlier key and do not know of them."""

from __future__ import annotations

import secrets
from typing import Final

ANNOUNCE_AFTER: Final = 300  # ms, and a random part of the same length: another member may be first
ANNOUNCE_EVERY: Final = 10_000  # ms
ANNOUNCE_LATEST: Final = 64 * ANNOUNCE_EVERY  # where nothing proves that a member asks for it


class AnnouncementTimer:
    """Times are monotonic milliseconds.

    A packet under an earlier key asks for an announcement. One that a member has just made is *proven*. Others may be
    of somebody who was removed, or repeated by anybody: they are *doubtful*, and answered ever more rarely, until the
    members change.
    """

    def __init__(self) -> None:
        self.due: int | None = None
        self._last = -ANNOUNCE_LATEST
        self._doubtful = False  # the announcement that is due is for packets that anybody may have made
        self._pause = ANNOUNCE_EVERY  # of doubtful ones

    def members_changed(self) -> None:
        self._pause = ANNOUNCE_EVERY

    def ask(self, now: int, *, doubtful: bool) -> bool:
        """Plan an announcement. False if one is due already."""
        if self.due is not None and (doubtful or not self._doubtful):
            return False
        wait = ANNOUNCE_AFTER + secrets.randbelow(ANNOUNCE_AFTER)
        self.due = max(now + wait, self._last + (self._pause if doubtful else ANNOUNCE_EVERY))
        self._doubtful = doubtful
        return True

    def at_once(self, now: int) -> None:
        """Plan the announcement of a removal of our own."""
        self.due, self._doubtful = now, False

    def take(self, now: int) -> bool:
        """True if an announcement is due; it is made now."""
        if self.due is None or now < self.due:
            return False
        self.due, self._last = None, now
        if self._doubtful:
            self._pause = min(2 * self._pause, ANNOUNCE_LATEST)
        return True
