"""A recording as a node that an interface can look at: real in all that it shows, and deaf and dumb besides.

What the recorded node saved is saved again, into a database of its own; what it knew is what an engine restored from
that knows. So everything that looks at a node works on a recording, at every moment of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat.node.channel.content import indexed
from sdschat.node.channel.opening import open_engine
from sdschat.node.channel.sender_limits import SenderLimits
from sdschat.node.channel.session import ChannelSession
from sdschat.node.clock import Clock
from sdschat.node.events import ConnectionChanged, EventBody, Joined, MessageDelivered, NodeEvent, PresenceChanged
from sdschat.node.node import Node
from sdschat.node.profile import open_profile
from sdschat.node.recording.codec import from_json
from sdschat.node.recording.reader import RecordedLine, Recording
from sdschat.sds.channel import Channel
from sdschat.sds.events import SyncReceived
from sdschat.sds.values import Now
from sdschat.store.errors import StoreDamaged
from sdschat.transport import base
from sdschat.transport.base import Topics
from sdschat.transport.memory import MemoryNetwork, MemoryTransport

ONLY_SHOWN: Final = "This is a recording: nothing can be sent or changed."


class ReplayClock(Clock):
    """Shows the time of the recording. It goes on by itself only as far as whoever plays it lets it."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def uptime(self) -> int:
        """Stand still: nobody slept while a recording was played."""
        return 0

    def now(self) -> Now:
        return Now(self.at, self.at)


class _Silent(MemoryTransport):
    """A transport that goes nowhere; it is connected when the recorded one was."""

    def __init__(self) -> None:
        super().__init__(MemoryNetwork(), None)
        self.faults_text = ""

    def start(self) -> None:
        """Do nothing: no packet ever comes."""

    def set_presence(self, payload: bytes, leaving: bytes = b"") -> None:
        """Do nothing: nobody is told."""

    async def close(self, grace: float = 1.0) -> None:
        """Do nothing: no packet is under way."""

    def retry_now(self) -> None:
        """Do nothing: there is no broker to connect to."""

    @property
    def faults(self) -> ToldFaults:
        return ToldFaults(self.faults_text)


class ToldFaults(NamedTuple):
    """Faults of which only the words were recorded."""

    words: str

    @property
    def active(self) -> bool:
        return bool(self.words)

    def __str__(self) -> str:
        return self.words


