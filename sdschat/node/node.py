"""The node: several channels on one event loop, one profile, one transaction for each turn of the loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn

from sdschat.identity.content import ContentKind, problems_with
from sdschat.node.channel.content import ContentGate
from sdschat.node.clock import Clock
from sdschat.node.events import HostingChanged, Joined, NodeEvent, SavingFailed, SavingResumed, TroubleMet, What
from sdschat.node.profile import Profile
from sdschat.node.settings import Settings
from sdschat.node.turn_scheduler import TurnScheduler
from sdschat.sds.values import Message
from sdschat.store.errors import DiskFull, StoreError, StoreUnavailable
from sdschat.transport.topics import Topics

if TYPE_CHECKING:
    from sdschat.node.channel.commit import TurnBatch
    from sdschat.node.channel.session import ChannelExtension, ChannelSession
    from sdschat.node.network import TransportFactory

RECENT: Final = 300
RETRY: Final = 2.0  # seconds until saving is tried again
_log = logging.getLogger("sdschat.node")

Consumer = Callable[[NodeEvent], None]
PartMaker = Callable[["ChannelSession"], "ChannelExtension"]


class Node:
    """Feed, save, send, tell. All of it on the loop's thread; nothing here blocks but the disk.
    What only a channel needs is imported with the first one, so that an interface is shown sooner (`late`)."""

    def __init__(
        self, profile: Profile, nick: str, settings: Settings, network: TransportFactory, clock: Clock | None = None
    ) -> None:
        """Needs a running loop. The profile is ours from now on, and closed with the node."""
        self.settings = settings
        self.desk = ContentGate(profile.identity, nick, settings.content_format, profile.store)
        self.rooms: dict[str, ChannelSession] = {}
        self.broker = ""  # address to invite others to; empty: the broker of this machine
        self.silent = False  # a Store: it joins private channels as somebody who writes nothing
        self.failed: asyncio.Future[NoReturn] = asyncio.get_running_loop().create_future()
        self._profile = profile
        self._store = profile.store
        self.network = network
        self._clock = clock or Clock()
        self._loop = asyncio.get_running_loop()
        self.recent: deque[NodeEvent] = deque(maxlen=RECENT)  # for who begins to listen late
        self._consumers: list[Consumer] = []
        self._prepare: list[Callable[[], object]] = []
        self._makers: list[PartMaker] = [self._restoring]
        self._stirred: dict[str, ChannelSession] = {}
        self._unsaved: list[TurnBatch] = []
        self.pace = TurnScheduler(self._loop, self._turn)
        self._alarm: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._closing = False
        network.listen(lambda hosting: self._tell("", HostingChanged(hosting)))

    @property
    def sender_id(self) -> str:
        return self.desk.identity.sender_id

    @property
    def nick(self) -> str:
        return self.desk.nick

    @property
    def profile(self) -> Profile:
        return self._profile

    @property
    def clock(self) -> Clock:
        return self._clock

    def listen(self, consumer: Consumer) -> None:
        """Send every event to this consumer, in order. An exception of a consumer is reported; nothing else fails."""
        self._consumers.append(consumer)

    def extend(self, make: PartMaker) -> None:
        """Every channel that is joined from now on gets this part as well."""
        self._makers.append(make)

    def prepare(self, install: Callable[[], object]) -> None:
        """Called once, before the first channel is joined: the place to `extend` with what is slow to import."""
        self._prepare.append(install)

    def _restoring(self, _: ChannelSession) -> ChannelExtension:
        from sdschat.node.channel.restore import Restoring

        return Restoring(self._store, self.desk)

    def join(self, name: str) -> ChannelSession:
        """Open a channel and connect it: by its name, or by a link to a private one. Raises ValueError for a name or
        link that is none, or was used with another dialect, and StoreError."""
        if name in self.rooms:
            return self.rooms[name]
        from sdschat.identity.sync_proof import SigningCodec
        from sdschat.node.channel.dialect import choose_dialect, codec_for, keep_dialect
        from sdschat.node.channel.session import ChannelSession, open_engine
        from sdschat.node.private.opening import open_private

        topics = Topics(self.named(name), self.settings.topic_prefix)
        if topics.channel in self.rooms:
            return self.rooms[topics.channel]

        prepare, self._prepare = self._prepare, []
        for install in prepare:
            install()
        profile, name = self._profile, topics.channel
        dialect = choose_dialect(profile.store, name, self.settings)
        codec = codec_for(dialect, self.settings)
        signing = SigningCodec(codec, self.desk.identity, name)
        engine = open_engine(
            name, self.sender_id, profile.store, signing, profile.chance, self._clock, self.settings.config
        )
        keep_dialect(profile.store, name, dialect)
        private = open_private(self, topics)
        room = ChannelSession(
            engine,
            topics,
            self.network.transport(topics.who(self.sender_id)) if private is None else private.transport,
            self.desk,
            codec,
            self._clock,
            self.settings.qos,
            unsigned_counts=self.settings.unsigned_counts,
            dialect=dialect,
            tell=self._tell,
            stir=self._stir,
            fail=self.fail,
        )
        self.rooms[name] = room
        if private is not None:
            room.private = private
            room.attach(private)
        for make in self._makers:
            room.attach(make(room))
        self._mend(room.name)
        self._tell(room.name, Joined(self.sender_id, self.nick, len(engine.state.outgoing.open)))
        self._stir(room)
        room.start()
        return room

    def named(self, text: str) -> str:
        """Return the name of the channel that a name or a link means. A link is kept with the profile."""
        from sdschat.node.private.opening import enter

        return enter(self._store, text, self._clock.now().wall)

    async def part(self, channel: str, grace: float = 1.0) -> None:
        """Leave a channel: what is ready is saved and sent, and nothing more is heard. Its history stays."""
        room = self.rooms[channel]
        self._turn()
        await room.transport.close(grace)
        self._turn()
        self.rooms.pop(channel, None)
        self._stirred.pop(channel, None)
        self._set_alarm()

    def rename(self, nick: str) -> None:
        """Go by another nick from now on. Raises ValueError for what cannot be one."""
        for problem in problems_with("", nick):
            raise ValueError(problem)
        self.desk.nick = nick
        for room in self.rooms.values():
            room.say_presence()

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
        room = self.rooms[channel]
        now = self._clock.now()
        if not text:
            raise ValueError("A message needs some text.")
        if room.private is not None and kind is not ContentKind.OPERATION:
            room.private.require_voice()
        content = self.desk.compose(channel, text, now.wall, kind, reply_to)
        try:
            if ephemeral:
                return room.channel.send_ephemeral(now, content)
            message = room.channel.send(now, content)
            self.desk.sent(message)
            return message
        finally:
            self._stir(room)

    def _mend(self, name: str) -> None:
        """Say what the disk has altered, and read texts again that were taken out for that."""
        losses = [loss for loss in self._store.losses if loss.channel == name]
        for loss in losses:
            self._tell(name, TroubleMet(f"{loss.what} {loss.message_id}".rstrip()))
        if losses:
            from sdschat.node.channel.commit import read_again

            read_again(name, self._profile, self.desk)

    # A turn of the loop.

    def _stir(self, room: ChannelSession) -> None:
        """Something is ready. It is taken after everything that arrives in this turn of the loop."""
        self._stirred[room.name] = room
        self.pace.stir()

    def _turn(self) -> None:
        from sdschat.node.channel.commit import collect

        self.pace.begin()
        stirred, self._stirred = self._stirred, {}
        taken: list[TurnBatch] = []
        try:
            taken += (collect(room, self.desk, self._clock) for room in stirred.values())
            self._unsaved += taken
            self.desk.forget_claims()
            if self._retry is None:
                self._commit()
        except Exception as error:
            # What was taken is neither saved nor sent: going on from here would be going on without it.
            self.fail(error)
        self._set_alarm()
        self.pace.end(sum(len(batch.texts) for batch in taken))

    def _commit(self) -> None:
        from sdschat.node.channel.commit import commit

        batches = self._unsaved
        try:
            commit(self._store, batches)
        except (DiskFull, StoreUnavailable) as error:
            self._wait_for_disk(error)
            return
        self._unsaved = []
        for batch in batches:
            batch.room.publish(batch.packets)
            for work in batch.parts:
                batch.room.post(work.posts)
        for batch in batches:
            for what in batch.told:
                self._tell(batch.room.name, what)

    def _wait_for_disk(self, error: StoreError) -> None:
        for room in self.rooms.values():
            room.transport.pause()
        self._retry = self._loop.call_later(RETRY, self._try_again)
        self._tell("", SavingFailed(str(error)))

    def _try_again(self) -> None:
        self._retry = None
        self._turn()
        if self._retry is None and not self.failed.done():
            for room in self.rooms.values():
                room.transport.resume()
            self._tell("", SavingResumed())

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        due = [when for room in self.rooms.values() if (when := room.next_wake()) is not None]
        if due and not self._closing and not self.failed.done():
            delay = max(0, min(due) - self._clock.now().mono) / 1000
            self._alarm = self._loop.call_later(delay, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        now = self._clock.now()
        try:
            for room in self.rooms.values():
                when = room.next_wake()
                if when is not None and when <= now.mono:
                    room.advance()
        except Exception as error:
            self.fail(error)
        self._set_alarm()

    # Telling.

    def tell(self, what: What) -> None:
        """A fact that concerns the whole node, from what was added to it."""
        self._tell("", what)

    def _tell(self, channel: str, what: What) -> None:
        fact = NodeEvent(channel, self._clock.now().wall, what)
        self.recent.append(fact)
        for consumer in self._consumers:
            try:
                consumer(fact)
            except Exception as error:
                _log.exception("a consumer of facts raised")
                if not isinstance(what, TroubleMet):
                    self._tell(channel, TroubleMet(f"{type(error).__name__}: {error}"))

    def fail(self, error: Exception) -> None:
        """There is no going on: whoever runs the node hears it from `failed`."""
        if not self.failed.done():
            self.failed.set_exception(error)

    async def close(self, grace: float = 1.0) -> None:
        """Save and send what is ready, leave every channel, end the broker if it is ours, close the profile."""
        if self._closing:
            return
        self._closing = True
        try:
            if not self.failed.done():
                self._turn()
            for timer in (self._alarm, self._retry):
                if timer is not None:
                    timer.cancel()
            await asyncio.gather(*(room.transport.close(grace) for room in self.rooms.values()))
            if not self.failed.done():
                self._turn()  # what came in meanwhile; what it makes ready goes out with the next run
            await self.network.close()
        finally:
            self._store.close()
            if self.failed.done():
                with contextlib.suppress(Exception):
                    self.failed.exception()
