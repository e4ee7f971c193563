"""Review ACK Status."""

from __future__ import annotations

from sdschat.sds.bloom.received import MAX_FILL, ReceivedFilter
from sdschat.sds.events import FilterIgnored, StateChanged
from sdschat.sds.limits import FILTER_REVIEW, MAX_EVIDENCE, REMEMBERED_MISSES
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.rows import AckState, Evidence
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.outgoing_sweep import schedule_resend
from sdschat.sds.values import Message

CERTAIN_ENOUGH = 1e-6  # the combined chance of error at which filters alone make a message acknowledged
CERTAIN = ("mention", "range")
COLLISION = 2.0**-64  # chance that two different ranges have the same fingerprint
WITNESSES = 2  # and the number of distinct participants it takes: one peer's filters are all the same evidence


def review_causal_history(s: ChannelState, message: Message) -> None:
    """All messages in the received `causal_history` are acknowledged: its sender has delivered them."""
    outgoing = s.outgoing
    for entry in message.causal_history:
        known = outgoing.open.get(entry.message_id) or outgoing.settled.get(entry.message_id)
        if known is not None:
            _witness(s, known, Evidence(message.sender_id, "mention", message.message_id, s.now.wall, 0.0))


def review_filter(s: ChannelState, message: Message, received: ReceivedFilter, with_settled: bool) -> None:
    """All messages in the received `bloom_filter` are possibly acknowledged."""
    outgoing = s.outgoing
    sender_id, floor = message.sender_id, received.floor
    candidates = [outgoing.open[key] for key in outgoing.since(floor, FILTER_REVIEW)]
    if with_settled:
        settled = [
            known for known in outgoing.settled.values() if known.lamport >= floor and sender_id not in known.evidence
        ]
        settled.sort(key=lambda known: (known.lamport, known.message_id))
        candidates += settled
    misses = 0
    for known in candidates:
        if misses >= REMEMBERED_MISSES:
            break
        if sender_id in known.evidence:
            continue  # a mention is worth more, and another filter of the same participant tells nothing new
        if not received.holds(known.message_id):
            misses += 1
            continue
        misses = 0
        if received.fill > MAX_FILL:
            s.events.append(FilterIgnored(message.sender_id, f"{received.fill:.0%} full"))
            return
        rate = received.fill**received.hashes
        _witness(s, known, Evidence(message.sender_id, "filter", message.message_id, s.now.wall, rate))


def review_equal_range(s: ChannelState, sender_id: str, low: int, high: int) -> None:
    """A peer's fingerprint over a range of its log equals ours: it has every message in it, for all but certain.

    Mentions only ever name the newest messages, and filters forget; without this, all but the last of many messages
    would be resent for ever in a channel where everybody has them.
    """
    outgoing = s.outgoing
    for message_id in outgoing.since(low, FILTER_REVIEW):
        known = outgoing.open[message_id]
        if known.lamport > high:
            break
        _witness(s, known, Evidence(sender_id, "range", "", s.now.wall, COLLISION))


def _witness(s: ChannelState, known: Outgoing, evidence: Evidence) -> None:
    """Take in a piece of evidence. States only ever grow, and keep why."""
    old = known.evidence.get(evidence.sender_id)
    if old is not None and (old.how in CERTAIN or evidence.how not in CERTAIN):
        return  # the same participant again: nothing new
    if old is None and len(known.evidence) >= MAX_EVIDENCE:
        return
    known.evidence[evidence.sender_id] = evidence
    s.outgoing.changed[known.message_id] = known
    before = known.state
    if before is not AckState.ACKED and acknowledged(known):
        s.outgoing.settle(known)
    elif before is AckState.UNACKED:
        known.state = AckState.POSSIBLY_ACKED
        schedule_resend(s, known)
    by = tuple(known.evidence)
    s.events.append(StateChanged(known.message_id, known.state, by, max(0, known.sends - 1), evidence))


def acknowledged(known: Outgoing) -> bool:
    """A mention is enough, and so is an equal range; filters, when enough distinct participants' hold it that chance
    cannot explain it."""
    chance = 1.0
    witnesses = 0
    for evidence in known.evidence.values():
        if evidence.how in CERTAIN:
            return True
        chance *= evidence.error_rate
        witnesses += 1
    return witnesses >= WITNESSES and chance <= CERTAIN_ENOUGH
