"""Check of causal dependencies, the buffer for messages with unmet ones (spec: Receive Message), Deliver Message,
Resolve Conflicts, and what becomes of dependencies that never come.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush
from typing import Final

from sdschat.sds.events import Delivered, DependenciesLost, DependenciesMissing, GapClosed, RepairCancelled
from sdschat.sds.incoming import BufferedMessage
from sdschat.sds.limits import MISSING_PER_SENDER, RECENT_WINDOW
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.filters import include_bare, include_received, spoil_filter
from sdschat.sds.steps.repair import forget_hint, note_missing, received
from sdschat.sds.values import (
    OUTSIDE_THE_FILTER,
    TOLD,
    WITHOUT_A_BODY,
    Append,
    Entry,
    GapRow,
    HistoryEntry,
    LogRow,
    Message,
    Reason,
)
from sdschat.sds.window import RecentWindow


class Dependencies:
    """State here of the messages in a causal history."""

    __slots__ = ("buffered", "gap", "parent_too_new", "unknown")

    def __init__(self) -> None:
        self.buffered: list[str] = []  # here, but not delivered
        self.gap: list[str] = []  # not waited for
        self.unknown: list[HistoryEntry] = []
        self.parent_too_new = ""

    @property
    def unmet(self) -> bool:
        return bool(self.unknown or self.buffered)


_ALL_MET: Final = Dependencies()  # never changed


def verify_dependencies(s: ChannelState, message: Message, lamport: int) -> Dependencies:
    """Return the dependencies that are not met: those that do not appear in the local history. Nothing is changed
    here.

    What an old message depends on is older still: below the join horizon nothing is waited for, which ends every
    walk into the past at the first message from before our joining.
    """
    near, buffered = s.window.entries, s.incoming.buffered
    for entry in message.causal_history:  # nearly always all are here, and older
        parent = near.get(entry.message_id)
        if parent is None or parent.lamport >= lamport:
            break
    else:
        return _ALL_MET
    found = Dependencies()
    for entry in message.causal_history:
        message_id = entry.message_id
        parent = near.get(message_id) or s.delivered(message_id)
        if parent is not None:
            if parent.lamport >= lamport:
                found.parent_too_new = message_id
        elif message_id in buffered and not (
            buffered[message_id].release_at and buffered[message_id].lamport >= lamport
        ):
            if buffered[message_id].lamport >= lamport:
                found.parent_too_new = message_id
            found.buffered.append(message_id)
        elif lamport <= s.horizon or message_id in s.gaps or s.requests.only_asked_for(message_id):
            found.gap.append(message_id)
        else:
            found.unknown.append(entry)
    return found


def wait_for_none(s: ChannelState, message: Message, found: Dependencies) -> bool:
    """Let the first message of a log wait for nothing. Return False if it has to wait. Its dependencies are most likely
    from before our joining, so it and what follows it do not wait. But they may also be lost, so they are asked for,
    and without anti-entropy, which finds what was lost since we joined whoever asks, they are waited for after all."""
    if s.window.order or not s.config.push_enabled or found.buffered:
        return False
    new: list[str] = []
    for entry in reversed(found.unknown):
        message_id = entry.message_id
        known = s.requests.missing.get(message_id)
        if known is not None:  # a sync message named it
            s.requests.awaits_none(known)
        elif note_missing(s, entry, message.sender_id, ask=message_id not in s.incoming.buffered, awaited=False):
            new.append(message_id)
    found.gap = [*found.gap, *(entry.message_id for entry in found.unknown)]
    found.unknown = []
    if new:
        s.events.append(DependenciesMissing(message.message_id, tuple(new)))
    return True


def make_room(s: ChannelState, message: Message, size: int) -> bool:
    """Make room in the incoming buffer, at the expense of the participant who fills it. Return False, with nothing
    changed, if that is this message: it is its sender's newest, or nobody holds more than its sender."""
    victims = s.incoming.to_give_up(message, size)
    if victims is None:
        s.reject(Reason.BUFFER_QUOTA, message.sender_id, message.message_id)
        return False
    for victim in victims:
        gone = s.incoming.pop(victim)
        assert gone is not None
        s.reject(Reason.BUFFER_QUOTA, gone.message.sender_id, victim)
        abandon(s, victim, gone.message.sender_id)
        spoil_filter(s)
    return True


