"""Receive Message, SDS-R receive message, and the reception of sync and ephemeral messages.

The order is the spec's, with the checks of what comes from outside in front: whatever is refused changes nothing.
The id alone is kept of a message that is not dated after one it names (`refuse_child`).
From duplicates only the cancelling of repair timers is taken; the acknowledgements, requests and filter that a
rebroadcast carries are as old as the message itself.
"""

from __future__ import annotations

from sdschat.sds.bloom.compact import CompactFilter, read_filter
from sdschat.sds.events import DependenciesMissing, DuplicateReceived, EphemeralReceived, FilterIgnored, SyncReceived
from sdschat.sds.limits import EPHEMERAL_SEEN, clock_refusal
from sdschat.sds.state import ChannelState, Peer
from sdschat.sds.steps.acks import review_causal_history, review_filter
from sdschat.sds.steps.anti_entropy import review_lacks
from sdschat.sds.steps.bodies import conflicts, displace_false, put_off, receive_body
from sdschat.sds.steps.deliver import deliver_or_buffer, end_waiting, verify_dependencies, verify_with_room
from sdschat.sds.steps.due_sends import heard_copy
from sdschat.sds.steps.filters import include_received, note_filter_format
from sdschat.sds.steps.future_dated import defer, make_room_for_deferred
from sdschat.sds.steps.range_review import review_range
from sdschat.sds.steps.repair import (
    call_off_answers,
    learn_hints_of_missing,
    note_missing,
    received,
    review_repair_request,
)
from sdschat.sds.steps.timing import confirm_soon, traffic_heard
from sdschat.sds.values import FROM_STORE, TOLD, Message, Reason


def receive_message(s: ChannelState, message: Message, raw: bytes, source: str) -> None:
    """Receive Message."""
    sender_id, message_id, lamport = message.sender_id, message.message_id, message.lamport_timestamp
    if message.channel_id != s.channel_id:
        s.reject(Reason.OTHER_CHANNEL, sender_id, message_id, message.channel_id)
        return
    if lamport is None:
        _receive_without_clock(s, message)
        return
    if (refusal := clock_refusal(message)) is not None:
        s.reject(refusal.reason, sender_id, message_id, refusal.detail)
        return
    if not message.content:
        _receive_sync(s, message, lamport)
        return
    if _receive_known(s, message, raw, source):
        return
    if lamport > s.now.wall + s.config.max_skew:
        if make_room_for_deferred(s, message, len(raw)):
            heard_copy(s, message_id)
            _review(s, message, lamport, stale=False)
            defer(s, message, raw, source, lamport)
        return
    found = verify_with_room(s, message, lamport, len(raw), may_begin=True)
    if found is None:
        return
    due = s.sync.due
    source = _review_content(s, message, lamport, source)
    deliver_or_buffer(s, message, raw, source, found, s.now.wall)
    if not found.unmet and source != FROM_STORE:
        confirm_soon(s, due)
    include_received(s, message_id, lamport)
    if source != FROM_STORE:
        s.note_arrival(message_id)


def _review_content(s: ChannelState, message: Message, lamport: int, source: str) -> str:
    """Review the rest of a message with content, and return the way by which it came."""
    heard_copy(s, message.message_id)
    repaired = False
    if s.requests.missing:
        missing = received(s, message.message_id)
        repaired = missing is not None and (missing.attempts > 0 or missing.suppressed)
    if source == "live":
        if repaired:
            source = "repair"
        elif s.now.wall - lamport > s.config.sync_interval:
            source = "sync"  # nobody asked for it: a push, or a late resend
    _review(s, message, lamport, stale=repaired)
    traffic_heard(s)
    return source


