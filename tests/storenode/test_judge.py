"""A Store's answer, checked against its question."""

from __future__ import annotations

import pytest

from sdschat.identity.signing import Identity
from sdschat.node.store_client.verify import Lie, VerifiedAnswer, judge
from sdschat.sds.ids import text_id
from sdschat.sds.values import Message
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.store_codec import Item, Range, StoreAnswer, StoreKey, StoreQuery, WantedMessage
from tests.identity.signed import signed_message

CODEC = SdsCodec()
ANN = Identity(b"a" * 32)
QID = b"12345678"


def said(number: int, **changes: object) -> Message:
    made = signed_message(ANN, "lobby", f"n {number}", 1000 + number, sent_time=number)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def item(message: Message, message_id: str | None = None) -> Item:
    return Item(message.message_id if message_id is None else message_id, CODEC.encode(message), b"hint")


def asked(*messages: Message) -> StoreQuery:
    return StoreQuery(QID, "s", 0, tuple(WantedMessage(message.message_id) for message in messages))


def page(
    *numbers: int, query: Range | None = None, last: int | None = None, more: bool = False
) -> VerifiedAnswer | Lie:
    items = tuple(item(said(number), "") for number in numbers)
    key = None if last is None else StoreKey(1000 + last, said(last).message_id)
    answer = StoreAnswer(QID, items, (), more, 0, "", key)
    return judge(StoreQuery(QID, "s", 0, (), query or Range(0, 5000, None, False, 100)), answer, "lobby", CODEC)


def _numbers(found: VerifiedAnswer | Lie) -> list[int]:
    assert isinstance(found, VerifiedAnswer), found
    return [(checked.message.lamport_timestamp or 0) - 1000 for checked in found.fetched]


def test_what_was_asked_for_is_taken() -> None:
    one, two = said(1), said(2)
    assert _numbers(judge(asked(one, two), StoreAnswer(QID, (item(one), item(two))), "lobby", CODEC)) == [1, 2]


def test_ids_over_plain_text_are_taken_too() -> None:
    made = said(1, content=b"plain", message_id=text_id("lobby", ANN.sender_id, 1001, b"plain"))
    assert _numbers(judge(asked(made), StoreAnswer(QID, (item(made),)), "lobby", CODEC)) == [1]


def test_ids_that_nobody_can_check_are_not_taken_and_nobody_is_blamed() -> None:
    made = said(1, content=b"plain", message_id="of another make")
    found = judge(asked(made), StoreAnswer(QID, (item(made),)), "lobby", CODEC)
    assert found == VerifiedAnswer((), ("of another make",))


def test_a_packet_larger_than_we_allow_is_not_taken_and_nobody_is_blamed() -> None:
    made = said(1)
    found = judge(asked(made), StoreAnswer(QID, (item(made),)), "lobby", SdsCodec(100))
    assert found == VerifiedAnswer((), (made.message_id,))


@pytest.mark.parametrize(
    ("items", "unknown", "more", "why"),
    [
        ([item(said(3))], [], False, "not asked for"),
        ([item(said(1)), item(said(1))], [], False, "twice"),
        ([item(said(1), said(2).message_id)], [], False, "as another"),
        ([item(said(1, content=said(2).content))], [], False, "other bytes"),
        ([item(said(1, channel_id="attic"))], [], False, "another channel"),
        ([Item(said(1).message_id, b"\xff\xff", b"")], [], False, "cannot be read"),
        ([item(said(1, content=None))], [], False, "no log"),
        ([item(said(1, lamport_timestamp=None))], [], False, "no log"),
        ([item(said(1))], [said(1).message_id], False, "denied"),
        ([], [], True, "sent none"),
    ],
)
def test_what_only_the_store_can_have_done_is_a_lie(
    items: list[Item], unknown: list[str], more: bool, why: str
) -> None:
    found = judge(asked(said(1), said(2)), StoreAnswer(QID, tuple(items), tuple(unknown), more), "lobby", CODEC)
    assert isinstance(found, Lie)
    assert why in found.why


def test_a_hint_alone_may_lead_to_one_message_and_no_more() -> None:
    query = StoreQuery(QID, "s", 0, (WantedMessage("", b"hint"),))
    assert _numbers(judge(query, StoreAnswer(QID, (item(said(1)),)), "lobby", CODEC)) == [1]
    assert isinstance(judge(query, StoreAnswer(QID, (item(said(1)), item(said(2)))), "lobby", CODEC), Lie)


def test_a_refusal_is_no_lie() -> None:
    assert judge(asked(said(1)), StoreAnswer(QID, refused="busy"), "lobby", CODEC) == VerifiedAnswer(())


def test_a_confirmation_needs_no_packets() -> None:
    query = asked(said(1))._replace(confirm=True)
    assert judge(query, StoreAnswer(QID, (Item(said(1).message_id, b"", b"hint"),)), "lobby", CODEC) == VerifiedAnswer(
        ()
    )


def test_a_page_in_order_is_taken() -> None:
    assert _numbers(page(1, 2, 3)) == [1, 2, 3]
    assert _numbers(page(3, 2, 1, query=Range(0, 5000, None, True, 100))) == [3, 2, 1]
    after = StoreKey(1002, said(2).message_id)
    assert _numbers(page(3, 4, query=Range(0, 5000, after, False, 100))) == [3, 4]


@pytest.mark.parametrize(
    ("numbers", "query", "why"),
    [
        ((2, 1), Range(0, 5000), "out of order"),
        ((1, 1), Range(0, 5000), "out of order"),
        ((1, 2), Range(0, 5000, None, True), "out of order"),
        ((2, 3), Range(0, 5000, StoreKey(1002, said(2).message_id)), "out of order"),
        ((1,), Range(1002, 5000), "outside"),
        ((4,), Range(0, 1003), "outside"),
        ((1, 2, 3), Range(0, 5000, None, False, 2), "page of 2"),
    ],
)
def test_a_page_out_of_order_or_range_is_a_lie(numbers: tuple[int, ...], query: Range, why: str) -> None:
    found = page(*numbers, query=query)
    assert isinstance(found, Lie)
    assert why in found.why


@pytest.mark.parametrize(
    ("numbers", "query", "last"),
    [
        ((), Range(0, 5000), 1),
        ((1, 2), Range(0, 5000), None),
        ((1, 2), Range(0, 5000), 1),
        ((1, 2), Range(0, 1003), 4),
        ((2, 1), Range(0, 5000, None, True), 2),
    ],
)
def test_a_page_that_promises_more_must_lead_on(numbers: tuple[int, ...], query: Range, last: int | None) -> None:
    assert isinstance(page(*numbers, query=query, last=last, more=True), Lie)


def test_a_small_page_with_more_to_come_is_noted_as_thin() -> None:
    found = page(1, 2, last=2, more=True)
    assert isinstance(found, VerifiedAnswer)
    assert found.thin
    whole = page(1, 2, query=Range(0, 5000, None, False, 2), last=2, more=True)
    assert isinstance(whole, VerifiedAnswer)
    assert not whole.thin
