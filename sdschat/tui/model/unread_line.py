"""The messages that were not on the screen yet, and the line above the first of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from sdschat.node.view.values import UNREAD_COUNTED, Conversation, Key
from sdschat.tui.model.items import MessageItem

_NOTHING_READ: Final = (0, "")


class Unseen(NamedTuple):
    """A message of another that was not on the screen."""

    key: Key
    mention: bool


class UnreadLine:
    """`after` is the key of the row below which the line stands; None: it is not drawn."""

    def __init__(self, read: Key | None, came: int) -> None:
        """`read`: the key up to which the log was read when the user left; `came`: when they came back, epoch ms."""
        self._left = read or _NOTHING_READ
        self._came = came
        self._since = 0 if read else came  # what was said before the user ever came is nothing that they missed
        self.after: Key | None = None
        self._unseen: dict[str, Unseen] = {}
        self.mentions = 0  # among them: counted, since each message asks for it
        self._drawn_next: dict[str, Unseen] = {}  # came in at the end that the user sees: likely to be on the screen
        self.more = 0  # unread messages that are not known one by one
        self._most = False  # there may be more of them than were counted
        self._led = False  # to the first of them, since the line is drawn

    def start(self, rows: Iterable[MessageItem], unread: int) -> None:
        """Draw the line where the user left the log, above these messages, if any are unread."""
        self._put({row.message_id: Unseen(row.key, row.mention) for row in rows if not row.own})
        self.more = max(0, unread - len(self._unseen))
        self._most = unread >= UNREAD_COUNTED
        if unread:
            self.after = self._left

    def add(self, row: MessageItem, rows: Iterable[MessageItem], *, looking: bool) -> None:
        """Take a message of another that came in. `looking`: the user sees the end of the log, among these rows."""
        key = row.key
        if _NOTHING_READ < self._left < key and key[0] < self._came:
            self.after = self.after or self._left  # they see it come in, and not that it is new
        if not looking:
            self._draw_above(key, rows)
            self._put({row.message_id: Unseen(key, row.mention)})
        elif key[0] >= self._since and not row.late:
            self._drawn_next[row.message_id] = Unseen(key, row.mention)

    def see(self, ids: Collection[str], rows: Iterable[MessageItem]) -> bool:
        """Take away what is on the screen. What came since the last drawing and is not there passed unseen. Return True
        if this changed anything."""
        passed = {each: what for each, what in self._drawn_next.items() if each not in ids}
        self._drawn_next = {}
        if passed:
            self._draw_above(min(passed.values()).key, rows)
            self._put(passed)
        seen = [each for each in ids if self._drop_unseen(each)]
        cleared = bool(self.more) and not self._unseen
        self.more, self._most = 0 if cleared else self.more, self._most and not cleared
        return bool(passed or seen or cleared)

    def see_drawn(self) -> None:
        """Count as read what came in at the end that the user sees: it is written there, whatever stands above it."""
        self._drawn_next = {}

    def drop(self, message_id: str) -> None:
        """Forget a message that is not shown any more."""
        self._drop_unseen(message_id)
        self._drawn_next.pop(message_id, None)

    def _put(self, found: Mapping[str, Unseen]) -> None:
        for message_id, what in found.items():
            self._drop_unseen(message_id)
            self._unseen[message_id] = what
            self.mentions += what.mention

    def _drop_unseen(self, message_id: str) -> bool:
        """Return True if the message was among the unseen ones."""
        found = self._unseen.pop(message_id, None)
        self.mentions -= found is not None and found.mention
        return found is not None

    def see_all(self) -> bool:
        """Count everything as read. Return True if anything was not."""
        found = self.unread > 0
        self._unseen, self._drawn_next, self.mentions, self.more, self._most = {}, {}, 0, 0, False
        return found

    def _draw_above(self, key: Key, rows: Iterable[MessageItem]) -> None:
        """Draw the line above the row with this key, among these, unless it is drawn."""
        if self.after is None:
            self.after = max((row.key for row in rows if row.key < key), default=_NOTHING_READ)
            self._led = False

    @property
    def unread(self) -> int:
        return len(self._unseen) + self.more

    @property
    def counted(self) -> str:
        """Return the number of unread messages. A + stands behind it where not all are counted."""
        return f"{self.unread}{'+' if self._most else ''}"

    def is_mention(self, message_id: str) -> bool:
        found = self._unseen.get(message_id)
        return found is not None and found.mention

    def oldest(self) -> Key | None:
        """Return the key of the first message that was not on the screen."""
        return min((each.key for each in (*self._unseen.values(), *self._drawn_next.values())), default=None)

    def read_now(self, conversation: Conversation, newest: Key | None) -> Key | None:
        """Return the place to save as that up to which the log is read, above the first unseen message; None if it is
        saved, or not known. `newest`: the last message, if it is in memory."""
        mark, unseen = conversation.read_mark(), self.oldest()
        if self.more:
            return None
        if unseen is None:
            return None if newest == mark else newest
        above = conversation.messages(before=unseen, limit=1)
        return above[-1].key if above and above[-1].key > (mark or _NOTHING_READ) else None

    def next(self) -> str | None:
        """Return the message to go to: the first unseen one, from then on the first to the user, else the first."""
        to_user = self._led and self.mentions > 0
        self._led = True
        wanted = [(each.key, name) for name, each in self._unseen.items() if each.mention or not to_user]
        return min(wanted)[1] if wanted else None

    def words(self, key: str) -> tuple[str, ...]:
        """Return what was not seen, what of it is to the user, and the key that leads there: as it is, then shorter;
        empty if there is nothing."""
        if not self.unread:
            return ()
        new = f"{self.counted} new"
        to_user = f", {self.mentions}{'+' if self.more else ''} to you"
        return (f"{new}{to_user}: {key}", f"{new}: {key}") if self.mentions else (f"{new}: {key}",)

    def forget(self) -> None:
        """Draw no line, and forget the place where the user left the log the last time."""
        self.after = None
        self._led = False
        self._left, self._came = _NOTHING_READ, 0
