"""The largest accepted questions and answers, and refusals of the next larger ones."""

from __future__ import annotations

import pytest

from sdschat.sds.limits import MAX_LAMPORT, MAX_UNKNOWN_BYTES
from sdschat.sds.values import Reason, Refusal
from sdschat.wire import store_codec as codec
from sdschat.wire.store_codec import Item, Range, Sealed, StoreAnswer, StoreKey, StoreQuery, WantedMessage
from tests.wire.samples import field

ID = b"12345678"
LONG = "a" * 128
IDS = StoreQuery(ID, LONG, 7, (WantedMessage(LONG, b"h" * 64),) * codec.MAX_WANTED)
PAGE = StoreQuery(ID, "s", 7, (), Range(MAX_LAMPORT, MAX_LAMPORT, StoreKey(MAX_LAMPORT, LONG), False, codec.MAX_ITEMS))
ITEMS = StoreAnswer(
    ID, (Item("a", b"", b"h" * 64),) * codec.MAX_ITEMS, ("b" * 128,) * codec.MAX_WANTED, True, MAX_LAMPORT
)


@pytest.mark.parametrize("query", [IDS, PAGE, PAGE._replace(range=Range(0, 0, None, False, 1))])
def test_the_largest_queries_are_taken(query: StoreQuery) -> None:
    assert codec.decode_query(codec.encode_query(query)) == query


@pytest.mark.parametrize(
    "answer",
    [
        ITEMS,
        StoreAnswer(ID, refused="r" * 32),
        StoreAnswer(ID, last=StoreKey(MAX_LAMPORT, LONG)),
        StoreAnswer(ID, (Item(LONG),)),
    ],
)
def test_the_largest_answers_are_taken(answer: StoreAnswer) -> None:
    assert codec.decode_answer(codec.encode_answer(answer)) == answer


def test_a_query_may_be_as_long_as_is_said() -> None:
    assert codec.decode_query(b"\xff" * codec.MAX_QUERY_BYTES) == Refusal(Reason.UNREADABLE)
    found = codec.decode_query(b"\xff" * (codec.MAX_QUERY_BYTES + 1))
    assert found == Refusal(Reason.TOO_LARGE, "65537 bytes; 65536 are allowed")


def test_an_answer_may_be_as_long_as_is_said() -> None:
    assert codec.decode_answer(b"\xff" * codec.MAX_ANSWER_BYTES) == Refusal(Reason.UNREADABLE)
    found = codec.decode_answer(b"\xff" * (codec.MAX_ANSWER_BYTES + 1))
    assert found == Refusal(Reason.TOO_LARGE, "1048577 bytes; 1048576 are allowed")


def test_a_letter_may_be_as_long_as_is_said() -> None:
    sealed = Sealed(b"k" * 32, b"s" * 64, b"body")
    packed = codec.encode_sealed(sealed)
    assert codec.decode_sealed(packed, len(packed)) == sealed
    assert codec.decode_sealed(b"\xff" * codec.MAX_ANSWER_BYTES) == Refusal(Reason.UNREADABLE)
    found = codec.decode_sealed(packed, len(packed) - 1)
    assert found == Refusal(Reason.TOO_LARGE, f"{len(packed)} bytes; {len(packed) - 1} are allowed")


def test_as_many_unknown_bytes_as_allowed_are_put_up_with() -> None:
    packed = codec.encode_query(PAGE)
    extra = field(99, b"x" * (MAX_UNKNOWN_BYTES - 4))
    assert len(extra) == MAX_UNKNOWN_BYTES
    assert codec.decode_query(packed + extra) == PAGE
    found = codec.decode_query(packed + extra + field(99, b""))
    assert found == Refusal(Reason.UNKNOWN_FIELDS, f"{MAX_UNKNOWN_BYTES + 3} bytes")


@pytest.mark.parametrize("text", [*map(chr, range(32)), "\x7f", "\x80", "\x9f"])
def test_every_control_character_is_refused_in_a_name(text: str) -> None:
    found = codec.decode_query(codec.encode_query(PAGE._replace(store=text)))
    assert found == Refusal(Reason.UNREADABLE, "store holds a control character")


def test_neighbours_of_control_characters_are_taken() -> None:
    for text in (" ", "~", "\xa0", "¡"):
        query = PAGE._replace(store=text)
        assert codec.decode_query(codec.encode_query(query)) == query


def test_a_length_is_of_bytes_and_not_of_letters() -> None:
    assert codec.decode_query(codec.encode_query(PAGE._replace(store="ü" * 64))) == PAGE._replace(store="ü" * 64)
    found = codec.decode_query(codec.encode_query(PAGE._replace(store="ü" * 65)))
    assert found == Refusal(Reason.FIELD_TOO_LONG, "store has more than 128 bytes")


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (ITEMS._replace(items=(Item("a"),) * 1025, unknown=()), "1025 messages, 0 unknown"),
        (ITEMS._replace(unknown=("a",) * 257), "1024 messages, 257 unknown"),
    ],
)
def test_too_many_are_counted(answer: StoreAnswer, detail: str) -> None:
    found = codec.decode_answer(codec.encode_answer(answer))
    assert found == Refusal(Reason.TOO_MANY_ENTRIES, detail)
