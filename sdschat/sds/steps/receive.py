"""Receive Message, SDS-R receive message, and the reception of sync and ephemeral messages.

The order is the spec's, with the checks of what comes from outside in front: whatever is refused changes nothing.
From duplicates only the cancelling of repair timers is taken; the acknowledgements, requests and filter that a
rebroadcast carries are as old as the message itself.
"""

from __future__ import annotations

from sdschat.sds.bloom.received import is_waku
from sdschat.sds.clock import out_of_bounds
from sdschat.sds.events import (
    DependenciesMissing,
    DuplicateReceived,
    EphemeralReceived,
    MessageParked,
    SyncReceived,
)
from sdschat.sds.incoming import Held
from sdschat.sds.limits import EPHEMERAL_SEEN
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.answers import answered_by_other, review_repair_request
from sdschat.sds.steps.deliver import BEFORE_JOIN, NO_ROOM, abandon, deliver_message, note_gap
from sdschat.sds.steps.evidence import review_evidence
from sdschat.sds.steps.filters import include_received, remake_filter
from sdschat.sds.steps.pushes import heard_again
from sdschat.sds.steps.requests import note_missing, received
from sdschat.sds.steps.timing import traffic_heard
from sdschat.sds.values import HistoryEntry, Message, Reason


class _Dependencies:
    """What the causal history of a message comes to here."""

    __slots__ = ("before_join", "gap", "held", "parent_too_new", "unknown")

    def __init__(self) -> None:
        self.held: list[str] = []  # here, but not delivered
        self.gap: list[str] = []  # given up before
        self.before_join: list[HistoryEntry] = []
        self.unknown: list[HistoryEntry] = []
        self.parent_too_new = ""


def receive_message(s: ChannelState, message: Message, raw: bytes, via: str) -> None:
    """Receive Message."""
    sender_id, message_id, lamport = message.sender_id, message.message_id, message.lamport_timestamp
    if message.channel_id != s.channel_id:
        s.reject(Reason.OTHER_CHANNEL, sender_id, message_id, message.channel_id)
        return
    if lamport is None:
        _receive_without_clock(s, message)
        return
    if (reason := out_of_bounds(lamport)) is not None:
        s.reject(reason, sender_id, message_id, str(lamport))
        return
    if not message.content:
        _receive_sync(s, message, lamport)
        return
    if _receive_known(s, message, raw):
        return
    if lamport > s.now.wall + s.config.max_skew:
        _park(s, message, raw, via, lamport)
        return
    found = _verify_dependencies(s, message, lamport)
    if found.parent_too_new:
        s.reject(Reason.CLOCK_NOT_ABOVE_PARENT, sender_id, message_id, found.parent_too_new)
        return
    waits = bool(found.unknown or found.held)
    if waits:
        if not _make_room(s, message, len(raw)):
            return
        found = _verify_dependencies(s, message, lamport)  # what was dropped may be what this one waits for
    missing = received(s, message_id)
    repaired = missing is not None and (missing.attempts > 0 or missing.suppressed)
    if via == "live" and repaired:
        via = "repair"
    elif via == "live" and s.now.wall - lamport > s.config.sync_interval:
        via = "sync"  # nobody asked for it: a push, or a late resend
    _review(s, message, lamport, stale=repaired)
    traffic_heard(s)
    generation = s.filter.generation
    if waits:
        _buffer(s, message, raw, via, found)
    else:
        gap = tuple(_name_gap(s, message, found))
        deliver_message(s, message, raw, via, gap, s.filter.generation, s.now.wall)
    if s.filter.generation == generation:  # otherwise the filter was made anew meanwhile, with this message in the log
        include_received(s, message_id, lamport)
    s.note_fresh(message_id)


def _receive_known(s: ChannelState, message: Message, raw: bytes) -> bool:
    """The participant's own messages and duplicates: nothing but cancelled timers comes of them."""
    message_id = message.message_id
    if not s.holds(message_id):
        if message.sender_id != s.participant_id:
            return False
        # Bears our id, and we never sent it: a copied profile or an impostor. Who signs can tell, so not here.
        s.reject(Reason.OWN_ID_UNKNOWN, message.sender_id, message_id)
        return True
    if _conflicts(s, message, raw):
        s.reject(Reason.ID_CONFLICT, message.sender_id, message_id)
        return True
    answered_by_other(s, message_id)
    heard_again(s, message_id)
    s.events.append(DuplicateReceived(message_id, message.sender_id))
    return True


