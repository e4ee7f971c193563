"""The messages that came late: they stand above others that were shown before."""

from __future__ import annotations

from typing import Final

_KEPT: Final = 1000


class LateMessages:
    """Ids of the late messages of this run, oldest first. Of too many, the oldest are forgotten."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self.unseen: list[str] = []  # those that the user has not jumped to

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

    def next(self) -> str | None:
        """Return the oldest message that the user has not jumped to, which they do now."""
        return self.unseen.pop(0) if self.unseen else None
