"""Invariants of what a step writes, checked before the writes are made true. They cost what the step did, no more."""

from __future__ import annotations

from sdschat.sds.steps.acks import CERTAIN, CERTAIN_ENOUGH, WITNESSES
from sdschat.sds.values import (
    FROM_STORE,
    AckState,
    AnswerRow,
    Append,
    ChannelRow,
    Drop,
    GapRow,
    IncomingRow,
    LogRow,
    MissingRow,
    OutgoingRow,
    PeerRow,
    Put,
    Table,
    Write,
)
from sdschat.sim.oracle import NodeRecord, Oracle
from sdschat.sim.scenario import START, Violation


def check_writes(oracle: Oracle, record: NodeRecord, writes: list[Write]) -> None:
    for write in writes:
        if isinstance(write, Put):
            row = write.row
            if isinstance(row, (ChannelRow, PeerRow)):
                if isinstance(row, ChannelRow) and row.horizon != record.horizon:
                    _horizon(oracle, record, row.horizon)
            elif isinstance(row, OutgoingRow):
                _outgoing(record, row)
            elif isinstance(row, IncomingRow):
                _incoming(oracle, record, row)
            elif isinstance(row, GapRow):
                _gap(record, row)
            elif isinstance(row, MissingRow):
                _missing(record, row)
            elif isinstance(row, AnswerRow):
                _answer(oracle, record, row)
        elif isinstance(write, Append):
            _append(oracle, record, write.row)
        else:
            _drop(record, write)


def _append(oracle: Oracle, record: NodeRecord, row: LogRow) -> None:
    """I4: only what somebody made, as it was made, and once."""
    entry = row.entry
    message_id, lamport = entry.message_id, entry.lamport
    origin = oracle.origins.get(message_id)
    if origin is None:
        raise Violation("I4", f"{record.name} has {message_id[:8]} in its log, which nobody made")
    if row.raw != origin.raw or lamport != origin.lamport or row.own != oracle.wrote(record, origin):
        raise Violation("I4", f"{record.name} has {message_id[:8]} in its log other than it was made")
    if message_id in record.log:
        raise Violation("I4", f"{record.name} put {message_id[:8]} into its log twice")
    record.log[message_id] = lamport
    oracle.delivered += 1
    if row.own and row.source != FROM_STORE:
        record.made_now = message_id
        record.last_own = max(record.last_own, lamport)
    elif record.buffered.pop(message_id, None) is None:
        record.masks.add(message_id, lamport)
    record.future_dated.pop(message_id, None)
    oracle.convergence.appended(record.index, message_id, lamport)


def _horizon(oracle: Oracle, record: NodeRecord, horizon: int) -> None:
    """It moves down only: where all the history from there on was given, or a clock that was fast is put right."""
    put_right = START + oracle.time + record.node.skew < record.horizon
    if record.horizon >= 0 and (horizon > record.horizon or not (put_right or horizon == record.lowered_to)):
        raise Violation("I6", f"the join horizon of {record.name} moved")
    if record.horizon >= 0:
        how = "mended after a clock was put right" if put_right else "lowered after catching up"
        record.reach.met[f"join horizon {how}"] += 1
    record.horizon = horizon


def _incoming(oracle: Oracle, record: NodeRecord, row: IncomingRow) -> None:
    message_id = row.message.message_id
    if message_id in record.buffered:
        return
    origin = oracle.origins.get(message_id)
    if origin is None or row.raw != origin.raw:
        raise Violation("I4", f"{record.name} holds {message_id[:8]} other than it was made")
    if row.release_at:  # not in the filter until it is due
        record.future_dated[message_id] = None
        return
    record.future_dated.pop(message_id, None)
    record.buffered[message_id] = origin.lamport
    record.masks.add(message_id, origin.lamport)


def _drop(record: NodeRecord, write: Drop) -> None:
    key, table = write.key, write.table
    if table is Table.INCOMING:
        record.future_dated.pop(key, None)
        if record.buffered.pop(key, None) is not None:
            record.masks.drop(key)
    elif table is Table.MISSING:
        record.requests_due.pop(key, None)
    elif table is Table.ANSWER:
        record.answers_due.pop(key, None)


def _outgoing(record: NodeRecord, row: OutgoingRow) -> None:
    """I7: states only grow, keep why, and are no surer than that."""
    what = f"{row.message_id[:8]} at {record.name}"
    old = record.outgoing.get(row.message_id)
    record.outgoing[row.message_id] = row
    if old is not None:
        if row.state < old.state:
            raise Violation("I7", f"the state of {what} went back")
        if len(row.evidence) < len(old.evidence) or row.sends < old.sends:
            raise Violation("I7", f"evidence or sends of {what} were forgotten")
        if row.state is old.state and row.evidence == old.evidence:
            return
    if row.state is AckState.UNACKED:
        return
    mentioned, chance = False, 1.0
    filters: set[str] = set()
    for evidence in row.evidence:
        if evidence.sender_id == record.participant:
            raise Violation("I7", f"{what} is acknowledged by its own author")
        if evidence.how in CERTAIN:
            mentioned = True
        elif evidence.sender_id not in filters:
            filters.add(evidence.sender_id)
            chance *= evidence.error_rate
    if not row.evidence:
        raise Violation("I7", f"{what} is {row.state.name} without evidence")
    if row.state is AckState.ACKED and not mentioned and (len(filters) < WITNESSES or chance > CERTAIN_ENOUGH):
        raise Violation("I7", f"{what} is acked by {len(filters)} filters with a chance of error of {chance:.0e}")


def _gap(record: NodeRecord, row: GapRow) -> None:
    """I3: what holds for every message that names it was waited for."""
    if row.message_id not in record.node.store.tables[Table.MISSING]:
        raise Violation("I3", f"{record.name} gave {row.message_id[:8]} up, for which it never waited")


def _missing(record: NodeRecord, row: MissingRow) -> None:
    """T_req stands until the request is made, by us or (which the events tell) by another."""
    message_id = row.message_id
    channel = record.node.channel
    buffered = None if channel is None else channel.state.incoming.buffered.get(message_id)
    # What is dated in the future does not keep waiting what is dated before it.
    if message_id in record.log or (buffered is not None and not buffered.release_at):
        raise Violation("I3", f"{record.name} waits for {message_id[:8]}, which it has")
    if not row.t_req:  # not asked for: one of two that contradict each other is here, dated too far ahead
        record.requests_due.pop(message_id, None)
        return
    due = row.t_req - record.node.skew
    old = record.requests_due.get(message_id)
    record.requests_due[message_id] = (due, row.attempts)
    if old is not None and old[0] < due and old[1] == row.attempts and record.node.config.repair_enabled:
        record.put_off[message_id] = "T_req"


def _answer(oracle: Oracle, record: NodeRecord, row: AnswerRow) -> None:
    """The earliest T_resp stands until there is an answer, ours or (which the events tell) another's."""
    old = record.answers_due.pop(row.message_id, None)
    if not row.due:
        return
    due = row.due - record.node.skew
    record.answers_due[row.message_id] = due
    if old is not None and due > old > START + oracle.time:
        record.put_off[row.message_id] = "T_resp"
