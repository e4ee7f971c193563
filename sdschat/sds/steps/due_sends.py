"""Sends that are owed to others, within a budget of bytes.

One copy of a message serves all who lack it: whoever sends it, no answer and no push of it is owed any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdschat.sds.events import PushCancelled, RepairCancelled
from sdschat.sds.scheduled_sends import EntryType, Push, ScheduledSends
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.timers import Budget


def heard_copy(s: ChannelState, message_id: str) -> None:
    """Call off our answer and our push of a message that somebody else has sent. It may be new here: it was held once,
    so that we meant to send it, and was dropped to make room."""
    if s.answers.entries:
        call_off_answer(s, message_id, "answered_by_other")
        answer = s.answers.entries.get(message_id)
        if answer is not None:
            s.answers.settle(answer, s.now.mono)  # also where none was due: who asked for it has been served
    if s.pushes.entries:
        call_off_push(s, message_id, "heard_again")


def call_off_answer(s: ChannelState, message_id: str, reason: str) -> None:
    """Take a received message out of the incoming repair request buffer (SDS-R, receive message)."""
    answer = s.answers.entries.get(message_id)
    if answer is not None and answer.due is not None:
        s.answers.settle(answer, s.now.mono)
        s.events.append(RepairCancelled(message_id, reason))


def call_off_push(s: ChannelState, message_id: str, reason: str) -> None:
    push = s.pushes.entries.get(message_id)
    if push is not None and push.due is not None:
        settle_push(s, push)
        s.events.append(PushCancelled(message_id, reason))


def settle_push(s: ChannelState, push: Push) -> None:
    """Note a push. The same message is not pushed again for half a sync interval, which is when a newer filter may
    come, and after the first two times for twice as long each, up to four intervals. The budget is what bounds a
    flood."""
    interval = s.config.sync_interval
    back_off = min((interval // 2) << max(0, min(push.pushes, 8) - 2), 4 * interval)
    s.pushes.settle(push, s.now.mono + back_off)


def send_due(
    s: ChannelState, buffer: ScheduledSends[EntryType], budget: Budget, kind: str
) -> Iterator[tuple[EntryType, bool]]:
    """Broadcast the original bytes of what is due. Whatever exceeds the budget waits for one and the same time, so that
    all of it takes turns. The participant who is owed least comes first, so that a budget used up by one who asks for
    much is no reason to wait for one who asks for little. Yield each entry, with True if it was sent, or False if its
    bytes are gone; then it is forgotten."""
    for message_id in sorted(buffer.timers.pop_due(s.now.mono), key=buffer.rank):
        entry = buffer.entries[message_id]
        if not budget.has_room:  # what waits is not read: that may be a thousand messages in every sweep
            buffer.put_off(entry, next_sweep(s))
        elif (found := s.packet_of(message_id)) is None:
            buffer.forget(message_id)
            yield entry, False
        else:
            budget.spend(len(found[0]))
            s.packets.append(Packet(found[0], kind, message_id))
            yield entry, True


def next_sweep(s: ChannelState) -> int:
    """Return when a packet that the budget did not suffice for is tried again: at the next sweep."""
    return s.now.mono + s.config.sweep_interval - s.now.mono % s.config.sweep_interval
