"""Anti-entropy, like `review_lacks`, `review_range` and the pushes of the engine."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from sdschat.experiment.vector_model.group import Array, Group
from sdschat.experiment.vector_model.packets import Ears, PacketGroup, Step
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.timer_wheel import NOBODY, Indices
from sdschat.sds.limits import MAX_PEERS
from sdschat.sds.steps.anti_entropy import AUTHOR_FIRST, CROWD


def want_push(g: Group, message: int, who: Indices) -> None:
    """Plan a push of a message that a filter lacks, after a random delay; the author's is the shortest at first."""
    who = who[(g.push_due[message][who] == NEVER) & (g.now >= g.not_before[message][who])]
    if not len(who):
        return
    first, spread = g.now + g.config.push_delay_min, g.config.push_delay_max - g.config.push_delay_min
    drawn = g.random.random(len(who), dtype=np.float32)
    peers = MAX_PEERS if g.heard is None else g.peers[who]
    drawn *= spread + spread * peers // CROWD + np.float32(1)
    due = first + drawn.astype(np.int32)
    due[(who == g.authors[message]) & (g.pushes[message][who] < AUTHOR_FIRST)] = first
    g.push_due[message][who] = due
    g.push_from[message][who] = NEVER
    _look_at(g, message, int(due.min()))


def _look_at(g: Group, message: int, due: int) -> None:
    if due < g.push_next[message]:
        g.push_next[message] = due
        g.wheel.put(due, "push", message, NOBODY)


def due_pushes(g: Group, message: int) -> Indices:
    if g.push_next[message] > g.now:
        return NOBODY
    who = np.flatnonzero(g.push_due[message] <= g.now)
    if len(who):
        _settle(g, message, who)
    g.push_next[message] = NEVER
    _look_at(g, message, int(g.push_due[message].min()))
    return who


def heard_again(g: Group, message: int, senders: Indices, ears: Ears) -> None:
    _settle(g, message, ears.who_of(np.flatnonzero(g.push_due[message] < NEVER), senders))


