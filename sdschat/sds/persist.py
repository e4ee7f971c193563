"""State leaves as ordered writes and comes back from a snapshot.

Stopping after any step and restoring equals never having stopped: what is not a row here can be derived from rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sdschat.sds.incoming import BufferedMessage, Gaps
from sdschat.sds.limits import ARRIVALS_KEPT, BUFFERED_PER_CHANNEL, RECENT_WINDOW
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.deliver import refuse_older_children, release
from sdschat.sds.steps.filters import choose_filter_format, restore_filter
from sdschat.sds.steps.repair import ask_for_the_rest, forget_hint, note_missing
from sdschat.sds.values import (
    FROM_STORE,
    UNPROVEN,
    ChannelRow,
    Drop,
    HintRow,
    IncomingRow,
    LogRow,
    Now,
    PeerRow,
    Put,
    Row,
    Snapshot,
    Table,
)
from sdschat.sds.window import RecentArrivals, RecentWindow

Thing = TypeVar("Thing")


def open_new(s: ChannelState) -> None:
    """Open a channel for the first time.

    The join horizon lies `sds.max_skew` before now: clocks differ by up to that much, and what is sent after we
    joined must not seem older than our joining. What is older still is not asked for.
    """
    s.clock.value = s.now.wall
    s.horizon = max(0, s.now.wall - s.config.max_skew)
    s.filter.floor = s.horizon
    choose_filter_format(s)
    s.sync.due = s.now.mono + s.jitter.below(s.config.push_delay_max + 1, "first sync", s.channel_id)
    s.sync.latest = s.sync.due


def restore(s: ChannelState, snapshot: Snapshot) -> None:
    """Restore the channel as it was when its last writes were made true."""
    row = snapshot.channel
    # A wall clock that was set back while we were away: no time has passed, rather than all timers being far off.
    now = Now(max(s.now.wall, row.spent_at), s.now.mono)
    s.saved_channel = row
    s.clock.value = row.lamport
    s.horizon = row.horizon
    s.filter_stale = bool(row.filter_stale)
    s.waku_heard_at = now.past_mono(row.waku_heard_at) if row.waku_heard_at else -1
    interval = s.config.sync_interval
    s.sync.due = now.to_mono(row.sync_due, 2 * interval)
    s.sync.latest = now.to_mono(row.sync_latest, 3 * interval)
    s.sync.spoke_at, s.sync.count = now.past_mono(row.sync_spoke_at), row.sync_count
    s.ranges.cursor = row.range_cursor
    owed = (row.range_wanted_low, row.range_wanted_high)
    if row.range_only_print:
        s.ranges.asked = owed
    elif row.range_wanted_high:
        s.ranges.wanted = owed
    s.ranges.answered_at = now.past_mono(row.range_answered_at) if row.range_answered_at else -1
    s.answer_budget.spent, s.push_budget.spent = row.answer_spent, row.push_spent
    s.spent_at = now.past_mono(row.spent_at)
    if row.offline_since:
        s.offline_since = now.past_mono(row.offline_since)
    s.window = RecentWindow(s.history.newest(RECENT_WINDOW))
    s.gaps = Gaps(snapshot.gaps)
    s.hints = {hint.message_id: hint.hint for hint in snapshot.hints}
    for missing in sorted(snapshot.missing, key=lambda row: row.since):  # the youngest is the last
        s.requests.restore(missing, now, s.config)
    for known in snapshot.outgoing:
        s.outgoing.restore(known, now, 2 * s.config.resend_max)
    for answer in snapshot.answers:
        s.answers.restore(answer, now, s.config.t_max)
    for push in snapshot.pushes:
        s.pushes.restore(push, now, s.config)
    for peer in snapshot.peers:
        s.peers.restore(peer, now)
    _restore_incoming(s, snapshot.incoming)
    _restore_arrivals(s, snapshot.incoming)
    restore_filter(s, row.layout, row.generation, row.floor)
    for buffer in (s.requests, s.outgoing, s.answers, s.pushes, s.incoming):
        buffer.changed.clear()
    ask_for_the_rest(s)
    for buffered in s.incoming.in_order():  # none, but in the rows of older programs
        if not buffered.release_at:
            refuse_older_children(s, buffered)
    release(s, [buffered for buffered in s.incoming.in_order() if not buffered.unmet and not buffered.release_at])
    _forgive_downtime(s, row, snapshot.peers)


def _forgive_downtime(s: ChannelState, row: ChannelRow, peers: tuple[PeerRow, ...]) -> None:
    """Count the time in which this process was not running against nobody. While it runs and is connected, it hears
    somebody or sends a sync message itself, and gives up nothing late; if it did neither, it was stopped."""
    awake = max([row.spent_at, row.sync_spoke_at, *(peer.heard_at for peer in peers)])
    away = s.now.wall - awake
    first = s.requests.lost.next()
    overdue = first is not None and first < s.now.mono - s.config.sweep_interval
    if row.offline_since:
        if s.online:  # the transport came back while we were away
            _do_not_count(s, s.now.wall - row.offline_since)
        return
    if overdue and first is not None:  # however long it was by the wall clock, which may have been put right meanwhile
        away = max(away, s.now.mono - first + s.config.lost_after)
    if away <= 0 or not (overdue or away > 3 * s.config.sync_interval):
        return
    elapsed = s.now.mono - s.spent_at
    s.answer_budget.cool(elapsed)
    s.push_budget.cool(elapsed)
    s.spent_at = s.now.mono  # so that the same stop is not forgiven twice
    _do_not_count(s, away)


def _do_not_count(s: ChannelState, away: int) -> None:
    if away > 0:
        s.requests.grant(away, s.now.mono + s.config.lost_after)


def _restore_arrivals(s: ChannelState, rows: tuple[IncomingRow, ...]) -> None:
    since = s.now.wall - s.config.push_grace
    came = [(row.received_at, row.message.message_id) for row in rows if _is_recent_arrival(row, since)]
    old = 0
    for entry in reversed(s.history.recently_added(ARRIVALS_KEPT)):
        found = s.history.row(entry.message_id)
        if found is None:
            continue
        if _is_recent_arrival(found, since):
            came.append((found.received_at, entry.message_id))
        old += found.received_at <= since
        if old > BUFFERED_PER_CHANNEL:  # more than can have waited, to be put into the log after what came later
            break
    newest = sorted(came)[-ARRIVALS_KEPT:]
    s.recent_arrivals = RecentArrivals((s.now.past_mono(at), message_id) for at, message_id in newest)


def _is_recent_arrival(row: IncomingRow | LogRow, since: int) -> bool:
    """True if a message came in lately, and not as history."""
    return row.received_at > since and row.source != FROM_STORE


def _restore_incoming(s: ChannelState, rows: tuple[IncomingRow, ...]) -> None:
    here = {row.message.message_id for row in rows}
    for row in rows:
        buffered = BufferedMessage(row.message, row.raw, row.source, row.received_at)
        buffered.proven, buffered.release_at = row.generation != UNPROVEN, row.release_at
        buffered.generation = row.generation if buffered.proven else 0
        buffered.gap = list(row.gap)
        for entry in () if row.release_at else row.message.causal_history:
            message_id = entry.message_id
            if s.delivered(message_id) is not None:
                continue
            if message_id in buffered.gap:
                continue
            known = message_id in here or message_id in s.requests.missing
            if known or note_missing(s, entry, row.message.sender_id):
                buffered.unmet[message_id] = None
            else:  # its row is gone, and there is no room for a new one
                buffered.gap.append(message_id)
        s.incoming.put(buffered)
        if row.release_at:
            s.incoming.future_dated.set(row.message.message_id, row.release_at)


def collect_writes(s: ChannelState) -> None:
    """Turn what changed since the last `take` into writes. The log's come first, in order of delivery."""
    now = s.now
    if s.unsaved:
        s.unsaved.clear()
        gone = s.window.trim()
        for entry in gone if s.hints else ():
            forget_hint(s, entry.message_id)
    if s.incoming.changed:
        _collect(s, Table.INCOMING, s.incoming.changed, s.incoming.buffered, lambda buffered, _: buffered.row())
    if s.gaps.changed:
        _collect(s, Table.GAP, s.gaps.changed, s.gaps, lambda gap, _: gap)
    if s.requests.changed:
        _collect(s, Table.MISSING, s.requests.changed, s.requests.missing, s.requests.row)
    if s.outgoing.changed:  # these rows stay for good: they say who has a message
        for known in s.outgoing.changed.values():
            s.writes.append(Put(Table.OUTGOING, known.message_id, s.outgoing.row(known, now)))
        s.outgoing.changed.clear()
    if s.answers.changed:
        _collect(s, Table.ANSWER, s.answers.changed, s.answers.entries, s.answers.row)
    if s.pushes.changed:
        _collect(s, Table.PUSH, s.pushes.changed, s.pushes.entries, s.pushes.row)
    if s.peers.changed:
        _collect(s, Table.PEER, s.peers.changed, s.peers.known, s.peers.row)
    if s.hints_changed:
        rows = {key: HintRow(key, s.hints[key]) for key in s.hints_changed if key in s.hints}
        _collect(s, Table.HINT, s.hints_changed, rows, lambda hint, _: hint)
    row = _channel_row(s)
    if row != s.saved_channel:
        s.saved_channel = row
        s.writes.append(Put(Table.CHANNEL, "", row))


