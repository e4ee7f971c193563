"""The time in which sync messages tell nobody anything: before the first message, and when everybody has everything.

Then the sync timers of one participant depend on nothing but themselves, and those of all are run to the end of that
time at once. Nothing but the random draws differs from a run step by step.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sdschat.experiment.vector_model.group import Group, Times
from sdschat.experiment.vector_model.packets import PacketGroup
from sdschat.experiment.vector_model.ranges import no_longer_owed
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.sending import note_sent

BLOCK: Final = 1 << 15  # participants at once, so that their values stay in the processor's cache


def skip_quiet(g: Group) -> None:
    """Run the sync timers to the next message, or to the end, if there is nothing else to do for long enough."""
    interval = g.config.sync_interval
    if g.now < g.try_skip_at:
        return
    g.try_skip_at = g.now + interval // 16
    if not _quiet(g):
        return
    push = int(g.push_due[: g.sent].min(initial=NEVER))
    end = min(push, g.wheel.first(_tells), g.setting.until + 1)
    if end - g.now < interval // 4:
        return
    first = g.in_steps(g.due)
    count = -_send_owed(g, first, end)
    for start in range(0, g.count, BLOCK):
        count += _run_timers(g, slice(start, start + BLOCK), first, end)
    shown = g.sent_mask
    high = g.sent - 1 if g.rules.ranges and g.config.push_enabled else -1
    note_sent(g, PacketGroup("sync", -1, shown, int(g.logs.named[shown]), 0, high, shown, False), count)
    g.look_at, g.window, g.soon, g.try_skip_at = NEVER, 0, [], end
    if end <= g.setting.until:
        g.watch_all()


def _tells(what: str, content: Any) -> bool:
    """True for a new message, and for packets other than syncs on their way."""
    return what == "send" or (what == "hear" and any(packet.kind != "sync" for packet in content.sent))


def _quiet(g: Group) -> bool:
    if not (g.busy and g.rules.syncs):
        return False
    if not g.sent:
        return True
    if g.config.push_enabled and g.heard is not None:
        return False
    arrived = min(g.newest_at[: g.sent])  # until then no fingerprint covers a message
    return (
        all(g.acked[: g.sent])
        and g.now - arrived >= g.config.push_grace
        and not len(g.lacking(g.sent))
        and not (g.record.requests.any() and (g.answer_due[: g.sent] < NEVER).any())
    )


def _send_owed(g: Group, first: Times, end: int) -> int:
    who = np.flatnonzero((g.wanted_high >= 0) & (first < end))
    for high, count in zip(*np.unique(g.wanted_high[who], return_counts=True), strict=True):
        shown, whole = g.sent_mask, (2 << int(high)) - 1
        packet = PacketGroup("sync", -1, shown, int(g.logs.named[shown]), 0, int(high), whole, True)
        note_sent(g, packet, int(count))
    g.answered_at[who] = first[who]
    no_longer_owed(g, who)
    return len(who)


def _run_timers(g: Group, part: slice, first: Times, end: int) -> int:
    """Run the sync timers of a part of the group as `traffic_sent` does. Return the number of sync messages."""
    at, due, spoke = first[part], g.due[part], g.spoke[part]
    who, count = np.flatnonzero(at < end), 0
    while len(who):
        sent = at[who]
        count += int(np.count_nonzero(sent >= g.setting.warm_up))
        spoke[who] = sent
        sent += g.jitter(len(who)) + g.config.sync_interval
        due[who] = sent
        sent += -sent % g.sync_step
        at[who] = sent
        who = who[sent < end]
    g.latest[part] = due
    return count
