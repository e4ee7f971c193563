"""One run of the model: due packets are sent, and a latency later change those who hear them."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np

from sdschat.experiment.figures import Record
from sdschat.experiment.setting import GroupSetting
from sdschat.experiment.vector_model import ranges, requests, sending
from sdschat.experiment.vector_model.group import Array, Flags, Group, Times
from sdschat.experiment.vector_model.packets import LIVE, Ears, PacketGroup, Step
from sdschat.experiment.vector_model.ranges import no_longer_owed
from sdschat.experiment.vector_model.rules import NEVER


def hear(g: Group, step: Step) -> None:
    """Process the packets of one step, in this order: contents, names, repair requests, filters and ranges."""
    for number in range(g.sent):
        if not g.acked[number]:
            _review_evidence(g, step, number)
    if _tells_nothing(g, step):
        return
    ears = Ears(g)
    if g.heard is not None:
        _remember_senders(g, step, ears)
    if g.config.push_enabled:
        _remember_authors(g, step, ears)
    heard_anything = np.zeros(g.count, dtype=np.bool_)
    before = None if g.heard_at is None else (g.due.copy(), g.shown.copy())
    for number in sorted({packet.number for packet in step.sent} - {-1}):
        _hear_content(g, step, ears, number, heard_anything)
    live = step.live()
    if not g.busy:
        g.traffic_heard(np.flatnonzero(heard_anything | ears.any_of(live.senders(lambda packet: True))))
    if before is not None:
        due, shown = before
        g.confirm_soon(np.flatnonzero(heard_anything & (g.shown != shown)), due)
    if not live.sent:
        return
    _hear_names(g, live, ears)
    if g.config.repair_enabled:
        hear_requests(g, live, ears)
    if g.config.push_enabled:
        ranges.review_filters(g, live, ears)
        if g.rules.ranges:
            ranges.review_ranges(g, live, ears)


def _tells_nothing(g: Group, step: Step) -> bool:
    """True if no timer changes and nobody learns anything, as by most sync messages of a busy group."""
    if not g.busy or any(packet.kind != "sync" or packet.requested for packet in step.sent):
        return False
    if g.config.push_enabled:
        return g.heard is None and not len(g.lacking(g.sent))
    return not len(g.unaware)


def _remember_senders(g: Group, step: Step, ears: Ears) -> None:
    assert g.heard is not None
    for packet, senders in step.sent.items():
        if packet.kind in LIVE:
            for sender in senders:
                heard = ears.any_of(senders[senders == sender])
                if g.heard_at is not None:
                    g.heard_at[heard, sender] = g.now
                new = heard & ~g.heard[:, sender]
                g.heard[new, sender] = True
                g.peers[new] += 1


def _remember_authors(g: Group, step: Step, ears: Ears) -> None:
    live = step.senders(lambda packet: packet.kind in LIVE)
    for author in set(g.authors):
        said = live[live == author]
        if not len(said):
            continue
        heard = ears.any_of(said[:1])
        for number, one in enumerate(g.authors):
            if one == author:
                g.author_heard[number] |= heard


def _hear_content(g: Group, step: Step, ears: Ears, number: int, heard_anything: Flags) -> None:
    senders = step.senders(lambda packet: packet.number == number)
    if not len(senders):
        return
    first = any(packet.kind == "message" and packet.number == number for packet in step.sent)
    had = g.has(number)
    if first:
        g.record.missed[number] = ~ears.any_of(senders) & g.here()
        g.record.missed[number, g.authors[number]] = False
    _count_duplicates(g, number, senders, had, ears)
    if g.record.requests[number]:
        requests.settle(g, number, ears.who_of(np.flatnonzero(had & (g.asked_at[number] >= 0)), senders))
    ranges.heard_again(g, number, senders, ears)
    new = ears.who_of(np.flatnonzero(~had), senders)
    if len(new):
        heard_anything[new] = True
        for start in range(0, len(new), BLOCK):
            _take(g, number, new[start : start + BLOCK])
        if g.config.push_enabled and not first:
            ranges.review_old_filter(g, number, new)


def _count_duplicates(g: Group, number: int, senders: Array, had: Flags, ears: Ears) -> None:
    """Count the copies received by participants that had the message: exactly for one packet, else by a draw."""
    if len(senders) == 1 and g.heard is not None:
        g.record.duplicates[number] += int(np.count_nonzero(had & ears.any_of(senders)))
        return
    holders = int(np.count_nonzero(had))
    copies = len(senders) * max(0, holders - 1)
    g.record.duplicates[number] += int(g.random.binomial(copies, 1 - g.setting.loss))


def _take(g: Group, number: int, new: Array) -> None:
    since = np.float32(g.since(number))
    g.arrived(number, new)
    ranges.may_want_push(g, number, new)
    g.record.noticed[number][new] = np.minimum(g.record.noticed[number][new], since)
    requests.received(g, number, new)
    before = g.shown[new]
    if g.config.push_enabled:  # the first message of a log is delivered at once: anti-entropy looks for what is lost
        first = new[(before == 0) & (g.have[new] == g.bit(number))]
        g.waived[first] = g.logs.dependencies[number]
    g.shown[new] = g.logs.delivered_of(g.have[new], g.waived[new])
    gained = g.shown[new] & ~before
    for message in range(g.sent):
        delivered = new[(gained >> np.uint16(message)) & np.uint16(1) == 1]
        g.record.shown[message][delivered] = g.since(message)
    requests.notice(g, new, np.full(len(new), g.logs.dependencies[number], dtype=np.uint16))


def _hear_names(g: Group, live: Step, ears: Ears) -> None:
    unaware = g.unaware
    if not len(unaware):
        return
    for number in range(g.sent):
        senders = live.senders(lambda packet, at=number: packet.named >> at & 1)  # type: ignore[misc]
        if len(senders):
            heard = ears.who_of(unaware, senders)
            requests.notice(g, heard, np.full(len(heard), 1 << number, dtype=np.uint16))


def hear_requests(g: Group, live: Step, ears: Ears) -> None:
    for number in range(g.sent):
        senders = live.senders(lambda packet, at=number: packet.requested >> at & 1)  # type: ignore[misc]
        if not len(senders):
            continue
        heard = ears.any_of(senders)
        has = g.has(number)
        requests.requested_by_other(
            g, number, np.flatnonzero(heard & (g.missing >> np.uint16(number) & np.uint16(1) == 1))
        )
        requests.consider(g, number, np.flatnonzero(heard & has))


def _review_evidence(g: Group, step: Step, number: int) -> None:
    author = g.authors[number]
    mentions, filters = 0, 0
    for packet, senders in step.sent.items():
        others = int(np.count_nonzero(senders != author))
        if packet.kind not in ("message", "sync"):
            if packet.named >> number & 1 and not g.have[author] >> packet.number & 1:
                mentions += others
            continue
        if packet.named >> number & 1 or _equal(g, packet.range_high, packet.range_of, number):
            mentions += others
        elif packet.held >> number & 1:
            filters += others
    if mentions or filters:
        keep = 1 - g.setting.loss
        mentioned = int(g.random.binomial(mentions, keep))
        g.witnesses[number] += mentioned + int(g.random.binomial(filters, keep))
        _conclude(g, number, mentioned > 0)


def _equal(g: Group, high: int, of: int, number: int) -> bool:
    """True if a fingerprint equals that of the author's log and covers the message. Its join horizon is ignored."""
    if high < number or not g.rules.ranges:
        return False
    return int(g.shown[g.authors[number]]) & ((2 << high) - 1) == of


