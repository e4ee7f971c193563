"""The current knowledge of the engine of a channel, as values for an interface. Everything here is as large as the
engine's buffers, which are bounded; nothing looks at the history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sdschat.node.channel.over_limit import flood_of, is_flooding
from sdschat.node.channel.strangers import is_waiting
from sdschat.node.view.values import (
    Lost,
    MissingMessage,
    OwnFate,
    Participant,
    RetrievalState,
    SyncStatus,
    WaitingMessage,
)
from sdschat.sds.repair import in_response_group
from sdschat.sds.values import AckState, Now

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.sds.incoming import BufferedMessage
    from sdschat.sds.repair import MissingDependency
    from sdschat.sds.values import GapRow

_GIVEN_UP = "lost"


def fate(session: ChannelSession, message_id: str, now: Now) -> OwnFate | None:
    """Return the delivery state of an own message, or None if the engine does not remember the message. It remembers
    all open messages and the last acknowledged ones."""
    outgoing = session.channel.state.outgoing
    known = outgoing.open.get(message_id) or outgoing.settled.get(message_id)
    if known is None:
        return None
    due = now.to_wall(known.due) if message_id in outgoing.open else 0
    return OwnFate(known.state, known.sends, due, (*known.evidence.values(), *known.unproven.values()))


def missing(session: ChannelSession, now: Now) -> list[MissingMessage]:
    """Return the missing messages, the oldest first, without those that only unsigned packets or a flood named: they
    may never have been."""
    state = session.channel.state
    waiting = state.incoming.waiting_for
    buffered = state.incoming.buffered
    found = []
    for entry in _shown(session, state.requests.missing.values()):
        waiters = [buffered[message_id] for message_id in waiting.get(entry.message_id, ()) if message_id in buffered]
        found.append(_missing(session, entry, waiters, now))
    return found


def _missing(
    session: ChannelSession, entry: MissingDependency, waiters: list[BufferedMessage], now: Now
) -> MissingMessage:
    state = session.channel.state
    due = 0 if entry.t_req is None else now.to_wall(entry.t_req)
    named_by = sorted(
        (WaitingMessage(one.message.message_id, one.message.sender_id, one.lamport) for one in waiters),
        key=lambda waiter: (waiter.lamport, waiter.message_id),
    )
    groups = state.config.num_response_groups
    author = entry.sender_id or ""
    may = tuple(
        peer
        for peer in session.presence.online
        if in_response_group(peer, author, entry.message_id, groups) and not session.is_outsider(peer)
    )
    return MissingMessage(
        entry.message_id,
        entry.sender_id,
        now.to_wall(entry.since),
        now.to_wall(entry.lost_at),
        _asking(state.online and state.config.repair_enabled, entry, now),
        due,
        now.to_wall(entry.counts_from),
        entry.attempts,
        may,
        tuple(named_by),
    )


def _asking(possible: bool, entry: MissingDependency, now: Now) -> RetrievalState:
    if not possible or entry.t_req is None:
        return RetrievalState.OFF
    if entry.suppressed:
        return RetrievalState.RELYING
    if entry.t_req <= now.mono:
        return RetrievalState.DUE
    return RetrievalState.ASKED if entry.attempts else RetrievalState.WAITING


def lost(session: ChannelSession) -> dict[str, Lost]:
    """Return the messages that were given up, by id. Messages older than our joining are left out: nobody promised
    them."""
    return {gap.message_id: Lost(gap.message_id, gap.sender_id, gap.at) for gap in _given_up(session)}


def _given_up(session: ChannelSession) -> list[GapRow]:
    gaps = session.channel.state.gaps.values()
    return [gap for gap in gaps if gap.reason == _GIVEN_UP and not is_flooding(session, gap.charged_to)]


def _shown(session: ChannelSession, entries: Iterable[MissingDependency]) -> list[MissingDependency]:
    return [entry for entry in entries if entry.proven and not is_flooding(session, entry.charged_to)]


def sync(session: ChannelSession, now: Now) -> SyncStatus:
    state = session.channel.state
    unacked = queued = 0
    for known in state.outgoing.open.values():
        if known.state is AckState.UNACKED:
            unacked += 1
            queued += not known.sends
    missing = len(_shown(session, state.requests.missing.values()))
    flood = flood_of(session, now.mono)
    return SyncStatus(missing, len(_given_up(session)), unacked, queued, flood)


def people(session: ChannelSession, own_id: str, own_nick: str, now: Now) -> list[Participant]:
    """Return everybody who is here or was heard: ourselves first, then those who are here, then those who were heard
    last. Of a private channel, only its members."""
    state = session.channel.state
    known, online = state.peers.known, session.presence.online
    found = []
    for sender_id in {**online, **known}:
        if is_waiting(session, sender_id) or session.is_outsider(sender_id):
            continue
        peer = known.get(sender_id)
        heard_at = session.reception.last_heard.at(sender_id, now)
        next_at = 0 if peer is None else now.to_wall(peer.expected_at(state.config.sync_interval))
        nick, here = online.get(sender_id, ""), sender_id in online
        came_at = session.presence.came.get(sender_id, 0)
        found.append(Participant(sender_id, nick, here, heard_at, False, next_at=next_at, came_at=came_at))
    found.sort(key=lambda person: (not person.online, -person.heard_at, person.sender_id))
    return [Participant(own_id, own_nick, True, 0, True, came_at=session.reception.connected_at), *found]
