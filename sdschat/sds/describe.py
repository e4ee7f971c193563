"""One stable line of text for every event, packet, filter and channel state.

The journal, the simulator's reports and the conversations under `tests/` are made of these lines. Nothing here reads
a clock or changes what it describes. The caller says how ids and moments are to be written, so that a test may call
messages m1 and m2 and count time from its own start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import NamedTuple

from sdschat.sds import events as ev
from sdschat.sds.bloom.compact import CompactFilter, read_filter
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.values import AckState, HistoryEntry, Message, MessageKind, Refusal

Namer = Callable[[str], str]
Moment = Callable[[int], str]

_STATES = {
    AckState.UNACKED: "unacknowledged",
    AckState.POSSIBLY_ACKED: "possibly acknowledged",
    AckState.ACKED: "acknowledged",
}
_LONGEST_TEXT = 24


def short(full: str) -> str:
    """Return the first eight characters of an id, which is enough to tell ids apart by eye."""
    return full[:8]


class _View(NamedTuple):
    """The reader's choice of how to show ids and times."""

    name: Namer
    moment: Moment

    def names(self, ids: Iterable[str]) -> str:
        return " ".join(map(self.name, ids)) or "-"


def describe(
    thing: ev.Event | Message | Packet | Refusal | ChannelState, name: Namer = short, moment: Moment = str
) -> str:
    """Describe `thing` in one line. `name` writes message and participant ids, `moment` epoch milliseconds."""
    return _line(thing, _View(lambda full: _printable(name(full)), moment))


def describe_filter(packed: bytes | None, moment: Moment = str) -> str:
    """Describe a filter by its shape and by how full it is, never by its bits."""
    if packed is None:
        return "none"
    received = read_filter(packed)
    if isinstance(received, str):
        return f"ignored ({received})"
    if not isinstance(received, CompactFilter):
        return f"waku {received.fill:.1%} full"
    shape = f"{received.bits} bits {received.hashes} hashes"
    line = f"compact {shape} {received.fill:.1%} full since {moment(received.floor)}"
    if (what := received.range_print) is not None:
        line += f", fingerprint of {what.ids} ids from {moment(what.low)} to {moment(what.high)}"
    if (answer := received.range_filter) is not None:
        line += f", filter of what is from {moment(answer.low)} to {moment(answer.high)}"
    return line


@singledispatch
def _line(thing: object, view: _View) -> str:
    raise TypeError(f"nothing is known about describing a {type(thing).__name__}")


