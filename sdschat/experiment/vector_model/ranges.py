"""Filters and ranges as evidence of missing messages (like `review_lacks` and `review_range` of the engine)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from sdschat.experiment.vector_model.group import Array, Flags, Group
from sdschat.experiment.vector_model.packets import Ears, PacketGroup, Step
from sdschat.experiment.vector_model.pushes import call_off, lacks, note_behind, want_push
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.wheel import Indices

_MANY = 5_000  # participants


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
            want_push(g, number, ears.who_of(g.pushable[number].by(g.now), senders))
            continue
        able = np.flatnonzero(ears.any_of(senders) & g.has(number))
        _push_to_each(g, number, able[~g.fresh(number, able)], senders, ears)


def review_old_filter(g: Group, number: int, new: Indices) -> None:
    """Review the filter in a late message. It is as old as the message.

    A participant that has heard nothing of the author since then cannot know that, and plans pushes for it.
    """
    author = g.authors[number]
    who = new[g.author_heard[number, new] < g.setting.sent_at(number)]
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
    """Review fingerprints and filters of ranges.

    A participant that joined after a sender is not complete in the sender's range, and does not compare. So the number
    of senders that joined no earlier than the participant matters.
    """
    alike: dict[tuple[int, int, bool], list[PacketGroup]] = defaultdict(list)
    for packet in live.sent:
        if packet.range_high >= 0:
            alike[packet.range_high, packet.range_of, packet.range_filter].append(packet)
    for (high, of, whole), packets in alike.items():
        senders = np.concatenate([live.sent[packet] for packet in packets])
        boots = np.sort(np.concatenate([live.low[packet] for packet in packets]))
        if whole:
            _push_what_it_lacks(g, high, of, senders, ears)
        differing = g.free.by(g.now, lambda: _differs(g, high, of, whole))  # noqa: B023
        _owe(g, _who_compare(g, differing, senders, boots, ears), high, boots)
        if whole:
            _need_not_say_it(g, high, of, senders, boots, ears)


def _differs(g: Group, high: int, of: int, whole: bool) -> Flags:
    """Return True where a participant lacks a message of a range filter, or differs from a fingerprint of a range."""
    below = np.uint16((2 << high) - 1)
    found: Flags = np.uint16(of) & ~g.have & below != 0 if whole else (g.shown & below) != np.uint16(of)
    return found


def _who_compare(g: Group, who: Indices, senders: Indices, boots: Array, ears: Ears) -> Indices:
    """Return those of these participants that hear a sender that joined no earlier than they."""
    if len(senders) == 1:
        who = who[who != senders[0]]
    if len(who) < _MANY:
        later = len(boots) - np.searchsorted(boots, g.boot[who], side="left")
    else:  # the same result, at a cost that does not grow with the number of senders
        later = np.cumsum(np.bincount(boots, minlength=g.setting.warm_up + 1)[::-1])[::-1][g.boot[who]]
    return who[ears.any_counted(later, who)]


def _push_what_it_lacks(g: Group, high: int, of: int, senders: Indices, ears: Ears) -> None:
    for number in range(min(g.sent, high + 1)):
        if of >> number & 1:
            continue
        shown = (g.shown >> np.uint16(number)) & np.uint16(1) == 1
        others = senders[senders != g.authors[number]]
        if g.wanted is None:
            able = np.flatnonzero(shown & (g.push_due[number] == NEVER) & (g.not_before[number] <= g.now))
            want_push(g, number, ears.who_of(able, senders))
        else:
            _push_to_each(g, number, np.flatnonzero(shown & ears.any_of(senders)), others, ears)


def _need_not_say_it(g: Group, high: int, of: int, senders: Indices, boots: Array, ears: Ears) -> None:
    """Release participants that planned to send the filter of the same range and hold the same messages in it."""
    who = np.flatnonzero(g.wanted_high == high)
    who = who[(g.have[who] & np.uint16((2 << high) - 1)) == np.uint16(of)]
    who = ears.who_of(who[np.isin(g.wanted_low[who], boots)], senders)
    no_longer_owed(g, who)
    g.calm(who)


def no_longer_owed(g: Group, who: Indices) -> None:
    g.wanted_high[who] = -1
    g.free.put(who, g.answered_at[who] + g.config.sync_interval // 2)


def _owe(g: Group, who: Indices, high: int, boots: Array) -> None:
    """Plan the participant's own filter of this range for its next sync message, and that soon; not too often."""
    if not len(who):
        return
    g.wanted_high[who] = high
    g.wanted_low[who] = boots[-1]
    g.free.put(who, NEVER)
    g.hurry(who)
