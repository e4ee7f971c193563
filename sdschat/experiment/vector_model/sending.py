"""Sending: the packets of a participant and their content."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.group import Array, Group
from sdschat.experiment.vector_model.packets import LIVE, PacketGroup, Step, packet_bytes
from sdschat.experiment.vector_model.ranges import may_want_push, no_longer_owed
from sdschat.experiment.vector_model.requests import eligible, mark_requested
from sdschat.experiment.vector_model.timer_wheel import Indices, parts

NAME = "0123456789abcdef" * 2  # as long as a participant's id


def send_message(g: Group, step: Step, author: int) -> None:
    """Send a new message. Its dependencies are the messages that its author names."""
    who = np.array([author])
    shown, held = int(g.shown[author]), int(g.have[author])
    named = int(g.logs.named[shown])
    requested = int(eligible(g, who)[0])
    g.logs.add(named)
    number = g.sending(author)
    g.filters.append(held)
    g.arrived(number, who)
    g.shown[who] = g.logs.delivered_of(g.have[who], g.waived[who])
    may_want_push(g, number, who)
    g.record.shown[number, author] = 0
    arm_resend(g, number)
    mark_requested(g, who, np.array([requested]))
    g.traffic_sent(who)
    _emit(g, step, PacketGroup("message", number, held, named, requested, -1, 0, False), who)


def arm_resend(g: Group, number: int) -> None:
    if not g.rules.resends:
        return
    config = g.config
    period = config.resend_possibly_acked if g.witnesses[number] else config.resend_unacked
    wait = min(period << max(0, g.sends[number] - 1), config.resend_max)
    g.sends[number] = max(1, g.sends[number])
    g.resend_due[number] = g.now + wait + int(g.random.integers(0, wait // 5 + 1))
    g.wheel.put(g.resend_due[number], "resend", number, None)


def resend(g: Group, step: Step, number: int) -> None:
    if g.acked[number] or g.resend_due[number] > g.now:
        return
    g.sends[number] += 1
    send_copy(g, step, "resend", number, np.array([g.authors[number]]))
    arm_resend(g, number)


def send_copy(g: Group, step: Step, kind: str, number: int, who: Indices) -> None:
    """Send the original bytes again: their filter is as old as the message."""
    named = g.logs.dependencies[number]
    g.record.copies[kind][number] += len(who)
    packet = PacketGroup(kind, number, 0, named, 0, -1, 0, False)
    if len(who):
        _emit(g, step, packet, who)


def send_syncs(g: Group, step: Step, who: Indices) -> None:
    """Send one sync message from each: its filter, its causal history, its due requests, and a range of its log."""
    if not len(who):
        return
    if not g.sent and g.busy:
        g.traffic_sent(who)
        note_sent(g, PacketGroup("sync", -1, 0, 0, 0, -1, 0, False), len(who))
        return
    requested = eligible(g, who)
    shown = g.shown[who]
    named = g.logs.named[shown]
    low = np.where(g.wanted_high[who] >= 0, g.wanted_low[who], g.boot[who])
    high, of, owed = _ranges(g, who, shown)
    mark_requested(g, who, requested)
    g.traffic_sent(who)
    keys = _joined(g.have[who], named, requested, high + 1, of, owed)
    for key, alike in parts(keys):
        held, names, asks, above, holds, whole = _parted(key)
        packet = PacketGroup("sync", -1, held, names, asks, above - 1, holds, bool(whole))
        _emit(g, step, packet, who[alike], low[alike])


_BITS = (12, 12, 12, 4, 12, 1)  # lengths of a key's parts; there are at most twelve messages


def _joined(*parts: npt.NDArray[Any]) -> Array:
    key = np.zeros(len(parts[0]), dtype=np.int64)
    for part, bits in zip(parts, _BITS, strict=True):
        key = key << bits | part.astype(np.int64)
    return key


def _parted(key: int) -> list[int]:
    found = []
    for bits in reversed(_BITS):
        found.append(key & (1 << bits) - 1)
        key >>= bits
    return found[::-1]


def _ranges(g: Group, who: Indices, shown: npt.NDArray[np.uint16]) -> tuple[Array, Array, Array]:
    """Return the ranges of sync messages, like `sdschat.sds.steps.ranges`: the filter of a range if it is due, else the
    fingerprint of the newest range that is not still on its way to others."""
    high = np.full(len(who), -1)
    wanted = g.wanted_high[who]
    owed = wanted >= 0
    if not (g.rules.ranges and g.config.push_enabled) or not g.sent:
        none = np.zeros(len(who), dtype=np.int64)
        return high, none, none
    for message in range(g.sent):
        high[(shown & g.bit(message) != 0) & ~g.fresh(message, who)] = message
    high[owed] = wanted[owed]
    below = (np.int64(2) << high) - 1
    below[high < 0] = 0
    of = np.where(owed, g.have[who], shown) & below
    g.answered_at[who[owed]] = g.now
    no_longer_owed(g, who[owed])
    return high, of, owed.astype(np.int64)


def _emit(g: Group, step: Step, packet: PacketGroup, senders: Indices, low: Array | None = None) -> None:
    step.add(packet, senders, low)
    note_sent(g, packet, len(senders))


def note_sent(g: Group, packet: PacketGroup, count: int) -> None:
    """Count these packets and their bytes, unless the group is still warming up."""
    if g.now < g.setting.warm_up:
        return
    content = g.setting.content_bytes if packet.number >= 0 else 0
    section = ""
    if packet.range_high >= 0:
        section = f"range {packet.range_of.bit_count()}" if packet.range_filter else "print"
    held = packet.held.bit_count() if packet.kind in LIVE else packet.number
    layout = "waku" if g.rules.wide_filter else g.setting.layout
    size = packet_bytes(NAME, content, held, packet.named.bit_count(), packet.requested.bit_count(), layout, section)
    g.record.sent(packet.kind, size, count)


def wake(g: Group, step: Step) -> None:
    if g.look_at <= g.now:
        send_syncs(g, step, g.due_syncs())
        g.watch_all()
