"""The node: several channels on one event loop, one profile, one transaction for each turn of the loop."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from sdschat.identity.content import ContentKind, problems_with
from sdschat.identity.key_book import KeyStanding, opened_standing
from sdschat.node.channel.content import ContentGate
from sdschat.node.clock import Clock
from sdschat.node.events import EventBody, HostingChanged, Joined, NodeEvent, SavingFailed, SavingResumed, TroubleMet
from sdschat.node.pauses import DISK, Pauses
from sdschat.node.profile import Profile
from sdschat.node.settings import Settings
from sdschat.node.turn_scheduler import TurnScheduler
from sdschat.sds.values import Message
from sdschat.store.errors import DiskFull, StoreError, StoreUnavailable
from sdschat.transport.base import Topics

if TYPE_CHECKING:
    from sdschat.node.channel.commit import TurnBatch
    from sdschat.node.channel.session import ChannelExtension, ChannelSession
    from sdschat.node.network import TransportFactory

RECENT: Final = 300
RETRY: Final = 2.0  # seconds until saving is tried again
_log = logging.getLogger("sdschat.node")

Consumer = Callable[[NodeEvent], None]
ExtensionFactory = Callable[["ChannelSession"], "ChannelExtension"]


class Node:
    """Feed, save, send, tell. All of it on the loop's thread; nothing here blocks but the disk.
    What only a channel needs is imported with the first one, so that an interface is shown sooner."""

    def __init__(
        self, profile: Profile, nick: str, settings: Settings, network: TransportFactory, clock: Clock | None = None
    ) -> None:
        """Set up the node on a running loop. The profile is ours from now on, and closed with the node."""
        self.settings = settings
        self.gate = ContentGate(
            profile.identity,
            nick,
            settings.content_format,
            profile.store,
            settings.strangers_share,
            unsigned_wait=not settings.unsigned_counts,
        )
        self.sessions: dict[str, ChannelSession] = {}
        self.pauses = Pauses(self.sessions)
        self.broker = ""  # address to invite others to; empty: the broker of this machine
        self.broker_wants_user = False
        self.broker_options = ""  # what else a command needs to reach it, as typed
        self.recorded = set[str]()  # channels of which everything goes into a recording
        self.silent = False  # a Store: it joins private channels as somebody who writes nothing
        self.failed: asyncio.Future[NoReturn] = asyncio.get_running_loop().create_future()
        self.profile = profile
        self._store = profile.store
        self.network = network
        self.clock = clock or Clock()
        self._loop = asyncio.get_running_loop()
        self.recent: deque[NodeEvent] = deque(maxlen=RECENT)  # for who begins to listen late
        self._consumers: list[Consumer] = []
        self._prepare: list[Callable[[], object]] = []
        self._factories: list[ExtensionFactory] = []
        self._ready: dict[str, ChannelSession] = {}
        self.unsaved: list[TurnBatch] = []  # what was taken, and is not on disk yet
        self.cannot_save = ""  # why not, while it is tried again
        self.scheduler = TurnScheduler(self._loop, self._turn)
        self._alarm: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._closing = self._killed = False
        network.listen(lambda hosting: self._emit("", HostingChanged(hosting)))

    @property
    def sender_id(self) -> str:
        return self.gate.identity.sender_id

    @property
    def nick(self) -> str:
        return self.gate.nick

    def listen(self, consumer: Consumer) -> None:
        """Send every event to this consumer, in order. An exception of a consumer is reported; nothing else fails."""
        self._consumers.append(consumer)

    def extend(self, make: ExtensionFactory) -> None:
        """Add this extension to every channel that is joined from now on."""
        self._factories.append(make)

    def prepare(self, install: Callable[[], object]) -> None:
        """Call `install` once, before the first channel is joined. It may call `extend` for what is slow to import."""
        self._prepare.append(install)

    def join(self, name: str) -> ChannelSession:
        """Open a channel and connect it: by its name, or by a link to a private one. Raises ValueError for a name or
        link that is none, or was used with another dialect, or of a channel that is being left, and StoreError."""
        from sdschat.node.channel.basic_extensions import basic_extensions
        from sdschat.node.channel.opening import open_channel
        from sdschat.node.channel.sender_limits import SenderLimits
        from sdschat.node.channel.session import ChannelSession
        from sdschat.node.private.opening import open_private

        topics = Topics(self.named(name), self.settings.topic_prefix)
        if (found := self.sessions.get(topics.channel)) is not None:
            if found.leaves:
                raise ValueError(f"{found.name} is being left. Join it again in a moment.")
            return found
        prepare, self._prepare = self._prepare, []
        for install in prepare:
            install()
        name = topics.channel
        engine, codec, dialect = open_channel(name, self.profile, self.gate, self.settings, self.clock)
        private = open_private(
            self._store,
            topics,
            self.settings,
            self.gate,
            self.network.transport,
            lambda channel, text, kind: self.send(channel, text, kind=kind),
            silent=self.silent,
        )
        limits = partial(SenderLimits, self.settings.messages_per_minute, self.settings.messages_at_once)
        session = ChannelSession(
            engine,
            topics,
            self.network.transport(topics.who(self.sender_id)) if private is None else private.transport,
            self.gate,
            codec,
            self.clock,
            self.settings.qos,
            private=private,
            unsigned_counts=self.settings.unsigned_counts,
            limits=limits(),
            dialect=dialect,
            emit=self._emit,
            mark_ready=self._mark_ready,
            fail=self.fail,
        )
        self.sessions[name] = session
        try:
            for extension in (*filter(None, (private,)), *basic_extensions(self._store, self.gate, limits())):
                session.attach(extension)
            for make in self._factories:
                session.attach(make(session))
            self._mend(name)
        except BaseException:  # half a session would be taken for the whole one by the next joining
            del self.sessions[name]
            self._ready.pop(name, None)
            raise
        self._emit(session.name, Joined(self.sender_id, self.nick, len(engine.state.outgoing.open)))
        self._mark_ready(session)
        session.start()
        return session

    def named(self, text: str) -> str:
        """Return the name of the channel that a name or a link means. A link is kept with the profile."""
        from sdschat.node.private.links import enter

        return enter(self._store, text, self.clock.now().wall)

    async def part(self, channel: str, grace: float = 1.0) -> None:
        """Leave a channel: what is ready is saved and sent, and nothing more is heard. Its history stays."""
        session = self.sessions[channel]
        self._turn()
        await session.leave(grace)
        self._turn()
        self.sessions.pop(channel, None)
        self._ready.pop(channel, None)
        self._set_alarm()

    def rename(self, nick: str) -> None:
        """Go by another nick from now on. Raises ValueError for what cannot be one."""
        for problem in problems_with("", nick):
            raise ValueError(problem)
        self.gate.nick = nick
        for session in self.sessions.values():
            session.say_presence()

    def mute(self, sender_id: str, muted: bool) -> None:
        """Show nothing of what a participant says from now on, in any channel, or show it again. Kept on disk."""
        self._set_standing(sender_id, KeyStanding.MUTED, muted)

    def ignore(self, sender_id: str, ignored: bool) -> None:
        """Keep nothing but the ids of what a participant says from now on, in any channel, or keep all again."""
        self._set_standing(sender_id, KeyStanding.IGNORED, ignored)

    def _set_standing(self, sender_id: str, what: KeyStanding, holds: bool) -> None:
        if sender_id == self.sender_id:
            raise ValueError("That is yourself. Choose somebody else.")
        before = self.gate.book.standing(sender_id) | KeyStanding.PERSON
        self.save_standings({sender_id: before | what if holds else before & ~what})

    def open_strangers(self, sender_ids: Iterable[str]) -> None:
        """Show what strangers say, from now on and before."""
        self.save_standings(dict.fromkeys(filter(self.gate.book.is_waiting, sender_ids), KeyStanding.PERSON))

    def save_standings(self, standings: Mapping[str, KeyStanding]) -> None:
        """Set the standing of participants, on the user's word. Raises StoreError if it cannot be saved."""
        now = self.clock.now().wall
        with self._store.transaction() as transaction:
            for sender_id, standing in standings.items():
                transaction.put_standing(sender_id, int(opened_standing(standing)), now)
        for sender_id, standing in standings.items():
            self.gate.book.set_standing(sender_id, standing, now)
        for session in self.sessions.values():
            self._mark_ready(session)

    def send(
        self,
        channel: str,
        text: str,
        *,
        ephemeral: bool = False,
        kind: ContentKind = ContentKind.TEXT,
        reply_to: str = "",
    ) -> Message:
        """Send a message. Raises ValueError, with nothing changed, for a text that cannot be sent."""
        session = self.sessions[channel]
        now = self.clock.now()
        if not text:
            raise ValueError("A message needs some text.")
        if session.members is not None and kind is not ContentKind.OPERATION:
            raise ValueError(f"{channel} is a members' channel: what is said there is an event of its data set.")
        if session.private is not None and kind is not ContentKind.OPERATION:
            session.private.require_voice()
        content = self.gate.compose(channel, text, now.wall, kind, reply_to)
        try:
            if ephemeral:
                return session.channel.send_ephemeral(now, content)
            message = session.channel.send(now, content)
            self.gate.sent(message)
            return message
        finally:
            self._mark_ready(session)

    def say(self, channel: str, text: str, *, ephemeral: bool = False, reply_to: str = "") -> str:
        """Say something in a channel of any kind, and return its message id. Raises ValueError, with nothing changed,
        for what cannot be said."""
        members = self.sessions[channel].members
        if members is None:
            return self.send(channel, text, ephemeral=ephemeral, reply_to=reply_to).message_id
        if ephemeral:
            raise ValueError(f"{channel} is a members' channel, and has no messages that nobody keeps.")
        return members.say(text, reply_to)

    def _mend(self, name: str) -> None:
        """Say what the disk has altered, and read texts again that were taken out for that."""
        losses = [loss for loss in self._store.losses if loss.concerns(name)]
        for loss in losses:
            self._emit(name, TroubleMet(f"{loss.what} {loss.message_id}".rstrip()))
        if losses:
            from sdschat.node.channel.commit import read_again

            read_again(name, self.profile, self.gate)

    # A turn of the loop.

    def _mark_ready(self, session: ChannelSession) -> None:
        """Ask for a turn, because something of this session is ready. It comes after everything that arrives now."""
        self._ready[session.name] = session
        self.scheduler.mark_ready()

    def _turn(self) -> None:
        from sdschat.node.channel.commit import collect

        if self._killed or self.failed.done():
            return
        self.scheduler.begin()
        ready, self._ready = self._ready, {}
        taken: list[TurnBatch] = []
        try:
            taken += (collect(session, self.gate, self.clock) for session in ready.values())
            self.unsaved += taken
            self.gate.forget_claims()
            if self._retry is None:
                self._commit()
        except Exception as error:
            # What was taken is neither saved nor sent: going on from here would be going on without it.
            self.fail(error)
        self._set_alarm()
        self.scheduler.end(sum(len(batch.texts) for batch in taken))

    def _commit(self) -> None:
        from sdschat.node.channel.commit import commit

        try:
            commit(self._store, batches := self.unsaved)
        except (DiskFull, StoreUnavailable) as error:
            self._wait_for_disk(error)
            return
        self.unsaved, self.cannot_save = [], ""
        for batch in batches:
            batch.session.publish(batch.packets)
            for output in batch.outputs:
                batch.session.send_packets(output.packets)
        at = self.clock.now().wall  # one moment for all: they follow from each other
        for batch in batches:
            for body in batch.events:
                self._emit(batch.session.name, body, at)

    def _wait_for_disk(self, error: StoreError) -> None:
        self.pauses.begin(DISK)
        for session in self.sessions.values():
            session.stand_still()
        self._retry = self._loop.call_later(RETRY, self._try_again)
        told, self.cannot_save = self.cannot_save, str(error)
        if told != self.cannot_save:
            self._emit("", SavingFailed(self.cannot_save))

    def _try_again(self) -> None:
        self._retry = None
        self._turn()
        if self._retry is None and not self._killed and not self.failed.done():
            self.pauses.end(DISK)
            for session in self.sessions.values():
                session.go_on()
            self._emit("", SavingResumed())

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        due = [when for session in self.sessions.values() if (when := session.next_wake()) is not None]
        if due and not self._closing and not self.failed.done():
            delay = max(0, min(due) - self.clock.now().mono) / 1000
            self._alarm = self._loop.call_later(delay, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        now = self.clock.now()
        try:
            for session in self.sessions.values():
                when = session.next_wake()
                if when is not None and when <= now.mono:
                    session.advance()
        except Exception as error:
            self.fail(error)
        self._set_alarm()

    # Telling.

    def emit(self, body: EventBody) -> None:
        """Emit an event that concerns the whole node, for what was added to it."""
        self._emit("", body)

    def _emit(self, channel: str, body: EventBody, at: int | None = None) -> None:
        event = NodeEvent(channel, self.clock.now().wall if at is None else at, body)
        self.recent.append(event)
        for consumer in self._consumers:
            try:
                consumer(event)
            except Exception as error:
                _log.exception("a consumer of events raised")
                if not isinstance(body, TroubleMet):
                    self._emit(channel, TroubleMet(f"{type(error).__name__}: {error}"))

    def fail(self, error: Exception) -> None:
        """End the node's work by an error, which whoever runs the node gets from `failed`."""
        if not self.failed.done():
            self.failed.set_exception(error)

    async def kill(self) -> None:
        """End as a kill of the process would: what is not saved is lost, and nobody hears of it but by the broker."""
        self._killed = True
        for session in self.sessions.values():
            session.transport.hang_up()
        await self.close(0)

    async def close(self, grace: float = 1.0) -> None:
        """Save and send what is ready, leave every channel, end the broker if it is ours, close the profile."""
        if self._closing:
            return
        self._closing = True
        try:
            if self._retry is not None:
                self._retry.cancel()
                self._try_again()  # there may be room by now
            self._turn()
            for timer in filter(None, (self._alarm, self._retry)):
                timer.cancel()
            await asyncio.gather(*(session.leave(grace) for session in self.sessions.values()))
            self._turn()  # what came in meanwhile; what it makes ready goes out with the next run
            await self.network.close()
        finally:
            self._killed = True  # whatever is still to come finds no database
            self._store.close()
            if self.failed.done():
                self.failed.exception()  # nobody else may have asked for it
