"""Bytes of Timber: canonical, strict, and decoded by a function that never raises."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest

from sdschat.timber import limits
from sdschat.timber.values import (
    Accept,
    AuthorRow,
    Ballot,
    CheckpointMark,
    EventBody,
    Kind,
    Message,
    Operation,
    OperationBody,
    Post,
    PostId,
    Proposal,
    Reason,
    Refusal,
    SlotRow,
    State,
    Statements,
    StatePage,
    StateWanted,
    Submit,
    Sync,
    SyncFinished,
    Value,
    VoteRow,
)
from sdschat.wire import timber_pb2 as pb
from sdschat.wire.timber_codec import TimberCodec
from tests.timber.world import genesis, key_of, signed_event, signed_operation

CODEC = TimberCodec()
KEY = key_of(1)
DATA_SET, FIRST = genesis(KEY)
BALLOT = Ballot(3, 1)
VALUE = Value(((2, 0), (4, 9)), (0, 1, 3))
SAY = signed_event(DATA_SET, KEY, EventBody(Kind.SAY, 1, 7, 1_700_000_000_000, "grüß dich"))
EDIT = signed_event(DATA_SET, KEY, EventBody(Kind.EDIT, 1, 8, 0, "anew", PostId(1, 7)))
ANSWER = signed_event(DATA_SET, KEY, EventBody(Kind.SAY, 1, 9, 0, "and you?", PostId(0, 3)))
INVITE = signed_event(DATA_SET, KEY, EventBody(Kind.INVITE, 0, 9, key=key_of(5), life=2))
SAID = Statements(BALLOT, BALLOT, Proposal(BALLOT, VALUE, True), Accept(BALLOT, VALUE, 2))
BODY = OperationBody(1, 4, bytes(range(32)), ((0, 12), (3, 2)), b"c" * 32, 2, 1, SAY, SAID)
OPERATION = signed_operation(DATA_SET, KEY, BODY)
MARK = CheckpointMark(12, b"h" * 32)
SLOTS = (
    SlotRow(0, KEY, 5, b"n" * 32, ((0, 5),), 2, 0, None, ""),
    SlotRow(1, key_of(2), 0, b"", ((0, 3),), 0, 0, 0, "removed"),
)
VOTES = (
    VoteRow(0, prepare=BALLOT),
    VoteRow(0, promise=BALLOT, before=(Ballot(1, 0), VALUE)),
    VoteRow(0, propose=Proposal(BALLOT, VALUE, False)),
    VoteRow(0, accept=Accept(BALLOT, VALUE, 2)),
)
STATE = State(
    MARK,
    b"n" * 32,
    2,
    (0,),
    SLOTS,
    (AuthorRow(0, ((1, 4), (6, 6))),),
    (Post(PostId(0, 3), 9, 5, "hello", 4), Post(PostId(0, 4), 10, 6, "yes", answers=PostId(0, 3))),
    VOTES,
    ((1, 4), (0, 9)),
    (OPERATION,),
)
MESSAGES: list[Message] = [
    Sync(MARK, ((0, 3), (5, 1)), b"d" * 32, (OPERATION, FIRST), 4, (b"x" * 32,)),
    Sync(CheckpointMark(0, b""), (), b"d" * 32),
    SyncFinished(b"d" * 32),
    Submit((SAY, EDIT, ANSWER, INVITE)),
    Submit(()),
    StateWanted(0, 0),
    StateWanted(12, 3),
    StatePage(MARK, 0, 1, b""),
    StatePage(MARK, 2, 3, b"page"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_come_back_as_they_were(message: Any) -> None:
    """T-062: "There are two message types" differs: in protobuf, and three more for events and states."""
    assert CODEC.decode(CODEC.encode(message)) == message


def test_events_operations_and_states_come_back_as_they_were() -> None:
    for event in (SAY, EDIT, ANSWER, INVITE):
        assert CODEC.decode_event(event.raw, event.signature) == event
    assert CODEC.decode_operation(OPERATION.raw, OPERATION.signature) == OPERATION
    assert CODEC.decode_state(CODEC.encode_state(STATE)) == STATE


def refused(raw: bytes, signature: bytes = b"s" * 64) -> Reason | None:
    found = CODEC.decode_operation(raw, signature)
    return found.reason if isinstance(found, Refusal) else None


def changed(**fields: Any) -> bytes:
    return CODEC.encode_operation(BODY._replace(**fields))


def test_operations_out_of_bounds_are_refused() -> None:
    assert refused(changed(seq=0)) is Reason.MALFORMED
    assert refused(changed(slot=limits.MAX_SLOTS)) is Reason.MALFORMED
    assert refused(changed(parent=b"short")) is Reason.MALFORMED
    assert refused(changed(checksum=b"")) is Reason.MALFORMED
    assert refused(changed(delta=((3, 1), (0, 1)))) is Reason.MALFORMED
    assert refused(changed(delta=((3, 0),))) is Reason.MALFORMED
    assert refused(changed(statements=Statements(prepare=Ballot(3, 2)))) is Reason.MALFORMED
    assert refused(changed(statements=Statements(promise=Ballot(0, 1)))) is Reason.MALFORMED
    double = Value(((2, 1), (2, 2)), (0,))
    assert refused(changed(statements=Statements(accept=Accept(BALLOT, double, 1)))) is Reason.MALFORMED
    assert refused(OPERATION.raw, b"") is Reason.MALFORMED
    assert refused(bytes(limits.MAX_OPERATION_BYTES + 1)) is Reason.TOO_LARGE
    assert refused(FIRST.raw) is None
    genesis_late = CODEC.encode_operation(BODY._replace(event=FIRST.body.event))
    assert refused(genesis_late) is Reason.MALFORMED


def test_events_out_of_bounds_are_refused() -> None:
    """T-002: "The operation log allows custom events" six kinds of event; another kind is refused."""

    def reason(body: EventBody) -> Reason | None:
        found = CODEC.decode_event(CODEC.encode_event(body), b"s" * 64)
        return found.reason if isinstance(found, Refusal) else None

    assert reason(SAY.body._replace(kind=cast("Kind", len(Kind) + 1))) is Reason.MALFORMED
    assert reason(SAY.body._replace(number=0)) is Reason.MALFORMED
    assert reason(SAY.body._replace(key=b"k" * 32)) is Reason.MALFORMED
    assert reason(EDIT.body._replace(target=None)) is Reason.MALFORMED
    assert reason(EDIT.body._replace(target=PostId(limits.MAX_SLOTS, 3))) is Reason.MALFORMED
    assert reason(EDIT.body._replace(target=PostId(limits.MAX_SLOTS - 1, 3))) is None
    assert reason(SAY.body._replace(author=limits.MAX_SLOTS)) is Reason.MALFORMED
    assert reason(SAY.body._replace(life=limits.MAX_SLOTS + 1)) is Reason.MALFORMED
    assert reason(INVITE.body._replace(target=PostId(0, 3))) is Reason.MALFORMED
    assert reason(SAY.body._replace(text="x" * (limits.MAX_TEXT_BYTES + 1))) is Reason.TOO_LARGE
    assert reason(INVITE.body._replace(key=b"k")) is Reason.MALFORMED


def test_other_bytes_of_the_same_values_are_refused() -> None:
    """An id follows from the bytes, so values have one encoding."""
    unknown = OPERATION.raw + b"\xf8\x3f\x01"
    assert refused(unknown) is Reason.UNREADABLE
    doubled = OPERATION.raw + b"\x10\x04"  # field 2 once more, with the same value
    assert refused(doubled) is Reason.UNREADABLE


def test_too_many_entries_are_refused() -> None:
    packet = pb.TimberPacket()
    packet.submit.events.extend([pb.TimberSigned(raw=SAY.raw, signature=SAY.signature)] * (limits.MAX_EVENTS + 1))
    found = CODEC.decode(packet.SerializeToString(deterministic=True))
    assert isinstance(found, Refusal)
    assert found.reason is Reason.TOO_MANY
    assert isinstance(CODEC.decode(bytes(limits.MAX_PACKET_BYTES + 1)), Refusal)


@pytest.mark.parametrize(
    ("interval", "hashes"), [(0, 1), (3, 1), (4, 0), (2**31 + 1, 1), (4, limits.MAX_HASHES + 1)], ids=str
)
def test_hashes_at_an_interval_that_is_none_or_too_many_of_them_are_refused(interval: int, hashes: int) -> None:
    sound = Sync(MARK, ((0, 3),), b"d" * 32, (), 4, (b"x" * 32,))
    assert CODEC.decode(CODEC.encode(sound)) == sound
    found = CODEC.decode(CODEC.encode(sound._replace(interval=interval, hashes=(b"x" * 32,) * hashes)))
    assert isinstance(found, Refusal)


def test_decoding_is_total() -> None:
    rng = random.Random(5)
    raws = [CODEC.encode(message) for message in MESSAGES] + [CODEC.encode_state(STATE), OPERATION.raw, SAY.raw]
    for _ in range(3000):
        raw = bytearray(rng.choice(raws))
        for _ in range(rng.randint(1, 4)):
            if raw:
                at = rng.randrange(len(raw))
                kind = rng.random()
                if kind < 0.5:
                    raw[at] = rng.randrange(256)
                elif kind < 0.8:
                    del raw[at : at + rng.randint(1, 8)]
                else:
                    raw[at:at] = rng.randbytes(rng.randint(1, 8))
        for found in (CODEC.decode(bytes(raw)), CODEC.decode_state(bytes(raw))):
            assert found is not None
        found_operation = CODEC.decode_operation(bytes(raw), b"s" * 64)
        assert isinstance(found_operation, Refusal | Operation)
        CODEC.decode_event(bytes(raw), b"s" * 64)
