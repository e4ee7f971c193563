"""Keeping the filter of received message ids (spec: Participant state)."""

from __future__ import annotations

from sdschat.sds.bloom import waku
from sdschat.sds.bloom.compact import MAX_FILL
from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.bloom.waku import WakuFilter
from sdschat.sds.events import FilterFormatChanged, FilterRolled
from sdschat.sds.limits import BUFFERED_PER_CHANNEL, FUTURE_DATED_PER_CHANNEL
from sdschat.sds.state import FIRST_MET, ChannelState

WAKU_REMEMBERED = 600_000  # with `auto`, waku is spoken for ten minutes after such a peer was heard
FORMAT_NOTED = 1000
HEARD_LATELY = 3  # sync intervals in which such a peer was heard: then all our sync messages are of that format,
IN_TURN = 8  # and one in so many later on
_FOREVER = 1 << 62
_MOST = 2  # times the capacity, of ids that are read back: a filter of that capacity held fewer


def filter_begins(s: ChannelState, floor: int) -> int:
    """Return the date from which our filter is to hold everything, where it says that it begins at `floor`. One of the
    waku format says nothing, and so others serve a participant with what was said in the minutes before they met it."""
    return floor - (FIRST_MET if s.filter.filter_format == "waku" else 0)


def include_received(s: ChannelState, message_id: str, lamport: int) -> None:
    """Receive Message: the id of a message with content goes into the filter."""
    own = s.filter
    own.add(message_id, lamport)
    if own.full and not s.filter_stale:
        roll_over(s)


def include_bare(s: ChannelState, message_id: str, lamport: int) -> None:
    """Put an id without a body into the filter, just as a restart does: only what the filter promises to hold."""
    if lamport >= filter_begins(s, s.filter.floor):
        s.filter.add_to_elder(message_id, lamport)
        if s.filter.full and not s.filter_stale:
            roll_over(s)


def filter_bytes(s: ChannelState) -> bytes:
    """Return the bytes for `bloom_filter`: the current state, without what was dropped since it was made."""
    if s.filter_stale:
        remake_filter(s)
    packed = s.filter.to_bytes()
    return waku.as_follower(packed) if _follows(s) else packed


def _follows(s: ChannelState) -> bool:
    """True if we speak the waku format only because somebody else does."""
    return s.filter.filter_format == "waku" and s.config.bloom_layout == "auto"


def sync_filter_bytes(s: ChannelState) -> bytes:
    """Return the bytes for `bloom_filter` of a sync message. One of the waku format is 18 kB long and says nothing of
    the time that it covers. So while we only remember such a peer, few are: all others read a compact one, and go on
    comparing ranges by it."""
    lately = s.now.mono - s.waku_heard_at <= HEARD_LATELY * s.config.sync_interval
    if not _follows(s) or lately or s.sync.count % IN_TURN == 0:
        return filter_bytes(s)
    beside = OwnFilter("compact", s.config.bloom_capacity, s.config.bloom_error_rate, s.horizon)
    floor, newest = _newest(s, beside.capacity)
    beside.restart([item for item in newest if item[0] >= floor], floor, 0)
    return beside.to_bytes()


def spoil_filter(s: ChannelState) -> None:
    """Mark the filter as claiming a message that was dropped. It is made anew only when it is sent: that takes long,
    and whoever makes us drop messages could make us do it for each of them."""
    s.filter_stale = True


