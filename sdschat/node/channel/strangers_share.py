"""The strangers who wait: their names, their accounts in one channel, and their share of the disk in all channels.

An account counts the messages of a stranger, and the room that they take. The share is of a whole profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from sdschat.identity.key_book import MAX_STRANGERS, KeyStanding
from sdschat.identity.signing import ids_called
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

PREFIX: Final = "stranger/"  # names of the values begin so; the channel and the sender follow
_CROWDED: Final = 0.75  # of the share: from here on room is made
_ROOMY: Final = 0.625  # of the share: room is made down to here
_ROW: Final = 500  # bytes of a message on disk besides its packet and, about as long, its text: rows and indexes


class StrangerAccount(NamedTuple):
    """The messages of one stranger in one channel, or of all who were forgotten there."""

    messages: int = 0
    heard_at: int = 0  # epoch milliseconds
    size: int = 0  # bytes on disk, about
    senders: int = 1

    def with_message(self, packet: int, wall: int, *, again: bool) -> StrangerAccount:
        """Add a message of so many bytes. `again`: its id was here already."""
        size = self.size + size_on_disk(packet) if packet else self.size
        return StrangerAccount(self.messages + (not again), wall, size)

    def with_account(self, other: StrangerAccount) -> StrangerAccount:
        """Add the account of others."""
        heard_at = max(self.heard_at, other.heard_at)
        senders = self.senders + other.senders
        return StrangerAccount(self.messages + other.messages, heard_at, self.size + other.size, senders)


def account_from(kept: bytes) -> StrangerAccount:
    return StrangerAccount(*map(int, kept.split()))


def prefix_of(channel: str) -> str:
    return f"{PREFIX}{channel}/"


def size_on_disk(packet: int) -> int:
    """Return the bytes that a message takes on disk, about."""
    return 2 * packet + _ROW


class StrangersShare:
    """The bytes in use, and their limit; 0: no limit. Room is made before the share is full (`stranger_bodies.py`), and
    what exceeds it all the same is kept as ids."""

    def __init__(self, limit: int, kept: Iterable[bytes]) -> None:
        self.limit = limit
        self._used = sum(account_from(each).size for each in kept)

    @property
    def full(self) -> bool:
        return 0 < self.limit <= self._used

    @property
    def fills(self) -> bool:
        """True if room may have to be made soon."""
        return 0 < self.limit <= 2 * self._used

    @property
    def excess(self) -> int:
        """Return the bytes to be freed now; 0 while there is room."""
        if not self.limit or self._used < self.limit * _CROWDED:
            return 0
        return self._used - int(self.limit * _ROOMY)

    def change(self, before: int, after: int) -> None:
        """Add to the bytes in use the difference of an account that had `before` bytes and now has `after`."""
        self._used += after - before


FORGOTTEN: Final = ""  # in the place of a sender id: all strangers who are not known apart any more
_NOBODY: Final = StrangerAccount(senders=0)


class StrangerAccounts:
    """Accounts by sender id. The sender that was heard last stands last."""

    def __init__(self, store: Store, channel: str, share: StrangersShare) -> None:
        self._prefix = prefix_of(channel)
        self._share = share
        values = store.values(self._prefix).items()
        kept = {name.removeprefix(self._prefix): account_from(value) for name, value in values}
        self.forgotten = kept.pop(FORGOTTEN, _NOBODY)
        self.known = dict(sorted(kept.items(), key=lambda item: item[1].heard_at))

    def hear(self, sender_id: str, packet: int, wall: int, *, again: bool) -> None:
        """Add a message of so many bytes. `again`: its id was here already."""
        before = self.known.pop(sender_id, StrangerAccount())
        after = self.known[sender_id] = before.with_message(packet, wall, again=again)
        self._share.change(before.size, after.size)

    def forget_oldest(self) -> list[str]:
        """Keep but one account for those who were heard least lately, if there are too many. Return their ids."""
        gone = list(islice(self.known, max(0, len(self.known) - MAX_STRANGERS)))
        for sender_id in gone:
            self.forgotten = self.forgotten.with_account(self.known.pop(sender_id))
        return gone

    def release(self, is_shown: Callable[[str], bool]) -> list[str]:
        """Let go of the accounts of those who are shown now. Return their ids."""
        gone = [sender_id for sender_id in self.known if is_shown(sender_id)]
        for sender_id in gone:
            self._share.change(self.known.pop(sender_id).size, 0)
        return gone

    def free(self, sizes: Mapping[str, int]) -> list[str]:
        """Take off the bytes that were deleted, by sender. Return the names of the accounts that changed."""
        changed: dict[str, None] = {}
        for sender_id, size in sizes.items():
            name = sender_id if sender_id in self.known else FORGOTTEN
            self._set_size(name, max(0, self._of(name).size - size))
            changed[name] = None
        return list(changed)

    def empty(self, names: Iterable[str]) -> list[str]:
        """Note that nothing is left of these accounts. Return the names of those that changed."""
        changed = [name for name in names if self._of(name).size]
        for name in changed:
            self._set_size(name, 0)
        return changed

    def save(self, transaction: Transaction, changed: Iterable[str], gone: Iterable[str] = ()) -> None:
        for name in gone:
            transaction.forget_value(f"{self._prefix}{name}")
        for name in changed:
            transaction.set_value(f"{self._prefix}{name}", b"%d %d %d %d" % self._of(name))

    def _of(self, name: str) -> StrangerAccount:
        return self.known.get(name, _NOBODY) if name != FORGOTTEN else self.forgotten

    def _set_size(self, name: str, size: int) -> None:
        before = self._of(name)
        self._share.change(before.size, size)
        if name == FORGOTTEN:
            self.forgotten = before._replace(size=size)
        else:
            self.known[name] = before._replace(size=size)


def saved_strangers(reader: Reader, channel: str) -> tuple[int, int]:
    """Return the numbers of the strangers of a channel in a database, and of their messages."""
    prefix = prefix_of(channel)
    waiting = {sender_id for sender_id, standing, _ in reader.standings() if standing & KeyStanding.WAITING}
    saved = {name.removeprefix(prefix): account_from(kept) for name, kept in reader.values(prefix).items()}
    found = [one for sender_id, one in saved.items() if sender_id in waiting or sender_id == FORGOTTEN]
    return sum(one.senders for one in found), sum(one.messages for one in found)


class Stranger(NamedTuple):
    """A stranger who waits, and the number of their messages in the log."""

    sender_id: str
    nick: str
    messages: int
    heard_at: int  # epoch milliseconds


def named_strangers(strangers: Sequence[Stranger], name: str) -> list[Stranger]:
    """Return the one of this nick, or of an id that begins so, or `all` of them. Raises ValueError with a sentence."""
    if not strangers:
        raise ValueError("Nobody waits here: everybody who speaks is shown.")
    if name == "all":
        return list(strangers)
    called = ids_called(name, ((one.sender_id, one.nick) for one in strangers))
    found = [one for one in strangers if one.sender_id in called]
    if not found:
        raise ValueError(f"No stranger who waits here is called {name}, or has an id that begins so.")
    if len(found) > 1:
        raise ValueError(f"{len(found)} strangers are called {name}. Give the id of one.")
    return found
