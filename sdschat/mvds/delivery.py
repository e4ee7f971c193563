"""From a received message to one that is handed over (4/MVDS-META, parents): at once, or after its parents."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sdschat.mvds.core import Core
from sdschat.mvds.dag import Release, memory_cost
from sdschat.mvds.events import Delivered, ParentsLost, ParentsMissing
from sdschat.mvds.peers import Peer
from sdschat.mvds.request_plan import to_be_asked, wait_anew
from sdschat.mvds.rows import MessageRow, RecordRow, RecordType, WaitingRow
from sdschat.mvds.values import Message, Reason


def process_message(core: Core, peer: Peer, mid: bytes, message: Message) -> bool:
    """Take in a message that is new. True if it is now here for good, so that it may be acknowledged.

    "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the messages
    straight away for eventual consistency." One that is buffered counts as received and processed: it is on disk, and
    nothing that happens later takes it away. One for which there is no room is not acknowledged, for an ACK says that
    it is held. A message that names itself as its parent names nothing before it by that.
    """
    parents = dict.fromkeys(parent for parent in message.parents if parent != mid)
    missing = tuple(parent for parent in parents if not core.released(parent))
    if not missing or core.config.ordering == "eventual":
        release(core, WaitingRow(mid, message, peer.name, (), missing, 0))
        return True
    if memory_cost(message) > core.waiting.room(peer.name):
        core.refuse(Reason.BUFFER_QUOTA)
        core.declined.add(peer.name, mid, message.timestamp, missing)
        return False
    lost_after = core.config.epochs(core.config.lost_after)
    core.set_waiting(WaitingRow(mid, message, peer.name, missing, (), core.epoch + lost_after if lost_after else 0))
    core.events.append(ParentsMissing(mid, missing))
    return True


def release(core: Core, first: WaitingRow) -> None:
    """Hand over a message and all that only waited for it, parents before children, however deep."""
    free = Release(core.waiting)
    _hand_over(core, free, first)
    _drain(core, free)


def _drain(core: Core, free: Release) -> None:
    for row in free:
        core.journal.drop(row)
        _hand_over(core, free, row)


def _hand_over(core: Core, free: Release, row: WaitingRow) -> None:
    deliver(core, row.message_id, row.message, row.peer, row.gap)
    _settle(core, free, row.message_id, lost=False)


def _settle(core: Core, free: Release, parent: bytes, *, lost: bool) -> None:
    for still in free.add(core.waiting.settle(parent, lost=lost)):
        core.journal.put(still)
    for name, timestamp, child in core.declined.settle(parent):
        core.peers[name].ask_first(timestamp, child)


def deliver(core: Core, mid: bytes, message: Message, peer: str, gap: tuple[bytes, ...]) -> None:
    """Keep a message, put it into the graph, tell of it and, where so configured, offer it on."""
    core.keep(MessageRow(mid, message, peer, core.wall, gap))
    core.extend_heads(mid, message)
    core.events.append(Delivered(mid, message, peer, gap))
    if core.config.forward and peer:
        _forward(core, mid, message, peer)


def _forward(core: Core, mid: bytes, message: Message, source: str) -> None:
    """Offer a peer's message to the rest of the group; whoever already has it says so."""
    for name in core.groups[message.group_id].members if message.group_id in core.groups else ():
        other = core.peers[name]
        if name != source and mid not in other.records and mid not in other.acks:
            kind, stamp = RecordType.OFFER, message.timestamp
            core.set_record(other, RecordRow(name, mid, message.group_id, kind, stamp, 0, 0, core.epoch))


def give_up_parents(core: Core) -> None:
    """Hand over what has waited too long, with a gap: a parent that nobody has must not hold back a message for ever.

    Parents that nobody was asked for yet, for want of room, are not given up. Those that are neither here nor waiting
    are lost to all that wait for them. A message whose parents all wait
    themselves goes on with them, unless they are overdue too: then they wait for each other, and the oldest goes first.
    """
    overdue = core.waiting.overdue(core.epoch)
    for row in overdue:
        if any(to_be_asked(core, row, parent) for parent in row.missing if parent not in core.waiting.rows):
            wait_anew(core, row)
    absent = [p for row in _still_overdue(core, overdue) for p in row.missing if p not in core.waiting.rows]
    lose_parents(core, dict.fromkeys(absent))
    _wait_with_parents(core, overdue)
    for late in overdue:
        for row in _still_overdue(core, (late,)):
            core.waiting.remove(row.message_id)
            core.journal.drop(row)
            release(core, row._replace(missing=(), gap=(*row.gap, *row.missing)))


def _still_overdue(core: Core, rows: Iterable[WaitingRow]) -> list[WaitingRow]:
    """The rows that wait and are late, as they are now."""
    now = (core.waiting.rows.get(row.message_id) for row in rows)
    return [row for row in now if row is not None and row.give_up_epoch <= core.epoch]


def _wait_with_parents(core: Core, overdue: Iterable[WaitingRow]) -> None:
    """Have what is late wait as long as its parents do, and what waits for that likewise, in whatever order."""
    left = deque(overdue)
    while left:
        for row in _still_overdue(core, (left.popleft(),)):
            epoch = max((core.waiting.rows[parent].give_up_epoch for parent in row.missing), default=0)
            if epoch > core.epoch:
                core.waiting.remove(row.message_id)
                core.set_waiting(row._replace(give_up_epoch=epoch))
                left.extend(core.waiting.of(row.message_id))


def lose_parents(core: Core, parents: Iterable[bytes]) -> None:
    free = Release(core.waiting)
    lost = tuple(parents)
    for parent in lost:
        _settle(core, free, parent, lost=True)
        for name in sorted(core.requested.get(parent, ())):
            core.drop_record(core.peers[name], parent)
    if lost:
        core.events.append(ParentsLost(lost))
    _drain(core, free)