def _printable(text: str) -> str:
    """Return a text on one line: also U+2028 and the like, which some programs take for its end, are escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def _text(content: bytes | None) -> str:
    """Return the content as quoted text, cut short; control characters and broken UTF-8 are escaped."""
    safe = _printable((content or b"").decode("utf-8", "backslashreplace"))
    return f'"{safe[:_LONGEST_TEXT]}{"..." if len(safe) > _LONGEST_TEXT else ""}"'


def _entries(entries: tuple[HistoryEntry, ...], view: _View) -> str:
    written = []
    for entry in entries:
        sender = "?" if entry.sender_id is None else view.name(entry.sender_id)
        hint = "" if entry.retrieval_hint is None else "+hint"
        written.append(f"{view.name(entry.message_id)}({sender}{hint})")
    return " ".join(written) or "-"


@_line.register
def _message(message: Message, view: _View) -> str:
    parts = [f"{message.kind} {view.name(message.message_id)} of {view.name(message.sender_id)}"]
    if message.lamport_timestamp is not None:
        parts.append(f"clock {view.moment(message.lamport_timestamp)}")
    if message.content:
        parts.append(_text(message.content))
    if message.kind is not MessageKind.EPHEMERAL or message.causal_history:
        parts.append(f"after {_entries(message.causal_history, view)}")
    if message.repair_request:
        parts.append(f"requests {_entries(message.repair_request, view)}")
    if message.bloom_filter is not None:
        parts.append(f"filter {describe_filter(message.bloom_filter, view.moment)}")
    return ", ".join(parts)


@_line.register
def _packet(packet: Packet, view: _View) -> str:
    return f"{packet.kind} {view.name(packet.message_id)}, {len(packet.raw)} bytes"


@_line.register
def _refusal(refusal: Refusal, view: _View) -> str:
    what = view.name(refusal.message_id) if refusal.message_id else "a packet"
    sender = f" of {view.name(refusal.sender_id)}" if refusal.sender_id else ""
    detail = f" ({refusal.detail})" if refusal.detail else ""
    return f"refused {what}{sender}, {refusal.reason}{detail}"


@_line.register
def _delivered(event: ev.Delivered, view: _View) -> str:
    message = event.message
    clock = view.moment(message.lamport_timestamp or 0)
    line = f"delivered {view.name(message.message_id)} of {view.name(message.sender_id)}, clock {clock}"
    line += f", {_text(message.content)}"
    if event.own:
        line += ", own"
    if event.late:
        line += ", late"
    if event.gap:
        line += f", without {view.names(event.gap)}"
    return line if event.source == "live" else f"{line}, via {event.source}"


@_line.register
def _kept_as_id(event: ev.KeptAsId, view: _View) -> str:
    message = event.message
    return f"kept {view.name(message.message_id)} of {view.name(message.sender_id)} as an id"


@_line.register
def _ephemeral_received(event: ev.EphemeralReceived, view: _View) -> str:
    message = event.message
    return f"ephemeral {view.name(message.message_id)} of {view.name(message.sender_id)}, {_text(message.content)}"


@_line.register
def _state_changed(event: ev.StateChanged, view: _View) -> str:
    line = f"{view.name(event.message_id)} is {_STATES[event.state]}"
    if event.evidence is not None:
        found = event.evidence
        line += f": {found.how} by {view.name(found.sender_id)} in {view.name(found.packet_id)}"
        if found.error_rate:
            line += f", wrong with {found.error_rate:.0e}"
        if not found.signed:
            line += ", unproven"
    return line


@_line.register
def _message_retired(event: ev.MessageRetired, view: _View) -> str:
    return f"{view.name(event.message_id)} is no longer resent, so many newer ones are possibly acknowledged"


@_line.register
def _dependencies_missing(event: ev.DependenciesMissing, view: _View) -> str:
    return f"missing {view.names(event.dependencies)}, named by {view.name(event.message_id)}"


@_line.register
def _dependencies_lost(event: ev.DependenciesLost, view: _View) -> str:
    return f"lost {view.names(event.dependencies)}"


@_line.register
def _gap_closed(event: ev.GapClosed, view: _View) -> str:
    return f"gap {view.name(event.message_id)} closed"


@_line.register
def _message_deferred(event: ev.MessageDeferred, view: _View) -> str:
    return f"deferred {view.name(event.message_id)} of {view.name(event.sender_id)} until {view.moment(event.due)}"


@_line.register
def _duplicate_received(event: ev.DuplicateReceived, view: _View) -> str:
    return f"duplicate {view.name(event.message_id)} of {view.name(event.sender_id)}"


@_line.register
def _sync_sent(event: ev.SyncSent, view: _View) -> str:
    return f"sync sent, {view.name(event.message_id)}"


@_line.register
def _sync_received(event: ev.SyncReceived, view: _View) -> str:
    return f"sync received from {view.name(event.sender_id)}"


@_line.register
def _message_resent(event: ev.MessageResent, view: _View) -> str:
    return f"resent {view.name(event.message_id)}, {_STATES[event.state]}, sent {event.sends} times"


@_line.register
def _repair_wanted(event: ev.RepairWanted, view: _View) -> str:
    return f"repair of {view.name(event.message_id)} to be requested at {view.moment(event.due)}"


@_line.register
def _repair_requested(event: ev.RepairRequested, view: _View) -> str:
    return f"repair of {view.names(event.message_ids)} requested in {view.name(event.carrier)}"


@_line.register
def _repair_scheduled(event: ev.RepairScheduled, view: _View) -> str:
    who = view.name(event.requested_by)
    return f"answer {view.name(event.message_id)} to be sent at {view.moment(event.due)}, requested by {who}"


@_line.register
def _repair_responded(event: ev.RepairResponded, view: _View) -> str:
    return f"answer {view.name(event.message_id)} sent"


@_line.register
def _repair_cancelled(event: ev.RepairCancelled, view: _View) -> str:
    return f"repair of {view.name(event.message_id)} cancelled, {event.reason}"


@_line.register
def _push_scheduled(event: ev.PushScheduled, view: _View) -> str:
    who = view.name(event.wanted_by)
    return f"push of {view.name(event.message_id)} to be sent at {view.moment(event.due)}, lacked by {who}"


@_line.register
def _pushed(event: ev.Pushed, view: _View) -> str:
    return f"push of {view.name(event.message_id)} sent"


@_line.register
def _push_cancelled(event: ev.PushCancelled, view: _View) -> str:
    return f"push of {view.name(event.message_id)} cancelled, {event.reason}"


@_line.register
def _range_differed(event: ev.RangeDiffered, view: _View) -> str:
    span = f"{view.moment(event.low)}..{view.moment(event.high)}"
    return f"range {span} differs from that of {view.name(event.sender_id)}"


@_line.register
def _filter_ignored(event: ev.FilterIgnored, view: _View) -> str:
    return f"filter of {view.name(event.sender_id)} ignored, {event.reason}"


@_line.register
def _filter_rolled(event: ev.FilterRolled, view: _View) -> str:
    return f"filter rolled to generation {event.generation}, complete since {view.moment(event.floor)}"


@_line.register
def _filter_format_changed(event: ev.FilterFormatChanged, view: _View) -> str:
    return f"filter layout is now {event.filter_format}"


@_line.register
def _clock_ahead(event: ev.ClockAhead, view: _View) -> str:
    return f"own clock {view.moment(event.lamport)} is {event.ahead} ms ahead of the wall clock"


@_line.register
def _rejected(event: ev.Rejected, view: _View) -> str:
    what = view.name(event.message_id) if event.message_id else "a packet"
    sender = f" of {view.name(event.sender_id)}" if event.sender_id else ""
    return f"rejected {what}{sender}, {event.reason}"


@_line.register
def _state(state: ChannelState, view: _View) -> str:
    """Describe a channel: counts say how much there is, names say what; an empty buffer is left out."""
    own = state.filter
    parts = [
        f"clock {view.moment(state.clock.value)}",
        f"recent log {len(state.window.order)}",
        f"heads {view.names(entry.message_id for entry in state.window.heads)}",
        f"filter {own.filter_format} {own.count}/{own.capacity} since {view.moment(own.floor)}",
    ]
    waiting = [
        f"{view.name(key)} (for {view.names(buffered.unmet)})" if buffered.unmet else f"{view.name(key)} (for its date)"
        for key, buffered in state.incoming.buffered.items()
    ]
    buffers = {
        "waiting": waiting,
        "missing": [view.name(key) for key in state.requests.missing],
        "outgoing": [_outgoing(known, view) for known in state.outgoing.open.values()],
        "answers": [view.name(key) for key, answer in state.answers.entries.items() if answer.due is not None],
        "pushes": [view.name(key) for key, push in state.pushes.entries.items() if push.due is not None],
        "gaps": [f"{view.name(key)} ({gap.reason})" for key, gap in state.gaps.items()],
    }
    parts += [f"{label} {' '.join(found)}" for label, found in buffers.items() if found]
    return ", ".join(parts if state.online else ["offline", *parts])


def _outgoing(known: Outgoing, view: _View) -> str:
    return f"{view.name(known.message_id)} ({_STATES[known.state]}, sent {known.sends})"
