"""Anti-entropy: sending messages again that a filter lacks (like `sdschat.sds.steps.anti_entropy`)."""

from __future__ import annotations

import numpy as np

from sdschat.experiment.vector_model.group import Group
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.wheel import Indices
from sdschat.sds.steps.anti_entropy import AUTHOR_FIRST, CROWD


def want_push(g: Group, message: int, who: Indices) -> None:
    """Plan a push of a message that a received filter lacks, after a random delay; the author's is the shortest at
    first."""
    who = who[(g.push_due[message, who] == NEVER) & (g.now >= g.not_before[message, who])]
    if not len(who):
        return
    config = g.config
    spread = config.push_delay_max - config.push_delay_min
    stretched = spread + spread * g.active_peers(who) // CROWD
    delay = config.push_delay_min + (g.random.random(len(who)) * (stretched + 1)).astype(np.int64)
    delay[(who == g.authors[message]) & (g.pushes[message, who] < AUTHOR_FIRST)] = config.push_delay_min
    g.push_due[message, who] = g.now + delay
    g.pushable[message].put(who, NEVER)
    g.wheel.put_each(g.now + delay, "push", message, who)


def due_pushes(g: Group, message: int, who: Indices) -> Indices:
    due = g.push_due[message, who]
    who = who[(due <= g.now) & (due > g.now - g.wheel.step)]
    if len(who):
        _settle(g, message, who)
    return who


def heard_again(g: Group, message: int, who: Indices) -> None:
    """Cancel the planned pushes of a message that another participant has sent again."""
    meant = who[g.push_due[message, who] < NEVER]
    if len(meant):
        _settle(g, message, meant)


def _settle(g: Group, message: int, who: Indices) -> None:
    interval = g.config.sync_interval
    back_off = (interval // 2) << np.clip(g.pushes[message, who].astype(np.int64) - 2, 0, 6)
    g.not_before[message, who] = g.now + np.minimum(back_off, min(4 * interval, NEVER // 2))
    g.pushes[message, who] = np.minimum(g.pushes[message, who] + 1, 100)
    g.push_due[message, who] = NEVER
    may_want_push(g, message, who)
    if g.wanted is not None:
        g.wanted[who] &= ~g.bit(message)


def may_want_push(g: Group, message: int, who: Indices) -> None:
    """Set the time from which these holders of a message, who plan no push of it, may plan one."""
    arrived = g.held_at[message, who] + g.config.push_grace
    g.pushable[message].put(who, np.maximum(arrived, g.not_before[message, who]))


def lacks(g: Group, sender: int, message: int, who: Indices) -> Indices:
    """Record that the sender lacks the message. Return the participants for which this is new."""
    if g.wanted is None:
        return who
    bit = g.bit(message)
    new: Indices = who[(g.wanted[who, sender] & bit == 0) & (g.now >= g.not_before[message, who])]
    g.wanted[new, sender] |= bit
    return new


def call_off(g: Group, sender: int, held: int, who: Indices) -> None:
    """Cancel the pushes of messages that a newer filter of this sender has."""
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
            idle = some[(left & g.bit(message) == 0) & (g.push_due[message, some] < NEVER)]
            g.push_due[message, idle] = NEVER


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
