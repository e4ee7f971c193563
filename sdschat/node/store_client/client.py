"""The extension of a channel that asks Stores: for missing dependencies before repair would, and whether they have what
our next message names. Catching up asks for its pages through it too."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.catchup.peers import Rests
from sdschat.identity.content import Keys, Verdict, open_content
from sdschat.identity.signing import Identity
from sdschat.node.channel.extension import ExtensionOutput
from sdschat.node.store_client.events import StoreEvent, journal_rows
from sdschat.node.store_client.hint import read_hint
from sdschat.node.store_client.requests import StoreReply, StoreRequests
from sdschat.node.store_client.verify import Checked, StoreReputation
from sdschat.sds.state import Ready
from sdschat.sds.values import Append, Now
from sdschat.store.transaction import Transaction
from sdschat.wire.store_codec import MAX_WANTED, Range, StoreKey, WantedMessage

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.node import Node

GRACE: Final = 500  # milliseconds in which what is missing may come by itself: packets overtake each other
SHORTEST_GRACE: Final = 20
ASK_AGAIN: Final = 30_000  # a Store that had it not may have it later; doubles
HINTS_AFTER: Final = 1_000  # the Store needs a moment to hear and save what was just said
HINTS_EVERY: Final = 10_000
HINTS_TRIES: Final = 5  # for the same messages, each time after twice as long: then the Stores will not have them


class FetchedPackets(NamedTuple):
    """Packets of a Store, checked: each packet is of this channel and matches its id, in the order asked for."""

    packets: tuple[bytes, ...]
    more: bool
    unknown: tuple[str, ...]
    floor: int
    last: StoreKey | None = None  # what comes next is behind this
    keys: tuple[tuple[int, str], ...] = ()
    doubtful: int = 0  # packets that are here too, but cannot be used


Done = Callable[[FetchedPackets | None], None]


class _Wish:
    """A missing dependency, as far as Stores were asked for it."""

    __slots__ = ("next_at", "times")

    def __init__(self) -> None:
        self.times = 0
        self.next_at = 0


class StoreClient:
    """See `ChannelExtension`."""

    def __init__(
        self,
        identity: Identity,
        keys: Keys,
        reputation: StoreReputation,
        draw: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """`draw` gives so many bytes that nobody can guess."""
        self._draw = draw
        self._identity = identity
        self._keys = keys
        self._reputation = reputation
        self._wishes: dict[str, _Wish] = {}
        self._online = False
        self._walking = False  # what a Store sent may depend on more that is missing: no need to wait for that
        self._look_at = 0
        self._hints_at: int | None = None
        self._hints_asked = -HINTS_EVERY
        self._hints_tries = 0
        self._now = Now(0, 0)

    def attach(self, session: ChannelSession) -> None:
        self._session = session
        codec = session.channel.state.codec
        self._requests = StoreRequests(
            session.name, self._identity, codec, self._reputation, session.presence, self._draw
        )
        session.handle("store/answer", self._heard)

    # What catching up asks.

    def stores(self) -> list[str]:
        """Return the Stores that are here and were not caught lying, in the order in which to ask them. Some may
        rest."""
        return self._reputation.shared(self._session.presence.roles, self._draw(8))

    @property
    def rests(self) -> Rests:
        """Return the table of who rests after failing, for whoever asks Stores in other ways too."""
        return self._reputation.rests

    def leave(self, store: str, why: str) -> None:
        """Ask a Store no more: its pages do not fit together."""
        self._requests.leave(store, why)
        self._session.mark_ready()

    def page(self, store: str, asked: Range, done: Done) -> None:
        """Ask this Store for a page of the log. `done` is called once, later; with None if the Store gives none."""
        self._ask_for(done, store, asked=asked)

    def fetch(self, store: str, ids: Sequence[str], done: Done) -> None:
        """Ask this Store for messages by their ids."""
        self._ask_for(done, store, wanted=[WantedMessage(message_id) for message_id in ids[:MAX_WANTED]])

    def _ask_for(
        self, done: Done, store: str, wanted: Sequence[WantedMessage] = (), asked: Range | None = None
    ) -> None:
        def came(reply: StoreReply, now: Now) -> None:
            if reply.store:
                packets = tuple(checked.raw for checked in reply.fetched)
                keys = tuple(checked.key for checked in reply.fetched)
                doubtful = len(reply.doubtful)
                done(FetchedPackets(packets, reply.more, tuple(reply.unknown), reply.floor, reply.last, keys, doubtful))
            else:
                done(None)
            self._session.mark_ready()  # this may be the end of a turn already, and something may have come of it

        why = "page" if asked is not None else "ids"
        self._requests.ask(why, came, wanted=wanted, asked=asked, only=store)
        self._session.mark_ready()

    # Calls of the session.

    def connected(self, now: Now) -> None:
        self._online = True
        self._look_at = now.mono

    def disconnected(self, now: Now) -> None:
        self._online = False
        self._requests.disconnected(now)

    def _heard(self, frm: str, payload: bytes, now: Now) -> None:
        self._now = now
        self._requests.heard(payload, now)

    def advance(self, now: Now) -> None:
        self._now = now
        self._requests.advance(now)
        if not self._online or not self._requests.stores():
            return
        if self._look_at <= now.mono:
            self._look_at = now.mono + self._grace()
            self._ask_for_missing(now)
        if self._hints_at is not None and self._hints_at <= now.mono:
            self._ask_for_hints(now)

    def next_wake(self) -> int | None:
        due = [] if (open_until := self._requests.next_wake()) is None else [open_until]
        if self._online and self._session.presence.roles and self._requests.stores():
            if self._session.channel.state.requests.missing:
                due.append(self._look_at)
            if self._hints_at is not None:
                due.append(self._hints_at)
        return min(due, default=None)

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        self._now = now
        if any(type(write) is Append for write in ready.writes):
            self._hints_tries = 0
            soon = max(now.mono + HINTS_AFTER, self._hints_asked + HINTS_EVERY)
            self._hints_at = soon if self._hints_at is None else min(self._hints_at, soon)
        if self._online:
            self._requests.flush(now)
        packets, self._requests.packets = self._requests.packets, []
        events, self._requests.events = self._requests.events, []
        # A question that waits for a connection would be asked too late.
        return (
            ExtensionOutput(self._saving(events, now), packets if self._online else [], events)
            if packets or events
            else ExtensionOutput()
        )

    def _saving(self, events: list[StoreEvent], now: Now) -> Callable[[Transaction], None] | None:
        rows = journal_rows(events, self._session.name, now)
        return (lambda transaction: transaction.journal(rows)) if rows else None

    # Missing dependencies.

    def _ask_for_missing(self, now: Now) -> None:
        """Ask Stores for missing dependencies before T_req, which is half a minute away: what a Store has, nobody need
        be asked to rebroadcast."""
        state = self._session.channel.state
        missing, grace = state.requests.missing, self._grace()
        self._wishes = {message_id: wish for message_id, wish in self._wishes.items() if message_id in missing}
        by_store: dict[str, list[WantedMessage]] = {}
        for message_id, entry in missing.items():
            wish = self._wishes.setdefault(message_id, _Wish())
            fresh = entry.since + grace > now.mono and not self._walking
            if wish.next_at > now.mono or fresh:
                continue
            hint = read_hint(entry.hint or b"")
            wanted = by_store.setdefault("" if hint is None else hint.store, [])
            if len(wanted) < MAX_WANTED:
                wanted.append(WantedMessage(message_id, entry.hint or b""))
        self._walking = False
        for store, some in by_store.items():
            self._requests.ask("missing", self._missing_came(some), wanted=some, first=store)
            for one in some:
                wish = self._wishes[one.message_id]
                wish.next_at = now.mono + (ASK_AGAIN << min(wish.times, 6))
                wish.times += 1
        self._session.mark_ready()

    def _grace(self) -> int:
        """Return the milliseconds to wait before a Store is asked: far fewer than T_req, which is at least `t_min`."""
        return max(SHORTEST_GRACE, min(GRACE, self._session.channel.state.config.t_min // 4))

    def _missing_came(self, wanted: list[WantedMessage]) -> Callable[[StoreReply, Now], None]:
        def came(reply: StoreReply, now: Now) -> None:
            given = {checked.message.message_id for checked in reply.fetched}.union(reply.unknown, reply.doubtful)
            if reply.store and reply.more:
                for one in wanted:
                    if one.message_id not in given and one.message_id in self._wishes:
                        self._wishes[one.message_id].next_at = now.mono
            for checked in sorted(reply.fetched, key=lambda checked: checked.message.lamport_timestamp or 0):
                if self._authentic(checked):
                    self._session.receive(checked.raw, "store")
                    self._session.channel.learn_hint(checked.message.message_id, checked.hint)
            if reply.fetched:
                self._walking = True
                self._look_at = now.mono

        return came

    def _authentic(self, checked: Checked) -> bool:
        """True unless the message names an author who did not sign it, or carries another sender's or message's id.
        Such a message is left to repair, which asks several participants, not one."""
        message = checked.message
        opened = open_content(
            message.content or b"", message.channel_id, message.sender_id, message.message_id, self._keys
        )
        return opened.verdict not in (Verdict.BAD_SIGNATURE, Verdict.MISMATCHED)

    # Retrieval hints.

    def _ask_for_hints(self, now: Now) -> None:
        """Ask Stores about the messages that our next message would name: does a Store have them, and where?"""
        state = self._session.channel.state
        heads = state.window.causal_history(state.config.causal_history)
        wanted = [WantedMessage(entry.message_id) for entry in heads if entry.message_id not in state.hints]
        self._hints_at = None
        self._hints_asked = now.mono
        if wanted:
            self._requests.ask("hints", self._hints_came, wanted=wanted, confirm=True)
            self._session.mark_ready()

    def _hints_came(self, reply: StoreReply, now: Now) -> None:
        state = self._session.channel.state
        for item in reply.confirmed:
            if item.hint:
                self._session.channel.learn_hint(item.message_id, item.hint)
            entry = state.delivered(item.message_id)
            if entry is not None:
                self._requests.claims.note(reply.store, [(entry.lamport, entry.message_id)])
        if reply.unknown and self._hints_at is None and self._hints_tries < HINTS_TRIES:
            self._hints_at = now.mono + (HINTS_EVERY << self._hints_tries)
            self._hints_tries += 1
        self._session.mark_ready()


def install(node: Node, reputation: StoreReputation | None = None) -> StoreReputation:
    """Let every channel that is joined from now on ask Stores, if there are any."""
    shared = reputation or StoreReputation()
    node.extend(lambda session: StoreClient(node.gate.identity, node.gate.book, shared))
    return shared
