"""Invariants of an engine's state, looked at after every step, and of the writes of a step, before they are made true.

Checks of writes cost what the step did, no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sdschat.sds import limits
from sdschat.sds.channel import Channel
from sdschat.sds.state import ChannelState
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
    Message,
    MissingRow,
    OutgoingRow,
    PeerRow,
    Put,
    Table,
    Write,
)
from sdschat.sim.oracle import NodeRecord, Oracle, Origin
from sdschat.sim.rare_situations import CERTAIN
from sdschat.sim.scenario import START, Violation


def check_sizes(record: NodeRecord) -> None:
    """Check I8: every buffer is within its limit, in all and for each sender.

    This runs at every step, so what is in a buffer is counted only if the whole buffer has as many as the limit allows.
    """
    channel = record.node.channel
    if channel is None:
        return
    s = channel.state
    buffered, missing, gaps = len(s.incoming.buffered), len(s.requests.missing), len(s.gaps)
    answers, pushes = len(s.answers.entries), len(s.pushes.entries)
    for what, at_most, count, bound in (
        ("messages waiting", buffered, _waiting, limits.BUFFERED_PER_CHANNEL),
        ("messages of one sender waiting", buffered, _waiting_of_one, limits.BUFFERED_PER_SENDER),
        ("messages deferred", buffered, _deferred, limits.FUTURE_DATED_PER_CHANNEL),
        ("messages of one sender deferred", buffered, _deferred_of_one, limits.FUTURE_DATED_PER_SENDER),
        ("dependencies missing", missing, None, limits.MISSING_PER_CHANNEL),
        ("dependencies of one sender missing", missing, _missing_of_one, limits.MISSING_PER_SENDER),
        ("gaps", gaps, None, limits.GAPS_PER_CHANNEL),
        ("gaps of one sender", gaps, _gaps_of_one, limits.GAPS_PER_SENDER),
        ("answers", answers, None, limits.ANSWERS_PER_CHANNEL),
        ("answers for one sender", answers, _answers_for_one, limits.ANSWERS_PER_SENDER),
        ("pushes", pushes, None, limits.PUSHES_PER_CHANNEL),
        ("pushes for one peer", pushes, _pushes_for_one, limits.PUSHES_PER_SENDER),
        ("peers", len(s.peers.known), None, limits.MAX_PEERS),
        ("acknowledged messages kept", len(s.outgoing.settled), None, limits.SETTLED_KEPT),
        ("possibly acknowledged messages resent", len(s.outgoing.open), _possibly_acked, limits.POSSIBLY_ACKED_KEPT),
        ("possibly acknowledged messages remembered", len(s.outgoing.retired), None, limits.RETIRED_KEPT),
        ("entries in the recent window", len(s.window.order), None, limits.RECENT_WINDOW),
        ("ephemeral ids", len(s.ephemeral_seen), None, limits.EPHEMERAL_SEEN),
    ):
        if at_most >= bound:
            _check_size(record, what, at_most if count is None else count(s), bound)
    if record.small:
        for what, size, bound in _far_bounds(s):
            _check_size(record, what, size, bound)


def _check_size(record: NodeRecord, what: str, size: int, bound: int) -> None:
    if size >= bound:
        if size > bound:
            raise Violation("I8", f"{record.name} has {size} {what}; {bound} are allowed")
        record.rare.met[f"full: {what}"] += 1


def _waiting(s: ChannelState) -> int:
    return sum(not buffered.release_at for buffered in s.incoming.buffered.values())


def _waiting_of_one(s: ChannelState) -> int:
    return _most(each.message.sender_id for each in s.incoming.buffered.values() if not each.release_at)


def _deferred(s: ChannelState) -> int:
    return sum(bool(buffered.release_at) for buffered in s.incoming.buffered.values())


def _deferred_of_one(s: ChannelState) -> int:
    return _most(each.message.sender_id for each in s.incoming.buffered.values() if each.release_at)


def _missing_of_one(s: ChannelState) -> int:
    return _most(missing.charged_to for missing in s.requests.missing.values())


def _gaps_of_one(s: ChannelState) -> int:
    return _most(gap.charged_to for gap in s.gaps.values())


def _answers_for_one(s: ChannelState) -> int:
    return _most(answer.requested_by for answer in s.answers.entries.values() if answer.open)


def _pushes_for_one(s: ChannelState) -> int:
    return _most(next(iter(push.wanted_by)) for push in s.pushes.entries.values() if push.due is not None)


def _possibly_acked(s: ChannelState) -> int:
    return sum(known.state is AckState.POSSIBLY_ACKED for known in s.outgoing.open.values())


def _most(names: Iterable[str]) -> int:
    """Return how often the most frequent name is there."""
    return max(Counter(names).values(), default=0)


def _far_bounds(s: ChannelState) -> tuple[tuple[str, int, int], ...]:
    """Return the bounds that no scenario comes near unless they are made small: name, size and limit."""
    wanted = max((len(push.wanted_by) for push in s.pushes.entries.values()), default=0)
    witnesses = max((len(known.evidence) for known in s.outgoing.known.values()), default=0)
    return (
        ("messages on their way", sum(1 for _ in s.recent_arrivals), limits.ARRIVALS_KEPT),
        ("unacknowledged messages", len(s.outgoing.open), limits.UNACKED_KEPT),
        ("participants that one push is for", wanted, limits.WANTED_BY),
        ("witnesses of one message", witnesses, limits.MAX_EVIDENCE),
    )


def check_waiting(record: NodeRecord) -> None:
    """Check that nothing waits for what is there, and that every own message that is open has a timer."""
    channel = record.node.channel
    if channel is None:
        return
    s = channel.state
    name = record.name
    for message_id in s.gaps:
        if message_id in record.log:
            raise Violation("I3", f"{name} still calls {message_id[:8]} a gap, which it has")
    for message_id in s.requests.missing:
        buffered = s.incoming.buffered.get(message_id)
        if message_id in record.log or (buffered is not None and not buffered.release_at):
            raise Violation("I3", f"{name} still waits for {message_id[:8]}, which it has")
        # What is deferred may be waited for, until it is given up like anything else, but it is not asked for.
        asked = message_id in s.requests.requests
        if asked and buffered is not None:
            raise Violation("I14", f"{name} means to ask for {message_id[:8]}, which is deferred here")
        if message_id not in s.requests.lost or (s.config.repair_enabled and not asked and buffered is None):
            raise Violation("I5", f"{name} waits for {message_id[:8]}, and will never ask for it or give it up")
    for message_id, buffered in s.incoming.buffered.items():
        if not buffered.release_at and not buffered.unmet:
            raise Violation("I3", f"{name} holds {message_id[:8]} back for nothing")
        for parent in buffered.unmet:
            if parent not in s.requests.missing and parent not in s.incoming.buffered:
                raise Violation("I5", f"{name} holds {message_id[:8]} back for {parent[:8]}, which nobody looks for")
            above = s.incoming.buffered.get(parent)
            if above is not None and not above.release_at and above.lamport >= buffered.lamport:
                raise Violation("I5", f"{name} holds {message_id[:8]} back for {parent[:8]}, which may wait for it")
    for message_id in s.outgoing.open:
        due = s.outgoing.timers.get(message_id)
        if due is None or due > s.now.mono + 2 * s.config.resend_max:
            raise Violation("I5", f"{name} has given up on {message_id[:8]}")


def check_restored(record: NodeRecord, channel: Channel) -> None:
    """Check I6: what the disk says is to be done is still to be done."""
    s = channel.state
    if s.horizon != record.horizon:
        raise Violation("I6", f"{record.name} came back with another join horizon")
    for message_id, row in record.outgoing.items():
        known = message_id in s.outgoing.open and message_id in s.outgoing.timers
        if known != row.resent:
            how = "without" if row.resent else "with"
            raise Violation("I6", f"{record.name} came back {how} {message_id[:8]} in its outgoing buffer")
    if s.clock.value < record.last_own:
        raise Violation("I9", f"the clock of {record.name} went back over a restart")


def check_answering(record: NodeRecord, message: Message, origins: Mapping[str, Origin]) -> None:
    """Check I5: the author of a message that somebody asks for answers, and at once."""
    channel = record.node.channel
    assert channel is not None
    s = channel.state
    for entry in message.repair_request[: limits.ANSWERS_PER_SENDER]:
        origin = origins.get(entry.message_id)
        if origin is None or origin.author != record.index or entry.message_id not in record.log:
            continue
        if s.packet_of(entry.message_id) is None:  # a disk that keeps few packets
            continue
        answer = s.answers.entries.get(entry.message_id)
        if answer is None or (answer.due is None and answer.asked):
            raise Violation("I5", f"{record.name} does not answer for {entry.message_id[:8]}, which it wrote")


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
    """Check I4: the log has only what somebody made, as it was made, and once; of what is refused, the id alone."""
    entry = row.entry
    message_id, lamport = entry.message_id, entry.lamport
    origin = oracle.origins.get(message_id)
    if origin is None:
        raise Violation("I4", f"{record.name} has {message_id[:8]} in its log, which nobody made")
    raw = b"" if row.entry.bare and origin.author < 0 else origin.raw
    if row.raw != raw or lamport != origin.lamport or row.own != oracle.wrote(record, origin):
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
    """Check I6: the join horizon moves down only, when all the history from there on was given, or a clock that was
    fast is put right."""
    put_right = START + oracle.time + record.node.skew < record.horizon
    if record.horizon >= 0 and (horizon > record.horizon or not (put_right or horizon == record.lowered_to)):
        raise Violation("I6", f"the join horizon of {record.name} moved")
    if record.horizon >= 0:
        how = "mended after a clock was put right" if put_right else "lowered after catching up"
        record.rare.met[f"join horizon {how}"] += 1
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
    """Check I7: states only grow, keep their evidence, and are no surer than that."""
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
    certain, chance = False, 1.0
    filters: set[str] = set()
    for evidence in row.evidence:
        if evidence.sender_id == record.participant:
            raise Violation("I7", f"{what} is acknowledged by its own author")
        if not evidence.signed:
            continue
        if evidence.how in CERTAIN:
            certain = True
        filters.add(evidence.sender_id)
        chance = min(chance, evidence.error_rate)
    if not row.evidence:
        raise Violation("I7", f"{what} is {row.state.name} without evidence")
    if row.state is AckState.ACKED and not certain and (len(filters) < 2 or chance > 1e-6):
        raise Violation("I7", f"{what} is acked by {len(filters)} filters with a chance of error of {chance:.0e}")


def _gap(record: NodeRecord, row: GapRow) -> None:
    """Check I3: a message becomes a gap only if it was waited for."""
    if row.message_id not in record.node.store.tables[Table.MISSING]:
        raise Violation("I3", f"{record.name} gave {row.message_id[:8]} up, for which it never waited")


def _missing(record: NodeRecord, row: MissingRow) -> None:
    """Check that T_req stands until the request is made, by us or (which the events tell) by another."""
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
    """Check that the earliest T_resp stands until there is an answer, ours or (which the events tell) another's."""
    old = record.answers_due.pop(row.message_id, None)
    if not row.due:
        return
    due = row.due - record.node.skew
    record.answers_due[row.message_id] = due
    if old is not None and due > old > START + oracle.time:
        record.put_off[row.message_id] = "T_resp"
