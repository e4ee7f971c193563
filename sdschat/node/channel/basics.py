"""The extensions that every channel has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sdschat.identity.key_book import KeyBook
from sdschat.node.channel.author_chains import AuthorChains
from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.extension import ExtensionOutput, PassiveExtension
from sdschat.node.channel.over_limit import OverLimitCounter
from sdschat.node.channel.restore import Restoring
from sdschat.node.channel.sender_limits import SenderLimits
from sdschat.node.channel.session import ChannelExtension, ChannelSession
from sdschat.node.channel.strangers import ChannelStrangers
from sdschat.sds.state import Ready
from sdschat.sds.values import Now
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

COUNTERS: Final = "counter/"  # names of the values begin so; the channel and the sender follow


def counted_sender(counter: str) -> str:
    """Return the sender id in the name of a counter."""
    return counter.rpartition("/")[2]


def basic_extensions(store: Store, gate: ContentGate, limits: SenderLimits) -> Iterator[ChannelExtension]:
    """Make the extensions of a channel, in the order in which they are attached."""
    yield Restoring(store, gate)
    yield AuthorChains(store, gate.book)
    yield OverLimitCounter(gate, limits)
    yield KeptCounters(store, gate.book)
    yield ChannelStrangers(store, gate.book, gate.share)


class KeptCounters(PassiveExtension):
    """The counters of signed sync messages, kept over a restart: an old packet that is sent again is no news then
    either, and whoever has signed is refused what is not signed. Only those of people are kept: other keys cost nothing
    to make."""

    def __init__(self, store: Store, book: KeyBook) -> None:
        self._store = store
        self._book = book

    def attach(self, session: ChannelSession) -> None:
        self._prefix = f"{COUNTERS}{session.name}/"
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