def _conflicts(s: ChannelState, message: Message, raw: bytes) -> bool:
    """Whether a duplicate has other content than the message we hold under its id. The first one stands.

    A body that is gone cannot be compared; others rebroadcast with other bytes but the same content.
    """
    ours = s.packet_of(message.message_id)
    if ours is None or ours[0] == raw:
        return False
    known = s.codec.decode(ours[0])
    return isinstance(known, Message) and known.content != message.content


def _receive_without_clock(s: ChannelState, message: Message) -> None:
    """Ephemeral Messages: delivered at once, whatever history or filter they name; not buffered, not logged."""
    if not message.content:
        s.reject(Reason.NO_KIND, message.sender_id, message.message_id)
        return
    if message.sender_id == s.participant_id:
        return
    seen = s.ephemeral_seen
    if message.message_id in seen:
        s.events.append(DuplicateReceived(message.message_id, message.sender_id))
        return
    seen[message.message_id] = None
    if len(seen) > EPHEMERAL_SEEN:
        seen.popitem(last=False)
    s.events.append(EphemeralReceived(message))


def _receive_sync(s: ChannelState, message: Message, lamport: int) -> None:
    """Periodic Sync Message: its history and filter count like any other's; it is never buffered or persisted, and
    its id says nothing. Its clock is not adopted: that is part of delivery."""
    if message.sender_id == s.participant_id:
        return
    found = _verify_dependencies(s, message, lamport)
    if found.parent_too_new:
        s.reject(Reason.CLOCK_NOT_ABOVE_PARENT, message.sender_id, message.message_id, found.parent_too_new)
        return
    _review(s, message, lamport, stale=False)
    traffic_heard(s)
    s.events.append(SyncReceived(message.sender_id))
    new = [entry for entry in found.unknown if not s.knows(entry.message_id)]
    noted = tuple(entry.message_id for entry in new if note_missing(s, entry, message.sender_id))
    if noted:
        s.events.append(DependenciesMissing(message.message_id, noted))


def _verify_dependencies(s: ChannelState, message: Message, lamport: int) -> _Dependencies:
    """Dependencies are met if they appear in the local history. Nothing is changed here.

    What an old message depends on is older still: below the join horizon nothing is waited for, which ends every
    walk into the past at the first message from before our joining.
    """
    found = _Dependencies()
    near, held = s.window.entries, s.incoming.held
    for entry in message.causal_history:
        message_id = entry.message_id
        parent = near.get(message_id) or s.history.entry(message_id)
        if parent is not None:
            if parent.lamport >= lamport:
                found.parent_too_new = message_id
            if entry.retrieval_hint is not None:
                s.learn_hint(message_id, entry.retrieval_hint)
        elif message_id in held and not (held[message_id].release_at and held[message_id].lamport >= lamport):
            if held[message_id].lamport >= lamport:
                found.parent_too_new = message_id
            found.held.append(message_id)
        elif message_id in s.gaps:
            found.gap.append(message_id)
        elif lamport <= s.horizon:
            found.before_join.append(entry)
        else:
            found.unknown.append(entry)
    return found


def _review(s: ChannelState, message: Message, lamport: int, stale: bool) -> None:
    """What a packet tells of its sender: acknowledgements, requests, and what it lacks."""
    dated = min(lamport, s.now.wall + s.config.max_skew)  # a forged date must not make all later packets look old
    peer = s.peers.heard(message.sender_id, dated, s.now.mono)
    if is_waku(message.bloom_filter):
        s.waku_heard_at = s.now.mono
    review_evidence(s, message, peer, lamport)
    if message.repair_request and not stale:
        # A message with content may be a rebroadcast, and its requests long answered.
        old = bool(message.content) and s.now.wall - lamport > s.config.t_max
        if not old:
            review_repair_request(s, message)
    peer.last_lamport = max(peer.last_lamport, dated)


