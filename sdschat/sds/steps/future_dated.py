"""Messages dated too far ahead wait outside the log, and outside our filter, until they are due."""

from __future__ import annotations

from sdschat.sds.events import MessageDeferred
from sdschat.sds.incoming import BufferedMessage
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.deliver import abandon, deliver_or_buffer, release, verify_with_room
from sdschat.sds.steps.filters import include_received
from sdschat.sds.steps.repair import note_missing, received
from sdschat.sds.values import FROM_STORE, HistoryEntry, Message, Reason


def defer(s: ChannelState, message: Message, raw: bytes, source: str, lamport: int) -> None:
    """Keep a message until it is due, so that it neither moves our clock nor is named by us. In the filter, it would be
    the newest there is, and our filter would no longer speak of anything older. The caller has asked whether there is
    room."""
    missing = received(s, message.message_id, "arrived_before_due")
    children = s.incoming.waiting_for.get(message.message_id, ())
    may_wait = True
    if missing is not None and any(s.incoming.buffered[child].lamport <= lamport for child in children):
        # One of the two is forged, and who knows which: what follows it shall not wait until its date.
        entry = HistoryEntry(message.message_id, missing.hint, missing.sender_id)
        may_wait = note_missing(s, entry, missing.charged_to, ask=False)
    buffered = BufferedMessage(message, raw, source, s.now.wall)
    buffered.release_at = lamport - s.config.max_skew
    buffered.proven = not s.unproven
    s.incoming.put(buffered)
    s.incoming.future_dated.set(message.message_id, buffered.release_at)
    if source != FROM_STORE:
        s.note_arrival(message.message_id)
    s.events.append(MessageDeferred(message.message_id, message.sender_id, buffered.release_at))
    if not may_wait:
        release(s, s.incoming.meet(message.message_id, gap=True))


def make_room_for_deferred(s: ChannelState, message: Message, size: int) -> bool:
    """Make room for one more deferred message, at the expense of the one that is due last: of its own sender, or of the
    sender with most deferred. Return False if there is none."""
    incoming = s.incoming
    if incoming.may_defer(message, size):
        return True
    victim = incoming.farthest_deferred(message, size)
    if victim is None or not incoming.may_defer(message, size, without=incoming.buffered[victim]):
        s.reject(Reason.FUTURE_QUOTA, message.sender_id, message.message_id)
        return False
    gone = incoming.pop(victim)
    assert gone is not None
    s.reject(Reason.FUTURE_QUOTA, gone.message.sender_id, victim)
    s.requests.pop(victim)  # an entry of what is here is not asked for; the new one is
    abandon(s, victim, gone.message.sender_id)
    return True


def release_due(s: ChannelState) -> None:
    """Receive the messages whose date has come, as if they came now. A clock that is set back makes them wait on."""
    for message_id in s.incoming.future_dated.pop_due(s.now.wall):
        buffered = s.incoming.pop(message_id)
        assert buffered is not None, "room is made by dropping what waits for dependencies alone"
        received(s, message_id)
        s.unproven = not buffered.proven
        _receive_due(s, buffered)


def _receive_due(s: ChannelState, buffered: BufferedMessage) -> None:
    message = buffered.message
    found = verify_with_room(s, message, buffered.lamport, len(buffered.raw), may_begin=False)
    if found is None:
        abandon(s, message.message_id, message.sender_id)
        return
    if buffered.source != FROM_STORE:
        s.note_arrival(message.message_id)
    deliver_or_buffer(s, message, buffered.raw, buffered.source, found, s.now.wall)
    include_received(s, message.message_id, buffered.lamport)
