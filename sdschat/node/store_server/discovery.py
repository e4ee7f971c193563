"""`sdschat store '#'`: every channel that the broker lets us read, from the moment somebody is there or speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from sdschat.identity.presence import PresenceKind, decode_presence
from sdschat.node.events import TroubleMet
from sdschat.node.network import TransportFactory
from sdschat.node.node import Node
from sdschat.node.tasks import start
from sdschat.sds.values import Message
from sdschat.store.errors import DiskFull, StoreError, StoreUnavailable
from sdschat.transport import base
from sdschat.transport.base import encoded, place

MOST: Final = 256  # channels: each has a connection of its own, and anybody can make up names
SILENT: Final = 300_000  # milliseconds without a packet of others, after which a channel gives its place to another one


class Discovery:
    """Listens to all channels at once, and joins those in which there is something real. Where there are too many, the
    one that was silent longest gives its place away, until something comes from it again."""

    def __init__(
        self,
        node: Node,
        network: TransportFactory,
        found: Callable[[str], None],
        full: Callable[[], None],
        most: int = MOST,
        silent: int = SILENT,
    ) -> None:
        """`found` is told of every channel that was joined, `full` once, of the first one that was not."""
        self._node = node
        self._prefix = node.settings.topic_prefix
        self._found = found
        self._full = full
        self._most = most
        self._silence = silent
        self.passed_over = 0  # packets of channels that there was no room for
        self._heard_at: dict[str, int] = {}  # when somebody was there, or we joined, by channel
        self._none_silent_before = 0  # before this moment no channel can have been silent for long
        self._making_room: asyncio.Task[None] | None = None
        self._connected = False
        self._failures = 0
        self._last: base.Disconnected | None = None
        self._changed = asyncio.Event()
        self._told = set[str]()
        self._transport = network.transport(f"{self._prefix}/!store/{encoded(node.sender_id)}")

    def start(self) -> None:
        now = self._node.clock.now().wall
        self._heard_at.update(dict.fromkeys(self._node.sessions, now))
        self._transport.listen(self._heard)
        self._transport.subscribe(f"{self._prefix}/+/msg")
        self._transport.subscribe(f"{self._prefix}/+/who/+")
        self._transport.start()

    async def first_connection(self, attempts: int) -> base.Disconnected | None:
        """Wait until it is connected; or give why not, after so many attempts."""
        while not self._connected and self._failures < attempts:
            self._changed.clear()
            await self._changed.wait()
        return None if self._connected else self._last

    async def close(self) -> None:
        await self._transport.close()
        if self._making_room is not None:
            await asyncio.wait([self._making_room])

    def _heard(self, event: base.Event) -> None:
        match event:
            case base.Connected():
                self._connected = True
                self._changed.set()
            case base.Disconnected():
                self._failures += 1
                self._last = event
                self._changed.set()
            case base.Received():
                if event.payload:
                    self._take(event)
            case base.SubscribeRefused(_, detail):
                self._tell(detail)
            case base.HandlerFailed(DiskFull() | StoreUnavailable() as error, _):
                self._tell(f"a channel cannot be archived yet: {error}")  # its next packet is a new attempt
            case base.HandlerFailed(StoreError() as error, _) | base.Crashed(error):
                self._node.fail(error)
            case base.HandlerFailed(error, _):  # it follows from one packet, which anybody may have sent
                self._tell(f"{type(error).__name__}: {error}")

    def _tell(self, trouble: str) -> None:
        if trouble not in self._told:
            self._told.add(trouble)
            self._node.emit(TroubleMet(trouble))

    def _take(self, event: base.Received) -> None:
        where = place(event.topic, self._prefix)
        if where is None or where.what not in ("msg", "who"):
            return
        if where.channel in self._node.sessions:
            if where.what == "who" and where.frm != self._node.sender_id:
                self._heard_at[where.channel] = self._node.clock.now().wall
            return
        if not self._is_real(where.channel, where.what, where.frm, event.payload):
            return
        if len(self._node.sessions) >= self._most:
            self._pass_over()
            return
        try:
            session = self._node.join(where.channel)
        except ValueError:  # no name for a channel
            return
        self._heard_at[session.name] = self._node.clock.now().wall
        if where.what == "msg":  # the channel's own connection comes too late for this one
            session.receive(event.payload, "live")
        self._found(session.name)

    def _pass_over(self) -> None:
        """Make room for the next packet of this channel, if there is a silent one; it comes within a minute."""
        if self._making_room is not None and not self._making_room.done():
            return
        silent = self._silent()
        if silent is not None:
            self._heard_at.pop(silent, None)
            self._making_room = start(self._node.part(silent), self._node.fail)
            return
        self.passed_over += 1
        if self.passed_over == 1:
            self._full()

    def _silent(self) -> str | None:
        """Return the channel in which others were silent for longest, if that is long. Packets of channels without a
        place may be many, so all channels are looked at only once one may have been silent for so long."""
        sessions, now = self._node.sessions, self._node.clock.now().wall
        if now < self._none_silent_before:
            return None

        def heard_at(name: str) -> int:
            said = sessions[name].reception.last_heard.latest(self._node.sender_id)
            return max(said, self._heard_at.get(name, 0))

        name = min(sessions, key=heard_at)
        self._none_silent_before = heard_at(name) + self._silence
        return name if now >= self._none_silent_before else None

    def _is_real(self, channel: str, what: str, frm: str, payload: bytes) -> bool:
        """Return True for a readable packet of that channel, or a participant who proves to be there."""
        if what == "who":
            presence = decode_presence(payload)
            here = presence is not None and presence.kind == PresenceKind.HERE
            return here and presence is not None and presence.proven(channel, frm, self._node.gate.book)
        message = self._node.profile.codec.decode(payload)
        return isinstance(message, Message) and message.channel_id == channel
