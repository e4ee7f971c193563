"""Well-formed packets survive decoding and encoding, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.sds.limits import MAX_CHANNEL_BYTES, MAX_HINT_BYTES, MAX_ID_BYTES, MAX_SENDER_BYTES
from sdschat.sds.values import Codec, HistoryEntry, Message, Refusal
from sdschat.wire.sds_codec import SdsCodec
from tests.wire.samples import CODEC, accepted, field, full_message, least, refused, vectors


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _entries(listed: list[dict[str, Any]]) -> tuple[HistoryEntry, ...]:
    return tuple(HistoryEntry(e["message_id"], _bytes(e["retrieval_hint"]), e["sender_id"]) for e in listed)


def _stated(vector: dict[str, Any]) -> Message:
    lamport = vector["lamport_timestamp"]
    return Message(
        sender_id=vector["sender_id"],
        message_id=vector["message_id"],
        channel_id=vector["channel_id"],
        lamport_timestamp=None if lamport is None else int(lamport),
        causal_history=_entries(vector["causal_history"]),
        bloom_filter=_bytes(vector["bloom_filter"]),
        repair_request=_entries(vector["repair_request"]),
        content=_bytes(vector["content"]),
    )


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["kind"] + "-" + vector["message_id"][:8])
def test_packets_of_the_typescript_implementation(vector: dict[str, Any]) -> None:
    packet = bytes.fromhex(vector["encoded"])
    message = accepted(packet)
    assert message == _stated(vector)
    assert message.kind == vector["kind"]
    assert CODEC.encode(message) == packet


def test_every_field_comes_through() -> None:
    message = full_message()
    assert accepted(CODEC.encode(message)) == message


def test_it_is_the_codec_of_the_engine() -> None:
    codec: Codec = SdsCodec()
    assert isinstance(codec.decode(b""), Refusal)


names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)


def _name(limit: int) -> st.SearchStrategy[str]:
    return names.filter(lambda text: len(text.encode()) <= limit)


def _some(limit: int) -> st.SearchStrategy[bytes | None]:
    return st.none() | st.binary(min_size=1, max_size=limit)


entries = st.lists(
    st.builds(HistoryEntry, _name(MAX_ID_BYTES), _some(MAX_HINT_BYTES), st.none() | _name(MAX_SENDER_BYTES)),
    max_size=6,
    unique_by=lambda entry: entry.message_id,
).map(tuple)
messages = st.builds(
    Message,
    sender_id=_name(MAX_SENDER_BYTES),
    message_id=_name(MAX_ID_BYTES),
    channel_id=_name(MAX_CHANNEL_BYTES),
    lamport_timestamp=st.none() | st.integers(0, 2**64 - 1),
    causal_history=entries,
    bloom_filter=_some(1000),
    repair_request=entries,
    content=_some(1000),
).filter(
    lambda message: (
        (message.content is not None or message.lamport_timestamp is not None)
        and message.message_id not in {entry.message_id for entry in message.causal_history}
    )
)


@given(messages)
def test_round_trip(message: Message) -> None:
    assert accepted(CODEC.encode(message)) == message


def test_lamport_zero_is_not_absent() -> None:
    assert accepted(field(1, "s") + field(2, "m") + field(3, "c") + field(10, 0)).lamport_timestamp == 0


def test_largest_number_is_just_a_number() -> None:
    assert accepted(least(field(20, b"x")).replace(field(10, 7), field(10, 2**64 - 1))).lamport_timestamp == 2**64 - 1


@pytest.mark.parametrize(("number", "name"), [(20, "content"), (12, "bloom_filter")])
def test_empty_means_absent(number: int, name: str) -> None:
    assert getattr(accepted(least(field(number, b""))), name) is None


def test_empty_means_absent_in_entries() -> None:
    entry = field(1, "x") + field(2, b"") + field(3, "")
    assert accepted(least(field(11, entry))).causal_history == (HistoryEntry("x"),)


def test_empty_is_not_written() -> None:
    message = Message("s", "m", "c", 7, (HistoryEntry("x", b"", ""),), b"", (), b"")
    assert CODEC.encode(message) == least(field(11, field(1, "x")))


def test_the_same_dependency_twice_is_one() -> None:
    first, again, other = field(1, "x") + field(3, "alice"), field(1, "x") + field(3, "bob"), field(1, "y")
    packet = least(*(field(number, entry) for number in (11, 13) for entry in (first, again, other)))
    expected = (HistoryEntry("x", None, "alice"), HistoryEntry("y"))
    assert accepted(packet).causal_history == expected
    assert accepted(packet).repair_request == expected


def test_order_of_fields_is_free() -> None:
    message = full_message()
    parts = [field(20, message.content or b""), field(10, 7), field(3, "c"), field(2, "m"), field(1, "s")]
    assert accepted(b"".join(parts)) == Message("s", "m", "c", 7, content=message.content)


def test_a_number_may_be_longer_than_need_be() -> None:
    assert accepted(least().replace(field(10, 7), b"\x50\x87\x80\x00")).lamport_timestamp == 7


def test_size_limit_is_the_callers() -> None:
    packet = CODEC.encode(full_message())
    assert isinstance(SdsCodec(len(packet)).decode(packet), Message)
    refusal = refused(packet, SdsCodec(len(packet) - 1))
    assert refusal.reason == "too_large"
    assert refusal.sender_id == full_message().sender_id


def test_wrong_call_of_our_own_raises() -> None:
    with pytest.raises(UnicodeEncodeError):
        CODEC.encode(replace(full_message(), sender_id="\ud800"))
    with pytest.raises(ValueError, match="range"):
        CODEC.encode(replace(full_message(), lamport_timestamp=-1))
