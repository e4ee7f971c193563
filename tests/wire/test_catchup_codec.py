"""Frames and pages survive encoding and decoding, and no bytes make the decoder raise."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdschat.catchup import values
from sdschat.catchup import values as v
from sdschat.mvds.values import Message, Payload
from sdschat.wire.catchup_codec import (
    PAGES,
    decode_extension,
    decode_page,
    encode_frame,
    encode_page,
    lane_mark,
)
from sdschat.wire.mvds_codec import MvdsCodec

_ID = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_KEY = st.builds(v.LogKey, st.integers(0, values.MAX_LAMPORT), _ID)
_STRETCH = st.tuples(_KEY, _KEY).filter(lambda two: two[0] != two[1]).map(sorted)
_U32, _U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
_QUESTION = st.builds(
    lambda kind, two, number: v.Question(kind, two[0], two[1], number), st.sampled_from(v.QuestionKind), _STRETCH, _U32
)
_PART = st.builds(v.RangePart, _KEY, _U64, st.binary(min_size=8, max_size=8))
_CELLS = st.lists(_U64, max_size=9).map(tuple)
_REPLY = st.one_of(
    st.just(v.RangeReply(equal=True)),
    st.lists(_PART, max_size=9).map(lambda parts: v.RangeReply(parts=tuple(parts))),
    st.tuples(_CELLS, st.booleans()).map(lambda two: v.RangeReply(cells=two[0], listed=two[1])),
    st.lists(_KEY, max_size=9).map(lambda keys: v.RangeReply(keys=tuple(keys))),
)
_WANTED = st.one_of(
    st.tuples(_STRETCH, _CELLS).map(lambda two: v.Stretch(two[0][0], two[0][1], two[1])),
    st.tuples(_STRETCH, _U64).map(lambda two: v.Stretch(two[0][0], two[0][1], (two[1],), True)),
)
_WANT = st.builds(v.Want, st.lists(_WANTED, max_size=4).map(tuple), _U32, st.booleans())


def _asks(session: int) -> st.SearchStrategy[v.Ask]:
    questions = st.lists(_QUESTION, min_size=1, max_size=9).map(tuple)
    return st.builds(v.Ask, st.just(session), questions, _U64)


_FRAME = _U64.flatmap(
    lambda session: st.builds(
        v.Frame,
        st.just(session),
        _U32,
        st.one_of(
            _asks(session),
            st.lists(_REPLY, max_size=5).map(tuple).map(v.AnswerFrame),
            _WANT,
            st.builds(v.Nudge, _U64),
            st.just(v.Declined("busy")),
        ),
    )
)


@given(_FRAME)
def test_a_frame_comes_out_as_it_went_in(frame: v.Frame) -> None:
    assert decode_extension(encode_frame(frame)) == frame


def test_the_first_question_bears_a_fingerprint() -> None:
    question = v.Question(v.QuestionKind.PARTS, v.LOWEST, v.HIGHEST, 64, b"12345678")
    frame = v.Frame(9, 1, v.Ask(9, (question,)))
    assert decode_extension(encode_frame(frame)) == frame


_HASH = st.binary(min_size=32, max_size=32).map(bytes.hex)
_ID_ONLY = st.tuples(st.integers(0, v.MAX_LAMPORT), _HASH, st.sampled_from(["ann", "5e" * 16])).map(
    lambda parts: v.IdOnly(v.LogKey(parts[0], parts[1]), parts[2])
)


@given(st.lists(st.binary(max_size=20), max_size=5), st.booleans(), st.lists(_ID_ONLY, max_size=5))
def test_a_page_comes_out_as_it_went_in(packets: list[bytes], last: bool, ids: list[v.IdOnly]) -> None:
    page = v.HistoryPage(3, 4, 5, tuple(packets), last, tuple(ids))
    assert decode_page(encode_page(page)) == page


def test_records_of_pages_are_records_of_mvds_to_everybody_else() -> None:
    payload = Payload(acks=(b"a" * 32,), messages=(Message(b"g" * 32, 7, b"body"),))
    packet = MvdsCodec().encode(payload) + lane_mark(PAGES)
    assert decode_extension(packet) == PAGES
    assert MvdsCodec().decode(packet) == payload


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(packet: bytes) -> None:
    decode_extension(packet)
    decode_page(packet)


@given(_FRAME, st.integers(0, 400), st.integers(0, 255))
def test_no_altered_frame_makes_it_raise(frame: v.Frame, at: int, value: int) -> None:
    packet = bytearray(encode_frame(frame))
    packet[at % len(packet)] = value
    decode_extension(bytes(packet))
    decode_extension(bytes(packet[: at % len(packet)]))


def test_what_is_out_of_bounds_is_refused() -> None:
    low, high = v.LogKey(5, ""), v.LogKey(9, "")
    question = v.Question(v.QuestionKind.CELLS, low, high, 3)
    bad = [
        v.Ask(1, ()),
        v.Ask(1, (question,) * (values.QUESTIONS + 1)),
        v.Ask(1, (question._replace(low=high),)),
        v.Ask(1, (question._replace(fingerprint=b"short"),)),
        v.Ask(1, (question._replace(low=v.LogKey(5, "x" * 200)),)),
        v.Want((v.Stretch(high, low),), 1),
        v.Want((v.Stretch(low, high, (1,) * (values.SHORTS + 1)),), 1),
        v.Want((v.Stretch(low, high),) * (values.STRETCHES + 1), 1),
        v.Want((v.Stretch(low, high, (), True),), 1),
        v.Want((v.Stretch(low, high, (1, 2), True),), 1),
        v.AnswerFrame((v.RangeReply(keys=(low,) * (values.KEYS + 1)),)),
        v.AnswerFrame((v.RangeReply(parts=(v.RangePart(high, 1, b"12345678"),) * (values.PARTS + 1)),)),
        v.AnswerFrame((v.RangeReply(parts=(v.RangePart(high, 1, b"short"),)),)),
        v.Declined("x" * 100),
    ]
    found = [decode_extension(encode_frame(v.Frame(1, 1, what))) for what in bad]  # type: ignore[arg-type]
    assert [one for one in found if not isinstance(one, v.RefusedFrame)] == []
