"""Planted defects in acknowledgements, repair, anti-entropy and sending again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sdschat.sds.channel import Channel
from sdschat.sds.repair import determine_t_resp, in_response_group
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.steps import acks, anti_entropy, due_sends, outgoing_sweep, repair, send, timing
from sdschat.sds.values import Evidence, Message, Now
from tests.sim.plant import defect, instead, method


@defect
def one_bloom_hit_is_an_ack() -> Iterator[None]:
    with instead(acks.acknowledged, lambda known: True):
        yield


@defect
def mentions_are_not_looked_at() -> Iterator[None]:
    with instead(acks.review_causal_history, lambda s, message: None):
        yield


@defect
def two_filters_of_one_peer_are_an_ack() -> Iterator[None]:
    old = acks.review_filter

    def review_filter(s: ChannelState, message: Message, *rest: Any, **more: Any) -> None:
        for known in s.outgoing.open.values():
            before = known.evidence.get(message.sender_id)
            if before is not None and before.how == "filter" and before.packet_id != message.message_id:
                known.evidence[message.sender_id + " before"] = known.evidence.pop(message.sender_id)
        old(s, message, *rest, **more)

    with instead(old, review_filter):
        yield


@defect
def chances_of_filters_multiply() -> Iterator[None]:
    def acknowledged(known: Any) -> bool:
        chance = math.prod(evidence.error_rate for evidence in known.evidence.values())
        return bool(known.proven_by) or (len(known.evidence) >= 2 and chance <= 1e-6)

    with instead(acks.acknowledged, acknowledged):
        yield


@defect
def acks_are_not_saved() -> Iterator[None]:
    old = acks._witness

    def witness(s: ChannelState, known: Any, evidence: Evidence) -> None:
        old(s, known, evidence)
        s.outgoing.changed.pop(known.message_id, None)

    with instead(old, witness):
        yield


@defect
def what_is_only_held_is_mentioned() -> Iterator[None]:
    old = send.preceding_ids

    def preceding_ids(s: ChannelState) -> Any:
        named = old(s)
        held = next(iter(s.incoming.buffered.values()), None)
        if held is None:
            return named
        entry = named[0]._replace(message_id=held.message.message_id) if named else None
        return (entry, *named[1:]) if entry is not None else named

    with instead(old, preceding_ids):
        yield


@defect
def no_anti_entropy() -> Iterator[None]:
    with instead(anti_entropy.want_push, lambda *_: 0):
        yield


@defect
def every_dependency_is_requested_once() -> Iterator[None]:
    old = repair.mark_requested

    def mark_requested(s: ChannelState, wanted: Any, *rest: Any) -> None:
        old(s, wanted, *rest)
        for entry in wanted:
            s.requests.requests.discard(entry.message_id)

    with instead(old, mark_requested):
        yield


@defect
def suppressed_requests_are_forgotten() -> Iterator[None]:
    old = repair.requested_by_other

    def requested_by_other(s: ChannelState, message_id: str) -> None:
        old(s, message_id)
        s.requests.requests.discard(message_id)

    with instead(old, requested_by_other):
        yield


@defect
def new_dependants_put_t_req_off() -> Iterator[None]:
    old = repair.note_missing

    def note_missing(s: ChannelState, entry: Any, *rest: Any, **more: Any) -> bool:
        known = s.requests.missing.get(entry.message_id)
        if known is not None:
            repair._new_entry(s, known, s.now.mono)
        return old(s, entry, *rest, **more)

    with instead(old, note_missing):
        yield


@defect
def repeated_requests_put_t_resp_off() -> Iterator[None]:
    old = repair._consider

    def consider(s: ChannelState, message_id: str, requested_by: str, lacked: bool) -> None:
        answer = s.answers.entries.get(message_id)
        held = s.packet_of(message_id)
        if answer is None or answer.due is None or held is None:
            old(s, message_id, requested_by, lacked)
        else:
            now, me, t_max = s.now.mono, s.participant_id, s.config.t_max
            s.answers.schedule(answer, determine_t_resp(now, me, held[1], message_id, t_max), requested_by)

    with instead(old, consider):
        yield


@defect
def duplicates_do_not_cancel_answers() -> Iterator[None]:
    with instead(due_sends.heard_copy, lambda s, message_id: due_sends.call_off_push(s, message_id, "heard_again")):
        yield


@defect
def nobody_is_in_the_response_group() -> Iterator[None]:
    with instead(in_response_group, lambda *_: False):
        yield


@defect
def answers_are_made_anew() -> Iterator[None]:
    old = repair.incoming_repair_request_buffer_sweep

    def sweep(s: ChannelState) -> None:
        before = len(s.packets)
        old(s)
        for at in range(before, len(s.packets)):
            message = s.codec.decode(s.packets[at].raw)
            assert isinstance(message, Message)
            raw = s.codec.encode(replace(message, bloom_filter=s.filter.to_bytes(), repair_request=()))
            s.packets[at] = s.packets[at]._replace(raw=raw)

    with instead(old, sweep):
        yield


@defect
def sync_messages_are_never_put_off() -> Iterator[None]:
    old = timing.traffic_sent

    def traffic_sent(s: ChannelState) -> None:
        old(s)
        s.sync.due = s.now.mono + s.config.sync_interval // 8

    with instead(old, traffic_sent):
        yield


@defect
def resending_is_given_up_after_three() -> Iterator[None]:
    old = outgoing_sweep.schedule_resend

    def schedule_resend(s: ChannelState, known: Any) -> None:
        old(s, known)
        if known.sends >= 3:
            s.outgoing.timers.discard(known.message_id)

    with instead(old, schedule_resend):
        yield


@defect
def resends_have_a_new_date() -> Iterator[None]:
    old = outgoing_sweep.periodic_outgoing_buffer_sweep

    def sweep(s: ChannelState) -> None:
        before = len(s.packets)
        old(s)
        for at in range(before, len(s.packets)):
            message = s.codec.decode(s.packets[at].raw)
            assert isinstance(message, Message)
            raw = s.codec.encode(replace(message, lamport_timestamp=s.clock.tick(s.now.wall)))
            s.packets[at] = Packet(raw, s.packets[at].kind, s.packets[at].message_id)

    with instead(old, sweep):
        yield


@defect
def packets_go_out_without_a_transport() -> Iterator[None]:
    old = outgoing_sweep.periodic_outgoing_buffer_sweep

    def sweep(s: ChannelState) -> None:
        online, s.online = s.online, True
        old(s)
        s.online = online

    def advance(self: Channel, now: Now) -> None:
        old_advance(self, now)
        if not self.state.online:
            sweep(self.state)

    old_advance = Channel.advance
    old_wake = Channel.next_wake

    def next_wake(self: Channel) -> int | None:
        return old_wake(self) if self.state.online else self.state.outgoing.timers.next()

    with method(Channel, "advance", advance), method(Channel, "next_wake", next_wake):
        yield
