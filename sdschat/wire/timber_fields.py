"""Fields of Timber's packets: each is checked and converted, or filled.

A field that cannot be taken raises `BadField`, which `total` turns into a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from google.protobuf.message import DecodeError
from google.protobuf.message import Message as ProtobufMessage

from sdschat.timber import limits
from sdschat.timber.values import (
    Accept,
    Ballot,
    CheckpointMark,
    Clock,
    Proposal,
    Reason,
    Refusal,
    SlotRow,
    Statements,
    Value,
    VoteRow,
)
from sdschat.wire import timber_pb2 as pb

_WHYS: Final = ("", "left", "removed")
_P = TypeVar("_P", bound=ProtobufMessage)
_Result = TypeVar("_Result")


class BadField(ValueError):
    """A value that cannot be taken; carries the reason."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def total(decode: Callable[[], _Result]) -> _Result | Refusal:
    """Call a decoder. Return its result, or a refusal where it raises."""
    try:
        return decode()
    except BadField as error:
        return Refusal(error.reason, str(error))
    except (DecodeError, ValueError, RecursionError):
        return Refusal(Reason.UNREADABLE)


def parsed_as(empty: _P, raw: bytes) -> _P:
    """Parse bytes into an empty message of their type. They must be its canonical ones."""
    empty.ParseFromString(raw)
    empty.DiscardUnknownFields()
    if empty.SerializeToString(deterministic=True) != raw:
        raise BadField(Reason.UNREADABLE, "not the canonical bytes")
    return empty


def within(value: int, most: int, name: str, least: int = 0) -> int:
    if not least <= value <= most:
        raise BadField(Reason.MALFORMED, f"{name} {value}")
    return value


def of_length(value: bytes, length: int, name: str) -> bytes:
    if len(value) != length:
        raise BadField(Reason.MALFORMED, f"{name} of {len(value)} bytes")
    return value


def at_most(values: Iterable[object], most: int, name: str) -> None:
    if (count := sum(1 for _ in values)) > most:
        raise BadField(Reason.TOO_MANY, f"{count} {name}")


def to_clock(parsed: pb.TimberClock) -> Clock:
    if len(parsed.slots) != len(parsed.seqs) or len(parsed.slots) > limits.MAX_SLOTS:
        raise BadField(Reason.TOO_MANY, "clock")
    found = tuple(zip(parsed.slots, parsed.seqs, strict=True))
    before = -1
    for slot, seq in found:
        if slot <= before or slot >= limits.MAX_SLOTS or not 0 < seq <= limits.MAX_NUMBER:
            raise BadField(Reason.MALFORMED, "clock")
        before = slot
    return found


def fill_clock(field: pb.TimberClock, clock: Clock) -> None:
    field.SetInParent()
    field.slots.extend(slot for slot, _ in clock)
    field.seqs.extend(seq for _, seq in clock)


def to_mark(parsed: pb.TimberMark) -> CheckpointMark:
    within(parsed.number, limits.MAX_NUMBER, "checkpoint")
    return CheckpointMark(parsed.number, of_length(parsed.hash, limits.HASH_BYTES if parsed.number else 0, "hash"))


def fill_mark(field: pb.TimberMark, mark: CheckpointMark) -> None:
    field.SetInParent()
    field.number, field.hash = mark


def fill_ballot(field: pb.TimberBallot, ballot: Ballot) -> None:
    field.SetInParent()
    field.number, field.slot = ballot


def to_ballot(parsed: pb.TimberBallot) -> Ballot:
    within(parsed.slot, limits.MAX_SLOTS - 1, "ballot")
    return Ballot(within(parsed.number, 2**32 - 2, "ballot", 1), parsed.slot)


def fill_value(field: pb.TimberValue, value: Value) -> None:
    fill_clock(field.removed, value.removed)
    field.electors.extend(value.electors)


