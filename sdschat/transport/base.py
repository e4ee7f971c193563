"""The interface of all transports for the node: topics, a few methods, and events that report what has happened.

Everything runs on the thread of one event loop. All events go to one handler. The handler is called between two steps
of that loop and never from inside a method of the transport. So the handler may call any method, and a caller of a
method needs no protection against a call back.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import NamedTuple, Protocol
from urllib.parse import quote, unquote_to_bytes


class Why(StrEnum):
    """The reason for a missing connection. The first two of each group decide the exit code of the command line."""

    UNREACHABLE = "unreachable"  # no answer at the address
    TLS_REFUSED = "tls_refused"  # a certificate, ours or the broker's
    NOT_AUTHORISED = "not_authorised"  # wrong user or password, or missing permission
    PROTOCOL = "protocol"  # the other side does not speak MQTT as we do
    BROKER_CLOSED = "broker_closed"  # the broker ended the connection with a message
    CONNECTION_LOST = "connection_lost"
    SILENT = "silent"  # connected, but nothing answers: neither the keep-alive nor our own probe
    TAKEN_OVER = "taken_over"  # another client connected with our client id
    OVERSIZED = "oversized"  # somebody sent us a packet above our size limit
    OFFLINE = "offline"  # on purpose: fault injection
    CLOSED = "closed"  # we closed it


class Failure(StrEnum):
    """The reason why a packet was not sent."""

    TOO_LARGE = "too_large"
    QUEUE_FULL = "queue_full"
    NOT_CONNECTED = "not_connected"  # a packet of QoS 0, which is never queued
    REFUSED = "refused"  # by the broker, with its reason
    CLOSED = "closed"


class Connecting(NamedTuple):
    address: str
    attempt: int  # 1 for the first attempt after the last good connection


class Connected(NamedTuple):
    """The broker accepted us and every subscription is active: from now on we receive and can send."""

    address: str
    protocol: str  # "MQTT 5", "MQTT 3.1.1", "memory"
    max_payload: int
    encrypted: bool
    resumed: bool = False  # the broker had kept our session, with the packets that came in the meantime


class Disconnected(NamedTuple):
    """No connection, or an attempt at one that failed."""

    why: Why
    detail: str  # for the user: what happened, why, what to do
    retry_at: float | None  # in seconds of the loop's clock; None: never


class Receipt(NamedTuple):
    """The means to acknowledge a packet. The broker repeats the packet, also on our next connection, until then."""

    packet_id: int
    again: bool  # the broker may have sent it before, to a connection that could no longer acknowledge it
    acknowledge: Callable[[], None]


class Received(NamedTuple):
    topic: str
    payload: bytes
    retained: bool  # kept by the broker from an earlier time, not sent just now
    receipt: Receipt | None = None  # only if the transport keeps a session
    outdated: bool = False  # in a private channel: sealed with the key of an earlier epoch


class Published(NamedTuple):
    """The broker accepted the packet (QoS 1), or it went to the network (QoS 0). Nobody else needs to have it yet."""

    tag: Hashable


class PublishFailed(NamedTuple):
    tag: Hashable
    failure: Failure
    detail: str  # for a person


class SubscribeRefused(NamedTuple):
    topic_filter: str
    detail: str  # for a person, with the topic


class HandlerFailed(NamedTuple):
    """The handler raised. The connection stays; the event that the handler got is lost."""

    error: Exception
    event: object


class Crashed(NamedTuple):
    """The transport ended by an error in the program itself. It never connects again."""

    error: Exception


class ProbeUnanswered(NamedTuple):
    """Our own probe never came back on this live connection: from now on only the keep-alive can detect a hang.

    `detail` is empty if other packets came.
    """

    topic: str
    detail: str


Event = (
    Connecting
    | Connected
    | Disconnected
    | Received
    | Published
    | PublishFailed
    | SubscribeRefused
    | HandlerFailed
    | Crashed
    | ProbeUnanswered
)
Handler = Callable[[Event], None]


class Transport(Protocol):
    """`publish` with QoS 1 survives a reconnect: packets not yet accepted are sent again, in order, once connected."""

    def listen(self, handler: Handler) -> None:
        """Set the handler of all events. Call it before `start`."""

    def start(self) -> None:
        """Connect, and stay connected until `close`. Needs a running loop."""

    async def close(self, grace: float = 1.0) -> None:
        """Send the waiting packets, within `grace` seconds; clear the presence; disconnect. Never raises."""

    def hang_up(self) -> None:
        """Cut the connection without a word, as the end of the process would: the broker publishes our last will. Call
        `close` afterwards."""

    def subscribe(self, topic_filter: str) -> None:
        """Subscribe now and at every `Connected` from now on. Own packets may or may not come back."""

    def unsubscribe(self, topic_filter: str) -> None: ...

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        """Publish a packet. Exactly one `Published` or `PublishFailed` with this tag follows."""

    def set_presence(self, payload: bytes, leaving: bytes = b"") -> None:
        """Set the payload of our retained presence topic. `leaving` is published there when the connection ends: as the
        last will of connections that begin from now on. Raises ValueError if this transport has no such topic."""

    def pause(self) -> None:
        """Read nothing more from the network until `resume`: the handler's side is full."""

    def resume(self) -> None: ...

    def retry_now(self) -> None:
        """Connect now, without waiting for the next attempt."""

    @property
    def connected(self) -> bool: ...

    @property
    def waiting(self) -> int:
        """Return the number of packets that wait for the broker to accept them."""

    def describe(self) -> str:
        """Describe the connection: its address without secrets, and every injected fault."""


