"""The conversation with one participant, over all channels in which both are: messages in the order in which they came,
each with a key of its own. The last messages are at hand, earlier ones once somebody asks for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.identity.content import ContentKind
from sdschat.node.view.channel import ChannelConversation
from sdschat.node.view.user_texts import UserTexts
from sdschat.node.view.values import RECEIPT, Key, Lost, MissingMessage, OwnFate, Participant, Shown, SyncStatus
from sdschat.sds.values import AckState, Evidence
from sdschat.store.direct import channel_of, newest_with

if TYPE_CHECKING:
    from sdschat.node.sync.direct import DirectMessaging
    from sdschat.store.display_rows import DirectRow

_AT_HAND: Final = 500  # messages read at first
_NEWS: Final = 16
_SHORT: Final = 8  # characters of a sender id that stand for the nick


class Way(NamedTuple):
    """An open channel by which direct messages can go."""

    channel: ChannelConversation
    messaging: DirectMessaging


class DirectConversation:
    """A `Conversation` with one participant. Rows are read again when something was said: `refresh`."""

    def __init__(
        self,
        name: str,
        ways: Callable[[], Sequence[Way]],
        me: str,
        peer: str,
        state: UserTexts,
    ) -> None:
        """`ways` returns all channels that are open, at least one at first."""
        self.name = name
        self.peer = peer
        self._ways = ways
        self._me = me
        self._state = state
        self._near = ""  # the channel in which the user wrote to them, or by which their last message came
        self._way_before = ways()[0]
        self._rows: list[Shown] = []  # oldest first, their keys rising
        self._keys: dict[str, Key] = {}
        self._waiting: dict[str, None] = {}
        self._gaps: dict[str, Lost] = {}
        self._complete = False
        self._read(_AT_HAND)

    # The channels by which messages go.

    @property
    def channel(self) -> str:
        return self._in.name

    @property
    def _in(self) -> ChannelConversation:
        return self._way().channel

    def near(self, channel: str) -> None:
        """Let this channel be the first choice among those where the other one is."""
        self._near = channel

    def reaches(self, channel: str) -> bool:
        """True if the other one is known in this open channel."""
        return any(way.channel.name == channel and self._standing(way) > 0 for way in self._ways())

    def _way(self) -> Way:
        """Return the channel by which a message goes: one where the other one is here, else where they were heard; if
        all was closed, the one before."""
        ways = self._ways()
        if ways:
            self._way_before = max(ways, key=lambda way: (self._standing(way), way.channel.name == self._near))
        return self._way_before

    def _standing(self, way: Way) -> int:
        """Return 2 if the other one is here, 1 if they were heard, and else 0."""
        session = way.channel.session
        if session is None or not session.speaks or session.is_outsider(self.peer):
            return 0
        presence, known = session.presence, session.channel.state.peers.known
        if self.peer in presence.online:
            return 2
        return int(self.peer in known or self.peer in presence.left)

    def title(self) -> str:
        return f"@{self._nick() or f'<{self.peer[:_SHORT]}>'}"

    def tag(self) -> str:
        return self._in.tag_of(self.peer, self._nick())

    def _nick(self) -> str:
        return self._in.presence_nick(self.peer) or self._in.nick_of(self.peer)

    def partner(self) -> Participant:
        known = next((person for person in self._in.people() if person.sender_id == self.peer), None)
        if known is not None:  # not here where nothing can be sent, as after our removal
            return known if self._standing(self._way()) == 2 else known._replace(online=False)
        nick = self._in.nick_of(self.peer)
        return Participant(self.peer, nick, False, 0, False, tag=self._in.tag_of(self.peer, nick))

    def say(self, text: str, kind: ContentKind, reply_to: str) -> None:
        self._way().messaging.send(self.peer, text, kind, reply_to)

    # Reading.

    def _read(self, count: int) -> None:
        """Read the last `count` messages; those at hand keep their keys."""
        found = newest_with(self._state.store, self.peer, count)
        self._complete = len(found) < count
        if self._rows:
            first = next((at for at, row in enumerate(found) if row.message_id in self._keys), len(found))
            self._prepend(found[:first])
        else:
            self._append(found)

    def _append(self, rows: list[DirectRow]) -> None:
        for row in rows:
            last = self._rows[-1].lamport if self._rows else 0
            self._rows.append(self._shown(row, max(row.received_at, last + 1)))

    def _prepend(self, rows: list[DirectRow]) -> None:
        earlier: list[Shown] = []
        next_at = self._rows[0].lamport
        for row in reversed(rows):
            next_at = min(row.received_at, next_at - 1)
            earlier.append(self._shown(row, next_at))
        self._rows[:0] = reversed(earlier)

    def _shown(self, row: DirectRow, at: int) -> Shown:
        self._keys[row.message_id] = (at, row.message_id)
        state = AckState(row.state) if row.own else None
        if row.own and state is not AckState.ACKED:
            self._waiting[row.message_id] = None
        self._gaps |= {parent: Lost(parent, self.peer, row.received_at) for parent in row.gap}
        sender = self._me if row.own else self.peer
        return Shown(
            row.message_id,
            at,
            sender,
            row.nick,
            row.text,
            row.verdict,
            row.own,
            row.received_at,
            row.sent_at,
            "live",
            row.kind,
            row.reply_to,
            row.gap,
            state,
        )

    def refresh(self) -> None:
        """Read the messages that arrived since the last read, and append them."""
        count = _NEWS
        while True:
            found = newest_with(self._state.store, self.peer, count)
            known = next((at for at in range(len(found), 0, -1) if found[at - 1].message_id in self._keys), 0)
            if known or len(found) < count or not self._rows:
                break
            count *= 4
        self._append(found[known:])

    def acknowledged(self, message_id: str) -> None:
        """Note that the other participant has a message."""
        self._waiting.pop(message_id, None)
        at = self._index(message_id)
        if at is not None:
            self._rows[at] = self._rows[at]._replace(state=AckState.ACKED)

    def _index(self, message_id: str) -> int | None:
        key = self._keys.get(message_id)
        return None if key is None else bisect_left(self._rows, key, key=lambda shown: shown.key)

    def _older(self) -> None:
        self._read(4 * len(self._rows))

    def _everything(self) -> list[Shown]:
        while not self._complete:
            self._older()
        return self._rows

    # The history.

    def messages(self, *, before: Key | None = None, after: Key | None = None, limit: int = 100) -> list[Shown]:
        if after is not None:
            if not self._rows or after < self._rows[0].key:
                self._everything()
            low = bisect_right(self._rows, after, key=lambda shown: shown.key)
            return self._covered(self._rows[low : low + limit])
        while True:
            high = len(self._rows) if before is None else bisect_left(self._rows, before, key=lambda shown: shown.key)
            if high >= limit or self._complete:
                return self._covered(self._rows[max(0, high - limit) : high])
            self._older()

    def _covered(self, rows: list[Shown]) -> list[Shown]:
        return [self._in.covered(row) for row in rows] if self._in.hidden(self.peer) else rows

    def message(self, message_id: str) -> Shown | None:
        at = self._index(message_id)
        return None if at is None else self._in.covered(self._rows[at])

    def newest(self) -> Key:
        return self._rows[-1].key if self._rows else (0, "")

    def search(
        self, words: str, *, limit: int = 50, before: Key | None = None, after: Key | None = None
    ) -> list[Shown]:
        wanted = words.casefold().split()
        if self._in.hidden(self.peer):
            return []
        rows = self._everything()
        low = 0 if after is None else bisect_right(rows, after, key=lambda shown: shown.key)
        high = len(rows) if before is None else bisect_left(rows, before, key=lambda shown: shown.key)
        found = [shown for shown in rows[low:high] if all(word in (shown.text or "").casefold() for word in wanted)]
        return found[-limit:] if after is None else found[:limit]

    def find_ids(self, prefix: str, limit: int = 10) -> list[str]:
        return [message_id for message_id in self._keys if message_id.startswith(prefix.lower())][:limit]

    def count(self) -> int:
        """Return the number of messages loaded, plus one if there are older messages not loaded."""
        return len(self._rows) + (not self._complete)

    def rank(self, message_id: str) -> int:
        at = self._index(message_id)
        return 0 if at is None else at + 1 + (not self._complete)

    def at_rank(self, rank: int) -> Key | None:
        at = rank - 1 - (not self._complete)
        return self._rows[max(0, at)].key if at < len(self._rows) else None

    def dated(self, moment: int) -> Key | None:
        rows = self._everything()
        found = bisect_left(rows, (moment, ""), key=lambda shown: shown.key)
        return rows[found].key if found < len(rows) else None

    # States.

    def open_messages(self) -> list[str]:
        return list(self._waiting)

    def own(self, message_id: str) -> OwnFate | None:
        shown = self.message(message_id)
        if shown is None or not shown.own:
            return None
        if shown.state is AckState.ACKED:
            return OwnFate(AckState.ACKED, 0, 0, (Evidence(self.peer, RECEIPT, "", 0, 0.0),))
        sending = self._sending(message_id)
        if sending is None:
            return OwnFate(AckState.UNACKED, 0, 0, (), channel_of(self._state.store, self.peer, message_id))
        return OwnFate(AckState.UNACKED, *sending, ())

    remembered = own

    def _sending(self, message_id: str) -> tuple[int, int] | None:
        """Return how often a message was sent, and when it is sent next; None if no open channel sends it."""
        sending = (way.messaging.sending(message_id, self.peer) for way in self._ways())
        return next(filter(None, sending), None)

    def missing(self) -> list[MissingMessage]:
        return []

    def lost(self) -> dict[str, Lost]:
        """Return the messages that were waited for, and given up. One that came after all is not among them."""
        return {parent: gap for parent, gap in self._gaps.items() if parent not in self._keys}

    def sync(self) -> SyncStatus:
        """Return what is on its way. A message that went by a channel that is not open now waits there."""
        sending = [found for message_id in self._waiting if (found := self._sending(message_id)) is not None]
        return SyncStatus(0, 0, len(sending), sum(not sends for sends, _ in sending))

    def history_since(self) -> int:
        return 0

    def people(self) -> list[Participant]:
        return [*(person for person in self._in.people() if person.own), self.partner()]

    def present(self) -> tuple[str, ...]:
        return (self.peer,) if self.partner().online else ()

    # State of the user.

    def draft(self) -> str:
        return self._state.value(f"draft/{self.name}")

    def set_draft(self, text: str) -> bool:
        return self._state.set_value(f"draft/{self.name}", text)

    def read_mark(self) -> Key | None:
        marks = [self._state.value(f"read/{self.name}")]
        if not marks[0]:  # an earlier version had a conversation in each channel
            marks = [self._state.value(f"read/{way.channel.name}{self.name}") for way in self._ways()]
        return max((self._keys[mark] for mark in marks if mark in self._keys), default=None)

    def mark_read(self, key: Key) -> bool:
        return self._state.set_value(f"read/{self.name}", key[1])

    def unread(self) -> int:
        """Return the number of messages of the other participant below the read mark; all of them without one, and
        none if the user wants to see nothing of them."""
        if self._in.hidden(self.peer):
            return 0
        mark = self.read_mark()
        since = 0 if mark is None else bisect_right(self._rows, mark, key=lambda shown: shown.key)
        return sum(1 for shown in self._rows[since:] if not shown.own)
