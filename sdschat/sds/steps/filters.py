"""Keeping the filter of received message ids (spec: Participant state)."""

from __future__ import annotations

from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.events import FilterRolled, LayoutChanged
from sdschat.sds.limits import BUFFERED_PER_CHANNEL, PARKED_PER_CHANNEL
from sdschat.sds.state import ChannelState

WAKU_REMEMBERED = 600_000  # with `auto`, waku is spoken for ten minutes after such a peer was heard
_FOREVER = 1 << 62


def include_received(s: ChannelState, message_id: str) -> None:
    """Receive Message: the id of a message with content goes into the filter."""
    own = s.filter
    own.add(message_id)
    if own.full:
        roll_over(s)


def roll_over(s: ChannelState) -> None:
    """Make the filter anew from the newest half of what it may hold, and say from where on it is complete."""
    own = s.filter
    keep = own.capacity // 2
    log = s.newest(keep + 1)
    waiting = [(held.lamport, message_id) for message_id, held in s.incoming.held.items()]
    ids = sorted([(entry.lamport, entry.message_id) for entry in log] + waiting)
    floor = s.horizon
    if len(ids) > keep:
        # Complete from the oldest that is kept; where its date is shared with one that is not, from the next date.
        oldest, dropped = ids[-keep][0], ids[-keep - 1][0]
        floor = oldest if dropped < oldest else oldest + 1
        ids = [item for item in ids[-keep:] if item[0] >= floor]
    own.restart([message_id for _, message_id in ids], floor, own.generation + 1)
    s.events.append(FilterRolled(own.generation, floor))


def waku_is_about(s: ChannelState) -> bool:
    return s.waku_heard_at >= 0 and s.now.mono - s.waku_heard_at <= WAKU_REMEMBERED


def choose_layout(s: ChannelState) -> None:
    """`auto` speaks compact until a filter of waku shape is heard, then waku while such a peer is about."""
    layout = s.config.bloom_layout
    if layout == "auto":
        layout = "waku" if waku_is_about(s) else "compact"
    if layout == s.filter.layout:
        return
    generation = s.filter.generation
    s.filter = OwnFilter(layout, s.config.bloom_capacity, s.config.bloom_error_rate, s.horizon)
    s.filter.generation = generation
    roll_over(s)
    s.events.append(LayoutChanged(layout))


def restore_filter(s: ChannelState, layout: str, generation: int, floor: int) -> None:
    """The filter as it was: all from `floor` on, and what came since the last roll-over, whatever its date."""
    own = s.filter = OwnFilter(layout, s.config.bloom_capacity, s.config.bloom_error_rate, floor)
    ids = {entry.message_id: None for entry in s.between(floor, _FOREVER, 2 * own.capacity)}
    for entry in s.history.recently_added(own.capacity + BUFFERED_PER_CHANNEL + PARKED_PER_CHANNEL):
        if entry.generation == generation:
            ids[entry.message_id] = None
    for message_id, held in s.incoming.held.items():
        if held.lamport >= floor or held.generation == generation:
            ids[message_id] = None
    own.restart(ids, floor, generation)
