"""Packets of four dialects are told apart, and read under the names of the specification."""

from __future__ import annotations

import pytest

from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire import dialects
from sdschat.wire.dialects import DialectReading, read_any
from sdschat.wire.nim_codec import NimCodec
from tests.wire.samples import BYTES, CODEC, FIXED32, digest, field, full_message, least, tag, vectors, written_twice

MS = 1_760_331_342_969


def reading(packet: bytes) -> DialectReading:
    found = read_any(packet)
    assert found is not None
    return found


def logos_chat(*more: bytes, lamport: int = 1) -> bytes:
    """Return a ReliablePayload as libchat writes it: the numbers of reliability.proto, empty fields left out."""
    entry = field(1, digest("parent")) + field(3, "bob")
    packet = field(2, digest("m")) + field(3, "talk") + field(7, "ann") + field(10, lamport) + field(11, entry)
    return packet + b"".join(more) + field(20, b"hello")


def test_the_specification() -> None:
    assert reading(CODEC.encode(full_message())) == DialectReading(dialects.SPEC, full_message(), ())


@pytest.mark.parametrize("vector", vectors()[::9], ids=lambda vector: str(vector["message_id"])[:8])
def test_newer_waku_speaks_as_the_specification(vector: dict[str, str]) -> None:
    if int(vector["lamport_timestamp"] or MS) >= MS:
        assert reading(bytes.fromhex(vector["encoded"])).dialect == dialects.SPEC


def test_logos_chat_has_its_sender_in_another_place() -> None:
    found = reading(logos_chat())
    history = (HistoryEntry(digest("parent"), None, "bob"),)
    assert found.dialect == dialects.LOGOS_CHAT
    assert found.message == Message("ann", digest("m"), "talk", 1, history, None, (), b"hello")
    assert [text for text in found.departures if "int32" in text]
    assert [text for text in found.departures if "sender_id has the number 7" in text]


def test_logos_chat_is_known_by_its_sender_and_the_id_alone() -> None:
    assert reading(field(2, digest("m")) + field(7, "ann")).dialect == dialects.LOGOS_CHAT


def test_what_follows_an_unknown_field_is_read() -> None:
    assert reading(field(99, b"new") + logos_chat()).message == reading(logos_chat()).message


def test_older_waku_counts_from_zero() -> None:
    with_sender = field(1, "s") + field(2, "m") + field(3, "c") + field(10, 12) + field(12, b"f") + field(20, b"x")
    without = field(2, "m") + field(3, "c") + field(10, 12) + field(11, field(1, "m0")) + field(20, b"x")
    assert reading(with_sender).dialect == reading(without).dialect == dialects.WAKU_OLDER
    assert reading(without).message == Message("", "m", "c", 12, (HistoryEntry("m0"),), None, (), b"x")


def test_a_negative_int32_of_older_waku_is_shown_as_it_was_meant() -> None:
    found = reading(least()[:-2] + field(10, 2**64 - 5))
    assert (found.dialect, found.message.lamport_timestamp) == (dialects.WAKU_OLDER, -5)


def test_the_oldest_waku_has_bare_ids_in_its_history() -> None:
    found = reading(field(2, "m") + field(3, "c") + field(10, 3) + field(11, "one") + field(11, "two"))
    assert found.dialect == dialects.WAKU_OLDER
    assert found.message.causal_history == (HistoryEntry("one"), HistoryEntry("two"))
    assert found.departures.count("causal_history holds bare ids, not entries") == 1


def test_a_clock_in_seconds_is_no_other_dialect() -> None:
    assert reading(least()[:-2] + field(10, MS // 1000)).dialect == dialects.SPEC


@pytest.mark.parametrize(
    ("clock", "dialect", "shown"),
    [
        (10**9 - 1, dialects.WAKU_OLDER, 10**9 - 1),
        (10**9, dialects.SPEC, 10**9),
        (2**63 - 1, dialects.SPEC, 2**63 - 1),
        (2**63, dialects.SPEC, 2**63),
        (2**64 - 2**31 - 1, dialects.SPEC, 2**64 - 2**31 - 1),
        (2**64 - 2**31, dialects.WAKU_OLDER, -(2**31)),
        (2**64 - 1, dialects.WAKU_OLDER, -1),
    ],
)
def test_clocks_between_counting_time_and_negative(clock: int, dialect: str, shown: int) -> None:
    found = reading(field(1, "s") + field(2, "m") + field(3, "c") + field(10, clock))
    assert (found.dialect, found.message.lamport_timestamp) == (dialect, shown)


def test_a_bare_id_may_begin_with_a_space() -> None:
    found = reading(field(2, "m") + field(3, "c") + field(11, " one"))
    assert (found.dialect, found.message.causal_history) == (dialects.WAKU_OLDER, (HistoryEntry(" one"),))


def test_nim_sds_is_known_by_id_and_channel_alone() -> None:
    found = reading(field(1, "m") + field(4, "lobby"))
    assert (found.dialect, found.message) == (dialects.NIM, Message("", "m", "lobby"))


def test_nim_sds() -> None:
    packet = NimCodec().encode(full_message())
    found = reading(packet)
    assert found.dialect == dialects.NIM
    assert found.message.message_id == full_message().message_id
    assert found.message.causal_history == full_message().causal_history
    assert found.message.repair_request == full_message().repair_request


def test_nim_sds_with_every_empty_field_left_off() -> None:
    found = reading(field(1, "m") + field(2, 7) + field(4, "lobby"))
    assert (found.dialect, found.message) == (dialects.NIM, Message("", "m", "lobby", 7))


def test_an_entry_without_an_id_is_kept_as_one() -> None:
    found = reading(field(1, "m") + field(2, 7) + field(3, field(3, "bob")) + field(3, b"") + field(4, "lobby"))
    assert found.message.causal_history == (HistoryEntry("", None, "bob"), HistoryEntry(""))


def test_what_is_not_of_the_right_form_is_said() -> None:
    found = reading(field(1, "s") + field(1, "t") + field(2, "m") + field(3, "c") + tag(10, FIXED32) + bytes(4))
    assert found.departures == ("sender_id is there twice", "lamport_timestamp has the wire type 5, not 0")


@pytest.mark.parametrize(("name", "packet"), written_twice().items())
def test_a_field_that_is_there_twice_is_said(name: str, packet: bytes) -> None:
    assert f"{name} is there twice" in reading(packet).departures


@pytest.mark.parametrize(
    "packet", [b"", b"\xff\xff", field(1, "one"), field(5, "x") + field(6, 7), least()[:-1], tag(1, BYTES) + b"\x05ab"]
)
def test_what_is_no_packet(packet: bytes) -> None:
    assert read_any(packet) is None