_MAX_TOPIC_BYTES = 65535


def publish_problem(topic: str, qos: int) -> str | None:
    """Return the reason why this packet cannot be published, or None. A reason means a wrong call by our own code."""
    if not topic or "+" in topic or "#" in topic or "\0" in topic:
        return f"{topic!r} is not a topic to publish on"
    if len(topic.encode()) > _MAX_TOPIC_BYTES:
        return f"the topic has more than {_MAX_TOPIC_BYTES} bytes"
    return None if qos in (0, 1) else f"QoS is 0 or 1 here, not {qos}"


DEFAULT_PREFIX = "sds/1"
MAX_CHANNEL_CHARACTERS = 100
MAX_PARTICIPANT_BYTES = 128  # as long as the sender id of a packet may be
_JOINERS = frozenset("\u200c\u200d")  # several scripts and emoji need them
# A channel in a topic is percent-encoded, so no channel can be called this.
_ECHO = "!echo"
DOCTOR = "!doctor"


def normal_channel(name: str) -> str:
    """Return the normal spelling of a channel's name (NFC). Raises ValueError, in words for the user, if invalid."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("A channel's name cannot have half of a surrogate pair in it. Type it again.") from None
    normal = unicodedata.normalize("NFC", name)
    if not 1 <= len(normal) <= MAX_CHANNEL_CHARACTERS:
        raise ValueError(
            f"A channel's name has 1 to {MAX_CHANNEL_CHARACTERS} characters, not {len(normal)}. Choose another one."
        )
    if any(unicodedata.category(character) == "Cc" for character in normal):
        raise ValueError("A channel's name cannot have control characters, such as a line break, in it.")
    return normal


def new_channel(name: str) -> str:
    """Return the normal spelling of the name of a channel that is new here. Raises ValueError, in words for the user,
    also for one that cannot be told from another by its looks."""
    if name != name.strip():
        raise ValueError("A channel's name cannot be blank, nor begin or end with a space: nobody sees it.")
    unseen = next((one for one in name if unicodedata.category(one) == "Cf" and one not in _JOINERS), None)
    if unseen is not None:
        raise ValueError(f"A channel's name cannot have U+{ord(unseen):04X} in it: nobody sees that character.")
    return normal_channel(name)


def encoded(name: str) -> str:
    """Percent-encode all but the unreserved characters: the result is safe as one level of a topic."""
    return quote(name, safe="")


def decoded(level: str) -> str | None:
    """Return the name in one level of a topic. None if `encoded` cannot make that level."""
    try:
        name = unquote_to_bytes(level).decode()
    except UnicodeDecodeError:
        return None
    # Another spelling of the same name would be a second topic for the same channel or participant.
    return name if encoded(name) == level else None


class ParsedTopic(NamedTuple):
    """The meaning of a topic; `to` and `frm` are participants, if the topic names them."""

    channel: str
    what: str  # msg, who, sync, store/query, store/answer, timber
    to: str = ""
    frm: str = ""


class Topics:
    """The topics of one channel."""

    __slots__ = ("_base", "_prefix", "channel")

    def __init__(self, channel: str, prefix: str = DEFAULT_PREFIX) -> None:
        self.channel = normal_channel(channel)
        self._prefix = normal_prefix(prefix)
        self._base = f"{self._prefix}/{encoded(self.channel)}"

    @property
    def msg(self) -> str:
        return f"{self._base}/msg"

    def who(self, participant: str) -> str:
        return f"{self._base}/who/{encoded(participant)}"

    @property
    def who_all(self) -> str:
        return f"{self._base}/who/+"

    def sync(self, to: str, frm: str) -> str:
        return f"{self._base}/sync/{encoded(to)}/{encoded(frm)}"

    def sync_to(self, me: str) -> str:
        return f"{self._base}/sync/{encoded(me)}/+"

    def store_query(self, frm: str) -> str:
        return f"{self._base}/store/query/{encoded(frm)}"

    @property
    def store_query_all(self) -> str:
        return f"{self._base}/store/query/+"

    def store_answer(self, to: str) -> str:
        return f"{self._base}/store/answer/{encoded(to)}"

    def timber(self, to: str, frm: str) -> str:
        return f"{self._base}/timber/{encoded(to)}/{encoded(frm)}"

    def timber_to(self, me: str) -> str:
        return f"{self._base}/timber/{encoded(me)}/+"

    @property
    def timber_all(self) -> str:
        return f"{self._base}/timber/#"

    @property
    def announcement(self) -> str:
        return f"{self._base}/timber"

    @property
    def everything(self) -> str:
        return f"{self._base}/#"

    def place(self, topic: str) -> ParsedTopic | None:
        """Return the meaning of a topic, or None if it does not belong to this channel. Never raises."""
        found = place(topic, self._prefix)
        return found if found is not None and found.channel == self.channel else None


def normal_prefix(prefix: str) -> str:
    """Return the prefix. Raises ValueError unless it is whole levels without wildcards and control characters, outside
    of the topics that begin with $, which are the broker's own."""
    levels = prefix.split("/")
    unfit = any(one in "+#" or unicodedata.category(one) in ("Cc", "Cs") for one in prefix)
    if not all(levels) or unfit or prefix.startswith("$"):
        raise ValueError(f"mqtt.topic_prefix is {prefix!r}, and must be one or more levels such as {DEFAULT_PREFIX}")
    return prefix