def _conclude(g: Group, number: int, mentioned: bool) -> None:
    record, since = g.record, g.since(number)
    if g.witnesses[number] and record.possibly_acked[number] > since:
        record.possibly_acked[number] = since
        sending.arm_resend(g, number)
    if mentioned or g.witnesses[number] >= g.rules.witnesses:
        g.acked[number] = True
        record.acked[number] = since


def run_model(setting: GroupSetting, seed: int) -> Record:
    g = Group(setting, seed)
    draw = Random(f"senders {seed}")
    for number in range(setting.messages):
        g.wheel.put(setting.sent_at(number), "send", number, draw.randrange(setting.participants))
    g.watch_all()
    skip_quiet(g)
    while (due := g.wheel.next(setting.until)) is not None:
        g.now, items = due
        step = Step()
        while items:
            for item in items:
                _do(g, step, *item)
            items = g.wheel.more(g.now)
        if step.sent:
            g.wheel.put(g.now + setting.latency, "hear", -1, step)
        skip_quiet(g)
    return g.record


def _do(g: Group, step: Step, what: str, message: int, content: Any) -> None:
    if what == "hear":
        hear(g, content)
    elif what == "sync":
        sending.wake(g, step)
    elif what == "requests":
        requests.time_requests(g, message, content)
    elif what == "request":
        sending.send_syncs(g, step, requests.due_requests(g, message, content))
    elif what == "answer":
        sending.send_copy(g, step, "answer", message, requests.due_answers(g, message, content))
    elif what == "push":
        sending.send_copy(g, step, "push", message, ranges.due_pushes(g, message))
    elif what == "send":
        sending.send_message(g, step, content)
    else:
        sending.resend(g, step, message)


BLOCK: Final = 1 << 15  # participants at once, so that their values stay in the processor's cache


def skip_quiet(g: Group) -> None:
    """Run the sync timers to the next message, or to the end, if there is nothing else to do for long enough.

    Sync messages tell nobody anything before the first message, and when everybody has everything. Then the sync timers
    of one participant depend on nothing but themselves. Only the random draws differ from a run step by step.
    """
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
    sending.note_sent(g, PacketGroup("sync", -1, shown, int(g.logs.named[shown]), 0, high, shown, False), count)
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
        sending.note_sent(g, packet, int(count))
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