def roll_over(s: ChannelState) -> None:
    """Let go of the elder generation, where that leaves a filter that is complete for the newest part of the log.

    It does not after many old messages came in late: they would push out the newest, which others look for.
    """
    own = s.filter
    order = s.window.order
    wanted = order[-min(len(order), own.capacity // 4)].lamport if order else 0
    if own.next_floor > wanted:
        remake_filter(s)
        return
    own.roll()
    s.events.append(FilterRolled(own.generation, own.floor))


def remake_filter(s: ChannelState) -> None:
    """Make the filter anew from the newest half of what it may hold, and say from where on it is complete."""
    _start_anew(s, *_newest_half(s))


def _start_anew(s: ChannelState, floor: int, ids: list[tuple[int, str]]) -> None:
    own = s.filter
    s.filter_stale = False
    # Two numbers on, so that what was in the last two generations is not taken for part of these.
    own.restart(ids, floor, own.generation + 2)
    s.events.append(FilterRolled(own.generation, floor))


def _newest_half(s: ChannelState) -> tuple[int, list[tuple[int, str]]]:
    """Return the newest half of what the filter may hold, preceded by the floor from which on that is complete."""
    floor, ids = _newest(s, s.filter.capacity // 2)
    return floor, [item for item in ids if item[0] >= filter_begins(s, floor)]


def _newest(s: ChannelState, keep: int) -> tuple[int, list[tuple[int, str]]]:
    """Return as many of the newest ids, preceded by the floor from which on they are complete."""
    log = s.newest(keep + 1)
    waiting = s.incoming.newest_waiting(keep + 1)
    ids = sorted([(entry.lamport, entry.message_id) for entry in log] + waiting)
    floor = s.horizon
    if len(ids) > keep:
        # Complete from the oldest that is kept; where its date is shared with one that is not, from the next date.
        oldest, dropped = ids[-keep][0], ids[-keep - 1][0]
        floor = oldest if dropped < oldest else oldest + 1
    return floor, ids[-keep:]


def note_filter_format(s: ChannelState, packed: bytes) -> None:
    """Note the filter of a packet that was accepted. One of waku shape that can be believed says that such a peer is
    about, unless it is of somebody who follows such a peer as we do. With the format `auto` we speak as it does, and
    with any it is told by filters, which it reads, what ranges hold. Once a second is enough."""
    if len(packed) != waku.BYTES or waku.is_of_follower(packed):
        return
    heard = s.waku_heard_at
    if (heard < 0 or s.now.mono - heard >= FORMAT_NOTED) and WakuFilter(packed).fill <= MAX_FILL:
        s.waku_heard_at = s.now.mono


def waku_is_about(s: ChannelState) -> bool:
    return s.waku_heard_at >= 0 and s.now.mono - s.waku_heard_at <= WAKU_REMEMBERED


def choose_filter_format(s: ChannelState) -> None:
    """Choose the format of our filter. `auto` is compact until a filter of waku shape is heard, then waku while such a
    peer is about."""
    filter_format = s.config.bloom_layout
    if filter_format == "auto":
        filter_format = "waku" if waku_is_about(s) else "compact"
    if filter_format == s.filter.filter_format:
        return
    generation = s.filter.generation
    own = s.filter = OwnFilter(filter_format, s.config.bloom_capacity, s.config.bloom_error_rate, s.horizon)
    own.generation = generation
    floor, newest = _newest_half(s)
    elder, young = _generations(s, floor)
    if max(len(elder), len(young) + 1) > own.capacity // 2:
        _start_anew(s, floor, newest)
    else:  # with what came late, which others would send again and again if the new filter did not have it
        s.filter_stale = False
        _fill(own, elder, young, floor)
    s.events.append(FilterFormatChanged(filter_format))


def restore_filter(s: ChannelState, filter_format: str, generation: int, floor: int) -> None:
    """Restore the filter as it was: all from `floor` on, and the last two generations, whatever their dates. If its
    capacity is smaller than it was, it cannot hold all that, and is made anew before it is sent."""
    own = s.filter = OwnFilter(filter_format, s.config.bloom_capacity, s.config.bloom_error_rate, floor)
    own.generation = generation
    elder, young = _generations(s, floor)
    _fill(own, elder, young, floor)
    if len(elder) + len(young) >= _MOST * own.capacity:
        s.filter_stale = True


def _generations(s: ChannelState, floor: int) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the ids of the elder and the younger generation: all from `floor` on, and whatever came while they were
    made."""
    own = s.filter
    floor = filter_begins(s, floor)
    found = {entry.message_id: entry for entry in s.between(floor, _FOREVER, _MOST * own.capacity)}
    for entry in s.history.recently_added(own.capacity + BUFFERED_PER_CHANNEL + FUTURE_DATED_PER_CHANNEL):
        found[entry.message_id] = entry
    for row in s.unsaved.values():
        found[row.entry.message_id] = row.entry
    ids = [(entry.lamport, entry.message_id, entry.generation) for entry in found.values()]
    for message_id, buffered in s.incoming.buffered.items():
        if not buffered.release_at:
            ids.append((buffered.lamport, message_id, buffered.generation))
    last, before = own.generation, own.generation - 1
    elder = [item[:2] for item in ids if item[2] == before or (item[2] != last and item[0] >= floor)]
    return elder, [item[:2] for item in ids if item[2] == last]


def _fill(own: OwnFilter, elder: list[tuple[int, str]], young: list[tuple[int, str]], floor: int) -> None:
    own.restart(elder, floor, own.generation)
    for lamport, message_id in young:
        own.add(message_id, lamport)