def _collect(
    s: ChannelState,
    table: Table,
    changed: dict[str, None],
    things: dict[str, Thing],
    to_row: Callable[[Thing, Now], Row],
) -> None:
    for key in changed:
        thing = things.get(key)
        s.writes.append(Drop(table, key) if thing is None else Put(table, key, to_row(thing, s.now)))
    changed.clear()


def _channel_row(s: ChannelState) -> ChannelRow:
    sync, ranges = s.sync, s.ranges
    ahead = s.now.wall - s.now.mono  # times outlive a restart as epoch milliseconds
    low, high = ranges.asked or ranges.wanted or (0, 0)
    return ChannelRow(
        lamport=s.clock.value,
        horizon=s.horizon,
        layout=s.filter.filter_format,
        generation=s.filter.generation,
        floor=s.filter.floor,
        waku_heard_at=0 if s.waku_heard_at < 0 else s.waku_heard_at + ahead,
        sync_due=sync.due + ahead,
        sync_latest=sync.latest + ahead,
        sync_spoke_at=sync.spoke_at + ahead,
        sync_count=sync.count,
        range_cursor=ranges.cursor,
        range_wanted_low=low,
        range_wanted_high=high,
        range_answered_at=0 if ranges.answered_at < 0 else ranges.answered_at + ahead,
        answer_spent=s.answer_budget.spent,
        push_spent=s.push_budget.spent,
        spent_at=s.spent_at + ahead,
        offline_since=0 if s.online else s.offline_since + ahead,
        filter_stale=int(s.filter_stale),
        range_only_print=int(ranges.asked is not None),
    )
