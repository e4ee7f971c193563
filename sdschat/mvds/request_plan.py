"""Which messages to ask a peer for, and when: no more than can be taken in (4/MVDS-META, parents).

Spec: "When a node receives an OFFER, a REQUEST is added to the next payload". An offer does not tell the parents of
the message. Whoever asks for all that is offered gets pieces that cannot be handed over, and has no room left for the
messages between them. So half of a peer's share of the buffer is for what it offers, and the rest for the parents of
what waits. Those are asked for from the oldest message on, only a part at a time, so that what is oldest comes free
before the room is used up. Offers beyond that are remembered, and taken up as room is made.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.mvds import limits
from sdschat.mvds.core import Core
from sdschat.mvds.peers import Peer
from sdschat.mvds.rows import RecordRow, RecordType, WaitingRow
from sdschat.mvds.values import Reason

PROMPT = 3  # requests sent this often have no room kept for their messages any more: the peer may not have them
_PART = 16


def ask_for_parents(core: Core, peer: Peer, timestamp: int, parents: Iterable[bytes]) -> None:
    """Have the parents that are not here asked for, of the peer that must hold them because it holds the child."""
    for parent in parents if core.config.fetch_parents else ():
        known = parent in peer.records or core.holds(parent)
        if not known and not peer.ask_first(timestamp, parent):
            core.refuse(Reason.REQUEST_QUOTA)


def may_ask(core: Core, peer: Peer) -> bool:
    """Whether a REQUEST can be added: a cheap answer, which may be yes where what was offered came by now."""
    return bool(peer.first and _room_for_parent(core, peer)) or bool(peer.offered and _room_for_offer(core, peer))


def ask(core: Core, peer: Peer) -> None:
    """Add a REQUEST for as much of what the peer has as there is room for."""
    while peer.first and _room_for_parent(core, peer):
        mid = peer.next_first()
        peer.offered.pop(mid, None)
        if _request(core, peer, mid):
            peer.expect(mid, chased=True)
    while peer.offered and _room_for_offer(core, peer):
        mid = next(iter(peer.offered))
        del peer.offered[mid]
        if _request(core, peer, mid):
            peer.expect(mid)


def to_be_asked(core: Core, row: WaitingRow, parent: bytes) -> bool:
    """Whether a parent is lacking only because it was not its turn yet. Where the buffer is full, its turn may never
    come unless something that waits is let go."""
    peer = core.peers.get(row.peer)
    if peer is None or parent in core.requested or core.waiting.room(row.peer) < peer.usual_cost:
        return False
    return bool(peer.first) or core.declined.holds(row.peer, parent)


def wait_anew(core: Core, row: WaitingRow) -> None:
    """Have the time after which its parents are given up begin now."""
    epoch = core.epoch + core.config.epochs(core.config.lost_after)
    if 0 < row.give_up_epoch < epoch:
        core.waiting.remove(row.message_id)
        core.set_waiting(row._replace(give_up_epoch=epoch))


def _request(core: Core, peer: Peer, mid: bytes) -> bool:
    """Spec: "a REQUEST is added to the next payload and state". False if there is nothing to ask for any more."""
    present = core.find(mid)
    if present is not None:
        if present.group_id in peer.groups:
            peer.add_ack(mid)
        return False
    if mid in peer.records or core.declined.holds(peer.name, mid):
        return False
    row = RecordRow(peer.name, mid, b"", RecordType.REQUEST, 0, send_count=0, attempt=0, send_epoch=core.epoch)
    core.set_record(peer, row)
    for child in core.waiting.of(mid):
        wait_anew(core, child)
    return True


def _room_for_parent(core: Core, peer: Peer) -> bool:
    """One may always be asked for: it may be the one that sets the others free."""
    most = _bodies(core, peer, core.waiting.room(peer.name)) // _PART
    return _may_open(peer) and len(peer.chased) < max(1, most)


def _room_for_offer(core: Core, peer: Peer) -> bool:
    """Likewise, unless the buffer is full: it may be free to go though what waits is not."""
    room = core.waiting.room(peer.name)
    most = _bodies(core, peer, room - limits.WAITING_BYTES_PER_PEER // 2)
    spare = room >= peer.usual_cost and len(peer.expected) == len(peer.chased)
    return _may_open(peer) and (most > 0 or spare)


def _may_open(peer: Peer) -> bool:
    return peer.counts[RecordType.REQUEST] < limits.REQUESTS_PER_PEER


def _bodies(core: Core, peer: Peer, room: int) -> int:
    """How many more messages may be asked for until the room is used up, by the size of those that came lately."""
    if core.config.ordering == "eventual":
        return limits.REQUESTS_PER_PEER
    return room // peer.usual_cost - len(peer.expected)
