"""The state that takes the place of operations: for the disk, and for newcomers."""

from __future__ import annotations

from sdschat.timber.committee import SlotState, moved_past
from sdschat.timber.replica import Replica
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import AuthorRow, CheckpointMark, SlotRow, State


def state_at_compaction(replica: Replica, *, posts: bool = True) -> State | None:
    """Return the state at the compaction, or None while the checkpoint is ahead of it."""
    if replica.settled is None or not replica.settled.released:
        return None
    rows = [slot.row() for slot in replica.committee.slots]
    return _state(replica, replica.base, replica.settled, rows, posts=posts)


def state_for(replica: Replica, member: bytes) -> State | None:
    """Return a state for a newcomer, with the operations in front of it. None where there is none yet.

    Newcomers may hold up the compaction: they name nothing before they have a state. So it is the state at the
    checkpoint where all others know of every end, and all who wrote hold what names operations that do not count.
    Nothing is dropped here for that.
    """
    state = state_at_compaction(replica)
    if state is None and replica.settled is not None and _only_newcomers_wait(replica, member):
        rows = _rows_at(replica, replica.settled)
        state = _state(replica, replica.mark, replica.settled, rows, posts=True)
    if state is None or replica.settled is None:
        return None
    nodes = sorted(replica.in_front(replica.settled), key=lambda node: node.arrival)
    return state._replace(operations=tuple(node.operation for node in nodes))


def _only_newcomers_wait(replica: Replica, member: bytes) -> bool:
    """True if whoever holds up the compaction has not written yet. Of `member`, who asks for a state, it need not even
    be known that it knows of every end."""
    committee = replica.committee
    members = [committee.slots[one] for one in committee.open]
    written = [slot for slot in members if slot.seq]
    others = [slot for slot in members if slot.seq or slot.member != member]
    named = all(slot.clock.get(one, 0) >= seq for slot in written for one, seq in replica.namers)
    return named and all(slot.closed >= committee.ended for slot in others)


def _rows_at(replica: Replica, last: TreeNode) -> list[SlotRow]:
    """Return the rows of the slots as a compaction up to `last` would leave them."""
    slots = replica.committee.slots
    standing: dict[int, SlotState] = {}
    for node in replica.tree.walk():
        number = node.operation.body.slot
        if not node.released:
            before = standing.get(number) or slots[number].base._replace(clock=dict(slots[number].base.clock))
            standing[number] = moved_past(before, node)
        if node is last:
            break
    return [slot.row(standing.get(slot.number)) for slot in slots]


def _state(replica: Replica, mark: CheckpointMark, last: TreeNode, rows: list[SlotRow], *, posts: bool) -> State:
    return State(
        mark,
        last.id,
        replica.turn.number,
        tuple(sorted(replica.turn.electors)),
        tuple(rows),
        tuple(AuthorRow(slot, done) for slot, done in sorted(replica.chat.done.items())),
        tuple(replica.chat.posts.in_order()) if posts else (),
        replica.turn.rows(),
        tuple((node.operation.body.slot, node.operation.body.seq) for node in replica.in_front(last)),
    )
