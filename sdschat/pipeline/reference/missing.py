"""Missing messages: which node lacks which message, and the reason that makes it a fault or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdschat.pipeline.reference.conform import Channel
from sdschat.pipeline.reference.witness import Witness
from sdschat.pipeline.rules import Rules
from sdschat.pipeline.schemas import AuditMissing, Log


def extras(log: Iterable[Log], there: Mapping[Channel, list[Witness]], rules: Rules) -> set[tuple[Channel, str, str]]:
    """Return (channel, message, node) of messages that only one node has and their own sender does not know.

    The sender must be in the audit and must have been seen for long enough.
    """
    found = set()
    for message in log:
        channel = (message.run_id, message.channel)
        if message.copies != 1:
            continue
        holder = next(each for each in there[channel] if message.message_id in each.held.versions)
        sender = next((each for each in there[channel] if each.presence.node == message.sender), None)
        if sender is None or sender is holder or message.message_id in sender.told.shown:
            continue
        if sender.ended_before(message, rules):
            continue
        if message.lamport >= max(sender.presence.horizon, sender.presence.retained_from):
            found.add((channel, message.message_id, holder.presence.node))
    return found


def missing(
    log: Iterable[Log], there: Mapping[Channel, list[Witness]], extra: set[tuple[Channel, str, str]], rules: Rules
) -> list[AuditMissing]:
    nobody_owes = {(channel, message_id) for channel, message_id, _ in extra}
    found = []
    for message in log:
        channel = (message.run_id, message.channel)
        if message.copies == len(there[channel]) or (channel, message.message_id) in nobody_owes:
            continue
        for witness in there[channel]:
            if message.message_id not in witness.held.versions:
                reason, detail = witness.lacks(message, rules)
                found.append(
                    AuditMissing(
                        *channel,
                        message.position,
                        message.lamport,
                        message.message_id,
                        message.sender,
                        witness.presence.node,
                        reason,
                        detail,
                    )
                )
    return found