def verify_with_room(
    s: ChannelState, message: Message, lamport: int, size: int, *, may_begin: bool
) -> Dependencies | None:
    """Verify the dependencies, and make room in the incoming buffer if the message has to wait. Return None if it is
    refused, of which a `Rejected` event tells. `may_begin`: the first message of a log waits for nothing."""
    found = verify_dependencies(s, message, lamport)
    if found.parent_too_new:
        release(s, refuse_child(s, message, found.parent_too_new))
        return None
    if not found.unmet or (may_begin and wait_for_none(s, message, found)):
        return found
    if not make_room(s, message, size):
        return None
    return verify_dependencies(s, message, lamport)  # what was dropped may be what this one waits for


def gap_now(s: ChannelState, message: Message) -> tuple[str, ...]:
    """Return the ids that the message names and that are not in the log."""
    return tuple(entry.message_id for entry in message.causal_history if s.delivered(entry.message_id) is None)


def name_gap(message: Message, gap: Collection[str]) -> tuple[str, ...]:
    """Return the ids that the message goes without, in the order in which it names them."""
    if not gap:
        return ()
    return tuple(entry.message_id for entry in message.causal_history if entry.message_id in gap)


def deliver_or_buffer(
    s: ChannelState, message: Message, raw: bytes, source: str, found: Dependencies, received_at: int
) -> None:
    """Deliver the message, or with unmet dependencies put it into the incoming buffer. Where a sender names more than
    its share of unknown ids, this one message goes without the rest."""
    if not found.unmet:
        gap = name_gap(message, found.gap)
        deliver_message(s, message, raw, source, gap, s.filter.generation, received_at)
        return
    buffered = BufferedMessage(message, raw, source, received_at)
    buffered.generation = s.filter.generation
    buffered.gap = list(name_gap(message, found.gap))
    buffered.unmet = dict.fromkeys(found.buffered)
    new: list[str] = []
    waits = may_wait(s, message.sender_id)
    for entry in reversed(found.unknown):  # the newest first: the oldest are the likeliest to be gone
        message_id, known = entry.message_id, entry.message_id in s.requests.missing
        has_room = note_missing(s, entry, message.sender_id, ask=message_id not in s.incoming.buffered)
        if has_room and waits:
            buffered.unmet[message_id] = None
        else:
            buffered.gap.append(message_id)
        if has_room and not known:
            new.append(message_id)
    if new:
        s.events.append(DependenciesMissing(message.message_id, tuple(new)))
    if buffered.unmet:
        s.incoming.put(buffered)
        refuse_older_children(s, buffered)
    else:
        gap = name_gap(message, buffered.gap)
        deliver_message(s, message, raw, source, gap, buffered.generation, received_at)
    if waits:
        end_waiting(s, message.sender_id)


def refuse_older_children(s: ChannelState, parent: BufferedMessage) -> None:
    """Refuse what waits for a buffered message and is not dated after it: sooner than when the parent is delivered,
    because the parent may itself wait for such a child, and then neither would ever be delivered."""
    message_id = parent.message.message_id
    for child_id in list(s.incoming.waiting_for.get(message_id, ())):
        child = s.incoming.buffered.get(child_id)
        if child is None or child.lamport > parent.lamport:
            continue
        s.incoming.pop(child_id)
        release(s, refuse_child(s, child.message, message_id))
        spoil_filter(s)


def refuse_child(s: ChannelState, message: Message, parent_id: str) -> list[BufferedMessage]:
    """Refuse a message that is not dated after one that it names, and keep its id. Who had it before its parent has it
    in the log, and names it: without the id, what names it would wait here until `sds.lost_after`, and comparisons
    would never end. Return those that waited for it, and can wait no more."""
    s.reject(Reason.CLOCK_NOT_ABOVE_PARENT, message.sender_id, message.message_id, parent_id)
    s.recent_arrivals.forget(message.message_id)
    keep_id(s, message)
    return s.incoming.meet(message.message_id, gap=False)


