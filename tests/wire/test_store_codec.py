"""Questions to Stores and their answers: fields, refusals, and no exception for any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import Reason, Refusal
from sdschat.wire import store_codec as codec
from sdschat.wire.store_codec import Item, Range, Sealed, StoreAnswer, StoreKey, StoreQuery, WantedMessage
from tests.wire.samples import field

ID = b"12345678"
IDS = StoreQuery(ID, "store", 7, (WantedMessage("a" * 64, b"hint"), WantedMessage("", b"hint alone")), None, True)
PAGE = StoreQuery(ID, "store", 7, (), Range(1, 9, StoreKey(3, "c"), True, 100))
FULL = StoreAnswer(ID, (Item("a", b"packet", b"hint"), Item("", b"packet")), ("b",), True, 5, "busy", StoreKey(9, "z"))


@pytest.mark.parametrize("query", [IDS, PAGE, StoreQuery(ID, "", 0, (), Range(0, MAX_LAMPORT))])
def test_a_query_comes_back_as_it_went(query: StoreQuery) -> None:
    assert codec.decode_query(codec.encode_query(query)) == query


@pytest.mark.parametrize("answer", [FULL, StoreAnswer(ID)])
def test_an_answer_comes_back_as_it_went(answer: StoreAnswer) -> None:
    assert codec.decode_answer(codec.encode_answer(answer)) == answer


def test_a_seal_comes_back_as_it_went() -> None:
    sealed = Sealed(b"k" * 32, b"s" * 64, b"body")
    assert codec.decode_sealed(codec.encode_sealed(sealed)) == sealed


def test_a_page_without_a_limit_or_with_too_high_a_one_has_the_highest() -> None:
    for limit in (0, codec.MAX_ITEMS + 1):
        query = codec.decode_query(codec.encode_query(PAGE._replace(range=Range(1, 9, None, False, limit))))
        assert isinstance(query, StoreQuery)
        assert query.range == Range(1, 9, None, False, codec.MAX_ITEMS)


def _reason(found: object) -> Reason:
    assert isinstance(found, Refusal)
    return found.reason


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (IDS._replace(query_id=b"short"), Reason.FIELD_MISSING),
        (IDS._replace(wanted=()), Reason.FIELD_MISSING),
        (IDS._replace(range=Range(1, 2)), Reason.FIELD_MISSING),
        (IDS._replace(wanted=(WantedMessage("", b""),)), Reason.FIELD_MISSING),
        (IDS._replace(wanted=(WantedMessage("a"),) * (codec.MAX_WANTED + 1)), Reason.TOO_MANY_ENTRIES),
        (IDS._replace(wanted=(WantedMessage("a" * 129),)), Reason.FIELD_TOO_LONG),
        (IDS._replace(wanted=(WantedMessage("a", b"h" * 65),)), Reason.FIELD_TOO_LONG),
        (IDS._replace(wanted=(WantedMessage("a\n"),)), Reason.UNREADABLE),
        (IDS._replace(store="s" * 129), Reason.FIELD_TOO_LONG),
        (PAGE._replace(range=Range(2, 1)), Reason.FIELD_MISSING),
        (PAGE._replace(range=Range(1, MAX_LAMPORT + 1)), Reason.CLOCK_TOO_LARGE),
        (PAGE._replace(range=Range(1, 2, StoreKey(MAX_LAMPORT + 1, "a"))), Reason.CLOCK_TOO_LARGE),
        (PAGE._replace(range=Range(1, 2, StoreKey(1, "a\x7f"))), Reason.UNREADABLE),
    ],
)
def test_a_query_out_of_bounds_is_refused_with_its_reason(query: StoreQuery, reason: Reason) -> None:
    assert _reason(codec.decode_query(codec.encode_query(query))) is reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (FULL._replace(query_id=b""), Reason.FIELD_MISSING),
        (FULL._replace(items=(Item(""),)), Reason.FIELD_MISSING),
        (FULL._replace(unknown=("",)), Reason.FIELD_MISSING),
        (FULL._replace(items=(Item("a"),) * (codec.MAX_ITEMS + 1)), Reason.TOO_MANY_ENTRIES),
        (FULL._replace(unknown=("a",) * (codec.MAX_WANTED + 1)), Reason.TOO_MANY_ENTRIES),
        (FULL._replace(items=(Item("a" * 129),)), Reason.FIELD_TOO_LONG),
        (FULL._replace(items=(Item("a", b"", b"h" * 65),)), Reason.FIELD_TOO_LONG),
        (FULL._replace(refused="r" * 33), Reason.FIELD_TOO_LONG),
        (FULL._replace(floor=MAX_LAMPORT + 1), Reason.CLOCK_TOO_LARGE),
        (FULL._replace(last=StoreKey(MAX_LAMPORT + 1, "a")), Reason.CLOCK_TOO_LARGE),
        (FULL._replace(items=(Item("a", b"p" * codec.MAX_ANSWER_BYTES),)), Reason.TOO_LARGE),
    ],
)
def test_an_answer_out_of_bounds_is_refused_with_its_reason(answer: StoreAnswer, reason: Reason) -> None:
    assert _reason(codec.decode_answer(codec.encode_answer(answer))) is reason


def test_a_packet_without_a_whole_key_and_signature_is_refused() -> None:
    for sealed in (Sealed(b"k" * 31, b"s" * 64, b""), Sealed(b"k" * 32, b"s" * 63, b"")):
        assert _reason(codec.decode_sealed(codec.encode_sealed(sealed))) is Reason.FIELD_MISSING
    assert _reason(codec.decode_sealed(b"x" * 100, 99)) is Reason.TOO_LARGE


def test_a_few_unknown_fields_are_put_up_with_and_many_are_not() -> None:
    packet = codec.encode_query(IDS)
    assert codec.decode_query(packet + field(99, b"x" * 400)) == IDS
    assert _reason(codec.decode_query(packet + field(99, b"x" * 600))) is Reason.UNKNOWN_FIELDS


@given(st.binary(max_size=300))
def test_any_bytes_give_a_value_or_a_reason(packet: bytes) -> None:
    for decode in (codec.decode_sealed, codec.decode_query, codec.decode_answer):
        assert decode(packet) is not None


@given(st.sampled_from([codec.encode_query(IDS), codec.encode_query(PAGE), codec.encode_answer(FULL)]), st.data())
def test_a_packet_with_altered_bytes_gives_a_value_or_a_reason(packet: bytes, data: st.DataObject) -> None:
    altered = bytearray(packet)
    for _ in range(data.draw(st.integers(1, 4))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    for decode in (codec.decode_query, codec.decode_answer):
        found = decode(bytes(altered))
        if isinstance(found, StoreQuery):
            assert codec.decode_query(codec.encode_query(found)) == found
        elif isinstance(found, StoreAnswer):
            assert codec.decode_answer(codec.encode_answer(found)) == found
