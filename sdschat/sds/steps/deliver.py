"""Deliver Message, Resolve Conflicts, and what becomes of dependencies that never come."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from sdschat.sds.events import Delivered, DependenciesLost, GapClosed, RepairCancelled
from sdschat.sds.incoming import BufferedMessage
from sdschat.sds.limits import MISSING_PER_SENDER, RECENT_WINDOW
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.filters import include_received, spoil_filter
from sdschat.sds.steps.requests import forget_hint, note_missing
from sdschat.sds.values import OUTSIDE_THE_FILTER, Append, Entry, GapRow, HistoryEntry, LogRow, Message, Reason
from sdschat.sds.window import RecentWindow

LOST = "lost"
UNPROVEN = "unproven"


def deliver_message(
    s: ChannelState, message: Message, raw: bytes, source: str, gap: tuple[str, ...], generation: int, received_at: int
) -> None:
    """Deliver Message, and then, without recursion, everything that waited for it, in log order.

    Resolve Conflicts: the log is ordered by Lamport timestamp, then by the UTF-8 bytes of the id, so the same set of
    messages is the same log everywhere, whatever the order of arrival.
    """
    _into_log(s, message, raw, source, gap, generation, received_at)
    if message.message_id in s.incoming.waiting_for:
        release(s, s.incoming.meet(message.message_id, gap=False))


def deliver_body(
    s: ChannelState, message: Message, raw: bytes, source: str, gap: tuple[str, ...], id_only: Entry
) -> None:
    """Deliver a message that the log has by its id alone, so that nothing waits for it."""
    s.window.withdraw(id_only)
    lamport = message.lamport_timestamp or 0
    generation = s.filter.generation if lamport >= s.filter.floor else OUTSIDE_THE_FILTER
    _into_log(s, message, raw, source, gap, generation, s.now.wall, id_only)
    if lamport != id_only.lamport:
        _reread_window(s)
        if generation != OUTSIDE_THE_FILTER:  # by its old date it may not be in there, or not for long
            include_received(s, message.message_id, lamport)


def _reread_window(s: ChannelState) -> None:
    """An entry moved to another date: the newest of the log may be others now."""
    known = {entry.message_id: entry for entry in s.history.newest(RECENT_WINDOW + 1)}
    known.update((row.entry.message_id, row.entry) for row in s.unsaved.values())
    known.update(s.window.entries)
    s.window = RecentWindow(sorted(known.values())[-RECENT_WINDOW:])


def _into_log(
    s: ChannelState,
    message: Message,
    raw: bytes,
    source: str,
    gap: tuple[str, ...],
    generation: int,
    received_at: int,
    instead_of: Entry | None = None,
) -> None:
    message_id, lamport = message.message_id, message.lamport_timestamp
    assert lamport is not None
    s.clock.observe(lamport)
    dependencies = tuple([entry.message_id for entry in message.causal_history])
    entry = Entry(lamport, message_id, message.sender_id, dependencies, generation)
    gone_without = s.window.awaits(message_id)
    if s.window.covers(entry):
        late = s.window.insert(entry)
    else:
        late = True
        forget_hint(s, message_id)
    own = message.sender_id == s.participant_id  # from the history: what was written before this log began
    row = LogRow(entry, raw, own, source, received_at)
    s.unsaved[message_id] = row
    s.writes.append(Append(row, instead_of))
    if (message_id in s.gaps and s.gaps.close(message_id)) or gone_without:
        s.events.append(GapClosed(message_id))
    s.events.append(Delivered(message, own, late, gap, source))


def release(s: ChannelState, ready: list[BufferedMessage]) -> None:
    """Deliver held messages whose dependencies are met, and go on with those that waited for them.

    One that turns out not to be above its parent is dropped, which may free others in turn: they join the same queue,
    since a chain of them is as long as whoever forged it likes.
    """
    heap = [(buffered.lamport, buffered.message.message_id, buffered) for buffered in ready]
    heapify(heap)
    while heap:
        _, message_id, buffered = heappop(heap)
        s.incoming.take(message_id)
        if _above_parents(s, buffered):
            _into_log(
                s,
                buffered.message,
                buffered.raw,
                buffered.source,
                _gap_left(s, buffered),
                buffered.generation,
                buffered.received_at,
            )
            freed = s.incoming.meet(message_id, gap=False)
        else:
            freed = _left_behind(s, message_id, buffered.message.sender_id)
            spoil_filter(s)
        for waiter in freed:
            heappush(heap, (waiter.lamport, waiter.message.message_id, waiter))


def _gap_left(s: ChannelState, buffered: BufferedMessage) -> tuple[str, ...]:
    """Return the ids that are still a gap: some may have come while the message waited for something else."""
    named = [entry.message_id for entry in buffered.message.causal_history if entry.message_id in buffered.gap]
    return tuple(key for key in named if s.delivered(key) is None)


def _above_parents(s: ChannelState, buffered: BufferedMessage) -> bool:
    """Checked again on release: a parent that came later may turn out not to be older than its child."""
    for entry in buffered.message.causal_history:
        parent = s.delivered(entry.message_id)
        if parent is not None and parent.lamport >= buffered.lamport:
            message = buffered.message
            s.reject(Reason.CLOCK_NOT_ABOVE_PARENT, message.sender_id, message.message_id, entry.message_id)
            return False
    return True


def abandon(s: ChannelState, message_id: str, sender_id: str) -> None:
    """A held message was dropped. Those that wait for it now wait for something unknown, and not for ever."""
    release(s, _left_behind(s, message_id, sender_id))


def _left_behind(s: ChannelState, message_id: str, sender_id: str) -> list[BufferedMessage]:
    """Those that waited for a message that was dropped, and can wait no more: there is no room to ask for it."""
    s.recent_arrivals.forget(message_id)
    hint = forget_hint(s, message_id)
    waiting = s.incoming.waiting_for.get(message_id)
    if not waiting:
        return []
    # The first of them in the log: who waited first is on no disk, since what was deferred began to wait when due.
    charged_to = min(
        (s.incoming.buffered[waiter] for waiter in waiting),
        key=lambda buffered: (buffered.lamport, buffered.message.message_id),
    )
    if note_missing(s, HistoryEntry(message_id, hint, sender_id), charged_to.message.sender_id):
        return []
    return s.incoming.meet(message_id, gap=True)


def may_wait(s: ChannelState, sender_id: str) -> bool:
    """True if what this sender says may wait for unknown ids: it has not used up its share of them, and of those that
    it named before, fewer than such a share were given up.

    Otherwise each place that falls free would let a few of its messages wait, here other ones than there, and what an
    honest participant says would wait with them.
    """
    return s.requests.has_room(sender_id) and s.gaps.count_charged_to(sender_id) < MISSING_PER_SENDER


def end_waiting(s: ChannelState, sender_id: str) -> None:
    """Let what this sender says wait for no unknown id, if it may not any more. They are asked for all the same, and
    messages of others wait for them."""
    if not may_wait(s, sender_id):
        release(s, s.incoming.stop_waiting(sender_id, s.requests.missing))


def give_up(s: ChannelState) -> None:
    """Periodic Incoming Buffer Sweep: dependencies unmet for `lost_after` are marked irretrievably lost.

    Their dependants are delivered with the gap named: dropping them would diverge for good, waiting would let one
    lost message silence the channel. If the message ever comes, it takes its place. Nobody is told that something is
    lost which only unsigned packets named: it may never have been.
    """
    lost = s.requests.lost.pop_due(s.now.mono)
    if not lost:
        return
    proven: list[str] = []
    named_by: dict[str, None] = {}
    for message_id in lost:
        reason = LOST if s.requests.missing[message_id].proven else UNPROVEN
        if message_id in s.requests.requests:
            s.events.append(RepairCancelled(message_id, reason))
        missing = s.requests.take(message_id)
        assert missing is not None
        s.gaps.note(GapRow(message_id, reason, missing.sender_id, s.now.wall, missing.charged_to))
        named_by[missing.charged_to] = None
        if missing.proven:
            proven.append(message_id)
    if proven:
        s.events.append(DependenciesLost(tuple(proven)))
    for message_id in lost:
        release(s, s.incoming.meet(message_id, gap=True))
    for sender_id in named_by:
        end_waiting(s, sender_id)
