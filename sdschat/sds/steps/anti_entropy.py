"""Anti-entropy: sending again what a peer's filter lacks (see ../scheduled_sends.py for why)."""

from __future__ import annotations

from sdschat.sds.bloom.compact import MAX_FILL, CompactFilter, ReceivedFilter, fold, mask
from sdschat.sds.events import PushCancelled, Pushed, PushScheduled
from sdschat.sds.limits import PUSHES_PER_REVIEW, RANGE_LIMIT
from sdschat.sds.scheduled_sends import Push
from sdschat.sds.state import FIRST_MET, ChannelState, Peer
from sdschat.sds.steps.due_sends import call_off_answer, send_due, settle_push
from sdschat.sds.steps.timing import hurry
from sdschat.sds.values import OUTSIDE_THE_FILTER, Entry

ACTIVE_WITHIN = 10  # sync intervals within which a peer counts as being about
_FOREVER = 1 << 62
_FORGOTTEN_THERE = 16  # one in so many of a filter's ids came to us after it was rolled over, and to a peer before
AUTHOR_FIRST = 3  # pushes of a message in which its author is the first, if it is there
CROWD = 16  # this many peers about stretch the delay by as much again, so that one of them is first


def review_lacks(s: ChannelState, peer: Peer, received: ReceivedFilter, lamport: int) -> None:
    """Schedule pushes of the messages that we hold and this filter lacks, within the time it covers."""
    _call_off(s, peer, received)
    s.trim_arrivals()
    floor = received.floor
    if isinstance(received, CompactFilter):
        compared = None if s.filter_stale else s.filter.compare(received)
        if compared is not None:
            _note_behind(s, peer, compared[1] if received.floor >= s.filter.floor else 0)
            if s.filter.floor <= received.floor and not _unexplained(s, received, compared[0]):
                return
    else:
        # A foreign filter does not say since when it is complete. A peer that we have only just met may be new, or
        # may have been cut off from us: it gets the last minutes, but is not flooded.
        if s.filter.filter_format == "waku" and not s.filter_stale and not s.filter.beyond(received, s.recent_arrivals):
            return
        floor = max(_covered_since(s), _met_since(s, peer))
    if received.fill > MAX_FILL:
        return
    arrivals = s.recent_arrivals  # what came just now may still be on its way to them
    ceiling = lamport + s.config.max_skew  # its clock is no later than its packet's date: it would only defer what is
    found = 0
    for entry in _slice(s, peer, received, floor):
        message_id = entry.message_id
        if entry.lamport > ceiling or message_id in arrivals or received.holds(message_id) or entry.bare:
            continue
        found += want_push(s, message_id, entry.lamport, entry.sender_id, peer.sender_id)
        if found >= PUSHES_PER_REVIEW:
            return  # the oldest first; the rest when its next filter comes
    for buffered in s.incoming.in_order():
        message_id = buffered.message.message_id
        if buffered.lamport < floor or buffered.release_at or message_id in arrivals or received.holds(message_id):
            continue
        want_push(s, message_id, buffered.lamport, buffered.message.sender_id, peer.sender_id)