def to_value(parsed: pb.TimberValue) -> Value:
    # A member that wrote nothing is removed with 0, which no other clock holds.
    slots, seqs = tuple(parsed.removed.slots), tuple(parsed.removed.seqs)
    electors = tuple(parsed.electors)
    for one in (slots, electors):
        if (
            list(one) != sorted(set(one))
            or len(one) > limits.MAX_SLOTS
            or any(slot >= limits.MAX_SLOTS for slot in one)
        ):
            raise BadField(Reason.MALFORMED, "value")
    if len(slots) != len(seqs) or any(seq > limits.MAX_NUMBER for seq in seqs):
        raise BadField(Reason.MALFORMED, "value")
    return Value(tuple(zip(slots, seqs, strict=True)), electors)


def to_statements(parsed: pb.TimberOperation) -> Statements:
    propose = accept = None
    if parsed.HasField("propose") != parsed.HasField("proposed") or parsed.HasField("accept") != parsed.HasField(
        "accepted"
    ):
        raise BadField(Reason.MALFORMED, "statements")
    if parsed.HasField("propose"):
        propose = Proposal(to_ballot(parsed.propose), to_value(parsed.proposed), parsed.forced)
    if parsed.HasField("accept"):
        need = within(parsed.need, limits.MAX_SLOTS, "need", 1)
        accept = Accept(to_ballot(parsed.accept), to_value(parsed.accepted), need)
    prepare = to_ballot(parsed.prepare) if parsed.HasField("prepare") else None
    promise = to_ballot(parsed.promise) if parsed.HasField("promise") else None
    for ballot in (prepare, propose.ballot if propose else None):
        if ballot is not None and ballot.slot != parsed.slot:
            raise BadField(Reason.MALFORMED, "the ballot of another")
    return Statements(prepare, promise, propose, accept)


def fill_statements(field: pb.TimberOperation | pb.TimberVote, said: Statements | VoteRow) -> None:
    if said.prepare is not None:
        fill_ballot(field.prepare, said.prepare)
    if said.promise is not None:
        fill_ballot(field.promise, said.promise)
    if said.propose is not None:
        fill_ballot(field.propose, said.propose.ballot)
        fill_value(field.proposed, said.propose.value)
        field.forced = said.propose.forced
    if said.accept is not None:
        fill_ballot(field.accept, said.accept.ballot)
        fill_value(field.accepted, said.accept.value)
        field.need = said.accept.need


def fill_vote(field: pb.TimberVote, vote: VoteRow) -> None:
    field.slot = vote.slot
    if vote.before is not None:
        fill_ballot(field.before, vote.before[0])
        fill_value(field.value_before, vote.before[1])
    fill_statements(field, vote)


def to_vote(parsed: pb.TimberVote) -> VoteRow:
    return VoteRow(
        parsed.slot,
        to_ballot(parsed.prepare) if parsed.HasField("prepare") else None,
        to_ballot(parsed.promise) if parsed.HasField("promise") else None,
        (to_ballot(parsed.before), to_value(parsed.value_before)) if parsed.HasField("before") else None,
        Proposal(to_ballot(parsed.propose), to_value(parsed.proposed), parsed.forced)
        if parsed.HasField("propose")
        else None,
        Accept(to_ballot(parsed.accept), to_value(parsed.accepted), parsed.need) if parsed.HasField("accept") else None,
    )


def to_slot(number: int, parsed: pb.TimberSlot) -> SlotRow:
    if parsed.number != number or parsed.why not in _WHYS:
        raise BadField(Reason.MALFORMED, "slot")
    within(max(parsed.seq, parsed.last), limits.MAX_NUMBER, "seq")
    of_length(parsed.key, limits.KEY_BYTES, "key")
    newest = of_length(parsed.newest, limits.HASH_BYTES if parsed.seq else 0, "newest")
    last = parsed.last if parsed.why else None
    clock = to_clock(parsed.clock)
    return SlotRow(number, parsed.key, parsed.seq, newest, clock, parsed.turn, parsed.closed, last, parsed.why)
