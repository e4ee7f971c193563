"""The messages that came late: they stand above others that were shown before."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_KEPT: Final = 1000


class LateMessages:
    """Ids of the late messages of this run, oldest first. Of too many, the oldest are forgotten."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self.unseen: list[str] = []  # those that were not on the screen, and that the user has not jumped to

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, message_id: str) -> None:
        self._ids[message_id] = None
        self.unseen.append(message_id)
        while len(self._ids) > _KEPT:
            del self._ids[next(iter(self._ids))]
        del self.unseen[:-_KEPT]

    def see(self, ids: Collection[str]) -> bool:
        """Take away what is on the screen. Return True if this changed anything."""
        before, self.unseen = self.unseen, [one for one in self.unseen if one not in ids]
        return len(self.unseen) < len(before)

    def next(self) -> str | None:
        """Return the oldest unseen message, to which the user jumps now."""
        return self.unseen.pop(0) if self.unseen else None
