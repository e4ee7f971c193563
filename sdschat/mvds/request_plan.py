"""Add requests for a peer's messages, no more than the buffer has room for (4/MVDS-META, parents).

Spec: "When a node receives an OFFER, a REQUEST is added to the next payload". An offer does not name the parents of
the message. A node that requests everything offered gets messages that cannot be delivered yet, and has no room left
for the messages between them. Therefore half of a peer's share of the buffer is for offered messages, the rest for the
parents of waiting messages. Parents are requested from the oldest message on, only a part at a time, so that the oldest
message can be delivered before the room is used up. Further offers are remembered, and requested as room is made.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.mvds import limits
from sdschat.mvds.core import Core
from sdschat.mvds.peers import Peer
from sdschat.mvds.values import Reason, RecordRow, RecordType, WaitingRow

# Sendings of a REQUEST after which no room is reserved for its message any more: the peer may not have it.
PROMPT_ATTEMPTS = 3
_PARENT_PART = 16  # at most one in so many of the messages that fit are requested parents


def queue_parents(core: Core, peer: Peer, timestamp: int, parents: Iterable[bytes]) -> None:
    """Queue absent parents to be requested from this peer: it must hold them because it holds the child."""
    for parent in parents if core.config.fetch_parents else ():
        known = parent in peer.records or core.holds(parent)
        if not known and not peer.prioritize(timestamp, parent):
            core.refuse(Reason.REQUEST_QUOTA)


def may_request(core: Core, peer: Peer) -> bool:
    """True if a REQUEST can perhaps be added. The check is cheap: offered messages may have arrived in the meantime."""
    if peer.priority and _room_for_parent(core, peer):
        return True
    return bool(peer.open_offers) and _room_for_offer(core, peer)


def add_requests(core: Core, peer: Peer) -> None:
    """Add a REQUEST for each queued parent and open offer of the peer, as long as there is room."""
    while peer.priority and _room_for_parent(core, peer):
        mid = peer.pop_priority()
        peer.open_offers.pop(mid, None)
        if _request(core, peer, mid):
            peer.expect(mid, priority=True)
    while peer.open_offers and _room_for_offer(core, peer):
        mid = next(iter(peer.open_offers))
        del peer.open_offers[mid]
        if _request(core, peer, mid):
            peer.expect(mid)


def request_pending(core: Core, row: WaitingRow, parent: bytes) -> bool:
    """True if an absent parent was not requested yet only because others come first.

    False when the buffer is full: then it may never be requested unless a waiting message is delivered with a gap.
    """
    peer = core.peers.get(row.peer)
    if peer is None or parent in core.requesters or core.waiting.room(row.peer) < peer.average_cost:
        return False
    return bool(peer.priority) or core.declined.holds(row.peer, parent)


def restart_wait(core: Core, row: WaitingRow) -> None:
    """Restart the time after which the parents of a waiting message are given up."""
    epoch = core.epoch + core.config.epochs(core.config.lost_after)
    if 0 < row.give_up_epoch < epoch:
        core.waiting.remove(row.message_id)
        core.set_waiting(row._replace(give_up_epoch=epoch))


def _request(core: Core, peer: Peer, mid: bytes) -> bool:
    """Spec: "a REQUEST is added to the next payload and state". False if the message needs no request any more."""
    present = core.find(mid)
    if present is not None:
        if present.group_id in peer.groups:
            peer.add_ack(mid)
        return False
    if mid in peer.records or core.declined.holds(peer.name, mid):
        return False
    row = RecordRow(peer.name, mid, b"", RecordType.REQUEST, 0, send_count=0, attempt=0, send_epoch=core.epoch)
    core.set_record(peer, row)
    for child in core.waiting.children(mid):
        restart_wait(core, child)
    return True


def _room_for_parent(core: Core, peer: Peer) -> bool:
    """True if another parent may be requested. One always may: the others may wait for it."""
    most = _messages_that_fit(core, peer, core.waiting.room(peer.name)) // _PARENT_PART
    return _below_request_limit(peer) and len(peer.expected_priority) < max(1, most)


def _room_for_offer(core: Core, peer: Peer) -> bool:
    """True if another offered message may be requested. One always may unless the buffer is full, because it may be
    ready for delivery while the waiting messages are not."""
    room = core.waiting.room(peer.name)
    most = _messages_that_fit(core, peer, room - limits.WAITING_BYTES_PER_PEER // 2)
    spare = room >= peer.average_cost and len(peer.expected) == len(peer.expected_priority)
    return _below_request_limit(peer) and (most > 0 or spare)


def _below_request_limit(peer: Peer) -> bool:
    return peer.counts[RecordType.REQUEST] < limits.REQUESTS_PER_PEER


def _messages_that_fit(core: Core, peer: Peer, room: int) -> int:
    """Return the number of further messages that fit into `room` bytes, by the average size of the peer's recent
    messages."""
    if core.config.ordering == "eventual":
        return limits.REQUESTS_PER_PEER
    return room // peer.average_cost - len(peer.expected)
