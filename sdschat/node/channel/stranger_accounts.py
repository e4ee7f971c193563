"""The accounts of the strangers of one channel: messages of each, and room that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from sdschat.identity.key_book import MAX_STRANGERS
from sdschat.node.channel.strangers_share import StrangerAccount, StrangersShare, account_from, prefix_of
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

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

    def take(self, is_shown: Callable[[str], bool]) -> list[str]:
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
        """Nothing is left of these. Return the names of the accounts that changed."""
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
