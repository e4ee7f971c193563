"""The line above the messages that the user has not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.node.view.values import Key
from sdschat.tui.model.items import MessageItem

_NOTHING_READ: Final = (0, "")


class UnreadLine:
    """`after` is the key of the row below which the line stands; None: it is not drawn."""

    def __init__(self, read: Key | None, came: int, *, unread: bool) -> None:
        """`read`: the key up to which the log was read when the user left; `came`: when they came back, epoch ms."""
        self._left = read or _NOTHING_READ
        self._came = came
        self.after: Key | None = self._left if unread else None

    def note_missed(self, key: Key) -> None:
        """Draw the line where the user left the log, if this message was said after that and before they came back:
        they see it come in, and not that it is new."""
        if self.after is None and _NOTHING_READ < self._left < key and key[0] < self._came:
            self.after = self._left

    def draw_above(self, key: Key, rows: Iterable[MessageItem]) -> None:
        """Draw the line above the row with this key, among these, unless it is drawn."""
        if self.after is None:
            self.after = max((row.key for row in rows if row.key < key), default=_NOTHING_READ)

    def forget(self) -> None:
        """Draw no line, and forget the place where the user left the log the last time."""
        self.after = None
        self._left, self._came = _NOTHING_READ, 0
