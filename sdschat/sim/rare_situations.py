"""Rare situations, by name: a run counts which of them it met, and 2,000 seeds must meet every one.

They are seen from outside: in the events and packets of a step, and in the state that the engine shows. A bound is met
where a buffer is exactly full.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from sdschat.sds import limits
from sdschat.sds.bloom import compact
from sdschat.sds.events import (
    ClockAhead,
    Delivered,
    DependenciesLost,
    DuplicateReceived,
    Event,
    FilterFormatChanged,
    FilterIgnored,
    FilterRolled,
    GapClosed,
    MessageDeferred,
    MessageResent,
    MessageRetired,
    PushCancelled,
    PushScheduled,
    RangeDiffered,
    Rejected,
    RepairCancelled,
    RepairScheduled,
    StateChanged,
)
from sdschat.sds.state import ChannelState, Ready
from sdschat.sds.steps.due_sends import next_sweep
from sdschat.sds.timers import Deadlines
from sdschat.sds.values import AckState, Reason

CERTAIN: Final = ("mention", "range")  # evidence that is no matter of chance, by this judge and not by the engine

_BOUNDS: Final = (
    "messages waiting",
    "messages of one sender waiting",
    "messages deferred",
    "messages of one sender deferred",
    "dependencies missing",
    "dependencies of one sender missing",
    "gaps",
    "gaps of one sender",
    "answers",
    "answers for one sender",
    "pushes",
    "pushes for one peer",
    "participants that one push is for",
    "peers",
    "witnesses of one message",
    "unacknowledged messages",
    "acknowledged messages kept",
    "possibly acknowledged messages resent",
    "possibly acknowledged messages remembered",
    "entries in the recent window",
    "messages on their way",
    "ephemeral ids",
)
_RESENDS: Final = limits.RESENDS_PER_SWEEP
_OF_NODES: Final = (Reason.MISNAMED, Reason.ALTERED, Reason.OVER_LIMIT)  # which only a node can tell
_REASONS: Final = tuple(reason for reason in Reason if reason not in _OF_NODES)
SITUATIONS: Final = (
    *(f"full: {bound}" for bound in _BOUNDS),
    "full by bytes: messages of one sender waiting",
    "full by bytes: messages waiting",
    "full by bytes: messages of one sender deferred",
    "full by bytes: messages deferred",
    "budget used up: answers",
    "budget used up: pushes",
    *(f"refused: {reason}" for reason in _REASONS),
    "16 messages sent again at once, and more due",
    "filter rolled over",
    "filter remade",
    "format changed to waku",
    "format changed to compact",
    "filter ignored: too full",
    "filter ignored: unknown layout",
    "filter ignored: its range is too full",
    "range differed",
    "range filter too coarse to be sent",
    "acknowledged by a mention",
    "acknowledged by an equal range",
    "acknowledged by filters alone",
    "possibly acknowledged, and no longer sent again",
    "push called off: heard_again",
    "push called off: peer_has_it",
    "push called off: answered",
    "push called off: resent",
    "push called off: no_body",
    "request ended: received",
    "request ended: requested_by_other",
    "request ended: lost",
    "request ended: arrived_before_due",
    "answer called off: answered_by_other",
    "answer called off: peer_has_it",
    "answer called off: pushed",
    "answer called off: resent",
    "answer called off: no_body",
    "dependency lost",
    "gap closed",
    "delivered late, between older messages",
    "delivered: repair",
    "delivered: sync",
    "delivered: store",
    "duplicate received",
    "two messages of one date",
    "message deferred",
    "clock ahead of the wall clock",
    "join horizon lowered after catching up",
    "join horizon mended after a clock was put right",
    "died before the writes",
    "died before the packets",
    "died between the packets",
    "came back with other settings",
    "came back from an older backup",
    "began from a copy of another's profile",
    "a peer that is the specification asked, and was answered",
)


class RareSituations:
    """Rare situations that one run met."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self._generations: dict[int, int] = {}
        self._wanted: dict[int, bool] = {}

    def step(self, node: int, s: ChannelState, ready: Ready) -> None:
        resent = 0
        for event in ready.events:
            kind = type(event)
            if kind is Delivered or kind is StateChanged:  # nearly all
                self._usual(event)
            elif kind is MessageResent:
                resent += 1
            elif isinstance(event, FilterRolled):
                self._rolled(node, event)
            elif isinstance(event, Rejected):
                self._refused(s, event)
            else:
                name = _name(event)
                if name:
                    self.met[name] += 1
        if resent >= _RESENDS and s.outgoing.timers.next() == s.now.mono + s.config.sweep_interval:
            self.met["16 messages sent again at once, and more due"] += 1
        if s.answer_budget.spent and _put_off(s, s.answers.timers, ready):
            self.met["budget used up: answers"] += 1
        if s.push_budget.spent and _put_off(s, s.pushes.timers, ready):
            self.met["budget used up: pushes"] += 1
        self._range_filter(node, s, ready)

    def _usual(self, event: Event) -> None:
        if isinstance(event, Delivered):
            if event.late:
                self.met["delivered late, between older messages"] += 1
            if event.source != "live":
                self.met[f"delivered: {event.source}"] += 1
        elif isinstance(event, StateChanged) and event.state is AckState.ACKED and event.evidence is not None:
            how = event.evidence.how
            if how in CERTAIN or not event.by:
                self.met[f"acknowledged by {_PROOFS.get(how, 'filters alone')}"] += 1

    def _rolled(self, node: int, event: FilterRolled) -> None:
        before = self._generations.get(node, 0)
        self._generations[node] = event.generation
        self.met["filter rolled over" if event.generation == before + 1 else "filter remade"] += 1

    def _refused(self, s: ChannelState, event: Rejected) -> None:
        self.met[f"refused: {event.reason}"] += 1
        if event.reason is Reason.BUFFER_QUOTA:
            self._by_bytes(s, event.sender_id, "waiting", limits.BUFFERED_PER_SENDER, limits.BUFFERED_PER_CHANNEL)
        elif event.reason is Reason.FUTURE_QUOTA:
            self._by_bytes(
                s, event.sender_id, "deferred", limits.FUTURE_DATED_PER_SENDER, limits.FUTURE_DATED_PER_CHANNEL
            )

    def _by_bytes(self, s: ChannelState, sender_id: str, what: str, each: int, every: int) -> None:
        """Count a refusal of a message that was not for the number of messages."""
        deferred = what == "deferred"
        buffered = [buffered for buffered in s.incoming.buffered.values() if bool(buffered.release_at) == deferred]
        own = [one for one in buffered if one.message.sender_id == sender_id]
        if len(own) >= each or len(buffered) >= every:
            return
        bound = limits.FUTURE_DATED_BYTES_PER_SENDER if deferred else limits.BUFFERED_BYTES_PER_SENDER
        longest = max((len(one.raw) for one in buffered), default=0)
        full = sum(len(one.raw) for one in own) + longest > bound
        self.met[f"full by bytes: messages {'of one sender ' if full else ''}{what}"] += 1

    def _range_filter(self, node: int, s: ChannelState, ready: Ready) -> None:
        """Count a sync message that came without the range filter that was owed."""
        if self._wanted.get(node):
            for packet in ready.packets:
                message = s.codec.decode(packet.raw) if packet.kind == "sync" else None
                packed = getattr(message, "bloom_filter", None)
                found = compact.decode(packed) if packed and packed[0] == compact.WINDOW else ""
                if not isinstance(found, str) and found.range_filter is None:
                    self.met["range filter too coarse to be sent"] += 1
        self._wanted[node] = s.ranges.wanted is not None


