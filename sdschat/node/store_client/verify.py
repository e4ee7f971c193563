"""Checks of a Store's answer against its question, and the standing of Stores.

Nothing in an answer counts before it has passed here. Two kinds of wrong are kept apart. A fault that only the Store
can have made is a lie, and the Store is left for it. Data that the Store may have archived in good faith, such as a
message under an id that nobody can check, is merely not taken from it.

The load is shared among the Stores that are here, silent ones rest, and liars are left alone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

from sdschat.catchup.peers import Rests
from sdschat.sds.ids import content_id, recipe_of
from sdschat.sds.values import Codec, Message, MessageKind, Reason, Refusal
from sdschat.wire.chat_codec import is_ours
from sdschat.wire.store_codec import Item, Range, StoreAnswer, StoreKey, StoreQuery

_FULL_BYTES: Final = 32 * 1024  # a page of fewer bytes and messages than these, with more to come, is a thin one
_FULL_ITEMS: Final = 16


# Messages may be dated `sds.max_skew` ahead, and clocks differ by what a Store takes for a clock that is right.
_LATEST_FLOOR: Final = 20 * 60_000


class Lie(NamedTuple):
    """Proof that a Store does not do what Stores do. For a person."""

    why: str


class Checked(NamedTuple):
    """A message that is what its id says, as it was broadcast."""

    message: Message
    raw: bytes
    hint: bytes

    @property
    def key(self) -> tuple[int, str]:
        return (self.message.lamport_timestamp or 0, self.message.message_id)


class VerifiedAnswer(NamedTuple):
    fetched: tuple[Checked, ...]
    doubtful: tuple[str, ...] = ()  # not taken: nobody can check the id, or the packet is larger than we allow
    thin: bool = False  # a page far smaller than it could have been


def judge(query: StoreQuery, answer: StoreAnswer, channel: str, codec: Codec) -> VerifiedAnswer | Lie:
    """Return the part of an answer that may be used, or the lie found in it."""
    if answer.refused:
        return VerifiedAnswer(())
    if answer.floor > query.sent_time + _LATEST_FLOOR:
        return Lie(f"it says to have dropped everything up to {answer.floor}, which is later than now")
    if query.range is not None:
        return _judge_page(query.range, answer, channel, codec)
    return _judge_messages(query, answer, channel, codec)


def _judge_messages(query: StoreQuery, answer: StoreAnswer, channel: str, codec: Codec) -> VerifiedAnswer | Lie:
    ids = {one.message_id for one in query.wanted}
    by_hint_alone = sum(1 for one in query.wanted if not one.message_id)
    seen: set[str] = set()
    fetched: list[Checked] = []
    doubtful: list[str] = []
    for item in answer.items:
        if not item.message_id or item.message_id in seen:
            return Lie("it sent a message twice, or without its id")
        if item.message_id not in ids:
            by_hint_alone -= 1
            if by_hint_alone < 0:
                return Lie("it sent a message that was not asked for")
        seen.add(item.message_id)
        if query.confirm:
            continue
        found = _open(item, channel, codec)
        if isinstance(found, Lie):
            return found
        if found is None or recipe_of(found.message) == "foreign":
            doubtful.append(item.message_id)
        else:
            fetched.append(found)
    if not seen.isdisjoint(answer.unknown):
        return Lie("it sent a message and denied having it, in one answer")
    if answer.more and not answer.items:
        return Lie("it promised more messages and sent none")
    return VerifiedAnswer(tuple(fetched), tuple(doubtful))


def _judge_page(asked: Range, answer: StoreAnswer, channel: str, codec: Codec) -> VerifiedAnswer | Lie:
    if len(answer.items) > asked.limit:
        return Lie(f"it sent {len(answer.items)} messages in a page of {asked.limit}")
    if answer.more and not answer.items:
        return Lie("it sent an empty page and promised another")
    fetched: list[Checked] = []
    doubtful: list[str] = []
    last: tuple[int, str] | None = asked.after
    size = 0
    for item in answer.items:
        size += len(item.packet)
        found = _open(item, channel, codec)
        if isinstance(found, Lie):
            return found
        if found is None:
            doubtful.append(item.message_id)
            continue
        key = found.key
        if key[0] < answer.floor:
            return Lie("it sent what it says to have dropped")
        if not asked.low <= key[0] <= asked.high:
            return Lie("it sent a message from outside the range")
        if last is not None and (key >= last if asked.newest_first else key <= last):
            return Lie("its pages are out of order")
        last = key
        fetched.append(found)
    if answer.more and (answer.last is None or not _goes_on(asked, last, answer.last)):
        return Lie("its pages do not follow one another")
    thin = answer.more and size < _FULL_BYTES and len(answer.items) < min(_FULL_ITEMS, asked.limit)
    return VerifiedAnswer(tuple(fetched), tuple(doubtful), thin)


def _goes_on(asked: Range, last: tuple[int, str] | None, beyond: tuple[int, str]) -> bool:
    """True if the next page begins within the range, behind everything of this one, and further than this one did."""
    if not asked.low <= beyond[0] <= asked.high or beyond == asked.after:
        return False
    return last is None or (beyond <= last if asked.newest_first else beyond >= last)


def _open(item: Item, channel: str, codec: Codec) -> Checked | Lie | None:
    message = codec.decode(item.packet)
    if isinstance(message, Refusal) and message.reason is Reason.TOO_LARGE:
        return None  # others may allow larger packets
    if isinstance(message, Refusal):
        return Lie(f"it sent a packet that cannot be read ({message.reason})")
    if item.message_id and message.message_id != item.message_id:
        return Lie("it sent one message as another")
    if message.channel_id != channel:
        return Lie("it sent a message of another channel")
    if message.kind is not MessageKind.CONTENT:
        return Lie("it sent what belongs into no log")
    content = message.content or b""
    # Our own make always has the hash for its id, and nobody else writes it; see `identity.content.open_content`.
    if is_ours(content) and message.message_id != content_id(content):
        return Lie("it sent other bytes than the id stands for")
    return Checked(message, item.packet, item.hint)


_MOST: Final = 4096  # messages remembered of one Store
_STORES: Final = 64


class StoreClaims:
    """Keys that Stores vouched for with their signatures."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: dict[str, list[tuple[int, str]]] = {}

    def note(self, store: str, keys: Iterable[tuple[int, str]]) -> None:
        if store not in self._said and len(self._said) >= _STORES:
            del self._said[next(iter(self._said))]
        said = self._said.setdefault(store, [])
        for key in keys:
            at = bisect_left(said, key)
            if at == len(said) or said[at] != key:
                insort(said, key)
        del said[: max(0, len(said) - _MOST)]

    def left_out(self, store: str, asked: Range, answer: StoreAnswer, given: set[str]) -> str | None:
        """Return the id of a message that must have been in this page and is not."""
        low: tuple[int, str] = (max(asked.low, answer.floor), "")
        high: tuple[int, str] = (asked.high + 1, "")
        if asked.newest_first:
            high = min(high, asked.after or high)
            low = max(low, _behind(answer.last)) if answer.more and answer.last is not None else low
        else:
            low = max(low, _behind(asked.after)) if asked.after is not None else low
            high = min(high, answer.last) if answer.more and answer.last is not None else high
        said = self._said.get(store, [])
        within = said[bisect_left(said, low) : bisect_left(said, high)]
        return next((message_id for _, message_id in within if message_id not in given), None)


