"""Taking in old messages from where the history is kept: a Store, an archive, another participant's log.

    receive_history(s, message, raw, source)   one message that its caller has verified, however old; in any order
    end_history(s)                          everybody who could be asked has given what they have
    lower_horizon(s, lamport)               from `lamport` on, everything there was to have has been given

What comes this way is history, not traffic. It is delivered at once, the dependencies that are not here being named as
its gap, and never waits; only what waits in the incoming buffer already, since it came as traffic before, goes on
waiting until all who are asked have given what they have. It takes its place in the log, closes the gap that it fills,
releases what waited for it, and ends our own request for it. If its author signed it, it acknowledges what it names:
its live copy, if one comes, is a duplicate, and tells nothing. Otherwise it says nothing of what its sender has or
lacks by now: nothing is answered, pushed, put off or sent because of it, and no participant is known by it. The clock
follows it only as far as `sds.max_skew` allows; what is dated beyond is deferred like anything else. Into the filter
goes only what is dated from the filter's floor on, which is what the filter promises to hold, and in the waku format
the minutes before.

Messages come thousands in a row: take the writes every few hundred. Those dated before the recent window are only in
the log once they are taken and written.
"""

from __future__ import annotations

from sdschat.sds.limits import CLOCK_PUT_RIGHT
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.bodies import conflicts, displace_false, note_old
from sdschat.sds.steps.deliver import deliver_message, gap_now, refuse_child, release, verify_dependencies
from sdschat.sds.steps.filters import filter_begins, include_received, remake_filter
from sdschat.sds.steps.future_dated import defer, make_room_for_deferred
from sdschat.sds.steps.repair import received
from sdschat.sds.values import OUTSIDE_THE_FILTER, Message, Reason


def receive_history(s: ChannelState, message: Message, raw: bytes, source: str) -> bool:
    """True if the message is here now; if it is not, a `Rejected` event says why."""
    if s.holds(message.message_id) and displace_false(s, message, raw, source):
        return True
    if (reason := _refused(s, message, raw)) is not None:
        s.reject(reason, message.sender_id, message.message_id)
        return False
    if s.holds(message.message_id):
        if message.message_id in s.incoming.buffered:
            s.incoming.given[message.message_id] = None
        return True
    lamport = message.lamport_timestamp or 0
    if lamport > s.now.wall + s.config.max_skew:
        if not make_room_for_deferred(s, message, len(raw)):
            return False
        note_old(s, message)
        defer(s, message, raw, source, lamport)
        return True
    found = verify_dependencies(s, message, lamport)
    if found.parent_too_new:
        release(s, refuse_child(s, message, found.parent_too_new))
        return True
    received(s, message.message_id)
    note_old(s, message)
    generation = s.filter.generation if lamport >= s.filter.floor else OUTSIDE_THE_FILTER
    deliver_message(s, message, raw, source, gap_now(s, message), generation, s.now.wall)
    if lamport >= filter_begins(s, s.filter.floor):
        include_received(s, message.message_id, lamport)
    return True


def end_history(s: ChannelState) -> None:
    """Let what was given, and waits, wait no more for what nobody gave with it: whoever has that in their log would
    have given it too. It is asked for as before, messages that come as traffic wait for it, and it takes its place if
    it comes."""
    if s.incoming.given:
        release(s, s.incoming.stop_waiting(s.incoming.waiting_given(), s.requests.missing))


def _refused(s: ChannelState, message: Message, raw: bytes) -> Reason | None:
    reason = s.never_in_log(message)
    return Reason.ID_CONFLICT if reason is None and conflicts(s, message, raw) else reason


def lower_horizon(s: ChannelState, lamport: int) -> None:
    """Move the join horizon down, never up. Ranges of the log are compared with others from there on, and what they
    show to be lacking is sent to us like anything that was lost."""
    s.horizon = min(s.horizon, max(0, lamport))


def raise_horizon(s: ChannelState, lamport: int) -> None:
    """Begin the log later: what is dated before was let go of, even by its id. It is not compared with others from now
    on, and not waited for."""
    s.horizon = max(s.horizon, lamport)


def mend_horizon(s: ChannelState) -> None:
    """Lower a join horizon that lies ahead of us: our clock was fast when we joined, and has been put right. Up to
    there, nothing would be waited for or looked for. A clock that seems to have been off for longer than a few days is
    more likely to be wrong now."""
    if s.now.wall < s.horizon <= s.now.wall + CLOCK_PUT_RIGHT:
        lower_horizon(s, s.now.wall - s.config.max_skew)
        remake_filter(s)