def echo_topic(client_id: str, prefix: str = DEFAULT_PREFIX) -> str:
    """Return the topic of a connection's probe, which checks that the broker still forwards packets."""
    return f"{normal_prefix(prefix)}/{_ECHO}/{encoded(client_id)}"


def _participant(level: str) -> str | None:
    """Return the name in one level of a topic. None if no participant can have it: anybody can publish on topics of
    64 KiB, and those who come and go stand in the database and on the screen of everybody."""
    name = decoded(level)
    return name if name and len(name.encode()) <= MAX_PARTICIPANT_BYTES else None


def place(topic: str, prefix: str = DEFAULT_PREFIX) -> ParsedTopic | None:
    """Return the meaning of any topic under the prefix, or None. Never raises."""
    if not topic.startswith(f"{prefix}/"):
        return None
    first, *levels = topic[len(prefix) + 1 :].split("/")
    match [decoded(first), *map(_participant, levels)]:
        case [str(channel), "msg" | "timber" as what]:
            return ParsedTopic(channel, what)
        case [str(channel), "who", str(frm)]:
            return ParsedTopic(channel, "who", frm=frm)
        case [str(channel), "sync" | "timber" as what, str(to), str(frm)]:
            return ParsedTopic(channel, what, to, frm)
        case [str(channel), "store", "query", str(frm)]:
            return ParsedTopic(channel, "store/query", frm=frm)
        case [str(channel), "store", "answer", str(to)]:
            return ParsedTopic(channel, "store/answer", to)
    return None


def is_presence(topic: str) -> bool:
    """True for the topic of a presence, under any prefix."""
    *_, level, last = "/", *topic.split("/")
    return level == "who" and last not in ("msg", "timber")  # those of a channel called who


def matches(topic_filter: str, topic: str) -> bool:
    """True if a subscription to this filter receives this topic, as in MQTT 4.7."""
    wanted, levels = topic_filter.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for index, level in enumerate(wanted):
        if level == "#":
            return True
        if index == len(levels) or level not in ("+", levels[index]):
            return False
    return len(wanted) == len(levels)
