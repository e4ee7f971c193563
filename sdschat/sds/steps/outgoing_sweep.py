"""The buffer of unacknowledged messages: into it after sending, and Periodic Outgoing Buffer Sweep."""

from __future__ import annotations

from sdschat.sds.events import MessageResent, StateChanged
from sdschat.sds.limits import RESENDS_PER_SWEEP, SENDS_PER_SWEEP
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.steps.due_sends import call_off_answer, call_off_push
from sdschat.sds.steps.timing import traffic_sent
from sdschat.sds.values import AckState, Message


def buffer_unacknowledged(s: ChannelState, message: Message, raw: bytes) -> None:
    """Put an own message into the buffer of unacknowledged messages, after broadcasting it. Without a connection it
    waits there unsent, and so it does while others of before wait."""
    assert message.lamport_timestamp is not None
    known = Outgoing(message.message_id, message.lamport_timestamp)
    s.outgoing.add(known)
    if s.online and s.outgoing.unsent_until < 0:
        known.sends = 1
        s.packets.append(Packet(raw, "message", message.message_id))
        schedule_resend(s, known)
        traffic_sent(s)
    else:
        s.outgoing.queue(known, max(s.now.mono, s.outgoing.unsent_until))
    s.events.append(StateChanged(message.message_id, AckState.UNACKED, (), 0, None))


def schedule_resend(s: ChannelState, known: Outgoing) -> None:
    """Schedule the next resend. The periods for unacknowledged and possibly acknowledged messages are distinct, each
    doubled by every resend, up to a bound.

    A fifth of jitter keeps participants that came back together from resending together.
    """
    config = s.config
    period = config.resend_unacked if known.state is AckState.UNACKED else config.resend_possibly_acked
    wait = min(period << min(max(0, known.sends - 1), 16), config.resend_max)
    wait += s.jitter.below(wait // 5 + 1, "resend", known.message_id, known.sends)
    s.outgoing.arm(known, s.now.mono + wait)


def periodic_outgoing_buffer_sweep(s: ChannelState) -> None:
    """Rebroadcast the messages that are due: the same bytes, unacknowledged first, never given up."""
    due = [s.outgoing.open[key] for key in s.outgoing.timers.pop_due(s.now.mono)]
    due.sort(key=lambda known: (known.state, known.lamport, known.message_id))
    if s.outgoing.unsent_until <= s.now.mono:
        s.outgoing.unsent_until = -1
    for place, known in enumerate(due):
        most = RESENDS_PER_SWEEP if known.sends else SENDS_PER_SWEEP
        if place >= most:
            # Each to the sweep that will have room for it: all to the next one would be as much again with every sweep.
            later = s.now.mono + s.config.sweep_interval * (place // most)
            if known.sends:
                s.outgoing.arm(known, later)
            else:
                s.outgoing.queue(known, later)
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