def _settle(g: Group, message: int, who: Indices) -> None:
    interval = g.config.sync_interval
    most = min(4 * interval, NEVER // 2)
    back_off = np.array([min(interval // 2 << step, most) for step in (0, 0, *range(7))], dtype=np.int32)
    pushes = np.minimum(g.pushes[message][who], len(back_off) - 1)
    g.not_before[message][who] = back_off[pushes] + g.now
    g.pushes[message][who] = pushes + 1
    g.push_due[message][who] = NEVER
    may_want_push(g, message, who)
    if g.wanted is not None:
        g.wanted[who] &= ~g.bit(message)


def may_want_push(g: Group, message: int, who: Indices) -> None:
    """Set the time from which these holders of a message, who plan no push of it, may plan one."""
    if g.config.push_enabled:
        held = g.record.held[message][who].astype(np.int32) + (g.setting.sent_at(message) + g.config.push_grace)
        g.push_from[message][who] = np.maximum(held, g.not_before[message][who])


def lacks(g: Group, sender: int, message: int, who: Indices) -> Indices:
    """Record that the sender lacks the message. Return the participants for which this is new."""
    if g.wanted is None:
        return who
    bit = g.bit(message)
    new: Indices = who[(g.wanted[who, sender] & bit == 0) & (g.now >= g.not_before[message][who])]
    g.wanted[new, sender] |= bit
    return new


def call_off(g: Group, sender: int, held: int, who: Indices) -> None:
    if g.wanted is None:
        return
    had = g.wanted[who, sender] & np.uint16(held)
    some = who[had != 0]
    if not len(some):
        return
    g.wanted[some, sender] &= ~np.uint16(held)
    left = np.bitwise_or.reduce(g.wanted[some], axis=1)
    for message in range(g.sent):
        if held >> message & 1:
            idle = some[(left & g.bit(message) == 0) & (g.push_due[message][some] < NEVER)]
            g.push_due[message][idle] = NEVER


def note_behind(g: Group, sender: int, held: int, who: Indices) -> None:
    """Note the messages that only the sender's filter has.

    If one of them stays missing for longer than a message is on its way, the participant soon says once that it lacks
    it. A participant that joined after the sender is not complete at the beginning of the filter, and does not compare.
    """
    behind, since, told = g.behind, g.behind_since, g.told
    who = who[g.boot[who] <= g.boot[sender]]
    theirs = np.uint16(held) & ~g.have[who]
    told[who, sender] &= theirs
    new = theirs & ~told[who, sender]
    first = (since[who, sender] < 0) | (behind[who, sender] & new == 0)
    begun, rest = who[first], ~first & (g.now - since[who, sender] >= g.config.push_grace)
    behind[begun, sender] = new[first]
    since[begun, sender] = np.where(new[first] != 0, g.now, -1)
    late = who[rest]
    told[late, sender] |= behind[late, sender] & new[rest]
    behind[late, sender] = 0
    since[late, sender] = -1
    g.hurry(late)


def review_filters(g: Group, live: Step, ears: Ears) -> None:
    """Plan pushes of the messages that a filter lacks and the receiver holds, except those it got just now."""
    if g.wanted is not None:
        for packet, all_of in live.sent.items():
            for sender in all_of.tolist():
                heard = np.flatnonzero(ears.any_of(np.array([sender])))
                call_off(g, sender, packet.held, heard)
                note_behind(g, sender, packet.held, heard)
    for number in range(g.sent):
        senders = live.senders(lambda packet, at=number: not packet.held >> at & 1)  # type: ignore[misc]
        senders = senders[senders != g.authors[number]]
        if not len(senders):
            continue
        if g.wanted is None:
            want_push(g, number, ears.who_of(np.flatnonzero(g.push_from[number] <= g.now), senders))
            continue
        able = np.flatnonzero(ears.any_of(senders) & g.has(number))
        _push_to_each(g, number, able[~g.fresh(number, able)], senders, ears)


def review_old_filter(g: Group, number: int, new: Indices) -> None:
    """Review the filter in a late message, which is as old as the message. A participant that has heard nothing of the
    author since then cannot know that, and plans pushes for it."""
    author = g.authors[number]
    who = new[~g.author_heard[number][new]]
    claimed = g.filters[number]
    if g.wanted is not None:
        call_off(g, author, claimed, who)
        note_behind(g, author, claimed, who)
    for other in range(g.sent):
        if not claimed >> other & 1 and g.authors[other] != author:
            able = who[(g.have[who] & g.bit(other) != 0) & ~g.fresh(other, who)]
            want_push(g, other, lacks(g, author, other, able))


def _push_to_each(g: Group, number: int, who: Indices, senders: Indices, ears: Ears) -> None:
    for sender in senders.tolist():
        want_push(g, number, lacks(g, sender, number, who[ears.any_of(np.array([sender]))[who]]))


def review_ranges(g: Group, live: Step, ears: Ears) -> None:
    """Review fingerprints and filters of ranges. A participant that joined after a sender is not complete in the range
    of the sender, and does not compare."""
    alike: dict[tuple[int, int, bool], list[PacketGroup]] = defaultdict(list)
    for packet in live.sent:
        if packet.range_high >= 0:
            alike[packet.range_high, packet.range_of, packet.range_filter].append(packet)
    for (high, of, whole), packets in alike.items():
        senders = np.concatenate([live.sent[packet] for packet in packets])
        boots = np.sort(np.concatenate([live.low[packet] for packet in packets]))
        if whole:
            _push_what_it_lacks(g, high, of, senders, ears)
        differing = _differing(g, high, of, whole)
        _owe(g, _who_compare(g, differing, senders, boots, ears), high, boots)
        if whole:
            _need_not_say_it(g, high, of, senders, boots, ears)


def _differing(g: Group, high: int, of: int, whole: bool) -> Indices:
    """Return those who may answer, and lack a message of a range filter or differ from a fingerprint of a range."""
    below, held = np.uint16((2 << high) - 1), np.uint16(of)
    if whole or g.sent_mask & int(below) == of:
        who = g.lacking(high + 1)
        who = who[g.free_at[who] <= g.now]
    else:
        who = np.flatnonzero(g.free_at <= g.now)
    holds = g.have[who] & held if whole else g.shown[who]
    found: Indices = who[(holds ^ held) & below != 0]
    return found


def _who_compare(g: Group, who: Indices, senders: Indices, boots: Array, ears: Ears) -> Indices:
    """Return those of these participants that hear a sender that joined no earlier than they."""
    if len(senders) == 1:
        who = who[who != senders[0]]
    later = len(boots) - np.searchsorted(boots, g.boot[who], side="left")
    return who[ears.any_counted(later, who)]


def _push_what_it_lacks(g: Group, high: int, of: int, senders: Indices, ears: Ears) -> None:
    for number in range(min(g.sent, high + 1)):
        if of >> number & 1:
            continue
        shown = g.shown & g.bit(number) != 0
        others = senders[senders != g.authors[number]]
        if g.wanted is None:
            able = np.flatnonzero(shown & (g.push_due[number] == NEVER) & (g.not_before[number] <= g.now))
            want_push(g, number, ears.who_of(able, senders))
        else:
            _push_to_each(g, number, np.flatnonzero(shown & ears.any_of(senders)), others, ears)


def _need_not_say_it(g: Group, high: int, of: int, senders: Indices, boots: Array, ears: Ears) -> None:
    """Release participants that planned to send the filter of the same range and hold the same messages in it."""
    who = np.flatnonzero(g.wanted_high == high)
    who = who[g.have[who] & np.uint16((2 << high) - 1) == np.uint16(of)]
    who = ears.who_of(who[np.isin(g.wanted_low[who], boots, kind="table")], senders)
    no_longer_owed(g, who)
    g.calm(who)


def no_longer_owed(g: Group, who: Indices) -> None:
    g.wanted_high[who] = -1
    g.free_at[who] = g.answered_at[who] + g.config.sync_interval // 2


def _owe(g: Group, who: Indices, high: int, boots: Array) -> None:
    """Plan the participant's own filter of this range for its next sync message, and that soon; not too often."""
    if not len(who):
        return
    g.wanted_high[who] = high
    g.wanted_low[who] = boots[-1]
    g.free_at[who] = NEVER
    g.hurry(who)
