"""SDS Repair, the asking side: the outgoing repair request buffer."""

from __future__ import annotations

from sdschat.sds.events import RepairCancelled, RepairRequested, RepairWanted
from sdschat.sds.repair import MissingDependency, back_off, determine_t_req
from sdschat.sds.state import ChannelState
from sdschat.sds.timers import to_wall
from sdschat.sds.values import HistoryEntry, Message


def note_missing(s: ChannelState, entry: HistoryEntry, charged_to: str, ask: bool = True, awaited: bool = True) -> bool:
    """SDS-R receive message: an unmet dependency without an entry gets one, and its T_req. False: no room."""
    known = s.requests.missing.get(entry.message_id)
    if known is not None:
        known.proven = known.proven or not s.unproven
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
    """T_req counts from when the dependency was found missing, and is never brought forward. Asking again is a new
    entry."""
    config = s.config
    if not config.repair_enabled:
        return
    t_req = determine_t_req(detected_at, s.participant_id, missing.message_id, config.t_min, config.t_max)
    if missing.t_req is not None:
        t_req = max(t_req, missing.t_req)
    s.requests.arm(missing, t_req)
    s.events.append(RepairWanted(missing.message_id, to_wall(s.now, t_req)))


def received(s: ChannelState, message_id: str, reason: str = "received") -> MissingDependency | None:
    """SDS-R receive message: entries matching a received message leave the outgoing repair request buffer. What is
    known of where to fetch it stays known, to be passed on when we name it."""
    if message_id not in s.requests.missing:
        return None
    if message_id in s.requests.requests:
        s.events.append(RepairCancelled(message_id, reason))
    missing = s.requests.take(message_id)
    if missing is not None and missing.hint is not None and message_id not in s.hints:
        s.hints[message_id] = missing.hint
        s.hints_changed[message_id] = None
    return missing


def learn_hints_of_missing(s: ChannelState, message: Message) -> None:
    """Whoever named it first may not have known where it can be fetched. The first who does is believed."""
    for entry in message.causal_history:
        missing = s.requests.missing.get(entry.message_id) if entry.retrieval_hint is not None else None
        if missing is not None and missing.hint is None:
            missing.hint = entry.retrieval_hint
            s.requests.changed[entry.message_id] = None


def forget_hint(s: ChannelState, message_id: str) -> bytes | None:
    """The message is not here, or too old to be named by us."""
    hint = s.hints.pop(message_id, None)
    if hint is not None:
        s.hints_changed[message_id] = None
    return hint


def requested_by_other(s: ChannelState, message_id: str) -> None:
    """SDS-R receive message: entries that another participant requests leave our buffer.

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
    """SDS-R send message: the eligible entries (T_req <= now) with the lowest T_req, up to the maximum."""
    most = s.config.max_requests
    ids = s.requests.requests.first_due(s.now.mono, most)
    refetched = s.refetch.due(s.now.mono, most - len(ids)) if s.refetch else ()
    if not ids:
        return refetched
    entries = (s.requests.missing[message_id] for message_id in ids)
    return (*(HistoryEntry(entry.message_id, entry.hint, entry.sender_id) for entry in entries), *refetched)


def mark_requested(s: ChannelState, requests: tuple[HistoryEntry, ...], carrier: str) -> None:
    """The request goes out. If nothing comes of it, ask again T_max later; after three times, twice as long each."""
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
