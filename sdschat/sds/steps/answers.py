"""SDS Repair, the answering side: the incoming repair request buffer."""

from __future__ import annotations

from sdschat.sds.events import RepairCancelled, RepairResponded, RepairScheduled
from sdschat.sds.repair import Answer, determine_t_resp, in_response_group
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.steps.requests import requested_by_other
from sdschat.sds.timers import to_wall
from sdschat.sds.values import Message

ASKED_TWICE = 2  # an unanswered request that is heard again: the response group may be gone, so anybody may answer


def review_repair_request(s: ChannelState, message: Message) -> None:
    """SDS-R receive message, for each item of `repair_request`, of which only as many count as we would send."""
    for entry in message.repair_request[: s.config.max_requests]:
        requested_by_other(s, entry.message_id)
        if s.config.repair_enabled:
            _consider(s, entry.message_id, message.sender_id)


def _consider(s: ChannelState, message_id: str, requested_by: str) -> None:
    """Schedule an answer if we hold the message in full and may be a responder.

    The spec says "in its local history"; a message that waits for its own dependencies is answered for too, since
    the receiver checks them itself. Distance and group follow from the stored message's sender, not the request's:
    a requester shall not choose who is closest.
    """
    held = s.packet_of(message_id)
    if held is None:
        return
    now = s.now.mono
    answer = s.answers.answers.get(message_id)
    if answer is not None and answer.due is not None:
        return  # the earliest T_resp stands: asking often does not put the answer off
    if answer is not None and not answer.open and now - answer.at < s.config.t_max // 2:
        return  # answered just now
    if answer is None or not answer.open or answer.requested_by != requested_by:
        if not s.answers.has_room(requested_by):
            return
        answer = s.answers.answers.get(message_id) or Answer(message_id, requested_by)
    answer.asked += 1
    answer.at = now
    answer.requested_by = requested_by
    sender_id = held[1]
    groups = s.config.num_response_groups
    if not in_response_group(s.participant_id, sender_id, message_id, groups) and answer.asked < ASKED_TWICE:
        s.answers.answers[message_id] = answer
        s.answers.changed[message_id] = None
        return
    t_resp = determine_t_resp(now, s.participant_id, sender_id, message_id, s.config.t_max)
    s.answers.schedule(answer, t_resp)
    s.events.append(RepairScheduled(message_id, to_wall(s.now, t_resp), requested_by))


def answered_by_other(s: ChannelState, message_id: str) -> None:
    """SDS-R receive message: entries matching a received message leave the incoming repair request buffer."""
    answer = s.answers.answers.get(message_id)
    if answer is None:
        return
    if answer.due is not None:
        s.events.append(RepairCancelled(message_id, "answered_by_other"))
    s.answers.settle(answer, s.now.mono)


def incoming_repair_request_buffer_sweep(s: ChannelState) -> None:
    """Broadcast the original bytes of what is due, within the budget; what exceeds it waits."""
    for message_id in s.answers.timers.pop_due(s.now.mono):
        answer = s.answers.answers[message_id]
        found = s.packet_of(message_id)
        if found is None:
            s.events.append(RepairCancelled(message_id, "no_body"))
            s.answers.forget(message_id)
            continue
        if not s.answer_budget.spend(len(found[0])):
            s.answers.schedule(answer, s.now.mono + s.config.sweep_interval)
            continue
        s.packets.append(Packet(found[0], "answer", message_id))
        s.events.append(RepairResponded(message_id))
        s.answers.settle(answer, s.now.mono)


def forget_old_answers(s: ChannelState) -> None:
    """An answer given long ago no longer limits the next."""
    keep = 2 * s.config.t_max
    for message_id, answer in list(s.answers.answers.items()):
        if answer.due is None and s.now.mono - answer.at > keep:
            s.answers.forget(message_id)
