"""When the next sync message is due (spec: Periodic Sync Message)."""

from __future__ import annotations

from heapq import nlargest
from typing import Final

from sdschat.sds.events import ClockAhead
from sdschat.sds.state import ChannelState

HURRIED_FOR: Final = 10  # sync intervals
SMALL_GROUP: Final = 8  # participants beside us, up to which what came is confirmed soon
SPOKEN: Final = 2  # messages or sync messages of ours, after which most of those present were heard
KNOWN_IN_SMALL: Final = 64  # with more names than that, nobody counts those heard lately


def traffic_heard(s: ChannelState) -> None:
    """Put our sync message off for others' traffic, so that a large group does not burst; but never beyond `latest`,
    because only our own filter tells the others what we lack."""
    sync, mono = s.sync, s.now.mono
    half = s.config.sync_interval // 2
    if sync.due - mono < half:
        most = max(sync.latest, mono)
        sync.due = most if mono + half >= most else min(mono + _jittered(s), most)  # drawn where it can matter


def traffic_sent(s: ChannelState) -> None:
    """Plan the next sync message a full interval from now, since we sent something ourselves."""
    sync, mono = s.sync, s.now.mono
    ahead = s.clock.value - s.now.wall
    if ahead > s.config.max_skew:
        s.events.append(ClockAhead(s.clock.value, ahead))
    sync.count += 1
    sync.spoke_at = mono
    sync.due = mono + _jittered(s)
    sync.latest = mono + s.config.sync_interval + _jittered(s)
    if _lacks_something(s):
        # What just went out may be lost, and nothing else makes the others send what we lack: the next one comes
        # sooner, and nobody's traffic puts it off.
        interval = s.config.sync_interval
        sync.due = sync.latest = mono + interval // 2 + s.jitter.below(max(1, interval // 4), "lack", sync.count)


def confirm_soon(s: ChannelState, before: int) -> None:
    """Plan a sync message soon, since the author of a message that came waits for news of it: in a group so small that
    it costs little, say soon what is here. The more of us there are, the more different are our delays, so that mostly
    one of us speaks first: a sync message of another puts ours off, but not for long, since in such a group people look
    for each name. `before`: when ours was due before this message put it off."""
    sync, mono, interval = s.sync, s.now.mono, s.config.sync_interval
    if mono <= sync.crowded_until or len(s.peers.known) > KNOWN_IN_SMALL:
        return
    heard = [peer.heard_at for peer in s.peers.known.values() if mono - peer.heard_at <= 3 * interval]
    others = len(heard)
    if others > SMALL_GROUP:
        # They are heard later or not at all: until then at least as many count. Nobody is counted for each message.
        sync.crowded_until = nlargest(SMALL_GROUP + 1, heard)[-1] + 3 * interval
        return
    sync.due = min(sync.due, before)
    if mono + interval // 32 < sync.due:  # each number is drawn where it can matter: this is done for each message
        due = mono + interval // 32 + s.jitter.below(max(1, others * interval // 64), "confirm", sync.count, mono)
        sync.due = min(sync.due, max(due, sync.spoke_at + interval // 8))
    if sync.count >= SPOKEN and mono + interval // 3 < sync.latest:
        by = mono + interval // 3 + s.jitter.below(max(1, interval // 4), "all", sync.count, mono)
        sync.latest = min(sync.latest, by)


def hurry(s: ChannelState, within: int) -> None:
    """Send a sync message soon, because others should hear of something here; but not two in half an interval."""
    sync, mono = s.sync, s.now.mono
    due = mono + 1 + s.jitter.below(max(1, within), "hurry", sync.count)
    due = max(due, sync.spoke_at + s.config.sync_interval // 2)
    sync.due = min(sync.due, due)
    sync.latest = min(sync.latest, sync.due)  # nobody's traffic puts this off


def _lacks_something(s: ChannelState) -> bool:
    """True if a dependency is missing, and not for so long that sending soon has shown to be of no use."""
    youngest = next(reversed(s.requests.missing.values()), None)
    return youngest is not None and s.now.mono - youngest.since < HURRIED_FOR * s.config.sync_interval


def _jittered(s: ChannelState) -> int:
    """Return a random time from half to one and a half of the interval."""
    interval = s.config.sync_interval
    return interval // 2 + s.jitter.below(interval, "sync", s.sync.count, s.now.mono)


def calm(s: ChannelState) -> None:
    """Go back to a full interval since we last spoke: another has said what we were in a hurry to say."""
    sync, mono = s.sync, s.now.mono
    sync.latest = max(mono, sync.spoke_at + s.config.sync_interval + _jittered(s))
    sync.due = min(mono + _jittered(s), sync.latest)