def _receive_known(s: ChannelState, message: Message, raw: bytes, source: str) -> bool:
    """Receive the participant's own messages and duplicates: nothing but cancelled timers comes of them. Return False
    for any other message. An id that was told is no duplicate: the message takes its place."""
    message_id = message.message_id
    if not s.holds(message_id):
        if message.sender_id != s.participant_id:
            return False
        # Bears our id, and we never sent it: a copied profile or an impostor. Who signs can tell, so not here.
        s.reject(Reason.OWN_ID_UNKNOWN, message.sender_id, message_id)
        return True
    if s.unsaved and put_off(s, message, raw, source):
        return True
    known = s.delivered(message_id)
    if known is not None and known.generation == TOLD and receive_body(s, message, raw, source):
        return True
    if conflicts(s, message, raw):
        if displace_false(s, message, raw, source):
            return True
        if not s.holds(message_id):
            return False
        s.reject(Reason.ID_CONFLICT, message.sender_id, message_id)
        return True
    heard_copy(s, message_id)
    s.events.append(DuplicateReceived(message_id, message.sender_id))
    return True


def receive_early(s: ChannelState) -> None:
    """Receive what came too early to take the place of a false message."""
    early, s.early = s.early, {}
    for message, raw, source, unproven in early.values():
        s.unproven = unproven
        receive_message(s, message, raw, source)


def _receive_without_clock(s: ChannelState, message: Message) -> None:
    """Deliver an ephemeral message at once, whatever history or filter it names. It is neither buffered nor logged."""
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
    """Receive a periodic sync message: its history and filter count like any other's; it is never buffered or
    persisted, and its id says nothing. Its clock is not adopted: that is part of delivery."""
    if message.sender_id == s.participant_id:
        return
    found = verify_dependencies(s, message, lamport)
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
        end_waiting(s, message.sender_id)


def _review(s: ChannelState, message: Message, lamport: int, stale: bool) -> None:
    """Review a packet for news of its sender: acknowledgements, requests, and what it lacks."""
    latest = s.now.wall + s.config.max_skew  # a forged date must not make all later packets look old
    dated = lamport if lamport < latest else latest
    peer = s.peers.heard(message.sender_id, dated, s.now.mono)
    if message.bloom_filter is not None:
        note_filter_format(s, message.bloom_filter)
    s.learn_hints(message)
    if s.requests.missing:
        learn_hints_of_missing(s, message)
    _review_evidence(s, message, peer, lamport)
    if message.repair_request and not stale:
        # A message with content may be a rebroadcast, and its requests long answered.
        old = bool(message.content) and s.now.wall - lamport > s.config.t_max
        if not old:
            review_repair_request(s, message)
    if dated > peer.last_lamport:
        peer.last_lamport = dated


def _review_evidence(s: ChannelState, message: Message, peer: Peer, lamport: int) -> None:
    """Review causal history and filter: who has what of ours, and who lacks what we have.

    A filter is only read when there is something to learn from it: own messages that are not acknowledged, or a
    peer whose lacks were last looked at longer ago than a message may be on its way.

    What a filter *lacks* only counts in the newest packet of its sender, since rebroadcasts carry old filters. Neither
    that nor a range of history, which costs as much as a hundred packets, is looked at more often than that.
    """
    outgoing = s.outgoing
    if outgoing.known:
        review_causal_history(s, message)
    packed = message.bloom_filter
    if packed is None:
        return
    newest = s.config.push_enabled and lamport > peer.last_lamport
    due = newest and (peer.reviewed_at < 0 or s.now.mono - peer.reviewed_at >= s.config.push_grace)
    if not (outgoing.open or due):
        return
    received = read_filter(packed)
    if isinstance(received, str):
        peer.filter_format = "unknown"
        s.events.append(FilterIgnored(message.sender_id, received))
        return
    compact = isinstance(received, CompactFilter)
    peer.filter_format = "compact" if compact else "waku"
    review_filter(s, message, received, with_settled=due)
    if due:
        peer.reviewed_at = s.now.mono
        if s.answers.entries and not s.unproven:
            call_off_answers(s, peer, received)
        review_lacks(s, peer, received, lamport)
        if isinstance(received, CompactFilter) and not message.content:
            review_range(s, peer, message.message_id, received)