def _put_off(s: ChannelState, timers: Deadlines, ready: Ready) -> bool:
    """True if something is due with the next sweep that was not scheduled just now: the budget did not suffice."""
    later = next_sweep(s)
    if timers.next() != later:
        return False
    new = {event.message_id for event in ready.events if isinstance(event, (PushScheduled, RepairScheduled))}
    return any(message_id not in new for message_id in timers.first_due(later, len(new) + 1))


def _name(event: Event) -> str:
    if isinstance(event, PushCancelled):
        return f"push called off: {event.reason}"
    if isinstance(event, RepairCancelled):
        what = "answer called off" if event.reason in _OF_ANSWERS else "request ended"
        return f"{what}: {event.reason}"
    if isinstance(event, FilterIgnored):
        kind = "unknown layout" if "unknown" in event.reason else "too full"
        return f"filter ignored: {'its range is ' if 'range' in event.reason else ''}{kind}"
    if isinstance(event, FilterFormatChanged):
        return f"format changed to {event.filter_format}"
    return _NAMES.get(type(event), "")


_OF_ANSWERS: Final = ("answered_by_other", "peer_has_it", "pushed", "resent", "no_body")
_PROOFS: Final = {"mention": "a mention", "range": "an equal range"}
_NAMES: Final[dict[type, str]] = {
    MessageRetired: "possibly acknowledged, and no longer sent again",
    DependenciesLost: "dependency lost",
    GapClosed: "gap closed",
    DuplicateReceived: "duplicate received",
    MessageDeferred: "message deferred",
    RangeDiffered: "range differed",
    ClockAhead: "clock ahead of the wall clock",
}