class _Network:
    def transport(self, presence_topic: str) -> base.Transport:
        return _Silent()

    def listen(self, hosts: Any) -> None:
        """Do nothing: there is no broker."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class ReplaySession(ChannelSession):
    """A channel whose engine is restored from disk whenever somebody looks after something was saved."""

    def __init__(self, engine: Channel, node: ReplayNode, name: str) -> None:
        self._stale = False
        self._engine = engine
        self._online = False
        self._of = node
        transport = _Silent()
        super().__init__(
            engine,
            node.topics_of(name),
            transport,
            node.gate,
            node.profile.codec,
            node.clock,
            1,
            limits=SenderLimits(0, 0),
            emit=lambda *_: None,
            mark_ready=lambda _: None,
            fail=lambda _: None,
        )
        self.silent = transport

    @property
    def channel(self) -> Channel:
        if self._stale:
            self._stale = False
            try:
                self._engine = self._of.engine_of(self.name)
            except StoreDamaged:  # a damaged line was left out that others build on
                self._of.unknown += 1
        self._engine.state.online = self._online
        return self._engine

    @channel.setter
    def channel(self, engine: Channel) -> None:
        self._engine = engine

    def changed(self) -> None:
        self._stale = True

    def connection(self, connected: bool) -> None:
        self._online = self.silent.connected = connected


class ReplayNode(Node):
    """Stands where the recorded node stood after so many steps."""

    def __init__(self, recording: Recording, database: Path) -> None:
        """Stand before the first step. Needs a running loop and an empty folder for the database."""
        start = recording.steps[0].at if recording.steps else 0
        super().__init__(
            open_profile(database, recording.settings),
            recording.nick,
            recording.settings,
            _Network(),
            ReplayClock(start),
        )
        self.recording = recording
        self.place = 0
        self.unknown = 0  # steps that this version does not know

    @property
    def sender_id(self) -> str:
        return self.recording.sender_id

    @property
    def time(self) -> ReplayClock:
        assert isinstance(self.clock, ReplayClock)
        return self.clock

    def topics_of(self, name: str) -> Topics:
        return Topics(name, self.settings.topic_prefix)

    def engine_of(self, name: str) -> Channel:
        profile = self.profile
        return open_engine(
            name, self.sender_id, profile.store, profile.codec, profile.chance, self.clock, self.settings.config
        )

    def join(self, name: str) -> ChannelSession:
        """Return the session of a channel. Raises ValueError for a channel that the recording does not have."""
        channel = self.topics_of(name).channel
        if channel not in self.sessions:
            if channel not in self.recording.channels:
                raise ValueError(f"The recording has no channel {channel!r}.")
            self.sessions[channel] = ReplaySession(self.engine_of(channel), self, channel)
        return self.sessions[channel]

    def send(self, *arguments: Any, **more: Any) -> Any:
        raise ValueError(ONLY_SHOWN)

    def rename(self, nick: str) -> None:
        raise ValueError(ONLY_SHOWN)

    async def part(self, channel: str, grace: float = 1.0) -> None:
        """Do nothing: the channel stays, since the recording goes on."""

    # Going through the recording.

    @property
    def next(self) -> RecordedLine | None:
        steps = self.recording.steps
        return steps[self.place] if self.place < len(steps) else None

    def step(self) -> bool:
        """Apply one line. Return True if it told somebody something. At the end nothing happens."""
        step = self.next
        if step is None:
            return False
        self.place += 1
        self.time.at = max(self.time.at, step.at)
        try:
            self._apply(step)
        except Exception:  # of a later version, or damaged: anybody may have written the file
            self.unknown += 1
        return step.has_event

    def go_to(self, place: int) -> None:
        """Forward to a place."""
        while self.place < min(place, len(self.recording.steps)):
            self.step()

    def _apply(self, step: RecordedLine) -> None:
        what = step.fields
        if step.channel and step.channel not in self.sessions:
            self.join(step.channel)
        if "w" in what:
            self._save(step.channel, what)
        elif "p" in what:
            self._packet(step.channel, what["p"])
        elif "s" in what:
            self._session(step.channel).silent.faults_text = str(what["s"])
        elif "f" in what:
            self._event(step.channel, from_json(what["f"]))

    def _session(self, channel: str) -> ReplaySession:
        session = self.sessions[channel]
        assert isinstance(session, ReplaySession)
        return session

    def _save(self, channel: str, what: dict[str, Any]) -> None:
        writes, texts = from_json(what["w"]), from_json(what.get("x", []))
        with self._store.transaction() as transaction:
            transaction.apply(channel, writes)
            for text in texts:
                transaction.index_text(*text)
        self._session(channel).changed()

    def _packet(self, channel: str, packet: list[Any]) -> None:
        why, raw, out = str(packet[0]), from_json({"b": packet[1]}), bool(packet[2])
        session = self.sessions[channel]
        message = None if out else session.read(raw).message
        for watcher in session.watchers:
            watcher(why, raw, message)

    def _event(self, channel: str, body: EventBody) -> None:
        match body:
            case MessageDelivered(said=said):
                with self._store.transaction() as transaction:
                    transaction.index_text(*indexed(said))
                self.gate.meet(said, self.time.at)
                if not said.own:
                    self.sessions[channel].reception.last_heard.note(said.message, self.clock.now())
            case SyncReceived(sender_id):
                self.sessions[channel].reception.last_heard.note_said(sender_id, self.time.at)
            case PresenceChanged(sender_id=sender_id, nick=nick, online=online):
                self._session(channel).presence.replay(sender_id, nick, online)
            case ConnectionChanged(state=state):
                self._session(channel).connection(state == "connected")
            case Joined():
                self._session(channel)
        event = NodeEvent(channel, self.time.at, body)
        self.recent.append(event)
        for consumer in self._consumers:
            consumer(event)