def keep_id(s: ChannelState, message: Message) -> None:
    """Put a message that is not here into the log by its id alone."""
    message_id, lamport = message.message_id, message.lamport_timestamp or 0
    received(s, message_id)
    how = TOLD if s.may_be_of_another(message) else WITHOUT_A_BODY
    append_row(s, LogRow(Entry(lamport, message_id, message.sender_id, (), how), b"", False, "live", s.now.wall))
    include_bare(s, message_id, lamport)


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
    """Read the newest entries of the log anew: an entry moved to another date, so they may be others now."""
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
    lamport = message.lamport_timestamp
    assert lamport is not None
    dependencies = tuple([entry.message_id for entry in message.causal_history])
    entry = Entry(lamport, message.message_id, message.sender_id, dependencies, generation)
    own = message.sender_id == s.participant_id  # from the history: what was written before this log began
    late = append_row(s, LogRow(entry, raw, own, source, received_at), instead_of)
    s.events.append(Delivered(message, own, late, gap, source))


def append_row(s: ChannelState, row: LogRow, instead_of: Entry | None = None) -> bool:
    """Put a row into the log. Return True if it comes late: a newer one was there."""
    entry, message_id = row.entry, row.entry.message_id
    s.clock.observe(entry.lamport)
    gone_without = s.window.awaits(message_id)
    if s.window.covers(entry):
        late = s.window.insert(entry)
    else:
        late = True
        forget_hint(s, message_id)
    s.unsaved[message_id] = row
    s.writes.append(Append(row, instead_of))
    if (message_id in s.gaps and s.gaps.close(message_id)) or gone_without:
        s.events.append(GapClosed(message_id))
    return late


def release(s: ChannelState, ready: list[BufferedMessage]) -> None:
    """Deliver buffered messages whose dependencies are met, and go on with those that waited for them.

    One that turns out not to be above its parent is dropped, which may free others in turn: they join the same queue,
    since a chain of them is as long as whoever forged it likes.
    """
    heap = [(buffered.lamport, buffered.message.message_id, buffered) for buffered in ready]
    heapify(heap)
    while heap:
        _, message_id, buffered = heappop(heap)
        s.incoming.pop(message_id)
        message = buffered.message
        if parent_id := _parent_too_new(s, buffered):
            freed = refuse_child(s, message, parent_id)
            spoil_filter(s)
        else:
            gap = name_gap(message, buffered.gap)
            gap = tuple(key for key in gap if s.delivered(key) is None)  # some may have come in the meantime
            _into_log(s, message, buffered.raw, buffered.source, gap, buffered.generation, buffered.received_at)
            freed = s.incoming.meet(message_id, gap=False)
        for waiter in freed:
            heappush(heap, (waiter.lamport, waiter.message.message_id, waiter))


def _parent_too_new(s: ChannelState, buffered: BufferedMessage) -> str:
    """Return a parent that is not older than the message, or an empty string. This is checked again on release, since a
    parent may have come later."""
    for entry in buffered.message.causal_history:
        parent = s.delivered(entry.message_id)
        if parent is not None and parent.lamport >= buffered.lamport:
            return entry.message_id
    return ""


def abandon(s: ChannelState, message_id: str, sender_id: str) -> None:
    """Note that a buffered message was dropped. Those that wait for it wait for something unknown now, and not for
    ever."""
    release(s, _left_behind(s, message_id, sender_id))


def _left_behind(s: ChannelState, message_id: str, sender_id: str) -> list[BufferedMessage]:
    """Return those that waited for a message that was dropped, and can wait no more: there is no room to ask for it."""
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
        release(s, s.incoming.stop_waiting(s.incoming.waiting_of(sender_id), s.requests.missing))


def give_up(s: ChannelState) -> None:
    """Do the Periodic Incoming Buffer Sweep: mark dependencies unmet for `lost_after` as irretrievably lost.

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
        missing = s.requests.pop(message_id)
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
