"""Sending what is owed to others, within a budget of bytes."""

from __future__ import annotations

from collections.abc import Iterator

from sdschat.sds.scheduled_sends import EntryType, ScheduledSends
from sdschat.sds.state import Budget, ChannelState, Packet


def send_due(
    s: ChannelState, buffer: ScheduledSends[EntryType], budget: Budget, kind: str
) -> Iterator[tuple[EntryType, bool]]:
    """Broadcast the original bytes of what is due. Whatever exceeds the budget waits for one and the same time, so that
    all of it takes turns. Whoever is owed least comes first, so that a budget used up by one who asks for much is no
    reason to wait for one who asks for little. Tells what was sent, and what could not be because its bytes are gone,
    which is forgotten."""
    for message_id in sorted(buffer.timers.pop_due(s.now.mono), key=buffer.turn):
        entry = buffer.entries[message_id]
        found = s.packet_of(message_id)
        if found is None:
            buffer.forget(message_id)
            yield entry, False
        elif not budget.spend(len(found[0])):
            buffer.put_off(entry, next_turn(s))
        else:
            s.packets.append(Packet(found[0], kind, message_id))
            yield entry, True


def next_turn(s: ChannelState) -> int:
    """Return the time for which all waits that the budget did not suffice for."""
    return s.now.mono + s.config.sweep_interval - s.now.mono % s.config.sweep_interval
