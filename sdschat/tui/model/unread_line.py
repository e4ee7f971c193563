"""The line above the messages that the user has not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.node.view.values import Key
from sdschat.tui.model.items import MessageItem

_NOTHING_READ: Final = (0, "")


class UnreadLine:
    """`after` is the key of the row below which the line stands; None: it is not drawn. `missed` is the number of new
    messages below it, until the user has seen the line."""

    def __init__(self, read: Key | None, came: int, *, unread: int) -> None:
        """`read`: the key up to which the log was read when the user left; `came`: when they came back, epoch ms."""
        self._left = read or _NOTHING_READ
        self._came = came
        self.after: Key | None = self._left if unread else None
        self.missed = unread
        self._counted: Key | None = None  # the message that was counted last

    def note_missed(self, key: Key) -> None:
        """Draw the line where the user left the log, if this message was said after that and before they came back:
        they see it come in, and not that it is new."""
        if _NOTHING_READ < self._left < key and key[0] < self._came:
            self.after = self.after or self._left
            self._count(key)

    def draw_above(self, key: Key, rows: Iterable[MessageItem]) -> None:
        """Draw the line above the row with this key, among these, unless it is drawn."""
        if self.after is None:
            self.after = max((row.key for row in rows if row.key < key), default=_NOTHING_READ)
        self._count(key)

    def _count(self, key: Key) -> None:
        self.missed += key != self._counted  # it may be one that was missed and comes unseen
        self._counted = key

    def words(self, rows: Iterable[MessageItem], key: str) -> tuple[str, ...]:
        """Return what was missed, of these rows also what is to the user, and the key that leads to the line: as it is,
        then shorter; empty if nothing was."""
        if self.after is None or not self.missed:
            return ()
        to_user = sum(row.mention and not row.own and row.key > self.after for row in rows)
        short = f"{self.missed} new: {key}"
        return (f"{self.missed} new, {to_user} to you: {key}", short) if to_user else (short,)

    def forget(self) -> None:
        """Draw no line, and forget the place where the user left the log the last time."""
        self.after = None
        self.missed = 0
        self._left, self._came = _NOTHING_READ, 0