def _unexplained(s: ChannelState, received: CompactFilter, ours_only: int) -> int:
    """Return the bits of our filter that theirs lacks, but for those of messages that may still be on their way to
    them, and of the last ones dated before their floor, which they may have forgotten in a generation that we still
    have.

    Where none is left, nothing else is lacking: all that we hold since their floor is in our filter. (One whose bits
    all happen to be among those of messages on their way is found when these have arrived.)
    """
    if ours_only:
        shape = s.filter.shape
        ours_only &= ~fold(s.recent_arrivals.bits(shape), shape.bits, received.bits)
    if ours_only:
        for entry in reversed(s.window.dated_before(received.floor, s.filter.capacity // _FORGOTTEN_THERE)):
            ours_only &= ~mask(entry.message_id, received.hashes, received.bits)
            if not ours_only:
                break
    return ours_only


def _covered_since(s: ChannelState) -> int:
    """Return the date from which on a foreign filter is taken to be complete. Peers that roll theirs over keep about
    what we keep in a filter of that format; older messages must not be pushed to those whose filter only dropped them.
    """
    if s.filter.filter_format == "waku":
        return s.filter.floor
    return s.window.order[0].lamport if s.window.order else 0


def _met_since(s: ChannelState, peer: Peer) -> int:
    return peer.first_lamport - s.config.max_skew - FIRST_MET


def _slice(s: ChannelState, peer: Peer, received: ReceivedFilter, floor: int) -> list[Entry]:
    """Return the part of our log to hold against a filter: all that is at hand from its floor on. Below that, a
    compact filter covers nothing, and ranges take over; a foreign one may cover thousands, which are gone through
    slice by slice."""
    near = s.window.dated(floor, _FOREVER)[-RANGE_LIMIT:]
    if isinstance(received, CompactFilter):
        return near
    start = s.window.order[0].lamport if s.window.order else 0
    if floor >= start:
        return _came_live(s, peer, floor) + near
    older = [entry for entry in s.before(peer.cursor or start, RANGE_LIMIT) if entry.lamport >= floor]
    peer.cursor = older[0].lamport if len(older) == RANGE_LIMIT else 0
    return older + near


def _came_live(s: ChannelState, peer: Peer, floor: int) -> list[Entry]:
    """Return the entries dated before our own filter's floor and yet in it: they came while we were here, from those
    whose clocks are behind ours. As long as we had to forget nothing, a peer that got them with us has not forgotten
    them either."""
    if s.filter.filter_format != "waku" or s.filter.floor > s.horizon:
        return []
    oldest = _met_since(s, peer)
    return [
        entry
        for entry in s.window.dated_before(floor, RANGE_LIMIT)
        if entry.generation != OUTSIDE_THE_FILTER and entry.lamport >= oldest
    ]


def want_push(s: ChannelState, message_id: str, lamport: int, author: str, wanted_by: str) -> int:
    """Plan a push, since a peer lacks this message: send it again after a random delay. Return the number of wants
    added, 0 or 1. The author's delay is the shortest at first. A peer that lacks the message after that may not hear
    the author, and its copies would call off everybody else's for ever."""
    mono, config = s.now.mono, s.config
    if wanted_by == author:
        return 0  # an author has its own message; its filter is made before the message is put in
    push = s.pushes.entries.get(message_id)
    if push is not None and (mono < push.not_before or wanted_by in push.wanted_by):
        return 0
    if push is not None and push.due is not None:
        return int(s.pushes.want(push, wanted_by))
    if not s.pushes.has_room(wanted_by, message_id):
        return 0
    push = push or Push(message_id, lamport)
    push.wanted_by[wanted_by] = None
    delay = config.push_delay_min
    if author != s.participant_id or push.pushes >= AUTHOR_FIRST:
        spread = config.push_delay_max - config.push_delay_min
        spread += spread * s.peers.active(mono, ACTIVE_WITHIN * config.sync_interval) // CROWD
        delay += s.jitter.below(spread + 1, "push", message_id, push.pushes)
    s.pushes.schedule(push, mono + delay, wanted_by)
    s.events.append(PushScheduled(message_id, s.now.to_wall(mono + delay), wanted_by))
    return 1


def _call_off(s: ChannelState, peer: Peer, received: ReceivedFilter) -> None:
    """Call off the pushes of messages that an older filter of the peer lacked and its newer one has."""
    for push in s.pushes.wanted_by(peer.sender_id):
        if received.holds(push.message_id) and s.pushes.has_it(push, peer.sender_id):
            s.events.append(PushCancelled(push.message_id, "peer_has_it"))


def _note_behind(s: ChannelState, peer: Peer, theirs_only: int) -> None:
    """Note bits that only the filter of a peer has. The same ones over longer than a message is on its way mean that we
    lack something. Our own filter is what makes the others send it, so they shall have it soon. Once said, it is not
    said again: filters may also differ in what is older than both cover."""
    mono = s.now.mono
    reported = peer.reported & theirs_only
    new = theirs_only & ~reported
    if peer.behind_since < 0 or not peer.behind & new:
        peer.behind_since = mono if new else -1
        peer.note_lack(new, reported)
    elif mono - peer.behind_since >= s.config.push_grace:
        hurry(s, s.config.push_delay_max)
        peer.behind_since = -1
        peer.note_lack(0, reported | (peer.behind & new))
    else:
        peer.note_lack(peer.behind, reported)


def push_sweep(s: ChannelState) -> None:
    """Send what is due, within the budget; what exceeds it waits."""
    for push, sent in send_due(s, s.pushes, s.push_budget, "push"):
        if sent:
            s.events.append(Pushed(push.message_id))
            settle_push(s, push)
            call_off_answer(s, push.message_id, "pushed")
        else:
            s.events.append(PushCancelled(push.message_id, "no_body"))


def forget_old_pushes(s: ChannelState) -> None:
    """Forget pushes of long ago: they no longer slow down the next."""
    s.pushes.forget_before(s.now.mono - 4 * s.config.sync_interval)
