"""Evidence in a packet's causal history and filter: who has what of ours, and who lacks what we have."""

from __future__ import annotations

from sdschat.sds.bloom.compact import CompactFilter
from sdschat.sds.bloom.received import read_filter
from sdschat.sds.events import FilterIgnored
from sdschat.sds.peers import Peer
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.acks import review_causal_history, review_filter
from sdschat.sds.steps.answers import call_off_answers
from sdschat.sds.steps.anti_entropy import review_lacks
from sdschat.sds.steps.ranges import review_range
from sdschat.sds.values import Message


def review_evidence(s: ChannelState, message: Message, peer: Peer, lamport: int) -> None:
    """A filter is only read when there is something to learn from it: own messages that are not acknowledged, or a
    peer whose lacks were last looked at longer ago than a message may be on its way.

    What a filter *lacks* only counts in the newest packet of its sender, since rebroadcasts carry old filters. Neither
    that nor a range of history, which costs as much as a hundred packets, is looked at more often than that.
    """
    outgoing = s.outgoing
    if outgoing.known:
        review_causal_history(s, message)
    packed = message.bloom_filter
    if packed is None:
        return
    newest = s.config.push_enabled and lamport > peer.last_lamport
    due = newest and (peer.reviewed_at < 0 or s.now.mono - peer.reviewed_at >= s.config.push_grace)
    if not (outgoing.open or due):
        return
    received = read_filter(packed)
    if isinstance(received, str):
        peer.filter_format = "unknown"
        s.events.append(FilterIgnored(message.sender_id, received))
        return
    compact = isinstance(received, CompactFilter)
    peer.filter_format = "compact" if compact else "waku"
    review_filter(s, message, received, with_settled=due)
    if due:
        peer.reviewed_at = s.now.mono
        if s.answers.entries and not s.unproven:
            call_off_answers(s, peer, received)
        review_lacks(s, peer, received, lamport)
        if isinstance(received, CompactFilter) and not message.content:
            review_range(s, peer, message.message_id, received)
