"""The extensions that every channel has (`basic_extensions`). The small ones are in this file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sdschat.identity.key_book import KeyBook
from sdschat.identity.place import is_placed
from sdschat.node.channel.author_chains import AuthorChains
from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.extension import ExtensionOutput, PassiveExtension
from sdschat.node.channel.over_limit import OverLimitCounter
from sdschat.node.channel.sender_limits import SenderLimits
from sdschat.node.channel.session import ChannelExtension, ChannelSession
from sdschat.node.channel.strangers import ChannelStrangers
from sdschat.node.events import PacketRestored, UnsignedInOurName
from sdschat.sds.events import Rejected
from sdschat.sds.ids import recipe_of
from sdschat.sds.state import Ready
from sdschat.sds.values import Message, MessageKind, Now, Reason, Refusal
from sdschat.store.history import SqlHistory
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction, restore_packet


def note_lost(transaction: Transaction, channel: str, until: int) -> None:
    """Note that messages of our own from before this moment may be gone from the log."""
    transaction.set_value(_key(channel), b"%d" % until)


def _key(channel: str) -> str:
    return f"lost/{channel}"


class Restoring(PassiveExtension):
    """Asks others again for packets that the disk has altered, and puts them back if they are the right ones."""

    def __init__(self, store: Store, gate: ContentGate) -> None:
        self._store = store
        self._gate = gate
        self._lost_until = 0
        self._came: dict[str, bytes] = {}

    def attach(self, session: ChannelSession) -> None:
        self._session = session
        history = session.channel.state.history
        assert isinstance(history, SqlHistory)
        self._history = history
        losses = [loss for loss in self._store.losses if loss.concerns(session.name)]
        for loss in losses:
            history.row(loss.message_id)  # which sees whether it is the packet that was lost
        if losses:
            with self._store.transaction() as transaction:
                note_lost(transaction, session.name, session.channel.state.now.wall)
        self._lost_until = int(self._store.value(_key(session.name)) or 0)
        session.watchers.append(self._see)

    def _see(self, _source: str, packet: bytes, message: Message | Refusal | None) -> None:
        if isinstance(message, Message) and self._is_our_own(message):
            channel = self._session.channel
            channel.receive_history(channel.state.now, message, packet, "repair")
        refetch = self._session.channel.state.refetch
        if refetch and isinstance(message, Message) and message.message_id in refetch and self._right(message):
            self._came[message.message_id] = packet

    def _is_our_own(self, message: Message) -> bool:
        """True if we wrote this message before we lost it; or, where its place is signed too, a copy of this profile
        did."""
        state = self._session.channel.state
        return (
            message.sender_id == state.participant_id
            and message.kind is MessageKind.CONTENT
            and ((message.lamport_timestamp or 0) <= self._lost_until or is_placed(message))
            and not state.holds(message.message_id)
            and self._gate.proves_ours(message)
        )

    def _right(self, message: Message) -> bool:
        """True if the message agrees with its log entry and its content matches its message id."""
        entry = self._session.channel.state.delivered(message.message_id)
        return (
            entry is not None
            and (entry.sender_id, entry.lamport) == (message.sender_id, message.lamport_timestamp)
            and entry.dependencies == tuple(each.message_id for each in message.causal_history)
            and recipe_of(message) != "foreign"
        )

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        channel, lost = self._session.channel, self._history.lost
        while lost:
            channel.fetch(now, lost.popitem()[0])
        if not self._came:
            return ExtensionOutput()
        came, self._came = self._came, {}
        for message_id in came:
            channel.fetched(message_id)

        def save(transaction: Transaction) -> None:
            for message_id, packet in came.items():
                restore_packet(transaction, self._session.name, message_id, packet)

        return ExtensionOutput(save, events=[PacketRestored(message_id) for message_id in came])


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
    yield ClaimsOfOurName()


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

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        changed = {name: last for name, last in self._proofs.take_changed().items() if self._book.is_person(name)}
        if not changed:
            return ExtensionOutput()

        def save(transaction: Transaction) -> None:
            for name, last in changed.items():
                transaction.set_value(f"{self._prefix}{name}", b"%d" % last)

        return ExtensionOutput(save)


_CLAIMS_EVERY: Final = 60_000  # milliseconds between two events


class ClaimsOfOurName(PassiveExtension):
    """Tells of messages in our name that we never signed, once a minute at most."""

    def __init__(self) -> None:
        self._messages = self._told = 0
        self._told_at = -_CLAIMS_EVERY
        self._last = ""

    def attach(self, session: ChannelSession) -> None:
        self._session = session

    def next_wake(self) -> int | None:
        return self._told_at + _CLAIMS_EVERY if self._messages > self._told else None

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        for event in ready.events:
            if not isinstance(event, Rejected) or event.reason is not Reason.OWN_ID_UNKNOWN:
                continue
            if not self._session.stolen(event):
                self._messages += 1
                self._last = event.message_id
        if self._messages == self._told or now.mono - self._told_at < _CLAIMS_EVERY:
            return ExtensionOutput()
        self._told, self._told_at = self._messages, now.mono
        return ExtensionOutput(events=(UnsignedInOurName(self._last, self._messages),))
