"""Conversion of an engine's state to rows and back.

All state is in rows, except what others repeat: operations that wait, events of others that are to be written here, and
times of sending.
"""

from __future__ import annotations

from sdschat.timber.core import EngineState
from sdschat.timber.replica import Replica
from sdschat.timber.rows import OperationRow, OutboxRow, OwnRow, Snapshot, compaction_row
from sdschat.timber.states import state_at_compaction
from sdschat.timber.taking_over import note_numbers
from sdschat.timber.values import AuthorRow, Operation, Refusal, SignedEvent, State


def take_snapshot(core: EngineState) -> Snapshot:
    """Return the rows on disk once all writes so far are applied, in a fixed order, while nothing behind the checkpoint
    is kept: the rows of posts follow the compaction."""
    replica = core.replica
    state = state_at_compaction(replica) if replica.tree.first is not None else None
    if state is None:
        return Snapshot(drafts=tuple(sorted(core.drafts.values())))
    log = compaction_row(core.data_set, state)
    nodes = sorted(replica.in_front(), key=lambda node: node.arrival)
    return Snapshot(
        log,
        tuple(sorted(OwnRow(slot, number) for slot, number in core.numbers.items())),
        state.slots,
        state.authors,
        state.posts,
        tuple(
            OperationRow(
                node.operation.body.slot,
                node.operation.body.seq,
                node.arrival,
                node.operation.raw,
                node.operation.signature,
            )
            for node in nodes
        ),
        tuple(sorted(OutboxRow(name, own.event.raw, own.event.signature, own.lost) for name, own in core.own.items())),
        tuple(sorted(core.drafts.values())),
    )


def load_snapshot(core: EngineState, snapshot: Snapshot) -> None:
    """Restore the state from rows. Raise ValueError if they do not fit together."""
    core.drafts = {draft.number: draft for draft in snapshot.drafts}
    core.last_draft = max(core.drafts, default=0)
    core.numbers = {row.slot: row.number for row in snapshot.own}
    log = snapshot.log
    if log is None:
        return
    core.data_set = log.data_set
    rows = sorted(snapshot.operations, key=lambda row: row.arrival)
    nodes = [core.node_of(_operation(core, row)) for row in rows]
    authors = tuple(AuthorRow(row.slot, row.done) for row in snapshot.authors)
    slots = tuple(sorted(snapshot.slots, key=lambda row: row.number))
    state = State(
        log.mark, log.newest, log.turn, log.electors, slots, authors, snapshot.posts, log.votes, log.order, ()
    )
    replica = Replica()
    replica.load(state, nodes, lambda node, key: True, snapshot.saved)
    for node, row in zip(nodes, rows, strict=True):
        node.arrival = replica.arrivals = row.arrival
    replica.changes.clear()
    core.told_mark = replica.mark
    core.saved_slots = {row.number: row for row in slots}
    core.start(log.data_set, replica)
    note_numbers(core)
    core.answer_at = core.mono + core.config.stagger
    for own in snapshot.outbox:
        event = core.codec.decode_event(own.raw, own.signature)
        if isinstance(event, SignedEvent):
            core.add_own(event, lost=own.lost)
            if not core.known(own.name):
                core.routing.set(own.name, core.mono)


def _operation(core: EngineState, row: OperationRow) -> Operation:
    operation = core.codec.decode_operation(row.raw, row.signature)
    if isinstance(operation, Refusal):
        raise ValueError(f"operation {row.slot}:{row.seq} is damaged: {operation.detail}")
    return operation
