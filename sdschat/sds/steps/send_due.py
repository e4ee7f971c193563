"""Sending what is owed to others, within a budget of bytes."""

from __future__ import annotations

from collections.abc import Iterator

from sdschat.sds.scheduled_sends import EntryType, ScheduledSends
from sdschat.sds.state import Budget, ChannelState, Packet


def send_due(
    s: ChannelState, buffer: ScheduledSends[EntryType], budget: Budget, kind: str
) -> Iterator[tuple[EntryType, bool]]:
    """Broadcast the original bytes of what is due; what exceeds the budget waits. Whoever is owed least comes first, so
    that a budget used up by one who asks for much is no reason to wait for one who asks for little. Tells what was
    sent, and what could not be because its bytes are gone, which is forgotten."""
    for message_id in sorted(buffer.timers.pop_due(s.now.mono), key=buffer.share_of_owner):
        entry = buffer.entries[message_id]
        found = s.packet_of(message_id)
        if found is None:
            buffer.forget(message_id)
            yield entry, False
        elif not budget.spend(len(found[0])):
            buffer.put_off(entry, s.now.mono + s.config.sweep_interval)
        else:
            s.packets.append(Packet(found[0], kind, message_id))
            yield entry, True
