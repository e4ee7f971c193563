"""Transfer of pages of history to a peer in interactive mode, without a database.

Each body is offered, requested, sent and acknowledged like any message of MVDS, and forgotten once it is acknowledged
or delivered. Bodies lost when the process ends are found missing, and transferred, by the next comparison.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from sdschat.mvds.config import Config
from sdschat.mvds.engine import Engine
from sdschat.mvds.events import Acknowledged, Delivered, Expired, RecordDropped
from sdschat.mvds.limits import KIB
from sdschat.mvds.values import Keep, Message, Mode, Moment, Packet, Payload, RecordType, Refusal

_SEEN: Final = 4096  # received ids that are remembered, so that a duplicate is acknowledged again
EPOCH: Final = 150  # milliseconds
CONFIG: Final = Config(
    epoch=EPOCH,
    mode=Mode.INTERACTIVE,
    ordering="eventual",
    backoff_first=40,
    backoff_max=320,
    backoff_low=40,
    expire_after=10,
    presence_interval=1000,
    fetch_parents=False,
    metadata=False,
    packet_bytes=248 * KIB,
)


class Came(NamedTuple):
    """A body received from a peer."""

    peer: str
    body: bytes


class Through(NamedTuple):
    """A body was acknowledged by the peer, or (`arrived` false) was given up."""

    peer: str
    message_id: bytes
    arrived: bool


class CarriedPage(NamedTuple):
    """Output since the last `take`: packets to send, bodies received, bodies of ours that are finished."""

    packets: tuple[Packet, ...]
    came: tuple[Came, ...]
    through: tuple[Through, ...]


class _PageArchive:
    """The archive of the engine: messages being sent, and the ids of messages received."""

    def __init__(self) -> None:
        # Messages of our own, by id, until they are acknowledged or given up.
        self.bodies: dict[bytes, Message] = {}
        # Groups of the newest `_SEEN` received messages, by message id, oldest first.
        self.seen: OrderedDict[bytes, bytes] = OrderedDict()

    def holds(self, message_id: bytes) -> bool:
        return message_id in self.bodies or message_id in self.seen

    def load(self, message_id: bytes) -> Message | None:
        found = self.bodies.get(message_id)
        if found is None and message_id in self.seen:
            # Read only for its group, to acknowledge an offer of it: `Pages.receive` removes requests for it.
            return Message(self.seen[message_id], 0, b"")
        return found


class Pages:
    """Bodies to and from partners. Call `take` after every verb, and `advance` at the time of `next_wake`."""

    def __init__(self, group: bytes, secret: bytes, now: Moment, config: Config = CONFIG) -> None:
        self._group = group
        self._archive = _PageArchive()
        self._engine = Engine(config, secret, self._archive, now)
        self.partners: set[str] = set()  # the members of the group: peers to exchange bodies with
        self._peers: dict[bytes, str] = {}  # to whom each body of ours goes
        self._engine.join(group, ())

    def deal_with(self, partners: set[str]) -> None:
        """Set the peers to exchange bodies with; exchanges with others end."""
        if partners != self.partners:
            self.partners = set(partners)
            self._engine.join(self._group, partners)

    def give(self, peer: str, body: bytes, now: Moment) -> bytes:
        """Offer a body to a partner; return its message id."""
        message_id = self._engine.send(self._group, body, now, to=(peer,))
        self._peers[message_id] = peer
        return message_id

    def recall(self, peer: str) -> None:
        """Forget the bodies that are on their way to a peer. `take` tells nothing of them."""
        for message_id in [one for one, to in self._peers.items() if to == peer]:
            del self._peers[message_id]
            self._archive.bodies.pop(message_id, None)
            self._engine.cancel(message_id, (peer,))

    def receive(self, peer: str, payload: Payload | Refusal, now: Moment) -> bool:
        """Process a payload. Return True if it gives something and its sender is no partner: that is not acknowledged,
        and would be sent again for minutes."""
        if isinstance(payload, Payload) and payload.requests:
            seen = self._archive.seen
            payload = payload._replace(requests=tuple(one for one in payload.requests if one not in seen))
        self._engine.receive(peer, payload, now)
        given = isinstance(payload, Payload) and bool(payload.messages or payload.offers)
        return given and peer not in self.partners

    def advance(self, now: Moment) -> None:
        self._engine.advance(now)

    def next_wake(self) -> int | None:
        return self._engine.next_wake()

    def take(self) -> CarriedPage:
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
                case RecordDropped(message_id, peer) if message_id in self._peers:
                    through.append(self._ended(peer, message_id, False))
        return CarriedPage(ready.packets, tuple(came), tuple(through))

    def _keep(self, message_id: bytes, message: Message, own: bool) -> None:
        if own:
            if message_id in self._peers:  # otherwise it was recalled meanwhile
                self._archive.bodies[message_id] = message
            return
        self._archive.seen[message_id] = message.group_id
        if len(self._archive.seen) > _SEEN:
            self._archive.seen.popitem(last=False)

    def _ended(self, peer: str, message_id: bytes, arrived: bool) -> Through:
        self._archive.bodies.pop(message_id, None)
        self._peers.pop(message_id, None)
        return Through(peer, message_id, arrived)
