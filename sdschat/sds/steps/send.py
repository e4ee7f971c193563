"""Send Message, SDS-R send message, Ephemeral Messages; and sending again: Periodic Outgoing Buffer Sweep."""

from __future__ import annotations

from sdschat.sds.events import Delivered, MessageResent, StateChanged
from sdschat.sds.ids import message_id_for
from sdschat.sds.limits import ENTRY_BYTES, ENVELOPE_BYTES, RESENDS_PER_SWEEP, UNACKED_KEPT
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.steps.filters import choose_filter_format, filter_bytes, include_received
from sdschat.sds.steps.owed import call_off_answer, call_off_push
from sdschat.sds.steps.repair import eligible_requests, mark_requested
from sdschat.sds.steps.timing import traffic_sent
from sdschat.sds.values import AckState, Append, Compose, Draft, Entry, HistoryEntry, LogRow, Message


def schedule_resend(s: ChannelState, known: Outgoing) -> None:
    """Distinct periods for unacknowledged and possibly acknowledged, each doubled by every resend, up to a bound.

    A fifth of jitter keeps participants that came back together from resending together.
    """
    config = s.config
    period = config.resend_unacked if known.state is AckState.UNACKED else config.resend_possibly_acked
    wait = min(period << min(max(0, known.sends - 1), 16), config.resend_max)
    wait += s.jitter.below(wait // 5 + 1, "resend", known.message_id, known.sends)
    s.outgoing.arm(known, s.now.mono + wait)


def periodic_outgoing_buffer_sweep(s: ChannelState) -> None:
    """Rebroadcast what is due: the same bytes, unacknowledged first, never given up."""
    due = [s.outgoing.open[key] for key in s.outgoing.timers.pop_due(s.now.mono)]
    due.sort(key=lambda known: (known.state, known.lamport, known.message_id))
    for place, known in enumerate(due):
        if known.sends and place >= RESENDS_PER_SWEEP:
            # Each to the sweep that will have room for it: all to the next one would be as much again with every sweep.
            s.outgoing.arm(known, s.now.mono + s.config.sweep_interval * (place // RESENDS_PER_SWEEP))
            continue
        found = s.packet_of(known.message_id)
        if found is None:  # the disk has altered it: somebody else may have it, so it is asked for (`Channel.fetch`)
            schedule_resend(s, known)
            continue
        known.sends += 1
        s.packets.append(Packet(found[0], "resend" if known.sends > 1 else "message", known.message_id))
        if known.sends > 1:
            s.events.append(MessageResent(known.message_id, known.state, known.sends))
        call_off_answer(s, known.message_id, "resent")
        call_off_push(s, known.message_id, "resent")
        schedule_resend(s, known)


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
    _buffer_unacknowledged(s, message, raw)
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
    """Before anything changes: the packet, with the largest envelope it can have, must not be refused elsewhere."""
    entries = s.config.causal_history + s.config.max_requests
    room = s.config.max_message_bytes - s.filter.size - ENTRY_BYTES * entries - ENVELOPE_BYTES
    if len(content) > room:
        raise MessageTooLarge(f"the message has {len(content)} bytes; at most {max(room, 0)} fit into a packet")


def preceding_ids(s: ChannelState) -> tuple[HistoryEntry, ...]:
    """The preceding few message ids in the local history, oldest first, with hints where known; their senders are part
    of SDS-R."""
    hints, repairs = s.hints, s.config.repair_enabled
    return tuple(
        HistoryEntry(entry.message_id, hints.get(entry.message_id), entry.sender_id if repairs else None)
        for entry in s.window.causal_history(s.config.causal_history)
    )


def _log_own(s: ChannelState, message: Message, raw: bytes) -> None:
    """The spec only speaks of the outgoing buffer, but others depend on own messages like on any: into the log,
    and into the filter after the packet is made, so that no filter ever contains its own message."""
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


def _buffer_unacknowledged(s: ChannelState, message: Message, raw: bytes) -> None:
    """After broadcasting, into the buffer of unacknowledged messages. Without a transport, it waits there unsent."""
    assert message.lamport_timestamp is not None
    known = Outgoing(message.message_id, message.lamport_timestamp)
    s.outgoing.add(known)
    if s.online:
        known.sends = 1
        s.packets.append(Packet(raw, "message", message.message_id))
        schedule_resend(s, known)
        traffic_sent(s)
    else:
        s.outgoing.arm(known, s.now.mono)
    s.events.append(StateChanged(message.message_id, AckState.UNACKED, (), 0, None))


def send_ephemeral(s: ChannelState, content: bytes | Compose) -> Message:
    """Ephemeral Messages: no clock, no history, no filter; not buffered, not logged, gone if nobody hears it."""
    content = _composed(s, content, Draft())
    s.ephemeral_sent += 1
    # There is no clock in it that could tell two of the same text apart, so a number of our own does.
    nonce = max(s.now.wall, s.clock.value) + s.ephemeral_sent
    message_id = message_id_for(s.config.id_rule, s.channel_id, s.participant_id, nonce, content)
    message = Message(s.participant_id, message_id, s.channel_id, content=content)
    if s.online:
        s.packets.append(Packet(s.codec.encode(message), "ephemeral", message_id))
    return message
