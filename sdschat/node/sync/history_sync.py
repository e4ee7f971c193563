"""Catching up, for one channel of a node: when to begin, from whom, how far back, and what is told of it.

On joining, after an absence, when somebody says that we lack something, and when the person asks for more.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.catchup.exchange import Exchange, OutgoingFrame
from sdschat.catchup.id_only import MOST, IdOnlyLimit
from sdschat.catchup.peers import HistorySource, by_turns
from sdschat.catchup.provider import HistoryProvider, StoredMessage
from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import CatchUpProgress, CatchUpState, Frame, IdOnly, LogKey
from sdschat.mvds.pages import Pages
from sdschat.mvds.values import Payload, Refusal
from sdschat.node.clock import Clock
from sdschat.node.events import BodiesFetched, CatchingUp
from sdschat.node.store_client.client import StoreClient
from sdschat.node.sync.body_search import BodySearch
from sdschat.node.sync.intake import EngineIntake
from sdschat.node.sync.store_pages import StorePages
from sdschat.sds.values import Message, Now
from sdschat.store.packets import ChannelLog
from sdschat.store.transaction import Transaction
from sdschat.wire.catchup_codec import SyncCodec

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.profile import Profile

DAY: Final = 24 * 3600 * 1000
SETTLE: Final = 300  # milliseconds after connecting, in which presences come in
# Shorter absences are made up for by anti-entropy. In longer ones more may have been said than a filter holds, and
# comparing equal logs costs a packet each way.
ABSENCE: Final = 5_000
NUDGED_AGAIN: Final = 30_000
MANY_LACKING: Final = 32  # messages of one range; fewer come by anti-entropy
# Own messages without acknowledgement: what is beyond them filters and mentions settle only slowly, and until then all
# of it is sent again. A comparison proves in a few packets who has it, be it a participant or a Store.
BACKLOG: Final = 512
# Messages that wait for others: those of one sender beyond twice as many are dropped. A broker has lost a stretch of a
# burst, which repair requests close a few at a time, and a comparison at once.
WAITING: Final = 128
BACKLOG_FIRST: Final = 2_000  # milliseconds until such a comparison; the newest messages are on their way until then
BACKLOG_AGAIN: Final = 10_000
TOLD_AT_ONCE: Final = 500  # ids put into the log in a turn: the screen is to be drawn in between
TELL_EVERY: Final = 250
LOOK_EVERY: Final = 1_000
_GROUP_TAG: Final = b"sdschat/history/v1\0"

AHEAD: Final = 5_000  # milliseconds by which a burst of messages, one a millisecond, may be dated ahead


class SyncProgress(NamedTuple):
    """Progress remembered over restarts. `since`: start of the history that the person wants; `complete`: start of the
    history that is complete."""

    since: int
    complete: int = -1  # not yet
    paused: bool = False


class HistorySync:
    """Not an extension of its own: `SyncExtension` hears the topic for it."""

    def __init__(
        self,
        session: ChannelSession,
        profile: Profile,
        gate: ContentGate,
        clock: Clock,
        on_join: str,
        *,
        asks: bool = True,
    ) -> None:
        """`asks` false: only answers others, as a Store does that hears everything anyway."""
        self._session = session
        self._store = profile.store
        self._clock = clock
        self._gate = gate
        self._asks = asks
        self.signing: set[str] = set()  # participants whose frames are signed
        self._name = f"catchup/{session.name}"
        self._kept = self._load(on_join)
        self._saved: SyncProgress | None = None
        self._begin_at: int | None = None
        self._looked_at = -LOOK_EVERY
        self._look_at: int | None = None
        self._connected_at = 0  # by the wall clock
        self._away_since: int | None = -ABSENCE  # None: we are here
        self._nudged_at = -NUDGED_AGAIN
        self._unsaved = False  # something came, and the turn that saves what is in it is still to come
        self._told: list[IdOnly] = []  # to be put into the log
        self._told_limit = IdOnlyLimit()
        self._begin_again = False  # when they all are
        self._backlog_at = 0  # no comparison for the sake of acknowledgements before this time
        self._backlog_until = -1  # own messages dated up to here are such a backlog: by the wall clock
        self._progress: CatchUpProgress | None = None
        self._progress_at = 0
        log = ChannelLog(profile.store, session.name)
        self._bodies = BodySearch(profile.store, session.name)
        # Installed before us, where there is one: it shares its table of who rests.
        self._client = next((extension for extension in session.extensions if isinstance(extension, StoreClient)), None)
        self.catch_up = CatchUpSession(
            self._bodies.log, lambda: secrets.randbits(64), self._client.rests if self._client else None
        )
        self._pages = StorePages(self._client, self.catch_up, self._took, self._store_failed) if self._client else None
        group = history_group(session.name)
        self.exchange = Exchange(
            self.catch_up,
            HistoryProvider(log, self._given if session.gives_since_join else None),
            log,
            carrier=Pages(group, profile.chance, clock.now()),
            codec=SyncCodec(),
            intake=EngineIntake(
                session.channel,
                gate,
                session.reception,
                self.catch_up.wanted,
                self._bodies.log,
                is_open=session.private is None,
            ),
            is_known=lambda peer: peer in self.signing and gate.is_established(peer, clock.now().wall - DAY),
        )

    def _given(self, peer: str, one: StoredMessage) -> StoredMessage:
        """Return what a peer may have of a message of the log: of what is older than their joining, the id."""
        private = self._session.private
        message = self._session.proofs.decode(one.raw).message if one.raw and private is not None else None
        if private is None or not isinstance(message, Message) or private.given(peer, message):
            return one
        return StoredMessage(one.key, b"", message.sender_id)

    # What the person asks for.

    def load_older(self, since: int = 0) -> None:
        """Catch up on everything dated from `since` (epoch milliseconds) on; 0: on everything there is."""
        self._kept = self._kept._replace(since=min(max(0, since), self._kept.since), complete=-1, paused=False)
        self.catch_up.resume(self._clock.now().mono)
        self.begin()

    def begin_later(self, since: int) -> None:
        """Want nothing dated before: it was let go of, even by its id."""
        self._kept = self._kept._replace(since=max(self._kept.since, since))

    def begin(self) -> None:
        """Compare with whoever is here, now. What was sent a moment ago may still be on its way to us, unless that was
        before we were there."""
        now = self._clock.now()
        grace = self._session.channel.state.config.push_grace
        high = max(now.wall - grace, min(self._connected_at, now.wall) + AHEAD, self._kept.since + 1)
        self.catch_up.begin(LogKey(self._kept.since, ""), LogKey(high, ""), now.mono)
        if self._kept.paused:
            self.catch_up.pause()
        self._review(now)

    def show(self, sender_id: str) -> int:
        """Fetch the messages of a sender that are kept as ids. Return the number of them."""
        found = self._bodies.seek(sender_id)
        if found:
            self.begin()
        return found

    def pause(self) -> None:
        self._kept = self._kept._replace(paused=True)
        self.catch_up.pause()
        self._review(self._clock.now())

    def resume(self) -> None:
        self._kept = self._kept._replace(paused=False)
        self.catch_up.resume(self._clock.now().mono)
        self._review(self._clock.now())

    @property
    def since(self) -> int:
        """Start of the history that is wanted."""
        return self._kept.since

    # What the channel tells.

    def connected(self, now: Now) -> None:
        self._connected_at = now.wall
        away_since, self._away_since = self._away_since, None
        if self._asks and away_since is not None and now.mono - away_since >= ABSENCE:
            self._begin_at = now.mono + SETTLE

    def disconnected(self, now: Now) -> None:
        """Note that the connection is gone. This is called for every attempt that fails, too: we are away since the
        first time."""
        unfinished = self.catch_up.active or self._begin_at is not None
        self._begin_at = None
        if self._away_since is None:
            self._away_since = -ABSENCE if unfinished else now.mono
        self.exchange.offline()
        if self._pages is not None:
            self._pages.cancel()

    def presence_changed(self, sender_id: str, online: bool) -> None:
        if not online:
            self.exchange.gone(sender_id)
        self._look_soon()

    def _look_soon(self) -> None:
        """Look at the participants, at most once a second: there may be thousands of changes in it."""
        now = self._clock.now()
        if now.mono - self._looked_at >= LOOK_EVERY:
            self._review(now)
        elif self._look_at is None:
            self._look_at = self._looked_at + LOOK_EVERY

    def heard(self, frm: str, what: Frame | Payload | Refusal, now: Now) -> None:
        """Take in a frame, or the records of a payload of pages."""
        if frm not in self._session.presence.online:
            return  # nobody is sent anything on the word of somebody who is not here
        self._unsaved = True
        if isinstance(what, Frame):
            self.exchange.frame(frm, what, now)
        else:
            self.exchange.records(frm, what, now)
        self._after(now)

    def differed(self, peer: str, lacking: int, now: Now) -> None:
        """Compare soon with a participant that has so many messages more in a range of its log. The sources that were
        asked may have hidden them, and to have them sent again takes long."""
        if lacking >= MANY_LACKING and peer in self._session.presence.online:
            self.catch_up.nudged(peer, now.mono)
            self._begin_soon(now)

    def advance(self, now: Now) -> None:
        if self._unsaved:
            return
        if self._begin_at is not None and self._begin_at <= now.mono:
            self._begin_at = None
            self.begin()
        if self._look_at is not None and self._look_at <= now.mono:
            self._review(now)
        self.exchange.advance(now)
        self._after(now)

    def next_wake(self) -> int | None:
        if self._unsaved:
            return None  # after the turn: a comparison that begins now would be about the log as it was
        told = 0 if self._told else None  # at once
        due = [when for when in (told, self._begin_at, self._look_at, self.exchange.next_wake()) if when is not None]
        return min(due, default=None)

    def take(self, now: Now) -> tuple[list[OutgoingFrame], list[CatchingUp | BodiesFetched], SyncProgress | None]:
        """Take the frames to send, the events to tell, and the progress to save (None if unchanged)."""
        self._unsaved = False
        self._compare_backlog(now)
        frames, self.exchange.frames = self.exchange.frames, []
        kept = self._kept if self._kept != self._saved else None
        self._saved = self._kept
        return frames, [*self._progress_events(now), *self._bodies.take()], kept

    def save(self, transaction: Transaction, kept: SyncProgress) -> None:
        transaction.set_value(self._name, json.dumps(kept._asdict()).encode())

    # Parts of it.

    def _review(self, now: Now) -> None:
        """Tell the catch-up session which sources there are: Stores and participants by turns, the latter in
        an order of our own, so that each gets a share; those who have spoken before the others. A Store that was left
        comes last, as a participant, whose messages are checked like any."""
        self._looked_at, self._look_at = now.mono, None
        presence, book = self._session.presence, self._gate.book
        heard = self._session.channel.state.peers.known
        stores = self._client.stores() if self._client else []
        others = [name for name, nick in presence.online.items() if nick and name not in stores]
        me = self._session.channel.state.participant_id
        others.sort(
            key=lambda name: (
                name in presence.roles,
                not book.is_person(name),
                name not in heard,
                hashlib.sha256(f"{me} {name}".encode()).digest(),
            )
        )
        present = by_turns(
            [HistorySource(name, store=True) for name in stores],
            [HistorySource(name, proven=book.is_person(name)) for name in others],
        )
        if self._session.transport.connected and self._begin_at is None:
            self.catch_up.sources(present, now.mono)
        self.exchange.settle(now)
        self._after(now)
        self._session.mark_ready()

    def _took(self, packets: Sequence[bytes], last: bool) -> str:
        now = self._clock.now()
        self._unsaved = True
        why = self.exchange.take_in(packets, last, now, "store")
        self.exchange.settle(now)
        self._after(now)
        self._session.mark_ready()
        return why

    def _store_failed(self, store: str) -> None:
        now = self._clock.now()
        self.catch_up.failed(store, now.mono)
        self._review(now)

    def _after(self, now: Now) -> None:
        """Carry out the results of a step: ask a Store for pages, report stretches proven equal, react to nudges, and
        note if catching up is done."""
        if self.catch_up.ranges is not None and self._pages is not None:
            (store, want), self.catch_up.ranges = self.catch_up.ranges, None
            self._pages.fetch(store, want)
        channel = self._session.channel
        for stretch, ids in self.exchange.proven(lambda: channel.unacknowledged):
            unproven = stretch.peer not in self.signing and not self._session.proofs.takes_the_word_of(stretch.peer)
            channel.equal_range(now, stretch.peer, f"compared-{stretch.session:016x}", ids, unproven=unproven)
        if self.exchange.nudges:
            self.exchange.nudges.clear()
            self._begin_soon(now)
        self._put_told(now)
        if self.catch_up.state is not CatchUpState.DONE or not self.catch_up.begun:
            return
        self._bodies.end()
        self._session.channel.end_history(now)
        if self._kept.complete != self._kept.since:
            self._kept = self._kept._replace(complete=self._kept.since)
            self._session.channel.lower_horizon(now, max(self._kept.since, self.catch_up.reach.lamport))

    def _begin_soon(self, now: Now) -> None:
        """Begin a comparison, since somebody says to have what we lack."""
        idle = self._asks and not self.catch_up.active and self._begin_at is None
        if idle and now.mono - self._nudged_at >= NUDGED_AGAIN:
            self._nudged_at = now.mono
            self._begin_at = now.mono + SETTLE

    def _put_told(self, now: Now) -> None:
        """Put ids into the log of which nobody who is here has more, some in each turn. There may be more than were
        told at once."""
        ids, any_age = self.catch_up.take_told(), self._session.gives_since_join
        taken = ids if any_age else self._told_limit.within(ids, now.mono)
        self._told += taken
        if len(taken) >= MOST:
            self._begin_again = True
        for key, sender_id in self._told[:TOLD_AT_ONCE]:
            self._session.channel.receive_told(now, key.lamport, key.message_id, sender_id, of_any_age=any_age)
        del self._told[:TOLD_AT_ONCE]
        if self._begin_again and not self._told:
            self._begin_again = False
            self._begin_at = now.mono + SETTLE

    def _compare_backlog(self, now: Now) -> None:
        """Begin a comparison soon if much of our own is not acknowledged, or much waits for what is missing here, and
        there is somebody to compare with."""
        state = self._session.channel.state
        if len(state.outgoing.open) > BACKLOG:
            self._backlog_until = now.wall + AHEAD
        oldest = next(iter(state.outgoing.open.values()), None)
        few = oldest is None or oldest.lamport > self._backlog_until  # the last of a burst were too new for the first
        if (few and len(state.incoming.buffered) <= WAITING) or not self._asks or self._away_since is not None:
            return
        if (
            self._begin_at is None
            and self.catch_up.begun
            and not self.catch_up.active
            and self._session.presence.online
        ):
            self._begin_at = max(now.mono + BACKLOG_FIRST, self._backlog_at)
            self._backlog_at = self._begin_at + BACKLOG_AGAIN

    def _progress_events(self, now: Now) -> list[CatchingUp]:
        progress = self.catch_up.progress()
        before = self._progress
        if progress == before or not self.catch_up.begun:
            return []
        if before is not None and before.state is progress.state and now.mono - self._progress_at < TELL_EVERY:
            return []
        self._progress, self._progress_at = progress, now.mono
        nick = self._session.presence.online.get(progress.source, "")
        return [CatchingUp(str(progress.state), progress.done, progress.total, progress.source, nick, self._kept.since)]

    def _load(self, on_join: str) -> SyncProgress:
        """Return the progress as it was saved, or as the settings have it for a channel that is new here."""
        saved = self._store.value(self._name)
        if saved is not None:
            with contextlib.suppress(ValueError, TypeError):
                return SyncProgress(**json.loads(saved))
        horizon = self._session.channel.state.horizon
        known = self._store.number(self._session.name) is not None
        since = {"all": 0, "24h": self._clock.now().wall - DAY}.get(on_join, horizon)
        return SyncProgress(horizon if known else min(since, horizon))


def history_group(channel: str) -> bytes:
    """Return the MVDS group of the pages of a channel."""
    return hashlib.sha256(_GROUP_TAG + channel.encode()).digest()
