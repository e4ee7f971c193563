"""Acknowledgement: the evidence in others' packets for the author of a message (like `sdschat.sds.steps.acks`)."""

from __future__ import annotations

import numpy as np

from sdschat.experiment.vector_model.group import Group
from sdschat.experiment.vector_model.packets import Step
from sdschat.experiment.vector_model.sending import rearm_resend


def review_evidence(g: Group, step: Step) -> None:
    for number in range(g.sent):
        if not g.acked[number]:
            _review(g, step, number)


def _review(g: Group, step: Step, number: int) -> None:
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
        rearm_resend(g, number)
    if mentioned or g.witnesses[number] >= g.rules.witnesses:
        g.acked[number] = True
        record.acked[number] = since
