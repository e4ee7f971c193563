"""Delivery of received messages (4/MVDS-META, parents): at once, or after their parents."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sdschat.mvds.core import Core
from sdschat.mvds.dag import Release, memory_cost
from sdschat.mvds.events import Delivered, ParentsLost, ParentsMissing
from sdschat.mvds.peers import Peer
from sdschat.mvds.request_plan import request_pending, restart_wait
from sdschat.mvds.values import Message, MessageRow, Reason, RecordRow, RecordType, WaitingRow


def process_message(core: Core, peer: Peer, mid: bytes, message: Message) -> bool:
    """Store a new message. True if it is stored for good, so that it may be acknowledged.

    "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the messages
    straight away for eventual consistency." A buffered message counts as received and processed: it is on disk, and
    nothing later removes it. A message without room is not acknowledged, because an ACK says that it is held. A message
    that names itself as its parent does not wait for itself.
    """
    parents = dict.fromkeys(parent for parent in message.parents if parent != mid)
    missing = tuple(parent for parent in parents if not core.is_delivered(parent))
    if not missing or core.config.ordering == "eventual":
        deliver_with_dependents(core, WaitingRow(mid, message, peer.name, (), missing, 0))
        return True
    if memory_cost(message) > core.waiting.room(peer.name):
        core.refuse(Reason.BUFFER_QUOTA)
        core.declined.add(peer.name, mid, message.timestamp, missing)
        return False
    lost_after = core.config.epochs(core.config.lost_after)
    core.set_waiting(WaitingRow(mid, message, peer.name, missing, (), core.epoch + lost_after if lost_after else 0))
    core.events.append(ParentsMissing(mid, missing))
    return True


def deliver_with_dependents(core: Core, first: WaitingRow) -> None:
    """Deliver a message and all that waited only for it, parents before children, to any depth."""
    free = Release(core.waiting)
    _hand_over(core, free, first)
    _drain(core, free)


def _drain(core: Core, free: Release) -> None:
    for row in free:
        core.journal.drop(row)
        _hand_over(core, free, row)


def _hand_over(core: Core, free: Release, row: WaitingRow) -> None:
    deliver(core, row.message_id, row.message, row.peer, row.gap)
    _resolve_parent(core, free, row.message_id, lost=False)


def _resolve_parent(core: Core, free: Release, parent: bytes, *, lost: bool) -> None:
    for still in free.add(core.waiting.resolve_parent(parent, lost=lost)):
        core.journal.put(still)
    for name, timestamp, child in core.declined.parent_delivered(parent):
        core.peers[name].prioritize(timestamp, child)


def deliver(core: Core, mid: bytes, message: Message, peer: str, gap: tuple[bytes, ...]) -> None:
    """Save a message, put it into the graph, report it and, with `mvds.forward`, offer it to the other peers."""
    core.keep(MessageRow(mid, message, peer, core.wall, gap))
    core.extend_heads(mid, message)
    core.events.append(Delivered(mid, message, peer, gap))
    if core.config.forward and peer:
        _forward(core, mid, message, peer)


def _forward(core: Core, mid: bytes, message: Message, source: str) -> None:
    """Offer a peer's message to the rest of the group; peers that have it already acknowledge the offer."""
    for name in core.groups[message.group_id].members if message.group_id in core.groups else ():
        other = core.peers[name]
        if name != source and mid not in other.records and mid not in other.acks:
            kind, stamp = RecordType.OFFER, message.timestamp
            core.set_record(other, RecordRow(name, mid, message.group_id, kind, stamp, 0, 0, core.epoch))


def give_up_parents(core: Core) -> None:
    """Deliver messages that have waited too long, with a gap: a parent that no node has must not block them for ever.

    Parents that were not requested yet because there was no room are not given up. Parents that are neither delivered
    nor waiting are lost to all their children. A message whose parents all wait goes on waiting with them, unless they
    are overdue too: then they wait for each other, and the oldest is delivered first.
    """
    overdue = core.waiting.overdue(core.epoch)
    for row in overdue:
        if any(request_pending(core, row, parent) for parent in row.missing if parent not in core.waiting.rows):
            restart_wait(core, row)
    absent = [p for row in _still_overdue(core, overdue) for p in row.missing if p not in core.waiting.rows]
    lose_parents(core, dict.fromkeys(absent))
    _wait_with_parents(core, overdue)
    for late in overdue:
        for row in _still_overdue(core, (late,)):
            core.waiting.remove(row.message_id)
            core.journal.drop(row)
            deliver_with_dependents(core, row._replace(missing=(), gap=(*row.gap, *row.missing)))


def _still_overdue(core: Core, rows: Iterable[WaitingRow]) -> list[WaitingRow]:
    """Return the rows that still wait and are overdue, in their present form."""
    now = (core.waiting.rows.get(row.message_id) for row in rows)
    return [row for row in now if row is not None and row.give_up_epoch <= core.epoch]


def _wait_with_parents(core: Core, overdue: Iterable[WaitingRow]) -> None:
    """Let overdue messages wait as long as their waiting parents, and so their own children, in any order."""
    pending = deque(overdue)
    while pending:
        for row in _still_overdue(core, (pending.popleft(),)):
            epoch = max((core.waiting.rows[parent].give_up_epoch for parent in row.missing), default=0)
            if epoch > core.epoch:
                core.waiting.remove(row.message_id)
                core.set_waiting(row._replace(give_up_epoch=epoch))
                pending.extend(core.waiting.children(row.message_id))


def lose_parents(core: Core, parents: Iterable[bytes]) -> None:
    """Give parents up for all their children, and stop requesting them."""
    free = Release(core.waiting)
    lost = tuple(parents)
    for parent in lost:
        _resolve_parent(core, free, parent, lost=True)
        for name in sorted(core.requesters.get(parent, ())):
            core.drop_record(core.peers[name], parent)
    if lost:
        core.events.append(ParentsLost(lost))
    _drain(core, free)
