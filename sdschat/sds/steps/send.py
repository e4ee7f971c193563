"""Send Message, SDS-R send message, Ephemeral Messages."""

from __future__ import annotations

from sdschat.sds.events import Delivered
from sdschat.sds.ids import message_id_for
from sdschat.sds.limits import ENTRY_BYTES, ENVELOPE_BYTES, UNACKED_KEPT
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.steps.filters import choose_filter_format, filter_bytes, include_received
from sdschat.sds.steps.outgoing_sweep import buffer_unacknowledged
from sdschat.sds.steps.repair import eligible_requests, mark_requested
from sdschat.sds.values import Append, Compose, Draft, Entry, HistoryEntry, LogRow, Message


class MessageTooLarge(ValueError):
    """The message would not fit into a packet; nothing was sent or changed."""


class TooManyUnacknowledged(ValueError):
    """As many own messages as are kept wait to be acknowledged; nothing was sent or changed."""


def send_message(s: ChannelState, content: bytes | Compose) -> Message:
    """Send Message. Everything it claims is in the writes of the same `Ready`, ahead of the packet."""
    if len(s.outgoing.open) >= UNACKED_KEPT:
        raise TooManyUnacknowledged(
            f"{UNACKED_KEPT} of your messages wait to be acknowledged; "
            "you can go on once somebody who has them is heard"
        )
    choose_filter_format(s)
    lamport = s.clock.next(s.now.wall)
    draft = Draft(lamport, preceding_ids(s), filter_bytes(s))
    content = _composed(s, content, draft)
    message_id = message_id_for(s.config.id_rule, s.channel_id, s.participant_id, lamport, content)
    if s.holds(message_id):
        raise ValueError("this content is in the log already: where ids are made of it, it needs a nonce")
    s.clock.tick(s.now.wall)
    requests = eligible_requests(s) if s.online else ()
    message = Message(
        sender_id=s.participant_id,
        message_id=message_id,
        channel_id=s.channel_id,
        lamport_timestamp=lamport,
        causal_history=draft.causal_history,
        bloom_filter=draft.bloom_filter,
        repair_request=requests,
        content=content,
    )
    raw = s.codec.encode(message)
    _log_own(s, message, raw)
    buffer_unacknowledged(s, message, raw)
    mark_requested(s, requests, message_id)
    return message


def _composed(s: ChannelState, content: bytes | Compose, draft: Draft) -> bytes:
    """Return the content: as it was given, or made for its place in the log."""
    made = content if isinstance(content, bytes) else content(draft)
    if not made:
        raise ValueError("a message needs content: without it, it would be a sync message")
    check_size(s, made)
    return made


def check_size(s: ChannelState, content: bytes) -> None:
    """Raise MessageTooLarge for a content whose packet others would refuse, with the largest envelope that it can have.
    Called before anything changes."""
    entries = s.config.causal_history + s.config.max_requests
    room = s.config.max_message_bytes - s.filter.size - ENTRY_BYTES * entries - ENVELOPE_BYTES
    if len(content) > room:
        raise MessageTooLarge(
            f"the message has {len(content)} bytes; at most {max(room, 0)} fit into a packet. Send it in parts"
        )


def preceding_ids(s: ChannelState) -> tuple[HistoryEntry, ...]:
    """Return the preceding few message ids in the local history, oldest first, with hints where known; their senders
    are part of SDS-R."""
    hints, repairs = s.hints, s.config.repair_enabled
    return tuple(
        HistoryEntry(entry.message_id, hints.get(entry.message_id), entry.sender_id if repairs else None)
        for entry in s.window.causal_history(s.config.causal_history)
    )


def _log_own(s: ChannelState, message: Message, raw: bytes) -> None:
    """Put an own message into the log. The spec only speaks of the outgoing buffer, but others depend on own messages
    like on any. It goes into the filter after the packet is made, so that no filter ever contains its own message."""
    lamport = message.lamport_timestamp
    assert lamport is not None
    dependencies = tuple(entry.message_id for entry in message.causal_history)
    entry = Entry(lamport, message.message_id, s.participant_id, dependencies, s.filter.generation)
    row = LogRow(entry, raw, True, "live", s.now.wall)
    s.window.insert(entry)
    s.unsaved[message.message_id] = row
    s.writes.append(Append(row))
    include_received(s, message.message_id, lamport)
    s.note_arrival(message.message_id)
    s.events.append(Delivered(message, True, False, (), "live"))


def send_ephemeral(s: ChannelState, content: bytes | Compose) -> Message:
    """Send an ephemeral message: no clock, no history, no filter; not buffered, not logged, gone if nobody hears it."""
    content = _composed(s, content, Draft())
    s.ephemeral_sent += 1
    # There is no clock in it that could tell two of the same text apart, so a number of our own does.
    nonce = max(s.now.wall, s.clock.value) + s.ephemeral_sent
    message_id = message_id_for(s.config.id_rule, s.channel_id, s.participant_id, nonce, content)
    message = Message(s.participant_id, message_id, s.channel_id, content=content)
    if s.online:
        s.packets.append(Packet(s.codec.encode(message), "ephemeral", message_id))
    return message