def _behind(key: StoreKey) -> tuple[int, str]:
    """Return the smallest position after a key."""
    return (key.lamport, key.message_id + "\0")


BUSY: Final = 3_000  # milliseconds: a Store that asks for patience is alive, and its share fills up all the time
_MOST_STORES: Final = 2048  # anybody can make up Stores: the oldest of so many is forgotten


class StoreReputation:
    """Reputation of the Stores that this node met. One object serves all channels."""

    __slots__ = ("left", "rests")

    def __init__(self) -> None:
        self.left: dict[str, str] = {}  # for having lied, until the program is started anew; and what it did
        self.rests = Rests()  # catching up uses the same

    def trusted(self, stores: Iterable[str]) -> list[str]:
        """Return the Stores that were not left."""
        return [store for store in stores if store not in self.left]

    def ranked(self, stores: Iterable[str], question: bytes, now: int, first: str = "") -> list[str]:
        """Return the Stores of `shared` that do not rest."""
        return [store for store in self.shared(stores, question, first) if self.rests.until(store) <= now]

    def shared(self, stores: Iterable[str], question: bytes, first: str = "") -> list[str]:
        """Return the Stores in the order in which to ask them. Rendezvous hashing: every question has its own order, so
        that all Stores get their share, and one that comes or goes moves nobody else's. `first` is known to have the
        answer."""
        return sorted(self.trusted(stores), key=lambda store: (store != first, _weight(store, question)))

    def answered(self, store: str) -> None:
        self.rests.forget(store)

    def silent(self, store: str, now: int) -> None:
        """Note that no answer came in time."""
        self.rests.failed(store, now)

    def busy(self, store: str, now: int) -> None:
        """Note that it answered with a request for patience."""
        self.rests.failed(store, now, BUSY)

    def leave(self, store: str, why: str) -> bool:
        """Leave a Store that lied. Return True the first time."""
        if store in self.left:
            return False
        self.left[store] = why
        if len(self.left) > _MOST_STORES:
            del self.left[next(iter(self.left))]
        self.rests.forget(store)
        return True

    @property
    def size(self) -> int:
        return len(self.left) + len(self.rests)


def _weight(store: str, question: bytes) -> bytes:
    return blake2b(question, key=store.encode()[:64], digest_size=8, person=b"sdschat-store").digest()
