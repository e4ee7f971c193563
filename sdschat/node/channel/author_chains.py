"""The chains of all other authors of a channel: numbers that are missing, and numbers that were used twice."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from sdschat.identity.author_chain import AuthorChain, chain_of
from sdschat.identity.key_book import KeyBook
from sdschat.node.channel.author_devices import AuthorDevices
from sdschat.node.channel.extension import ExtensionOutput, PassiveExtension
from sdschat.node.events import AuthorGapClosed, AuthorGapFound, EventBody, SaidTwoThings
from sdschat.sds.events import Delivered, KeptAsId
from sdschat.sds.values import WITHOUT_A_BODY, Append, HistoryEntry, Message, Now
from sdschat.store.transaction import Transaction
from sdschat.wire.chat_codec import DEVICE_BYTES, Place, decode_envelope

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.sds.state import Ready

CHAINS: Final = "author/"  # names of the values begin so; the channel, the author and the device follow
_KEPT: Final = 1024  # chains in memory
_PATIENCE: Final = 10_000  # milliseconds: history that is being fetched comes in any order
_MOST_DOUBTS: Final = 1024  # of all authors of a channel; beyond it, those of the author with most of them go
_MOST_TOLD: Final = 1024  # likewise

_Doubt = tuple[str, int]  # name of a chain, and the number before which some are missing


class _Patience(NamedTuple):
    """The time given to a gap to close by itself: more of it if its lowest number is another by then."""

    until: int
    low: int


def chain_name(channel: str, sender_id: str, device: bytes) -> str:
    return f"{CHAINS}{channel}/{sender_id}/{device.hex()}"


class ProfileValues(Protocol):
    """The database of a profile, or a reader of it."""

    def value(self, name: str) -> bytes | None: ...

    def values(self, prefix: str) -> dict[str, bytes]: ...


def author_of(chain: str) -> str:
    """Return the sender id in the name of a chain."""
    return chain.split("/")[-2]


def said_twice(values: ProfileValues, channel: str, sender_id: str, place: Place | None) -> bool:
    """True if the author of a message has signed another one under its number."""
    if place is None or not place.sequence:
        return False
    kept = values.value(chain_name(channel, sender_id, place.device))
    return kept is not None and place.sequence in chain_of(kept).forks


class AuthorChains(PassiveExtension):
    """Finds gaps and forks in the numbers of each author."""

    def __init__(self, store: ProfileValues, book: KeyBook) -> None:
        self._store = store
        self._book = book
        self._devices = AuthorDevices(book)
        self._gone: list[str] = []  # names of chains that are forgotten
        self._chains: OrderedDict[str, AuthorChain] = OrderedDict()
        self._doubts: dict[_Doubt, _Patience] = {}  # gaps that may close by themselves
        self._told: dict[_Doubt, None] = {}
        self._events: list[EventBody] = []

    def attach(self, session: ChannelSession) -> None:
        self._session = session
        self._since_join = session.gives_since_join
        authors: dict[str, dict[str, int]] = {}
        for name, kept in self._store.values(f"{CHAINS}{session.name}/").items():
            chain = chain_of(kept)
            authors.setdefault(author_of(name), {})[name] = chain.messages
            self._doubt(name, chain, session.channel.state.now.mono)
        for sender_id, chains in authors.items():
            if len(chains) > 1:
                self._devices.add(sender_id, chains)

    def next_wake(self) -> int | None:
        return min((patience.until for patience in self._doubts.values()), default=None)

    def advance(self, now: Now) -> None:
        """Say which numbers are still missing, and ask for them."""
        for doubt, patience in list(self._doubts.items()):
            if patience.until > now.mono:
                continue
            del self._doubts[doubt]
            name, after = doubt
            gap = next((each for each in self._chain(name).gaps() if each.high + 1 == after), None)
            if gap is None:
                continue
            if gap.low != patience.low:  # its messages are just coming
                self._doubts[doubt] = _Patience(now.mono + _PATIENCE, gap.low)
                continue
            sender_id = author_of(name)
            self._session.channel.miss(now, HistoryEntry(gap.message_id, None, sender_id))
            self._session.mark_ready()
            if self._since_join and self._is_id_only(gap.message_id):
                continue  # it is from before a joining: its number is in its text, which is not given
            if not self._book.is_waiting(sender_id) and _has_room(self._told, _MOST_TOLD, sender_id):
                self._told[doubt] = None
                self._events.append(AuthorGapFound(sender_id, gap.low, gap.high, gap.message_id))

    def _is_id_only(self, message_id: str) -> bool:
        entry = self._session.channel.state.delivered(message_id)
        return entry is not None and entry.bare

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
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
        gone, self._gone = self._gone, []
        if not changed and not gone:
            return ExtensionOutput(events=events)
        values = {name: chain.to_bytes() for name, chain in changed.items()}

        def save(transaction: Transaction) -> None:
            for name in gone:
                transaction.forget_value(name)
            for name, value in values.items():
                transaction.set_value(name, value)

        return ExtensionOutput(save, events=events)

    def _kept_as_id(self, message: Message, changed: dict[str, AuthorChain], mono: int) -> None:
        """Note that the number of a message kept as an id is not missing. A chain that begins with such a message is
        not kept: whoever sends so much may name any device."""
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
        sender_id = message.sender_id
        name = chain_name(self._session.name, sender_id, place.device)
        is_new = not self._has_chain(name)
        chain = changed[name] = self._chain(name)
        if not chain.add(place.sequence, place.previous.hex()) and not self._book.is_waiting(sender_id):
            self._events.append(SaidTwoThings(sender_id, place.sequence, message.message_id))
        self._close(name, chain)
        self._doubt(name, chain, mono)
        if is_new:
            self._bound(sender_id, name, changed)
        self._devices.count(sender_id, name, chain.messages)

    def _bound(self, sender_id: str, name: str, changed: dict[str, AuthorChain]) -> None:
        """Forget the chains that are too many, now that there is one more of this author's."""
        chains = {name: 0}
        if not self._devices.has_several(sender_id):
            others = self._store.values(name[: -2 * DEVICE_BYTES])
            kept = {other: chain_of(value) for other, value in others.items() if other not in self._gone}
            unsaved = {other: chain for other, chain in changed.items() if author_of(other) == sender_id}
            chains = {other: chain.messages for other, chain in (kept | unsaved).items() if other != name} | chains
        if len(chains) > 1 or self._devices.has_several(sender_id):
            self._devices.add(sender_id, chains)
        for gone in self._devices.take_surplus(sender_id):
            self._forget(gone, changed)

    def _forget(self, name: str, changed: dict[str, AuthorChain]) -> None:
        self._gone.append(name)
        changed.pop(name, None)
        self._chains.pop(name, None)
        for doubts in (self._doubts, self._told):
            for doubt in [each for each in doubts if each[0] == name]:
                del doubts[doubt]

    def _doubt(self, name: str, chain: AuthorChain, mono: int) -> None:
        for gap in chain.gaps():
            doubt = name, gap.high + 1
            if doubt in self._told or doubt in self._doubts:
                continue
            if _has_room(self._doubts, _MOST_DOUBTS, author_of(name)):
                self._doubts[doubt] = _Patience(mono + _PATIENCE, gap.low)

    def _close(self, name: str, chain: AuthorChain) -> None:
        if not self._told:
            return
        still = {(name, gap.high + 1) for gap in chain.gaps()}
        for doubt in [each for each in self._told if each[0] == name and each not in still]:
            del self._told[doubt]
            if doubt[1] > chain.runs[0].low:  # else it was forgotten
                self._events.append(AuthorGapClosed(author_of(name), doubt[1] - 1))

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


def _has_room(gaps: dict[_Doubt, Any], most: int, sender_id: str) -> bool:
    """True if a gap of this author may be added. If there are too many, one of the author with most of them goes."""
    if len(gaps) < most:
        return True
    counts = Counter(author_of(name) for name, _ in gaps)
    heaviest, count = counts.most_common(1)[0]
    if counts[sender_id] >= count - 1:
        return False
    del gaps[next(gap for gap in gaps if author_of(gap[0]) == heaviest)]
    return True


def _fills(write: Append) -> bool:
    """True if a message was kept as an id when it came first."""
    return write.instead_of is not None and write.instead_of.generation == WITHOUT_A_BODY