def _park(s: ChannelState, message: Message, raw: bytes, via: str, lamport: int) -> None:
    """Dated too far ahead: held outside the log until due, so that it neither moves our clock nor is named by us."""
    if not s.incoming.may_park(message):
        s.reject(Reason.FUTURE_QUOTA, message.sender_id, message.message_id)
        return
    _review(s, message, lamport, stale=False)
    missing = received(s, message.message_id, "arrived_before_due")
    children = s.incoming.waiting_for.get(message.message_id, ())
    if missing is not None and any(s.incoming.held[child].lamport <= lamport for child in children):
        # One of the two is forged, and who knows which: what follows it shall not wait until its date.
        note_missing(s, HistoryEntry(message.message_id, missing.hint, missing.sender_id), missing.blamed, ask=False)
    held = Held(message, raw, via, s.now.wall)
    held.generation = s.filter.generation
    held.release_at = lamport - s.config.max_skew
    s.incoming.put(held)
    s.incoming.parked.set(message.message_id, s.now.mono + held.release_at - s.now.wall)
    include_received(s, message.message_id, lamport)
    s.note_fresh(message.message_id)
    s.events.append(MessageParked(message.message_id, message.sender_id, held.release_at))


def release_parked(s: ChannelState) -> None:
    """Messages whose date has come are received as if they came now; a clock set back makes them wait on."""
    for message_id in s.incoming.parked.pop_due(s.now.mono):
        held = s.incoming.held[message_id]
        if held.release_at > s.now.wall:
            s.incoming.parked.set(message_id, s.now.mono + held.release_at - s.now.wall)
            continue
        s.incoming.take(message_id)
        received(s, message_id)
        message = held.message
        found = _verify_dependencies(s, message, held.lamport)
        if found.parent_too_new:
            s.reject(Reason.CLOCK_NOT_ABOVE_PARENT, message.sender_id, message_id, found.parent_too_new)
            abandon(s, message_id, message.sender_id)
            remake_filter(s)
        elif found.unknown or found.held:
            if _make_room(s, message, len(held.raw)):
                found = _verify_dependencies(s, message, held.lamport)
                _buffer(s, message, held.raw, held.via, found, held)
            else:
                abandon(s, message_id, message.sender_id)
                remake_filter(s)
        else:
            gap = tuple(_name_gap(s, message, found))
            deliver_message(s, message, held.raw, held.via, gap, held.generation, held.received_at)


def _make_room(s: ChannelState, message: Message, size: int) -> bool:
    """Room in the incoming buffer, at the expense of whoever fills it; false, with nothing changed, if that is this
    message: it is its sender's newest, or nobody holds more than its sender."""
    incoming = s.incoming
    if incoming.has_room(message, size):
        return True
    for victim in (incoming.newest_of(message.sender_id, message), incoming.heaviest_other(message.sender_id)):
        if victim is None or not incoming.has_room(message, size, without=incoming.held[victim]):
            continue
        gone = incoming.take(victim)
        assert gone is not None
        s.reject(Reason.BUFFER_QUOTA, gone.message.sender_id, victim)
        abandon(s, victim, gone.message.sender_id)
        remake_filter(s)  # our filter must not claim what we have dropped
        return True
    s.reject(Reason.BUFFER_QUOTA, message.sender_id, message.message_id)
    return False


def _name_gap(s: ChannelState, message: Message, found: _Dependencies) -> list[str]:
    if not found.gap and not found.before_join:
        return []
    for entry in found.before_join:
        if entry.message_id in s.requests.missing:
            continue  # others wait for it, and go on waiting
        note_gap(s, entry.message_id, BEFORE_JOIN, entry.sender_id)
    gone = {*found.gap, *(entry.message_id for entry in found.before_join)}
    return [entry.message_id for entry in message.causal_history if entry.message_id in gone]


def _buffer(
    s: ChannelState, message: Message, raw: bytes, via: str, found: _Dependencies, old: Held | None = None
) -> None:
    """Unmet dependencies: into the incoming buffer. A sender that names more than its share of unknown ids has the
    rest taken for gaps."""
    held = Held(message, raw, via, old.received_at if old else s.now.wall)
    held.generation = old.generation if old else s.filter.generation
    held.gap = _name_gap(s, message, found)
    held.unmet = dict.fromkeys(found.held)
    new: list[str] = []
    for entry in reversed(found.unknown):  # the newest first: the oldest are the likeliest to be gone
        known = entry.message_id in s.requests.missing
        if not note_missing(s, entry, message.sender_id, ask=entry.message_id not in s.incoming.held):
            note_gap(s, entry.message_id, NO_ROOM, entry.sender_id)
            held.gap.append(entry.message_id)
            continue
        held.unmet[entry.message_id] = None
        if not known:
            new.append(entry.message_id)
    if not held.unmet:
        deliver_message(s, message, raw, via, tuple(held.gap), held.generation, held.received_at)
        return
    s.incoming.put(held)
    if new:
        s.events.append(DependenciesMissing(message.message_id, tuple(new)))
