"""Timber's bytes at the exact bounds: the last value that is taken, and the first one that is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sdschat.timber import limits
from sdschat.timber.values import (
    Accept,
    AuthorRow,
    Ballot,
    CheckpointMark,
    EventBody,
    Kind,
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
    Value,
)
from sdschat.wire import timber_pb2 as pb
from sdschat.wire.timber_codec import TimberCodec
from tests.timber.world import key_of, signed_event, signed_operation

CODEC = TimberCodec()
DATA_SET = b"d" * 32
KEY = key_of(1)
BODY = OperationBody(1, 4, b"p" * 32, (), b"c" * 32, 2, 1)
BALLOT = Ballot(3, 1)
VALUE = Value(((2, 0),), (0, 1))
MARK = CheckpointMark(12, b"h" * 32)
SYNC = Sync(MARK, ((0, 3),), b"d" * 32)
SLOT = SlotRow(0, KEY, 5, b"n" * 32, (), 2, 0, None, "")
STATE = State(MARK, b"n" * 32, 2, (0,), (SLOT, SLOT._replace(number=1)), (), (), (), ())
TOP = limits.MAX_SLOTS - 1


def said(**statements: Any) -> OperationBody:
    return BODY._replace(statements=Statements(**statements))


def accepting(value: Value, need: int = 1) -> OperationBody:
    return said(accept=Accept(BALLOT, value, need))


def of_operation(body: OperationBody) -> Reason | OperationBody:
    found = CODEC.decode_operation(CODEC.encode_operation(body), b"s" * 64)
    return found.reason if isinstance(found, Refusal) else found.body


TAKEN = {
    "slot": BODY._replace(slot=TOP),
    "first operation of a second member": BODY._replace(slot=1, seq=1),
    "second operation of the creator": BODY._replace(slot=0, seq=2),
    "seq": BODY._replace(seq=limits.MAX_NUMBER),
    "clock": BODY._replace(delta=((0, 1), (TOP, limits.MAX_NUMBER))),
    "the ballot of another": said(promise=Ballot(2**32 - 2, TOP)),
    "first ballot": said(prepare=Ballot(1, 1)),
    "value": accepting(Value(((0, 0), (TOP, limits.MAX_NUMBER)), (TOP,))),
    "all are removed and all are electors": accepting(
        Value(tuple((slot, 0) for slot in range(limits.MAX_SLOTS)), tuple(range(limits.MAX_SLOTS)))
    ),
    "need": accepting(VALUE, limits.MAX_SLOTS),
}


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_the_last_value_of_an_operation_is_taken(body: OperationBody) -> None:
    assert of_operation(body) == body


REFUSED = {
    "slot": BODY._replace(slot=TOP + 1),
    "seq": BODY._replace(seq=limits.MAX_NUMBER + 1),
    "slot of a clock": BODY._replace(delta=((TOP + 1, 1),)),
    "seq of a clock": BODY._replace(delta=((0, limits.MAX_NUMBER + 1),)),
    "a slot twice": BODY._replace(delta=((3, 1), (3, 2))),
    "slot of a ballot": said(promise=Ballot(1, TOP + 1)),
    "ballot 0": said(promise=Ballot(0, 1)),
    "number of a ballot": said(promise=Ballot(2**32 - 1, 1)),
    "a proposal in the ballot of another": said(propose=Proposal(Ballot(3, 2), VALUE, False)),
    "slot that is removed": accepting(Value(((TOP + 1, 0),), ())),
    "seq that is removed": accepting(Value(((0, limits.MAX_NUMBER + 1),), ())),
    "elector": accepting(Value((), (TOP + 1,))),
    "electors without order": accepting(Value((), (2, 1))),
    "need 0": accepting(VALUE, 0),
    "need": accepting(VALUE, limits.MAX_SLOTS + 1),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_the_first_value_beyond_is_malformed(body: OperationBody) -> None:
    assert of_operation(body) is Reason.MALFORMED


def halves(change: Callable[[pb.TimberOperation], object]) -> Reason | None:
    """The reason of refusal for a sound operation after a change of its fields."""
    parsed = pb.TimberOperation.FromString(
        CODEC.encode_operation(said(propose=Proposal(BALLOT, VALUE, False), accept=Accept(BALLOT, VALUE, 1)))
    )
    change(parsed)
    found = CODEC.decode_operation(parsed.SerializeToString(deterministic=True), b"s" * 64)
    return found.reason if isinstance(found, Refusal) else None


def test_a_statement_needs_both_of_its_fields() -> None:
    assert halves(lambda parsed: None) is None
    assert halves(lambda parsed: parsed.ClearField("propose")) is Reason.MALFORMED
    assert halves(lambda parsed: parsed.ClearField("proposed")) is Reason.MALFORMED
    assert halves(lambda parsed: parsed.ClearField("accept")) is Reason.MALFORMED
    assert halves(lambda parsed: parsed.ClearField("accepted")) is Reason.MALFORMED


def test_a_clock_with_a_number_too_few_or_too_many_is_refused() -> None:
    assert halves(lambda parsed: parsed.delta.slots.append(2)) is Reason.TOO_MANY
    assert halves(lambda parsed: parsed.delta.seqs.append(2)) is Reason.TOO_MANY
    assert halves(lambda parsed: parsed.accepted.removed.slots.append(3)) is Reason.MALFORMED
    assert halves(lambda parsed: parsed.accepted.removed.seqs.append(3)) is Reason.MALFORMED


def test_a_signature_of_no_event_is_refused() -> None:
    def sign(parsed: pb.TimberOperation) -> None:
        parsed.event_signature = b"s" * 64

    assert halves(sign) is Reason.MALFORMED


def test_a_clock_names_every_slot_and_no_more() -> None:
    clock = tuple((slot, 1) for slot in range(limits.MAX_SLOTS))
    assert CODEC.decode(CODEC.encode(SYNC._replace(clock=clock))) == SYNC._replace(clock=clock)
    found = CODEC.decode(CODEC.encode(SYNC._replace(clock=(*clock, (limits.MAX_SLOTS, 1)))))
    assert isinstance(found, Refusal)
    assert found.reason is Reason.TOO_MANY


def test_an_operation_as_large_as_is_allowed_is_taken() -> None:
    """Its event has a text in bytes and not in letters."""
    delta = tuple((slot, limits.MAX_NUMBER) for slot in range(limits.MAX_SLOTS))

    def of_size(text: int) -> bytes:
        event = signed_event(DATA_SET, KEY, EventBody(Kind.SAY, 1, 7, text="x" * text))
        return CODEC.encode_operation(BODY._replace(delta=delta, event=event))

    text = 50_000
    text += limits.MAX_OPERATION_BYTES - len(of_size(text))
    assert len(of_size(text)) == limits.MAX_OPERATION_BYTES
    assert not isinstance(CODEC.decode_operation(of_size(text), b"s" * 64), Refusal)
    found = CODEC.decode_operation(of_size(text + 1), b"s" * 64)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.TOO_LARGE


def of_event(body: EventBody) -> Reason | EventBody:
    found = CODEC.decode_event(CODEC.encode_event(body), b"s" * 64)
    return found.reason if isinstance(found, Refusal) else found.body


def test_events_at_their_bounds() -> None:
    most = limits.MAX_NUMBER
    widest = EventBody(
        Kind.EDIT, TOP, most, most, "ü" * (limits.MAX_TEXT_BYTES // 2), PostId(TOP, most), life=limits.MAX_SLOTS
    )
    assert of_event(widest) == widest
    assert of_event(widest._replace(text=widest.text + "x")) is Reason.TOO_LARGE
    for beyond in (
        widest._replace(author=TOP + 1),
        widest._replace(number=most + 1),
        widest._replace(time=most + 1),
        widest._replace(life=limits.MAX_SLOTS + 1),
        widest._replace(target=PostId(TOP + 1, 1)),
        widest._replace(target=PostId(0, most + 1)),
        widest._replace(target=PostId(0, 0)),
    ):
        assert of_event(beyond) is Reason.MALFORMED
    least = EventBody(Kind.DELETE, 0, 1, target=PostId(0, 1))
    assert of_event(least) == least


@pytest.mark.parametrize("field", ["target_author", "target_number"])
def test_a_target_without_its_mark_is_refused(field: str) -> None:
    parsed = pb.TimberEvent.FromString(CODEC.encode_event(EventBody(Kind.SAY, 1, 7)))
    setattr(parsed, field, 1)
    found = CODEC.decode_event(parsed.SerializeToString(deterministic=True), b"s" * 64)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.MALFORMED


def test_packets_at_their_bounds() -> None:
    event = signed_event(DATA_SET, KEY, EventBody(Kind.SAY, 1, 7))
    operation = signed_operation(DATA_SET, KEY, BODY)
    page = StatePage(MARK, 0, 1, b"")
    filled = page._replace(body=b"x" * (limits.MAX_PACKET_BYTES - len(CODEC.encode(page)) - 7))
    body = b"x" * (len(filled.body) + limits.MAX_PACKET_BYTES - len(CODEC.encode(filled)))
    for last, beyond in (
        (Submit((event,) * limits.MAX_EVENTS), Submit((event,) * (limits.MAX_EVENTS + 1))),
        (
            SYNC._replace(operations=(operation,) * limits.MAX_OPERATIONS),
            SYNC._replace(operations=(operation,) * (limits.MAX_OPERATIONS + 1)),
        ),
        (
            SYNC._replace(interval=2**31, hashes=(b"x" * 32,) * limits.MAX_HASHES),
            SYNC._replace(interval=2**31, hashes=(b"x" * 32,) * (limits.MAX_HASHES + 1)),
        ),
        (StateWanted(limits.MAX_NUMBER, 0), StateWanted(limits.MAX_NUMBER + 1, 0)),
        (StateWanted(0, limits.MAX_PAGES), StateWanted(0, limits.MAX_PAGES + 1)),
        (page._replace(pages=limits.MAX_PAGES), page._replace(pages=limits.MAX_PAGES + 1)),
        (page._replace(page=2, pages=3), page._replace(page=3, pages=3)),
        (page, page._replace(pages=0)),
        (page._replace(body=body), page._replace(body=body + b"x")),
        (
            page._replace(mark=MARK._replace(number=limits.MAX_NUMBER)),
            page._replace(mark=MARK._replace(number=limits.MAX_NUMBER + 1)),
        ),
        (page._replace(mark=CheckpointMark(0, b"")), page._replace(mark=CheckpointMark(0, b"h" * 32))),
        (page, page._replace(mark=CheckpointMark(12, b""))),
    ):
        assert CODEC.decode(CODEC.encode(last)) == last
        assert isinstance(CODEC.decode(CODEC.encode(beyond)), Refusal)
    assert len(CODEC.encode(page._replace(body=body))) == limits.MAX_PACKET_BYTES


def of_state(state: State) -> Reason | State:
    found = CODEC.decode_state(CODEC.encode_state(state))
    return found.reason if isinstance(found, Refusal) else found


def test_states_at_their_bounds() -> None:
    every = tuple(SLOT._replace(number=number) for number in range(limits.MAX_SLOTS))
    closed = SLOT._replace(number=1, last=4, why="left")
    top = limits.MAX_NUMBER
    post = Post(PostId(0, top), top, top, "text", top, PostId(1, top))
    beyond_top = [
        post._replace(name=PostId(0, top + 1)),
        post._replace(place=top + 1),
        post._replace(time=top + 1),
        post._replace(edit=top + 1),
        post._replace(answers=PostId(1, top + 1)),
    ]
    for last, beyond in (
        (STATE._replace(slots=every), STATE._replace(slots=(*every, SLOT._replace(number=limits.MAX_SLOTS)))),
        (STATE._replace(slots=(SLOT,)), STATE._replace(slots=())),
        (STATE, STATE._replace(slots=(SLOT, SLOT))),
        (STATE._replace(slots=(SLOT, closed)), STATE._replace(slots=(SLOT, closed._replace(why="gone")))),
        (STATE._replace(authors=(AuthorRow(1, ((1, 1),)),)), STATE._replace(authors=(AuthorRow(2, ((1, 1),)),))),
        (STATE._replace(authors=(AuthorRow(0, ((1, 4), (6, 6))),)), STATE._replace(authors=(AuthorRow(0, ((0, 4),)),))),
        (STATE._replace(authors=(AuthorRow(0, ()),)), STATE._replace(authors=(AuthorRow(0, ((1, 4), (6, 5))),))),
        (STATE._replace(turn=limits.MAX_TURN), STATE._replace(turn=limits.MAX_TURN + 1)),
        (STATE._replace(slots=(SLOT._replace(seq=top),)), STATE._replace(slots=(SLOT._replace(seq=top + 1),))),
        (STATE._replace(slots=(SLOT, closed)), STATE._replace(slots=(SLOT, closed._replace(last=top + 1)))),
        *((STATE._replace(posts=(post,)), STATE._replace(posts=(each,))) for each in beyond_top),
    ):
        assert of_state(last) == last
        assert of_state(beyond) is Reason.MALFORMED


def test_a_state_as_large_as_is_allowed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = CODEC.encode_state(STATE)
    monkeypatch.setattr(limits, "STATE_BYTES", len(raw))
    assert CODEC.decode_state(raw) == STATE
    monkeypatch.setattr(limits, "STATE_BYTES", len(raw) - 1)
    found = CODEC.decode_state(raw)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.TOO_LARGE
