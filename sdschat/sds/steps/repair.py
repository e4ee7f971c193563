"""SDS Repair, both sides: the outgoing repair request buffer (asking), and the incoming one (answering)."""

from __future__ import annotations

from sdschat.sds.bloom.compact import MAX_FILL, ReceivedFilter, read_filter
from sdschat.sds.events import RepairCancelled, RepairRequested, RepairResponded, RepairScheduled, RepairWanted
from sdschat.sds.limits import ANSWERS_PER_SENDER
from sdschat.sds.repair import (
    MissingDependency,
    RepairRequest,
    back_off,
    determine_t_req,
    determine_t_resp,
    in_response_group,
)
from sdschat.sds.state import ChannelState, Peer
from sdschat.sds.steps.due_sends import call_off_push, send_due
from sdschat.sds.values import WITHOUT_A_BODY, HistoryEntry, Message


def note_missing(s: ChannelState, entry: HistoryEntry, charged_to: str, ask: bool = True, awaited: bool = True) -> bool:
    """Give an unmet dependency without an entry one, and its T_req (SDS-R, receive message). Return False if there is
    no room."""
    known = s.requests.missing.get(entry.message_id)
    if known is not None:
        if not (known.proven or s.unproven):
            s.requests.is_proven(known)
        return True
    if not s.requests.has_room(charged_to):
        return False
    missing = MissingDependency(entry.message_id, entry.sender_id, entry.retrieval_hint, charged_to, s.now.mono)
    missing.awaited = awaited
    missing.proven = not s.unproven
    missing.lost_at = s.now.mono + s.config.lost_after
    s.requests.put(missing)
    if ask:
        _new_entry(s, missing, s.now.mono)
    return True


def ask_for_the_rest(s: ChannelState) -> None:
    """Ask from now on for the dependencies that were found missing while an earlier run had repair off."""
    for missing in s.requests.missing.values():
        if missing.t_req is None and missing.message_id not in s.incoming.buffered:
            _new_entry(s, missing, s.now.mono)


def _new_entry(s: ChannelState, missing: MissingDependency, detected_at: int) -> None:
    """Set T_req. It counts from when the dependency was found missing, and is never brought forward. Asking again is a
    new entry."""
    config = s.config
    if not config.repair_enabled:
        return
    t_req = determine_t_req(detected_at, s.participant_id, missing.message_id, config.t_min, config.t_max)
    if missing.t_req is not None:
        t_req = max(t_req, missing.t_req)
    s.requests.arm(missing, t_req, s.now.mono)
    s.events.append(RepairWanted(missing.message_id, s.now.to_wall(t_req)))


def received(s: ChannelState, message_id: str, reason: str = "received") -> MissingDependency | None:
    """Take a received message out of the outgoing repair request buffer (SDS-R, receive message). Return its entry, or
    None. What is known of where to fetch it stays known, to be passed on when we name it."""
    if message_id not in s.requests.missing:
        return None
    if message_id in s.requests.requests:
        s.events.append(RepairCancelled(message_id, reason))
    missing = s.requests.pop(message_id)
    if missing is not None and missing.hint is not None and message_id not in s.hints:
        s.hints[message_id] = missing.hint
        s.hints_changed[message_id] = None
    return missing


def learn_hints_of_missing(s: ChannelState, message: Message) -> None:
    """Learn hints for missing dependencies: the participant who named one first may not have known where it can be
    fetched. The first who does is believed."""
    for entry in message.causal_history:
        missing = s.requests.missing.get(entry.message_id) if entry.retrieval_hint is not None else None
        if missing is not None and missing.hint is None:
            missing.hint = entry.retrieval_hint
            s.requests.changed[entry.message_id] = None


def forget_hint(s: ChannelState, message_id: str) -> bytes | None:
    """Forget and return the hint of a message that is not here, or is too old to be named by us."""
    hint = s.hints.pop(message_id, None)
    if hint is not None:
        s.hints_changed[message_id] = None
    return hint


def requested_by_other(s: ChannelState, message_id: str) -> None:
    """Take an entry that another participant requests out of our buffer (SDS-R, receive message).

    The dependency is still missing, and the other's request or its answer may get lost, so it is taken up again
    with a new entry, T_max later: were it only deleted, everyone could wait for a request that nobody makes. Who
    asks again and again does not put that off again and again.
    """
    missing = s.requests.missing.get(message_id)
    if missing is None or message_id not in s.requests.requests or missing.suppressed:
        return
    missing.suppressed = True
    s.events.append(RepairCancelled(message_id, "requested_by_other"))
    _new_entry(s, missing, s.now.mono + s.config.t_max)


def eligible_requests(s: ChannelState) -> tuple[HistoryEntry, ...]:
    """Return the eligible entries (T_req <= now) with the lowest T_req, up to the maximum (SDS-R, send message)."""
    most = s.config.max_requests
    ids = s.requests.requests.first_due(s.now.mono, most)
    refetched = _refetched(s, most - len(ids)) if s.refetch else ()
    if not ids:
        return refetched
    entries = (s.requests.missing[message_id] for message_id in ids)
    return (*(HistoryEntry(entry.message_id, entry.hint, entry.sender_id) for entry in entries), *refetched)


def _refetched(s: ChannelState, most: int) -> tuple[HistoryEntry, ...]:
    """Return what is to be asked for again. What the log has let go of since, or its text, is not."""
    found = s.refetch.due(s.now.mono, most)
    for entry in found:
        known = s.delivered(entry.message_id)
        if known is None or known.generation == WITHOUT_A_BODY:
            s.refetch.remove(entry.message_id)
    return tuple(entry for entry in found if entry.message_id in s.refetch)


def mark_requested(s: ChannelState, requests: tuple[HistoryEntry, ...], carrier: str) -> None:
    """Note that the requests go out. If nothing comes of one, ask again T_max later; after three times, twice as long
    each."""
    if not requests:
        return
    ids = tuple(entry.message_id for entry in requests)
    s.events.append(RepairRequested(ids, carrier))
    for message_id in ids:
        if message_id in s.refetch:
            s.refetch.asked(message_id, s.now.mono, s.config.t_max)
            continue
        missing = s.requests.missing[message_id]
        missing.attempts += 1
        missing.suppressed = False
        _new_entry(s, missing, s.now.mono + back_off(missing.attempts) * s.config.t_max)


ASKED_TWICE = 2  # an unanswered request that is heard again: the response group may be gone, so anybody may answer
# The share of T_max (a half: 60 s by the spec's timers) within which one message is answered for once, and requests for
# it by however many participants count as one. An honest request comes again after T_max at the earliest.
PAUSE = 2


def review_repair_request(s: ChannelState, message: Message) -> None:
    """Review each item of `repair_request` (SDS-R, receive message): drop our own request for it, and schedule an
    answer, as far as one participant may be owed answers."""
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
    s.events.append(RepairScheduled(message_id, s.now.to_wall(t_resp), requested_by))


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
    """Forget answers given long ago: they no longer limit the next. One called off is known until its asker has asked
    again."""
    s.answers.forget_before(s.now.mono - 3 * s.config.t_max)
