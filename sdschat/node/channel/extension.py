"""Extensions: what a channel does beside the engine, such as catching up and asking Stores.

An extension hears its topics (`ChannelSession.handle`), learns what the engine did in this turn, and hands over writes,
packets and events. The duty order is that of the engine: saved in the transaction of the turn, then sent, then told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sdschat.sds.values import Message, Now, Refusal
from sdschat.store.transaction import Transaction
from sdschat.transport.base import Topics

if TYPE_CHECKING:
    from sdschat.node.channel.proofs import HeardPacket
    from sdschat.node.events import EventBody
    from sdschat.sds.channel import Channel

# Gets the sender (empty where the topic does not say it), the bytes, and the time.
Handler = Callable[[str, bytes, Now], None]
# Gets None once the broker has the packet; else the reason why not, in words for the user.
Sent = Callable[[str | None], None]
# Gets the source of a received packet ("live", "store", "sync"), its bytes, and the decoded message or refusal. For a
# packet of ours: its `Packet.kind`, its bytes, and None.
Watcher = Callable[[str, bytes, Message | Refusal | None], None]


class OutgoingPacket(NamedTuple):
    """A packet of an extension. `to` is a participant; a Store's query goes to nobody in particular."""

    what: str  # sync, store/query, store/answer or timber
    to: str
    payload: bytes
    sent: Sent | None = None


class ExtensionOutput(NamedTuple):
    """The output that an extension has ready, in duty order."""

    save: Callable[[Transaction], None] | None = None
    packets: Sequence[OutgoingPacket] = ()
    events: Sequence[EventBody] = ()


class PassiveExtension:
    """The defaults of an extension that needs no deadline, and does nothing when a connection comes or goes."""

    def connected(self, now: Now) -> None:
        """Do nothing."""

    def disconnected(self, now: Now) -> None:
        """Do nothing."""

    def next_wake(self) -> int | None:
        """Return None: there is no deadline."""
        return None

    def advance(self, now: Now) -> None:
        """Do nothing."""


class ExtendedChannel(Protocol):
    """The part of a channel's session that the extensions of private channels and of strangers use."""

    @property
    def name(self) -> str: ...

    @property
    def channel(self) -> Channel: ...

    @property
    def watchers(self) -> list[Watcher]: ...

    @property
    def extensions(self) -> Sequence[object]: ...

    def read(self, packet: bytes) -> HeardPacket: ...

    def members_changed(self) -> None: ...

    def mark_ready(self) -> None: ...


def heard_at(topics: Topics, what: str, me: str) -> str:
    """Return the topic filter under which we hear what is for us."""
    filters = {
        "sync": topics.sync_to(me),
        "timber": topics.timber_to(me),
        "store/query": topics.store_query_all,
        "store/answer": topics.store_answer(me),
    }
    return filters[what]


def sent_to(topics: Topics, what: str, to: str, me: str) -> str:
    """Return the topic that reaches `to`."""
    match what:
        case "sync":
            return topics.sync(to, me)
        case "timber":
            return topics.timber(to, me)
        case "store/answer":
            return topics.store_answer(to)
        case "store/query":
            return topics.store_query(me)
    raise ValueError(f"{what!r} is not what an extension sends")
