"""Review ACK Status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from sdschat.sds.bloom.compact import MAX_FILL, ReceivedFilter
from sdschat.sds.events import FilterIgnored, MessageRetired, StateChanged
from sdschat.sds.limits import FILTER_REVIEW, MAX_EVIDENCE, MAX_UNPROVEN, REMEMBERED_MISSES
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.outgoing_sweep import schedule_resend
from sdschat.sds.values import AckState, Evidence, Message

CERTAIN_ENOUGH = 1e-6  # a chance of error at which filters alone make a message acknowledged: of the best of them
COLLISION = 2.0**-64  # chance that two different ranges have the same fingerprint
WITNESSES = 2  # and the number of distinct participants it takes: one peer's filters are all the same evidence


def review_causal_history(s: ChannelState, message: Message) -> None:
    """Acknowledge all messages in the received `causal_history`: its sender has delivered them."""
    own = s.outgoing.known
    for entry in message.causal_history:
        known = own.get(entry.message_id)
        if known is not None:
            _witness(s, known, _evidence(s, message.sender_id, "mention", message.message_id, 0.0))


def review_mentions(s: ChannelState, message: Message) -> None:
    """Review the causal history of a message that may be old, if its author signed it: what it names was held then, and
    still is. Its filter may be as old as the log."""
    if s.outgoing.known and not s.unproven and message.sender_id != s.participant_id:
        review_causal_history(s, message)


def review_filter(s: ChannelState, message: Message, received: ReceivedFilter, with_settled: bool) -> None:
    """Mark as possibly acknowledged all messages in the received `bloom_filter`."""
    found: list[Outgoing] = []
    misses = 0
    candidates = _without_witness(s, message.sender_id, received.floor, with_settled)
    for known in islice(candidates, FILTER_REVIEW):
        if received.holds(known.message_id):
            found.append(known)
            misses = 0
        else:
            misses += 1
        if misses >= REMEMBERED_MISSES:
            break
    if not found:
        return
    if received.fill > MAX_FILL:
        s.events.append(FilterIgnored(message.sender_id, f"{received.fill:.0%} full"))
        return
    if len(found) > 1:
        found.sort(key=lambda known: (known.lamport, known.message_id))
    rate = received.fill**received.hashes
    evidence = _evidence(s, message.sender_id, "filter", message.message_id, rate)
    for known in found:
        _witness(s, known, evidence)


def _without_witness(s: ChannelState, sender_id: str, floor: int, with_settled: bool) -> Iterator[Outgoing]:
    """Yield own messages of which this participant has told nothing yet: another filter of the same participant tells
    nothing new. The newest first, since filters forget the oldest, and then what is acknowledged, also by age: the
    order in which it was acknowledged is on no disk."""
    unseen = s.outgoing.newest_first(floor, sender_id, unproven=s.unproven)
    if not with_settled:
        return unseen
    settled = [
        known
        for known in s.outgoing.settled.values()
        if sender_id not in known.evidence and known.lamport >= floor
        if not s.unproven or sender_id not in known.unproven
    ]
    if len(settled) > 1:
        settled.sort(key=lambda known: (known.lamport, known.message_id), reverse=True)
    return chain(unseen, settled)


def review_equal_range(s: ChannelState, sender_id: str, packet_id: str, ids: list[str]) -> None:
    """Acknowledge these ids: the fingerprint of a peer over a range of its log equals ours over them, so it has every
    one.

    Mentions only ever name the newest messages, and filters forget; without this, all but the last of many messages
    would be resent for ever in a channel where everybody has them. It is no filter hit, of which it would take two
    participants': a filter may hold an id by chance, while a fingerprint says which ids its sender has, as a mention
    does. In a channel of two, where there is no second participant, nothing else ever settles what was not mentioned.
    """
    for message_id in ids:
        known = s.outgoing.known.get(message_id)  # also an acknowledged one: its author asks who else has it
        if known is not None:
            _witness(s, known, _evidence(s, sender_id, "range", packet_id, COLLISION))


def _evidence(s: ChannelState, sender_id: str, how: str, packet_id: str, error_rate: float) -> Evidence:
    return Evidence(sender_id, how, packet_id, s.now.wall, error_rate, not s.unproven)


def _witness(s: ChannelState, known: Outgoing, evidence: Evidence) -> None:
    """Take in a piece of evidence. States only ever grow, and keep why."""
    kept = known.evidence if evidence.signed else known.unproven
    if not evidence.signed and evidence.sender_id in known.evidence:
        return  # the same participant has said it with a signature
    old = kept.get(evidence.sender_id)
    if old is not None and (old.certain or not evidence.certain):
        return  # the same participant again: nothing new
    most = MAX_EVIDENCE if evidence.signed else MAX_UNPROVEN
    if old is None and len(kept) >= most and not _make_room(known, kept, evidence):
        return
    known.note(evidence)
    s.outgoing.changed[known.message_id] = known
    before = known.state
    left: Iterable[str] = ()
    if not evidence.signed:
        pass  # it is shown, and changes nothing
    elif before is not AckState.ACKED and acknowledged(known):
        s.outgoing.settle(known)
    elif before is AckState.UNACKED:
        left = s.outgoing.possibly(known)
        if known.message_id in s.outgoing.open:
            schedule_resend(s, known)
    resends = known.sends - 1 if known.sends else 0
    unproven = tuple(known.unproven) if known.unproven else ()
    s.events.append(
        StateChanged(known.message_id, known.state, known.proven_by, resends, evidence, known.perhaps_by, unproven)
    )
    for message_id in left:
        s.events.append(MessageRetired(message_id))


def _make_room(known: Outgoing, kept: dict[str, Evidence], evidence: Evidence) -> bool:
    """Make room for certain evidence in place of the filter that is likeliest to be wrong: names are free, and however
    many filters hold a message, whoever names it acknowledges it."""
    weakest = max(kept.values(), key=lambda other: (not other.certain, other.error_rate))
    if not evidence.certain or weakest.certain:
        return False
    known.forget(weakest)
    return True


def acknowledged(known: Outgoing) -> bool:
    """Return True if the evidence acknowledges a message: a mention is enough, and so is an equal range; filters, when
    enough distinct participants' hold it and chance cannot explain it.

    The chances of filters do not multiply: who holds the same ids has the same filter, which is wrong about the same
    others. That all are wrong is no likelier than that the best of them is, and in general no less likely.
    """
    if known.proven_by:
        return True
    rate = 1.0
    for evidence in known.evidence.values():
        if evidence.error_rate < rate:
            rate = evidence.error_rate
    return len(known.evidence) >= WITNESSES and rate <= CERTAIN_ENOUGH
