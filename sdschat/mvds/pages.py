"""Handing bulk to a peer by interactive mode, with nothing kept: what was lost with a stop is found lacking again.

Each body is offered, requested, sent and acknowledged like any message of MVDS. What this adds to the engine is that
bodies are forgotten once they are acknowledged, or handed over.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from sdschat.mvds.config import Config
from sdschat.mvds.engine import Engine
from sdschat.mvds.events import Acknowledged, Delivered, Expired, RecordDropped
from sdschat.mvds.limits import KIB
from sdschat.mvds.rows import Keep, RecordType
from sdschat.mvds.values import Message, Mode, Moment, Packet, Payload, Refusal

_SEEN: Final = 4096  # bodies that came, so that one that comes twice is acknowledged twice
EPOCH: Final = 150  # milliseconds
CONFIG: Final = Config(
    epoch=EPOCH, mode=Mode.INTERACTIVE, ordering="eventual", backoff_first=40, backoff_max=320, backoff_low=40,
    expire_after=10,
    presence_interval=1000, fetch_parents=False, metadata=False, packet_bytes=248 * KIB,
)  # fmt: skip


class Came(NamedTuple):
    peer: str
    body: bytes


class Through(NamedTuple):
    """A body is with the peer, or (`arrived` false) was given up."""

    peer: str
    message_id: bytes
    arrived: bool


class Carried(NamedTuple):
    packets: tuple[Packet, ...]
    came: tuple[Came, ...]
    through: tuple[Through, ...]


class _Passing:
    """The archive: what is on its way, and the ids of what came."""

    def __init__(self) -> None:
        self.bodies: dict[bytes, Message] = {}
        self.seen: OrderedDict[bytes, bytes] = OrderedDict()  # id of a message to its group

    def holds(self, message_id: bytes) -> bool:
        return message_id in self.bodies or message_id in self.seen

    def load(self, message_id: bytes) -> Message | None:
        found = self.bodies.get(message_id)
        if found is None and message_id in self.seen:
            # Only its group is looked at, to acknowledge an offer of it: requests for it do not get this far.
            return Message(self.seen[message_id], 0, b"")
        return found


class Pages:
    """Bodies to and from partners. `take` after every verb, and `advance` when `next_wake` says so."""

    def __init__(self, group: bytes, secret: bytes, now: Moment, config: Config = CONFIG) -> None:
        self._group = group
        self._passing = _Passing()
        self._engine = Engine(config, secret, self._passing, now)
        self.partners: set[str] = set()
        self._engine.join(group, ())

    def deal_with(self, partners: set[str]) -> None:
        """Whom to exchange bodies with; what was under way with others ends."""
        if partners != self.partners:
            self.partners = set(partners)
            self._engine.join(self._group, partners)

    def give(self, peer: str, body: bytes, now: Moment) -> bytes:
        """Offer a body to a partner; gives back the id under which it goes."""
        return self._engine.send(self._group, body, now, to=(peer,))

    def receive(self, peer: str, payload: Payload | Refusal, now: Moment) -> None:
        if isinstance(payload, Payload) and payload.requests:
            seen = self._passing.seen
            payload = payload._replace(requests=tuple(one for one in payload.requests if one not in seen))
        self._engine.receive(peer, payload, now)

    def advance(self, now: Moment) -> None:
        self._engine.advance(now)

    def next_wake(self) -> int | None:
        return self._engine.next_wake()

    def take(self) -> Carried:
        ready = self._engine.take()
        for write in ready.writes:
            if isinstance(write, Keep):
                self._keep(write.row.message_id, write.row.message, own=not write.row.peer)
        came: list[Came] = []
        through: list[Through] = []
        for event in ready.events:
            match event:
                case Delivered(_, message, peer) if peer:
                    came.append(Came(peer, message.body))
                case Acknowledged(message_id, peer):
                    through.append(self._ended(peer, message_id, True))
                case Expired(message_id, peer, kind) if kind is not RecordType.REQUEST:
                    self._engine.cancel(message_id, (peer,))
                    through.append(self._ended(peer, message_id, False))
                case RecordDropped(message_id, peer):
                    through.append(self._ended(peer, message_id, False))
        return Carried(ready.packets, tuple(came), tuple(through))

    def _keep(self, message_id: bytes, message: Message, own: bool) -> None:
        if own:
            self._passing.bodies[message_id] = message
            return
        self._passing.seen[message_id] = message.group_id
        if len(self._passing.seen) > _SEEN:
            self._passing.seen.popitem(last=False)

    def _ended(self, peer: str, message_id: bytes, arrived: bool) -> Through:
        self._passing.bodies.pop(message_id, None)
        return Through(peer, message_id, arrived)
