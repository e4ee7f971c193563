"""The counters of signed sync messages, kept over a restart: an old packet that is sent again is no news then either,
and whoever has signed is refused what is not signed."""

from __future__ import annotations

from typing import Final

from sdschat.identity.key_book import KeyBook
from sdschat.node.channel.extension import ExtensionOutput, PassiveExtension
from sdschat.node.channel.session import ChannelSession
from sdschat.sds.state import Ready
from sdschat.sds.values import Now
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

_COUNTERS: Final = "counter/"  # names of the values begin so; the channel and the sender follow


class KeptCounters(PassiveExtension):
    """A part of every channel. Only those of people are kept: other keys cost nothing to make."""

    def __init__(self, store: Store, book: KeyBook) -> None:
        self._store = store
        self._book = book

    def attach(self, session: ChannelSession) -> None:
        self._prefix = f"{_COUNTERS}{session.name}/"
        self._proofs = session.proofs
        for name, kept in self._store.values(self._prefix).items():
            self._proofs.restore(name.removeprefix(self._prefix), int(kept))

    def next_wake(self) -> int | None:
        return None

    def take(self, ready: Ready, now: Now) -> ExtensionOutput:
        changed = {name: last for name, last in self._proofs.take_changed().items() if self._book.is_person(name)}
        if not changed:
            return ExtensionOutput()

        def save(transaction: Transaction) -> None:
            for name, last in changed.items():
                transaction.set_value(f"{self._prefix}{name}", b"%d" % last)

        return ExtensionOutput(save)
