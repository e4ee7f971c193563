"""SDS Repair, the answering side: the incoming repair request buffer."""

from __future__ import annotations

from sdschat.sds.bloom.received import MAX_FILL, ReceivedFilter, read_filter
from sdschat.sds.events import RepairCancelled, RepairResponded, RepairScheduled
from sdschat.sds.limits import ANSWERS_PER_SENDER
from sdschat.sds.peers import Peer
from sdschat.sds.repair import RepairRequest, determine_t_resp, in_response_group
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.copies import call_off_push
from sdschat.sds.steps.requests import requested_by_other
from sdschat.sds.steps.send_due import send_due
from sdschat.sds.timers import to_wall
from sdschat.sds.values import Message

ASKED_TWICE = 2  # an unanswered request that is heard again: the response group may be gone, so anybody may answer
# The share of T_max (a half: 60 s by the spec's timers) within which one message is answered for once, and requests for
# it by however many participants count as one. An honest request comes again after T_max at the earliest.
PAUSE = 2


def review_repair_request(s: ChannelState, message: Message) -> None:
    """SDS-R receive message, for each item of `repair_request`: our own request for it is dropped, and it is answered,
    as far as one participant may be owed answers."""
    for entry in message.repair_request:
        requested_by_other(s, entry.message_id)
    filter_ = _believable(message)
    for entry in message.repair_request[:ANSWERS_PER_SENDER] if s.config.repair_enabled else ():
        lacked = filter_ is not None and not filter_.holds(entry.message_id)
        _consider(s, entry.message_id, message.sender_id, lacked)


def _believable(message: Message) -> ReceivedFilter | None:
    found = "" if message.bloom_filter is None else read_filter(message.bloom_filter)
    return None if isinstance(found, str) or found.fill > MAX_FILL else found


def _consider(s: ChannelState, message_id: str, requested_by: str, lacked: bool) -> None:
    """Schedule an answer if we hold the message in full and may be a responder.

    The spec says "in its local history"; a message that waits for its own dependencies is answered for too, since
    the receiver checks them itself. Distance and group follow from the stored message's sender, not the request's:
    a requester shall not choose who is closest.
    """
    stored = s.packet_of(message_id)
    if stored is None:
        return
    now = s.now.mono
    answer = s.answers.entries.get(message_id)
    if answer is not None and (answer.due is not None or (not answer.called_off and _paused(s, answer))):
        if answer.open:
            s.answers.note_asker(answer, requested_by, lacked)
        return  # the earliest T_resp stands; and neither an answer nor a request counts twice within the pause
    if answer is None or not answer.open or answer.requested_by != requested_by:
        if not s.answers.has_room(requested_by, message_id):
            return
        answer = answer or RepairRequest(message_id, requested_by)
    s.answers.note_asker(answer, requested_by, lacked)
    answer.asked += 1
    answer.at = now
    answer.requested_by = requested_by
    sender_id = stored[1]
    groups = s.config.num_response_groups
    if not in_response_group(s.participant_id, sender_id, message_id, groups) and answer.asked < ASKED_TWICE:
        s.answers.remember(answer, now, requested_by)
        return
    t_resp = determine_t_resp(now, s.participant_id, sender_id, message_id, s.config.t_max)
    s.answers.schedule(answer, t_resp, requested_by)
    s.events.append(RepairScheduled(message_id, to_wall(s.now, t_resp), requested_by))


def _paused(s: ChannelState, answer: RepairRequest) -> bool:
    return s.now.mono - answer.at < s.config.t_max // PAUSE


def call_off_answers(s: ChannelState, peer: Peer, received: ReceivedFilter) -> None:
    """Call off what all who asked for have by now, as their newest filters say: it would use up the budget of answers.

    A filter is wrong by chance, and can be forged. So it only counts if that participant's filter lacked the message
    when it asked, and only once: the next request is answered whatever filters say.
    """
    if received.fill > MAX_FILL:
        return
    for answer in s.answers.lacked_by(peer.sender_id):
        due = answer.due
        if received.holds(answer.message_id) and s.answers.has_it(answer, peer.sender_id) and due is not None:
            s.events.append(RepairCancelled(answer.message_id, "peer_has_it"))


def incoming_repair_request_buffer_sweep(s: ChannelState) -> None:
    """Broadcast the original bytes of what is due, within the budget; what exceeds it waits."""
    for answer, sent in send_due(s, s.answers, s.answer_budget, "answer"):
        if sent:
            s.events.append(RepairResponded(answer.message_id))
            s.answers.settle(answer, s.now.mono)
            call_off_push(s, answer.message_id, "answered")
        else:
            s.events.append(RepairCancelled(answer.message_id, "no_body"))


def forget_old_answers(s: ChannelState) -> None:
    """An answer given long ago no longer limits the next. One called off is known until its asker has asked again."""
    s.answers.forget_before(s.now.mono - 3 * s.config.t_max)
