"""Invariants of what a step tells and of what it publishes, after its writes are true."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sdschat.sds import limits
from sdschat.sds.events import (
    Delivered,
    DependenciesLost,
    DependenciesMissing,
    DuplicateReceived,
    EphemeralReceived,
    Event,
    GapClosed,
    Rejected,
    RepairCancelled,
    StateChanged,
)
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.values import FORGOTTEN, FROM_STORE, AckState, Message, MessageKind, MissingRow, Reason, Refusal, Table
from sdschat.sim.oracle import NodeRecord, Oracle
from sdschat.sim.rare_situations import CERTAIN
from sdschat.sim.scenario import START, Violation

_QUOTAS = (Reason.BUFFER_QUOTA, Reason.FUTURE_QUOTA)
# What the engine itself refuses; the rest is the decoder's, and only garbage comes to that.
_JUDGED = (
    *_QUOTAS,
    Reason.OTHER_CHANNEL,
    Reason.CLOCK_ZERO,
    Reason.CLOCK_TOO_LARGE,
    Reason.CLOCK_NOT_ABOVE_PARENT,
    Reason.OWN_ID_UNKNOWN,
    Reason.ID_CONFLICT,
)


def check_events(oracle: Oracle, record: NodeRecord, events: list[Event]) -> None:
    for event in events:
        if isinstance(event, Delivered):
            _delivered(oracle, record, event)
        elif isinstance(event, GapClosed):
            record.gaps_shown.pop(event.message_id, None)
        elif isinstance(event, StateChanged):
            _state_changed(oracle, record, event)
        elif isinstance(event, DuplicateReceived):
            _duplicate(record, event)
        elif isinstance(event, DependenciesMissing):
            for message_id in event.dependencies:
                record.missing_since.setdefault(message_id, oracle.time)
        elif isinstance(event, RepairCancelled):
            record.put_off.pop(event.message_id, None)
            if event.reason in ("received", "lost", "arrived_before_due"):
                record.requests_due.pop(event.message_id, None)
        elif isinstance(event, DependenciesLost):
            _lost(oracle, record, event)
        elif isinstance(event, Rejected):
            _rejected(oracle, record, event)
        elif isinstance(event, EphemeralReceived):
            _ephemeral(oracle, record, event)
    for message_id, what in record.put_off.items():
        raise Violation("I5", f"{what} of {message_id[:8]} at {record.name} was put off")


def _delivered(oracle: Oracle, record: NodeRecord, event: Delivered) -> None:
    message = event.message
    message_id, lamport = message.message_id, message.lamport_timestamp or 0
    what = f"{message_id[:8]} at {record.name}"
    if message_id not in record.log:
        raise Violation("I6", f"{what} was told before it was saved")
    if message_id in record.shown:
        raise Violation("I4", f"{what} was told twice")
    place = (lamport, message_id)
    if event.late != (place < record.newest):
        raise Violation("I2", f"{what} was told as {'late' if event.late else 'the newest'}, which is not so")
    record.newest = max(record.newest, place)
    if message_id in record.gaps_shown and not oracle.scenario.limits:  # a small window forgets who names what
        raise Violation("I3", f"{what} came, and is still told as a gap")
    record.gaps_shown.update(dict.fromkeys(event.gap))
    history = event.source == FROM_STORE  # it waits for nothing, and acknowledges nothing
    for entry in message.causal_history:
        parent = entry.message_id
        if parent in record.shown:
            if parent in event.gap:
                raise Violation("I3", f"{what} names {parent[:8]} as a gap, which was told before")
            if record.log[parent] >= lamport:
                raise Violation("I3", f"{what} is not later than {parent[:8]}, on which it depends")
        elif parent in event.gap:
            if history:
                continue
            _gap(oracle, record, parent, lamport, what)
        else:
            raise Violation("I3", f"{what} was told before {parent[:8]}, on which it depends")
        if lamport > record.horizon and not history:
            _mentioned(record, parent, message.sender_id)
    record.shown[message_id] = None


def _mentioned(record: NodeRecord, message_id: str, sender_id: str) -> None:
    """Check that a sender who names an own message counts as having it. Messages that left the buffer long ago are no
    longer looked up."""
    own = record.outgoing.get(message_id)
    if own is None or own.state is AckState.ACKED or own.due == FORGOTTEN or sender_id == record.participant:
        return
    raise Violation(
        "I7", f"{record.name} heard {sender_id} name {message_id[:8]}, and does not count it as acknowledged"
    )


def _gap(oracle: Oracle, record: NodeRecord, parent: str, lamport: int, what: str) -> None:
    """Check I3: a gap is something given up in time, or older than our joining, or crowded out by a hostile sender."""
    tables = record.node.store.tables
    if parent in tables[Table.GAP] or parent in record.log or lamport <= record.horizon:
        return  # given up; or it came later in the same step; or older than our joining
    missing = tables[Table.MISSING].get(parent)
    if parent in record.buffered or (isinstance(missing, MissingRow) and not missing.awaited & 1):
        return  # named by the first message of the log, and not here yet or itself waiting
    if not oracle.scenario.crowded:
        raise Violation("I3", f"{what} names {parent[:8]} as a gap, which is on no record")


def _lost(oracle: Oracle, record: NodeRecord, event: DependenciesLost) -> None:
    wait = record.node.config.lost_after
    jumps = any(action.verb in ("jump", "crash") for action in oracle.scenario.actions)
    for message_id in event.dependencies:
        since = record.missing_since.pop(message_id, None)
        if since is not None and not jumps and oracle.time - since < wait:
            raise Violation("I5", f"{record.name} gave {message_id[:8]} up after {oracle.time - since} ms")


def _state_changed(oracle: Oracle, record: NodeRecord, event: StateChanged) -> None:
    message_id, what = event.message_id, f"{event.message_id[:8]} at {record.name}"
    saved = record.outgoing.get(message_id)
    if saved is None or saved.state < event.state:
        raise Violation("I6", f"the state of {what} was told before it was saved")
    if event.state < record.shown_states.get(message_id, event.state):
        raise Violation("I7", f"the state of {what} was told to go back")
    record.shown_states[message_id] = event.state
    evidence = event.evidence
    if evidence is None:
        return
    oracle.evidence += 1
    places = oracle.participants.get(evidence.sender_id)
    if places is None:
        return  # a stranger that an injected packet speaks for
    if any(message_id in theirs.log or message_id in theirs.once_in_log for theirs in places):
        return
    if evidence.how in CERTAIN:
        raise Violation("I7", f"{what} is acknowledged by {evidence.sender_id}, who does not have it")
    if not any(message_id in theirs.buffered for theirs in places):
        oracle.false_positives += 1  # by chance: what a filter may say is checked where it is sent


def _duplicate(record: NodeRecord, event: DuplicateReceived) -> None:
    """Check I14: a message that somebody has just sent need not be sent by us. Of a batch, only the end is seen."""
    channel = record.node.channel
    if channel is None or record.node.batch:
        return
    message_id = event.message_id
    if message_id in channel.state.answers.timers or message_id in channel.state.pushes.timers:
        raise Violation("I14", f"{record.name} still means to send {event.message_id[:8]} that it has just heard")


def _rejected(oracle: Oracle, record: NodeRecord, event: Rejected) -> None:
    """Check I13: among honest peers nothing is refused, except where there is no room."""
    oracle.refusals += 1
    if not isinstance(event.reason, Reason):
        raise Violation("I13", f"{record.name} refused something without a reason")
    if event.reason is Reason.CLOCK_NOT_ABOVE_PARENT and (lamport := record.log.get(event.message_id)) is not None:
        record.shown[event.message_id] = None  # its id is kept, and no other event tells of it
        record.newest = max(record.newest, (lamport, event.message_id))
    accepted = event.reason not in _JUDGED or (oracle.scenario.crowded and event.reason in _QUOTAS)
    if event.reason is Reason.FUTURE_QUOTA and oracle.scenario.wrong_clock:
        accepted = True
    if event.reason is Reason.OWN_ID_UNKNOWN and record.torn and event.sender_id == record.participant:
        accepted = True
    if event.sender_id in oracle.participants and not accepted:
        raise Violation("I13", f"{record.name} refused an honest packet of {event.sender_id}: {event.reason}")


def _ephemeral(oracle: Oracle, record: NodeRecord, event: EphemeralReceived) -> None:
    if event.message.message_id not in oracle.ephemerals:
        raise Violation("I4", f"{record.name} was shown an ephemeral message that nobody sent")
    if event.message.message_id in record.log:
        raise Violation("I4", f"{record.name} has an ephemeral message in its log")


def check_packet(oracle: Oracle, record: NodeRecord, packet: Packet, message: Message | Refusal) -> None:
    if isinstance(message, Refusal):
        raise Violation("I13", f"{record.name} sent a packet that is {message.reason}")
    if not record.node.online:
        raise Violation("I14", f"{record.name} sent a packet without a transport")
    kind = message.kind
    if kind is MessageKind.SYNC:
        _made(oracle, record, message, fresh=True)
    elif kind is MessageKind.CONTENT:
        _content(oracle, record, packet, message)
    if packet.message_id != message.message_id:
        raise Violation("I13", f"{record.name} sent a packet under another id than its own")


def _content(oracle: Oracle, record: NodeRecord, packet: Packet, message: Message) -> None:
    message_id = message.message_id
    what = f"{message_id[:8]} by {record.name}"
    origin = oracle.origins.get(message_id)
    if origin is None or packet.raw != origin.raw:
        raise Violation("I4", f"{what} ({packet.kind}) differs from what its author made")
    if message_id not in record.log and message_id not in record.buffered and message_id not in record.future_dated:
        raise Violation("I6", f"{what} ({packet.kind}) was sent before it was saved")
    channel = record.node.channel
    s = None if channel is None else channel.state
    if s is not None and (message_id in s.answers.timers or message_id in s.pushes.timers):
        raise Violation("I14", f"{what} ({packet.kind}) was sent, and is to be sent once more")
    if packet.kind == "message":
        _made(oracle, record, message, fresh=message_id == record.made_now)


def _made(oracle: Oracle, record: NodeRecord, message: Message, fresh: bool) -> None:
    """Check that everything that a packet of our own making claims is on our disk."""
    what = f"{message.message_id[:8]} by {record.name}"
    lamport = message.lamport_timestamp or 0
    if fresh and abs(lamport - START - oracle.time) > oracle.clock_bound and not record.wrong_clock:
        raise Violation("I9", f"{what} is dated {lamport - START - oracle.time} ms from now")
    if not message.content:
        if lamport <= record.last_own:
            raise Violation("I9", f"the clock of {record.name} went back")
        record.last_own = lamport
    log = record.log
    history = message.causal_history
    if fresh and len(history) > record.node.config.causal_history:
        raise Violation("I8", f"{what} names {len(history)} messages")
    for entry in history:
        if entry.message_id not in log:
            raise Violation("I7", f"{what} mentions {entry.message_id[:8]}, which is not saved")
    if fresh:
        if len(message.repair_request) > record.node.config.max_requests:
            raise Violation("I8", f"{what} asks for {len(message.repair_request)} messages")
        for entry in message.repair_request:
            if entry.message_id in log or entry.message_id in record.buffered:
                raise Violation("I14", f"{what} asks for {entry.message_id[:8]}, which is here")
    if message.bloom_filter is None:
        raise Violation("I7", f"{what} has no filter")
    if wrong := record.masks.judge(message.bloom_filter, fresh):
        raise Violation("I7", f"the filter of {what} {wrong}")


def check_made(oracle: Oracle, record: NodeRecord, lamport: int) -> None:
    if lamport <= record.last_own:
        raise Violation("I9", f"the clock of {record.name} went back")


def check_room(record: NodeRecord, message: Message, size: int, events: Sequence[Event]) -> None:
    """Check I8: a message that is refused for lack of room would have no room either if everything newer of its sender
    were gone."""
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
        and sum(len(buffered.raw) for buffered in own) + size <= limits.BUFFERED_BYTES_PER_SENDER
        and sum(len(buffered.raw) for buffered in kept) + size <= limits.BUFFERED_BYTES_PER_CHANNEL
    ):
        raise Violation("I8", f"{record.name} refused {at[1][:8]} for the sake of what is newer")


def check_refused(name: str, s: ChannelState, receive: Callable[[], None]) -> None:
    """Check I13: bytes that are no packet change nothing but a count."""
    writes, packets, events = len(s.writes), len(s.packets), len(s.events)
    receive()
    refused = len(s.events) == events + 1 and isinstance(s.events[-1], Rejected)
    if not refused or len(s.writes) != writes or len(s.packets) != packets:
        raise Violation("I13", f"{name} did more with garbage than refuse it")
