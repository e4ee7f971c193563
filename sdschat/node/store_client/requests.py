"""Asking Stores: one after another until one answers, each answer judged, and no more at once than is good for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.identity.signing import Identity
from sdschat.node.channel.extension import OutgoingPacket
from sdschat.node.store_client.envelope import ANSWER, QUERY, SealedQuery, seal, unseal
from sdschat.node.store_client.events import StoreAnswered, StoreAsked, StoreEvent, StoreLeft, StoreSilent
from sdschat.node.store_client.verify import Checked, Lie, StoreClaims, StoreReputation, VerifiedAnswer, judge
from sdschat.sds.values import Codec, Now, Refusal
from sdschat.wire.store_codec import (
    MAX_ANSWER_BYTES,
    QUERY_ID_BYTES,
    Item,
    Range,
    StoreAnswer,
    StoreKey,
    StoreQuery,
    WantedMessage,
    decode_answer,
    encode_query,
)

if TYPE_CHECKING:
    from sdschat.node.channel.presence import ChannelPresence

AT_ONCE: Final = 8  # questions of one channel under way
PATIENCE: Final = 4_000  # milliseconds for an answer
_QUEUED: Final = 64  # questions that wait for one of those to end
_THIN_PAGES: Final = 3  # pages far smaller than they could be, from one Store in a row


class StoreReply(NamedTuple):
    """Result of a question. `store` is empty if no Store gave a usable answer."""

    store: str = ""
    fetched: Sequence[Checked] = ()
    doubtful: Sequence[str] = ()  # sent, but not to be taken from a Store
    unknown: Sequence[str] = ()
    confirmed: Sequence[Item] = ()  # ids and hints
    more: bool = False
    floor: int = 0
    last: StoreKey | None = None


Done = Callable[[StoreReply, Now], None]


class _Open:
    """A question under way."""

    __slots__ = ("confirm", "deadline", "done", "first", "only", "query", "range", "tried", "wanted", "why")

    def __init__(
        self,
        wanted: tuple[WantedMessage, ...],
        asked: Range | None,
        confirm: bool,
        first: str,
        only: bool,
        why: str,
        done: Done,
    ) -> None:
        self.wanted = wanted
        self.range = asked
        self.confirm = confirm
        self.first = first
        self.only = only
        self.why = why
        self.done = done
        self.tried: set[str] = set()
        self.query: StoreQuery | None = None
        self.deadline = 0

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(one.message_id for one in self.wanted)


class StoreRequests:
    """The questions of one channel. `packets` and `events` collect what its owner is to send and to tell."""

    def __init__(
        self,
        channel: str,
        identity: Identity,
        codec: Codec,
        reputation: StoreReputation,
        presence: ChannelPresence,
        draw: Callable[[int], bytes],
    ) -> None:
        self.packets: list[OutgoingPacket] = []
        self.events: list[StoreEvent] = []
        self.reputation = reputation
        self._channel = channel
        self._identity = identity
        self._codec = codec
        self._presence = presence
        self._draw = draw
        self.patience = PATIENCE
        self._queue: list[_Open] = []
        self._open: dict[bytes, _Open] = {}
        self.claims = StoreClaims()
        self._thin: dict[str, int] = {}

    def stores(self) -> list[str]:
        """Return the participants that say to be a Store, are here, and were not left for a lie."""
        return self.reputation.trusted(self._presence.roles)

    def ask(
        self,
        why: str,
        done: Done,
        *,
        wanted: Iterable[WantedMessage] = (),
        asked: Range | None = None,
        confirm: bool = False,
        first: str = "",
        only: str = "",
    ) -> None:
        """Ask for messages or for a page, with the next `flush`. `done` is called exactly once, and not from here.
        `first` is asked first, `only` alone."""
        self._queue.append(_Open(tuple(wanted), asked, confirm, only or first, bool(only), why, done))

    def flush(self, now: Now) -> None:
        """Send what waits to be asked, as far as there is somebody to ask and not too much is under way."""
        waiting, self._queue = self._queue, []
        for question in waiting:
            if len(self._open) >= AT_ONCE and len(self._queue) < _QUEUED:
                self._queue.append(question)
            elif len(self._open) >= AT_ONCE or not self._next(question, now):
                question.done(StoreReply(), now)

    def _next(self, question: _Open, now: Now) -> bool:
        """Ask the next Store that was not tried for this question."""
        query_id = self._draw(QUERY_ID_BYTES)
        ranked = self.reputation.ranked(self._presence.roles, query_id, now.mono, question.first)
        store = next((one for one in ranked if one not in question.tried), "")
        if not store or (question.only and store != question.first):
            return False
        question.tried.add(store)
        query = StoreQuery(query_id, store, now.wall, question.wanted, question.range, question.confirm)
        question.query = query
        question.deadline = now.mono + self.patience
        self._open[query_id] = question
        payload = seal(self._identity, QUERY, self._channel, store, encode_query(query))
        self.packets.append(OutgoingPacket("store/query", "", payload))
        self.events.append(StoreAsked(store, question.why, question.ids))
        return True

    def heard(self, payload: bytes, now: Now) -> None:
        """Take in bytes on our answer topic, from anybody. Those that are no answer to a question of ours change
        nothing."""
        letter = unseal(payload, MAX_ANSWER_BYTES)
        if isinstance(letter, Refusal):
            return
        answer = decode_answer(letter.sealed.body)
        if isinstance(answer, Refusal):
            self._unreadable(letter, answer, now)
            return
        question = self._open.get(answer.query_id)
        if question is None or question.query is None or question.query.store != letter.sender_id:
            return
        if not letter.proven(ANSWER, self._channel, self._identity.sender_id):
            return
        del self._open[answer.query_id]
        self._answered(question, question.query, answer, now)

    def _unreadable(self, letter: SealedQuery, refusal: Refusal, now: Now) -> None:
        """Leave a Store that signed what is no answer: a date beyond all dates, for one."""
        asked = [
            (query_id, question)
            for query_id, question in self._open.items()
            if question.query is not None and question.query.store == letter.sender_id
        ]
        if not asked or not letter.proven(ANSWER, self._channel, self._identity.sender_id):
            return
        self.leave(letter.sender_id, f"its answer cannot be read: {refusal.reason} {refusal.detail}".rstrip())
        for query_id, question in asked:
            del self._open[query_id]
            self._go_on(question, now)

    def _answered(self, question: _Open, query: StoreQuery, answer: StoreAnswer, now: Now) -> None:
        if answer.refused:
            self.reputation.busy(query.store, now.mono)
            self._give_up(question, query.store, answer.refused, now)
            return
        judged = judge(query, answer, self._channel, self._codec)
        if isinstance(judged, VerifiedAnswer) and judged.thin:
            judged = self._note_thin(query.store, judged)
        elif query.range is not None:
            self._thin.pop(query.store, None)
        if isinstance(judged, VerifiedAnswer):
            judged = self._keep_to_word(query, answer, judged)
        if isinstance(judged, Lie):
            self.leave(query.store, judged.why)
            self._go_on(question, now)
            return
        self.reputation.answered(query.store)
        items = answer.items if query.confirm else ()
        found = tuple(one.message.message_id for one in judged.fetched)
        self.events.append(StoreAnswered(query.store, question.why, found, answer.unknown, len(found) or len(items)))
        reply = StoreReply(
            query.store, judged.fetched, judged.doubtful, answer.unknown, items, answer.more, answer.floor, answer.last
        )
        question.done(reply, now)

    def _keep_to_word(self, query: StoreQuery, answer: StoreAnswer, judged: VerifiedAnswer) -> VerifiedAnswer | Lie:
        """Hold a page against what this Store said to have, and remember what it says to have now."""
        keys = [one.key for one in judged.fetched]
        given = {message_id for _, message_id in keys}.union(judged.doubtful)
        if query.range is not None and self.claims.left_out(query.store, query.range, answer, given) is not None:
            return Lie("it left out of a page what it had said to have")
        self.claims.note(query.store, keys)
        return judged

    def _note_thin(self, store: str, judged: VerifiedAnswer) -> VerifiedAnswer | Lie:
        self._thin[store] = self._thin.get(store, 0) + 1
        return Lie("its pages are small and without end") if self._thin[store] >= _THIN_PAGES else judged

    def leave(self, store: str, why: str) -> None:
        """Leave a Store that lied. Whoever looks more closely at its answers may find that out, too."""
        if self.reputation.leave(store, why):
            self.events.append(StoreLeft(store, self._presence.online.get(store, ""), why))

    def advance(self, now: Now) -> None:
        """Ask the next Store the questions that were not answered in time."""
        for query_id, question in [*self._open.items()]:
            if question.deadline <= now.mono and question.query is not None:
                del self._open[query_id]
                self.reputation.silent(question.query.store, now.mono)
                self._give_up(question, question.query.store, "silent", now)

    def disconnected(self, now: Now) -> None:
        """End all questions without an answer, since none comes any more. No Store is blamed for that."""
        questions = [*self._open.values(), *self._queue]
        self._open, self._queue = {}, []
        for question in questions:
            question.done(StoreReply(), now)

    def _give_up(self, question: _Open, store: str, why: str, now: Now) -> None:
        self.events.append(StoreSilent(store, question.why, question.ids, why))
        self._go_on(question, now)

    def _go_on(self, question: _Open, now: Now) -> None:
        if not self._next(question, now):
            question.done(StoreReply(), now)

    def next_wake(self) -> int | None:
        return min((question.deadline for question in self._open.values()), default=None)
