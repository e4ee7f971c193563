"""A snapshot of the engine of a channel, as values for close inspection. Its size is bounded, as the buffers are."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.node.channel.session import ChannelSession
from sdschat.node.view import live
from sdschat.node.view.values import MissingMessage
from sdschat.sds.bloom import compact, waku
from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.describe import describe
from sdschat.sds.repair import determine_t_resp, in_response_group
from sdschat.sds.values import Now

__all__ = ["describe"]  # from the layer below: an interface imports it here


class FilterPeek(NamedTuple):
    """Our own filter, as it is sent next."""

    layout: str
    hashes: int
    bits: int
    fill: float  # share of bits that are set
    size: int  # bytes
    ids: int
    capacity: int
    young: int  # ids in the younger generation: at half the capacity the elder one is forgotten
    generation: int
    floor: int  # all that we hold and is dated from then on is in it

    @property
    def error_rate(self) -> float:
        """Return the chance that an id which is not in it seems to be."""
        error: float = self.fill**self.hashes
        return error


class AnswerPeek(NamedTuple):
    """Somebody asked for a message that is here."""

    message_id: str
    requested_by: str
    due: int  # epoch milliseconds; 0: none is due
    asked: int  # requests since the last answer
    at: int  # when we last answered or were asked; 0: never
    in_group: bool


class PushPeek(NamedTuple):
    """A message that filters of others lack."""

    message_id: str
    wanted_by: tuple[str, ...]
    due: int


class BufferedPeek(NamedTuple):
    """A message that is here and not in the log."""

    message_id: str
    sender_id: str
    lamport: int
    dependencies: tuple[str, ...]
    unmet: tuple[str, ...]
    release_at: int  # for those dated ahead


class PeerPeek(NamedTuple):
    """Another participant."""

    sender_id: str
    online: bool
    role: str
    heard_at: int  # 0: not heard
    layout: str


class Peek(NamedTuple):
    """One look at a channel."""

    now: int  # epoch milliseconds
    me: str
    online: bool
    lamport: int
    t_min: int
    t_max: int
    groups: int
    sync_interval: int
    filter: FilterPeek
    missing: tuple[MissingMessage, ...]
    doubted: tuple[str, ...]  # ids of missing messages that only unsigned packets name
    lost: tuple[str, ...]  # ids of those that were given up
    answers: tuple[AnswerPeek, ...]
    pushes: tuple[PushPeek, ...]
    buffered: tuple[BufferedPeek, ...]
    heads: tuple[str, ...]
    peers: tuple[PeerPeek, ...]


def peek(session: ChannelSession, me: str, now: Now) -> Peek:
    state = session.channel.state
    config = state.config
    return Peek(
        now.wall,
        me,
        state.online,
        state.clock.value,
        config.t_min,
        config.t_max,
        config.num_response_groups,
        config.sync_interval,
        _filter(session),
        tuple(live.missing(session, now)),
        tuple(entry.message_id for entry in state.requests.missing.values() if not entry.proven),
        tuple(live.lost(session)),
        _answers(session, me, now),
        _pushes(session, now),
        _buffered(session),
        tuple(entry.message_id for entry in state.window.heads),
        _peers(session, now),
    )


def _filter(session: ChannelSession) -> FilterPeek:
    own = session.channel.state.filter
    packed = own.to_bytes()
    read = read_filter(packed)
    fill = 0.0 if isinstance(read, str) else read.fill
    bits = waku.BITS if own.filter_format == "waku" else getattr(read, "bits", own.shape.bits)
    hashes = waku.HASHES if own.filter_format == "waku" else own.shape.hashes
    return FilterPeek(
        own.filter_format,
        hashes,
        bits,
        fill,
        len(packed),
        own.count,
        own.capacity,
        own.young,
        own.generation,
        own.floor,
    )


def _answers(session: ChannelSession, me: str, now: Now) -> tuple[AnswerPeek, ...]:
    state = session.channel.state
    found = []
    for answer in state.answers.entries.values():
        ours = state.packet_of(answer.message_id)
        mine = ours is not None and in_response_group(me, ours[1], answer.message_id, state.config.num_response_groups)
        found.append(
            AnswerPeek(
                answer.message_id,
                answer.requested_by,
                0 if answer.due is None else now.to_wall(answer.due),
                answer.asked,
                0 if answer.at < 0 else now.to_wall(answer.at),
                mine,
            )
        )
    return tuple(found)


def _pushes(session: ChannelSession, now: Now) -> tuple[PushPeek, ...]:
    pushes = session.channel.state.pushes
    return tuple(
        PushPeek(push.message_id, tuple(push.wanted_by), now.to_wall(push.due))
        for push in pushes.entries.values()
        if push.due is not None
    )


def _buffered(session: ChannelSession) -> tuple[BufferedPeek, ...]:
    return tuple(
        BufferedPeek(
            waiting.message.message_id,
            waiting.message.sender_id,
            waiting.lamport,
            tuple(entry.message_id for entry in waiting.message.causal_history),
            tuple(waiting.unmet),
            waiting.release_at,
        )
        for waiting in session.channel.state.incoming.in_order()
    )


def _peers(session: ChannelSession, now: Now) -> tuple[PeerPeek, ...]:
    known, presence = session.channel.state.peers.known, session.presence
    found = []
    for sender_id in {**presence.online, **known}:
        if session.is_outsider(sender_id):  # somebody removed may stay connected
            continue
        peer = known.get(sender_id)
        found.append(
            PeerPeek(
                sender_id,
                sender_id in presence.online and session.channel.state.online,
                presence.roles.get(sender_id, ""),
                session.reception.last_heard.at(sender_id, now),
                "" if peer is None else peer.filter_format,
            )
        )
    return tuple(sorted(found, key=lambda peer: (not peer.online, -peer.heard_at, peer.sender_id)))


def answers_after(peek: Peek, participant_id: str, author: str, message_id: str) -> int | None:
    """Return the milliseconds after which a participant answers a request for a message; None: it is not in the
    response group."""
    if not in_response_group(participant_id, author, message_id, peek.groups):
        return None
    return determine_t_resp(0, participant_id, author, message_id, peek.t_max)


class FilterSeen(NamedTuple):
    """A filter as it came from a peer."""

    layout: str
    hashes: int
    fill: float
    problem: str  # why it says nothing; empty: it can be read

    @property
    def error_rate(self) -> float:
        error: float = self.fill**self.hashes
        return error


def is_compact(packed: bytes) -> bool:
    """True if a filter has the compact format, of this version of the program or of an older one."""
    return packed[:1] in (bytes([compact.WINDOW]), bytes([compact.OLD_WINDOW]))


def filter_seen(packed: bytes) -> FilterSeen:
    read = read_filter(packed)
    if isinstance(read, str):
        return FilterSeen("unknown", 0, 0.0, read)
    layout = "compact" if isinstance(read, compact.CompactFilter) else "waku"
    return FilterSeen(layout, read.hashes, read.fill, "")


def filter_holds(packed: bytes, message_id: str) -> bool:
    """True if an id seems to be in a peer's filter."""
    read = read_filter(packed)
    return not isinstance(read, str) and read.holds(message_id)
