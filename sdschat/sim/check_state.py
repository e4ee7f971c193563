"""Invariants of an engine's state, looked at after every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from sdschat.sds import limits
from sdschat.sds.channel import Channel
from sdschat.sds.events import Event, Rejected
from sdschat.sds.incoming import BufferedMessage
from sdschat.sds.state import ChannelState
from sdschat.sds.values import AckState, Message, Reason
from sdschat.sim.oracle import NodeRecord, Origin
from sdschat.sim.scenario import Violation


def check_sizes(record: NodeRecord) -> None:
    """I8: every buffer is within its limit, in all and for each sender."""
    channel = record.node.channel
    if channel is None:
        return
    s = channel.state
    waiting: dict[str, int] = {}
    deferred: dict[str, int] = {}
    for buffered in s.incoming.buffered.values():
        counts = deferred if buffered.release_at else waiting
        counts[buffered.message.sender_id] = counts.get(buffered.message.sender_id, 0) + 1
    blamed: dict[str, int] = {}
    for missing in s.requests.missing.values():
        blamed[missing.charged_to] = blamed.get(missing.charged_to, 0) + 1
    asked: dict[str, int] = {}
    for answer in s.answers.entries.values():
        if answer.open:
            asked[answer.requested_by] = asked.get(answer.requested_by, 0) + 1
    wanted = [next(iter(push.wanted_by)) for push in s.pushes.entries.values() if push.due is not None]
    bounds = (
        ("messages waiting", sum(waiting.values()), limits.BUFFERED_PER_CHANNEL),
        ("messages of one sender waiting", max(waiting.values(), default=0), limits.BUFFERED_PER_SENDER),
        ("messages deferred", sum(deferred.values()), limits.FUTURE_DATED_PER_CHANNEL),
        ("messages of one sender deferred", max(deferred.values(), default=0), limits.FUTURE_DATED_PER_SENDER),
        ("dependencies missing", len(s.requests.missing), limits.MISSING_PER_CHANNEL),
        ("dependencies of one sender missing", max(blamed.values(), default=0), limits.MISSING_PER_SENDER),
        ("gaps", len(s.gaps), limits.GAPS_PER_CHANNEL),
        (
            "gaps of one sender",
            max(Counter(gap.charged_to for gap in s.gaps.values()).values(), default=0),
            limits.GAPS_PER_SENDER,
        ),
        ("answers", len(s.answers.entries), limits.ANSWERS_PER_CHANNEL),
        ("answers for one sender", max(asked.values(), default=0), limits.ANSWERS_PER_SENDER),
        ("pushes", len(s.pushes.entries), limits.PUSHES_PER_CHANNEL),
        ("pushes for one peer", max(Counter(wanted).values(), default=0), limits.PUSHES_PER_SENDER),
        ("peers", len(s.peers.known), limits.MAX_PEERS),
        ("acknowledged messages kept", len(s.outgoing.settled), limits.SETTLED_KEPT),
        ("possibly acknowledged messages resent", _possibly_acked(s), limits.POSSIBLY_ACKED_KEPT),
        ("possibly acknowledged messages remembered", len(s.outgoing.retired), limits.RETIRED_KEPT),
        ("entries in the recent window", len(s.window.order), limits.RECENT_WINDOW),
        ("ephemeral ids", len(s.ephemeral_seen), limits.EPHEMERAL_SEEN),
    )
    for what, size, bound in bounds + _far_bounds(s) if record.small else bounds:
        if size >= bound:
            if size > bound:
                raise Violation("I8", f"{record.name} has {size} {what}; {bound} are allowed")
            record.reach.met[f"full: {what}"] += 1


def _far_bounds(s: ChannelState) -> tuple[tuple[str, int, int], ...]:
    """Bounds that no scenario comes near where they are not made small."""
    wanted = max((len(push.wanted_by) for push in s.pushes.entries.values()), default=0)
    witnesses = max((len(known.evidence) for known in s.outgoing.known.values()), default=0)
    return (
        ("messages on their way", sum(1 for _ in s.recent_arrivals), limits.ARRIVALS_KEPT),
        ("unacknowledged messages", len(s.outgoing.open), limits.UNACKED_KEPT),
        ("participants that one push is for", wanted, limits.WANTED_BY),
        ("witnesses of one message", witnesses, limits.MAX_EVIDENCE),
    )


def _possibly_acked(s: ChannelState) -> int:
    return sum(known.state is AckState.POSSIBLY_ACKED for known in s.outgoing.open.values())


def check_waiting(record: NodeRecord) -> None:
    """Nothing waits for what is there; every own message that is open has a timer."""
    channel = record.node.channel
    if channel is None:
        return
    s = channel.state
    name = record.name
    for message_id in s.gaps:
        if message_id in record.log:
            raise Violation("I3", f"{name} still calls {message_id[:8]} a gap, which it has")
    for message_id in s.requests.missing:
        buffered = s.incoming.buffered.get(message_id)
        if message_id in record.log or (buffered is not None and not buffered.release_at):
            raise Violation("I3", f"{name} still waits for {message_id[:8]}, which it has")
        # What is deferred may be waited for, until it is given up like anything else, but it is not asked for.
        asked = message_id in s.requests.requests
        if asked and buffered is not None:
            raise Violation("I14", f"{name} means to ask for {message_id[:8]}, which is deferred here")
        if message_id not in s.requests.lost or (s.config.repair_enabled and not asked and buffered is None):
            raise Violation("I5", f"{name} waits for {message_id[:8]}, and will never ask for it or give it up")
    for message_id, buffered in s.incoming.buffered.items():
        if not buffered.release_at and not buffered.unmet:
            raise Violation("I3", f"{name} holds {message_id[:8]} back for nothing")
        for parent in buffered.unmet:
            if parent not in s.requests.missing and parent not in s.incoming.buffered:
                raise Violation("I5", f"{name} holds {message_id[:8]} back for {parent[:8]}, which nobody looks for")
            above = s.incoming.buffered.get(parent)
            if above is not None and not above.release_at and above.lamport >= buffered.lamport:
                raise Violation("I5", f"{name} holds {message_id[:8]} back for {parent[:8]}, which may wait for it")
    for message_id in s.outgoing.open:
        due = s.outgoing.timers.get(message_id)
        if due is None or due > s.now.mono + 2 * s.config.resend_max:
            raise Violation("I5", f"{name} has given up on {message_id[:8]}")


def check_room(record: NodeRecord, message: Message, size: int, events: Sequence[Event]) -> None:
    """I8: who is refused for lack of room would have none either if everything newer of its sender were gone."""
    refused = any(
        isinstance(event, Rejected) and event.reason is Reason.BUFFER_QUOTA and event.message_id == message.message_id
        for event in events
    )
    channel = record.node.channel
    if not refused or channel is None:
        return
    at = (message.lamport_timestamp or 0, message.message_id)
    waiting = [buffered for buffered in channel.state.incoming.buffered.values() if not buffered.release_at]
    newer = [
        buffered
        for buffered in waiting
        if buffered.message.sender_id == message.sender_id and (buffered.lamport, buffered.message.message_id) > at
    ]
    kept = [buffered for buffered in waiting if buffered not in newer]
    own = [buffered for buffered in kept if buffered.message.sender_id == message.sender_id]
    if (
        len(own) < limits.BUFFERED_PER_SENDER
        and len(kept) < limits.BUFFERED_PER_CHANNEL
        and _bytes(own) + size <= limits.BUFFERED_BYTES_PER_SENDER
        and _bytes(kept) + size <= limits.BUFFERED_BYTES_PER_CHANNEL
    ):
        raise Violation("I8", f"{record.name} refused {at[1][:8]} for the sake of what is newer")


def _bytes(messages: Iterable[BufferedMessage]) -> int:
    return sum(len(buffered.raw) for buffered in messages)


def check_restored(record: NodeRecord, channel: Channel) -> None:
    """I6: what the disk says is to be done is still to be done."""
    s = channel.state
    if s.horizon != record.horizon:
        raise Violation("I6", f"{record.name} came back with another join horizon")
    for message_id, row in record.outgoing.items():
        known = message_id in s.outgoing.open and message_id in s.outgoing.timers
        if known != row.resent:
            how = "without" if row.resent else "with"
            raise Violation("I6", f"{record.name} came back {how} {message_id[:8]} in its outgoing buffer")
    if s.clock.value < record.last_own:
        raise Violation("I9", f"the clock of {record.name} went back over a restart")


def check_refused(name: str, channel: Channel, receive: Callable[[], None]) -> None:
    """I13: what is not a packet changes nothing but a count."""
    s = channel.state
    writes, packets, events = len(s.writes), len(s.packets), len(s.events)
    receive()
    refused = len(s.events) == events + 1 and isinstance(s.events[-1], Rejected)
    if not refused or len(s.writes) != writes or len(s.packets) != packets:
        raise Violation("I13", f"{name} did more with garbage than refuse it")


def check_answering(record: NodeRecord, message: Message, origins: Mapping[str, Origin]) -> None:
    """I5: the author of a message that somebody asks for answers, and at once."""
    channel = record.node.channel
    assert channel is not None
    s = channel.state
    for entry in message.repair_request[: limits.ANSWERS_PER_SENDER]:
        origin = origins.get(entry.message_id)
        if origin is None or origin.author != record.index or entry.message_id not in record.log:
            continue
        if s.packet_of(entry.message_id) is None:  # a disk that keeps few packets
            continue
        answer = s.answers.entries.get(entry.message_id)
        if answer is None or (answer.due is None and answer.asked):
            raise Violation("I5", f"{record.name} does not answer for {entry.message_id[:8]}, which it wrote")
