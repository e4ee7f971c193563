"""The chains of all other authors of a channel: numbers that are missing, and numbers that were used twice."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.identity.author_chain import AuthorChain, chain_of
from sdschat.node.channel.extension import ExtensionOutput, PassiveExtension
from sdschat.node.events import AuthorGapClosed, AuthorGapFound, EventBody, SaidTwoThings
from sdschat.sds.events import Delivered, KeptAsId
from sdschat.sds.rows import WITHOUT_A_BODY, Append
from sdschat.sds.values import HistoryEntry, Message, Now
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction
from sdschat.wire.chat_codec import Place, decode_envelope

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.sds.state import Ready

CHAINS: Final = "author/"  # names of the values begin so; the channel, the author and the device follow
_KEPT: Final = 1024  # chains in memory
_PATIENCE: Final = 10_000  # milliseconds: history that is being fetched comes in any order
_MOST_DOUBTS: Final = 1024

_Doubt = tuple[str, int]  # name of a chain, and the number before which some are missing


def chain_name(channel: str, sender_id: str, device: bytes) -> str:
    return f"{CHAINS}{channel}/{sender_id}/{device.hex()}"


class ProfileValues(Protocol):
    def value(self, name: str) -> bytes | None: ...


def said_twice(values: ProfileValues, channel: str, sender_id: str, place: Place | None) -> bool:
    """True if the author of a message has signed another one under its number."""
    if place is None or not place.sequence:
        return False
    kept = values.value(chain_name(channel, sender_id, place.device))
    return kept is not None and place.sequence in chain_of(kept).forks


class AuthorChains(PassiveExtension):
    """A part of every channel."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._chains: OrderedDict[str, AuthorChain] = OrderedDict()
        self._doubts: dict[_Doubt, int] = {}  # gaps that may close by themselves, and when that is over
        self._told: set[_Doubt] = set()
        self._events: list[EventBody] = []

    def attach(self, session: ChannelSession) -> None:
        self._session = session
        for name, kept in self._store.values(f"{CHAINS}{session.name}/").items():
            self._doubt(name, chain_of(kept), session.channel.state.now.mono)

    def next_wake(self) -> int | None:
        return min(self._doubts.values(), default=None)

    def advance(self, now: Now) -> None:
        """Say which numbers are still missing, and ask for them."""
        for doubt, due in list(self._doubts.items()):
            if due > now.mono:
                continue
            del self._doubts[doubt]
            name, after = doubt
            gap = next((each for each in self._chain(name).gaps() if each.high + 1 == after), None)
            if gap is None:
                continue
            sender_id = name.split("/")[-2]
            self._session.channel.miss(now, HistoryEntry(gap.message_id, None, sender_id))
            self._told.add(doubt)
            self._events.append(AuthorGapFound(sender_id, gap.low, gap.high, gap.message_id))
            self._session.mark_ready()

    def take(self, ready: Ready, now: Now) -> ExtensionOutput:
        changed: dict[str, AuthorChain] = {}
        filled = {write.row.entry.message_id for write in ready.writes if type(write) is Append and _fills(write)}
        for event in ready.events:
            if isinstance(event, Delivered) and event.message.message_id in filled:
                continue  # its number was counted when its id came
            if isinstance(event, Delivered) and not event.own:
                self._delivered(event.message, changed, now.mono)
            elif isinstance(event, KeptAsId):
                self._kept_as_id(event.message, changed, now.mono)
        events, self._events = self._events, []
        if not changed:
            return ExtensionOutput(events=events)
        values = {name: chain.to_bytes() for name, chain in changed.items()}

        def save(transaction: Transaction) -> None:
            for name, value in values.items():
                transaction.set_value(name, value)

        return ExtensionOutput(save, events=events)

    def _kept_as_id(self, message: Message, changed: dict[str, AuthorChain], mono: int) -> None:
        """Its number is not missing. A chain that begins with it is not kept: whoever sends so much may name any
        device."""
        envelope = decode_envelope(message.content or b"")
        place = None if envelope is None else envelope.place
        if place is not None and self._has_chain(chain_name(self._session.name, message.sender_id, place.device)):
            self._delivered(message, changed, mono)

    def _has_chain(self, name: str) -> bool:
        return name in self._chains or self._store.value(name) is not None

    def _delivered(self, message: Message, changed: dict[str, AuthorChain], mono: int) -> None:
        envelope = decode_envelope(message.content or b"")
        place = None if envelope is None else envelope.place
        if place is None or not place.sequence:
            return
        name = chain_name(self._session.name, message.sender_id, place.device)
        chain = changed[name] = self._chain(name)
        if not chain.add(place.sequence, place.previous.hex()):
            self._events.append(SaidTwoThings(message.sender_id, place.sequence, message.message_id))
        self._close(name, chain)
        self._doubt(name, chain, mono)

    def _doubt(self, name: str, chain: AuthorChain, mono: int) -> None:
        for gap in chain.gaps():
            doubt = name, gap.high + 1
            if doubt not in self._told and len(self._doubts) < _MOST_DOUBTS:
                self._doubts.setdefault(doubt, mono + _PATIENCE)

    def _close(self, name: str, chain: AuthorChain) -> None:
        if not self._told:
            return
        still = {(name, gap.high + 1) for gap in chain.gaps()}
        for doubt in [each for each in self._told if each[0] == name and each not in still]:
            self._told.discard(doubt)
            if doubt[1] > chain.runs[0].low:  # else it was forgotten
                self._events.append(AuthorGapClosed(name.split("/")[-2], doubt[1] - 1))

    def _chain(self, name: str) -> AuthorChain:
        found = self._chains.get(name)
        if found is None:
            kept = self._store.value(name)
            found = self._chains[name] = AuthorChain() if kept is None else chain_of(kept)
            if len(self._chains) > _KEPT:
                self._chains.popitem(last=False)
        else:
            self._chains.move_to_end(name)
        return found


def _fills(write: Append) -> bool:
    """True if a message was kept as an id when it came first."""
    return write.instead_of is not None and write.instead_of.generation == WITHOUT_A_BODY
