"""Strangers of a channel: keys that came when too many did. What they say is in the log, and is not shown until the
user opens them, or they speak again when there is room for new people (see `identity/key_book.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.identity.key_book import KeyBook, KeyEvent
from sdschat.node.channel.extension import ExtendedChannel, ExtensionOutput, PassiveExtension
from sdschat.node.channel.strangers_share import FORGOTTEN, Stranger, StrangerAccounts, StrangersShare
from sdschat.node.events import StrangersChanged
from sdschat.sds.values import Append, Now
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

if TYPE_CHECKING:
    from sdschat.sds.state import Ready

EVERY: Final = 1_000  # milliseconds between two events


class ChannelStrangers(PassiveExtension):
    """Keeps what strangers say hidden until they are opened, and within their share of the disk."""

    def __init__(self, store: Store, book: KeyBook, share: StrangersShare) -> None:
        self._store = store
        self._book = book
        self._share = share
        self._opened: list[str] = []  # and not yet told
        self._stale = False
        self._told_at = -EVERY

    def attach(self, session: ExtendedChannel) -> None:
        self.accounts = StrangerAccounts(self._store, session.name, self._share)
        self._openings = -1  # some may have been opened while nobody was in this channel
        self._stale = bool(self.accounts.known)

    def next_wake(self) -> int | None:
        return self._told_at + EVERY if self._stale else None

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        gone = self._take_opened()
        heard: dict[str, None] = {}
        for write in ready.writes:
            if isinstance(write, Append) and self._book.is_waiting(sender_id := write.row.entry.sender_id):
                self.accounts.hear(sender_id, len(write.row.raw), now.wall, again=write.instead_of is not None)
                heard[sender_id] = None
        forgotten = self.accounts.forget_oldest()
        self._stale = self._stale or bool(heard)
        events = self._tell(now) if self._stale and now.mono - self._told_at >= EVERY else ()

        def save(transaction: Transaction) -> None:
            changed = [sender_id for sender_id in heard if sender_id not in forgotten]
            self.accounts.save(transaction, changed + [FORGOTTEN] * bool(forgotten), gone + forgotten)

        return ExtensionOutput(save if gone or heard else None, events=events)

    def has(self, sender_id: str) -> bool:
        return sender_id in self.accounts.known

    def waiting(self) -> list[Stranger]:
        """Return who waits, the one heard last first."""
        found = sorted(self.accounts.known.items(), key=lambda item: (-item[1].heard_at, item[0]))
        return [
            Stranger(sender_id, "" if (row := self._book.row(sender_id)) is None else row.nick, *account[:2])
            for sender_id, account in found
            if self._book.is_waiting(sender_id)
        ]

    def _take_opened(self) -> list[str]:
        """Let go of the accounts of those who wait no more. Nothing is looked at unless somebody was opened."""
        if self._openings == self._book.openings:
            return []
        self._openings = self._book.openings
        gone = self.accounts.release(self._book.is_shown)
        self._opened += gone
        if gone:
            self._stale, self._told_at = True, -EVERY
        return gone

    def _tell(self, now: Now) -> tuple[StrangersChanged | KeyEvent, ...]:
        self._stale, self._told_at = False, now.mono
        opened, self._opened = self._opened, []
        introduced = (event for sender_id in opened for event in self._book.introduction(sender_id))
        waiting = [*self.accounts.known.values(), self.accounts.forgotten]
        senders, messages = sum(one.senders for one in waiting), sum(one.messages for one in waiting)
        return (*introduced, StrangersChanged(senders, messages, tuple(opened)))


def is_waiting(session: ExtendedChannel, sender_id: str) -> bool:
    """True for a stranger whom the user has not opened."""
    return any(isinstance(one, ChannelStrangers) and one.has(sender_id) for one in session.extensions)


def strangers_of(session: ExtendedChannel) -> list[Stranger]:
    """Return the strangers who wait in a channel, the one heard last first; nobody where a recording is replayed."""
    return [
        stranger
        for extension in session.extensions
        if isinstance(extension, ChannelStrangers)
        for stranger in extension.waiting()
    ]
