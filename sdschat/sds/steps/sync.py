"""Periodic Sync Message and SDS-R Periodic Sync Message."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sds.events import SyncSent
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.steps.filters import choose_filter_format, sync_filter_bytes
from sdschat.sds.steps.ranges import with_range
from sdschat.sds.steps.repair import eligible_requests, mark_requested
from sdschat.sds.steps.send import preceding_ids
from sdschat.sds.steps.timing import traffic_sent
from sdschat.sds.values import Message


def next_sync(s: ChannelState) -> int:
    """Return the time at which a sync message is due: by its timer, or because of requests of our own, whatever others
    have sent."""
    due = s.sync.due
    request = s.requests.requests.next()
    if request is not None:
        due = min(due, max(request, s.sync.spoke_at + s.config.sweep_interval))
    return due


def periodic_sync_message(s: ChannelState) -> None:
    if next_sync(s) <= s.now.mono:
        send_sync(s)


def send_sync(s: ChannelState) -> None:
    """Send a sync message: empty content, a raised clock, causal history and filter as for any message. It is never
    persisted, buffered, logged, named in a causal history or put into a filter; only the raised clock outlives it."""
    choose_filter_format(s)
    lamport = s.clock.tick(s.now.wall)
    requests = eligible_requests(s)
    message = Message(
        sender_id=s.participant_id,
        message_id="sync-" + s.jitter.token("sync", s.channel_id, s.participant_id, lamport),
        channel_id=s.channel_id,
        lamport_timestamp=lamport,
        causal_history=preceding_ids(s),
        bloom_filter=sync_filter_bytes(s),
        repair_request=requests,
    )
    message = replace(message, bloom_filter=with_range(s, message))
    s.packets.append(Packet(s.codec.encode(message), "sync", message.message_id))
    s.events.append(SyncSent(message.message_id))
    mark_requested(s, requests, message.message_id)
    traffic_sent(s)
