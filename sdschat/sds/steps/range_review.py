"""The reception of ranges: a peer's range of its log is compared with ours (see `ranges.py`)."""

from __future__ import annotations

from sdschat.sds.bloom import compact
from sdschat.sds.bloom.compact import MAX_FILL, CompactFilter, RangeFilter, RangePrint
from sdschat.sds.events import FilterIgnored, RangeDiffered
from sdschat.sds.limits import PUSHES_PER_REVIEW
from sdschat.sds.state import ChannelState, Peer
from sdschat.sds.steps.acks import review_equal_range
from sdschat.sds.steps.anti_entropy import want_push
from sdschat.sds.steps.ranges import filter_sent_lately, held_ids, most_ids, note_question
from sdschat.sds.steps.timing import calm, hurry


def review_range(s: ChannelState, peer: Peer, packet_id: str, received: CompactFilter) -> None:
    """Compare a peer's range with ours, as long as such comparisons have not taken too much reading."""
    budget = s.ranges.reads_unproven if s.unproven else s.ranges.reads
    if not budget.has_room:
        return
    theirs = received.range_print
    if theirs is not None and theirs.low <= theirs.high:
        budget.spend(_review_print(s, peer, packet_id, theirs))
    answer = received.range_filter
    if answer is not None and answer.low <= answer.high:
        budget.spend(_review_range_filter(s, peer, answer))


def _review_print(s: ChannelState, peer: Peer, packet_id: str, theirs: RangePrint) -> int:
    """Compare a fingerprint of a range with ours; return the number of messages looked at. Equal ones are of the same
    ids, whatever else either side lacks. A difference is only looked into where we are complete, which we are not below
    our join horizon."""
    entries = s.between(theirs.low, theirs.high, most_ids(theirs.low, theirs.high))
    ids = [entry.message_id for entry in entries]
    if len(ids) == theirs.ids and compact.fingerprint(ids) == theirs.fingerprint:
        review_equal_range(s, peer.sender_id, packet_id, ids)
        note_question(s, peer, packet_id, theirs, entries)
    elif s.horizon <= theirs.low:
        lacking = 0 if s.unproven else max(0, theirs.ids - len(ids))
        s.events.append(RangeDiffered(peer.sender_id, theirs.low, theirs.high, lacking))
        _owe(s, theirs.low, theirs.high)
    return len(entries)


def _review_range_filter(s: ChannelState, peer: Peer, theirs: RangeFilter) -> int:
    """Push what a filter over a range lacks; return the number of messages looked at."""
    fill = int.from_bytes(theirs.body, "little").bit_count() / theirs.bits
    if fill > MAX_FILL:
        s.events.append(FilterIgnored(peer.sender_id, f"its range is {fill:.0%} full"))
        return 0
    found = 0
    entries = s.between(theirs.low, theirs.high, most_ids(theirs.low, theirs.high))
    ids = held_ids(s, entries, theirs.low, theirs.high)
    for entry in entries:
        if found >= PUSHES_PER_REVIEW:
            break
        if not entry.bare and not theirs.holds(entry.message_id):
            found += want_push(s, entry.message_id, entry.lamport, entry.sender_id, peer.sender_id)
    ours = theirs.made_of(ids)
    if ours == theirs.body:
        if s.ranges.wanted == (theirs.low, theirs.high):
            s.ranges.wanted = None  # it said just what we would have said
            calm(s)
        return len(ids)
    theirs_only = int.from_bytes(theirs.body, "little") & ~int.from_bytes(ours, "little")
    if theirs_only and s.horizon <= theirs.low and len(ids) < most_ids(theirs.low, theirs.high):
        s.events.append(RangeDiffered(peer.sender_id, theirs.low, theirs.high))
        _owe(s, theirs.low, theirs.high)
    return len(ids)


def _owe(s: ChannelState, low: int, high: int) -> None:
    """Send our own filter over this range with the next sync message, and that soon; one range at a time, not too
    often."""
    ranges = s.ranges
    if ranges.wanted is not None:
        return
    if ranges.answered_at >= 0 and s.now.mono - ranges.answered_at < s.config.sync_interval // 2:
        return
    if ranges.asked is not None and filter_sent_lately(s):
        return
    ranges.wanted = (low, high)
    ranges.asked = None  # whoever asked will ask again
    hurry(s, s.config.push_delay_max)
