"""Malformed packets are refused with a reason, at exactly the stated limits."""

from __future__ import annotations

import pytest

from sdschat.sds import limits
from sdschat.sds.values import HistoryEntry, Message, Reason
from sdschat.wire.dialects import NIM, read_any
from sdschat.wire.sds_codec import SdsCodec
from tests.wire.samples import (
    CODEC,
    END_GROUP,
    FIXED32,
    FIXED64,
    GROUP,
    accepted,
    digest,
    field,
    full_message,
    least,
    refused,
    tag,
    written_twice,
)

NAMES = {
    "sender_id": limits.MAX_SENDER_BYTES,
    "message_id": limits.MAX_ID_BYTES,
    "channel_id": limits.MAX_CHANNEL_BYTES,
}


def _with(name: str, text: str) -> bytes:
    message = full_message()
    setattr(message, name, text)
    return CODEC.encode(message)


def test_empty_packet() -> None:
    assert refused(b"").reason == Reason.FIELD_MISSING


@pytest.mark.parametrize("name", NAMES)
def test_missing_name(name: str) -> None:
    refusal = refused(_with(name, ""))
    assert (refusal.reason, refusal.detail) == (Reason.FIELD_MISSING, f"{name} is missing")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_empty_name_written_out(number: int) -> None:
    parts = [field(n, "" if n == number else "x") for n in (1, 2, 3)]
    assert refused(b"".join(parts) + field(10, 7)).reason == Reason.FIELD_MISSING


@pytest.mark.parametrize("letter", ["x", "ß", "語", "🦆"])
@pytest.mark.parametrize("name", NAMES)
def test_length_of_names(name: str, letter: str) -> None:
    room, rest = divmod(NAMES[name], len(letter.encode()))
    longest = letter * room + "x" * rest
    for text in (longest[:-1], longest):
        assert getattr(accepted(_with(name, text)), name) == text
    refusal = refused(_with(name, longest + "x"))
    assert refusal.reason == Reason.FIELD_TOO_LONG
    assert name in refusal.detail


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("control", ["\0", "\x1b[2J", "\n", "\x7f", "\x85"])
def test_control_characters(name: str, control: str) -> None:
    refusal = refused(_with(name, f"a{control}b"))
    assert refusal.reason == Reason.UNREADABLE
    assert refusal.detail == f"{name} holds a control character"
    assert control not in refusal.sender_id + refusal.message_id


@pytest.mark.parametrize("name", NAMES)
def test_spaces_and_marks_of_all_scripts(name: str) -> None:
    for text in ("a b", "a\u00a0b", "a\u200db", "\U0010fffd"):
        assert getattr(accepted(_with(name, text)), name) == text


@pytest.mark.parametrize(
    ("number", "limit"), [(11, limits.MAX_CAUSAL_HISTORY), (13, limits.MAX_REPAIR_ENTRIES)], ids=["causal", "repair"]
)
def test_number_of_entries(number: int, limit: int) -> None:
    entries = [field(number, field(1, f"id{place}")) for place in range(limit + 1)]
    for count in (limit - 1, limit):
        message = accepted(least(*entries[:count]))
        assert len(message.causal_history) + len(message.repair_request) == count
    name = "causal_history" if number == 11 else "repair_request"
    refusal = refused(least(*entries))
    assert (refusal.reason, refusal.detail) == (
        Reason.TOO_MANY_ENTRIES,
        f"{name} has {limit + 1} entries; {limit} are allowed",
    )
    same = [field(number, field(1, "same"))] * (limit + 1)
    assert refused(least(*same)).reason == Reason.TOO_MANY_ENTRIES


def test_a_flood_of_empty_entries() -> None:
    packet = least() + field(11, b"") * 500_000
    assert refused(packet).reason == Reason.TOO_LARGE
    assert refused(packet, SdsCodec(len(packet))).reason == Reason.TOO_MANY_ENTRIES


@pytest.mark.parametrize("number", [11, 13])
def test_ids_of_entries(number: int) -> None:
    longest = "x" * limits.MAX_ID_BYTES
    for good in (longest[:-1], longest):
        accepted(least(field(number, field(1, good))))
    good_entry = field(number, field(1, "good"))
    cases = {"": Reason.FIELD_MISSING, longest + "x": Reason.FIELD_TOO_LONG, "a\x07b": Reason.UNREADABLE}
    for bad, reason in cases.items():
        refusal = refused(least(good_entry, field(number, field(1, bad) if bad else b"")))
        assert refusal.reason == reason
        assert "[1].message_id" in refusal.detail
        assert (refusal.sender_id, refusal.message_id) == ("s", "m")


@pytest.mark.parametrize("number", [11, 13])
def test_hints_too_long_are_left_out(number: int) -> None:
    for size in (limits.MAX_HINT_BYTES - 1, limits.MAX_HINT_BYTES, limits.MAX_HINT_BYTES + 1):
        hint = b"h" * size
        message = accepted(least(field(number, field(1, "x") + field(2, hint))))
        expected = HistoryEntry("x", hint if size <= limits.MAX_HINT_BYTES else None)
        assert message.causal_history + message.repair_request == (expected,)


@pytest.mark.parametrize("number", [11, 13])
def test_impossible_senders_of_entries_are_left_out(number: int) -> None:
    longest = "x" * limits.MAX_SENDER_BYTES
    for text, expected in ((longest, longest), (longest + "x", None), ("a\nb", None)):
        message = accepted(least(field(number, field(1, "x") + field(3, text))))
        assert message.causal_history + message.repair_request == (HistoryEntry("x", None, expected),)


def test_a_filter_of_any_length_is_kept_for_the_engine_to_judge() -> None:
    for size in (1, limits.MAX_FILTER_BYTES, limits.MAX_FILTER_BYTES + 1, 60 * limits.KIB):
        bits = b"\xff" * size
        message = accepted(least(field(12, bits), field(20, b"x")))
        assert (message.bloom_filter, message.content) == (bits, b"x")


def test_neither_content_nor_clock() -> None:
    names = field(1, "s") + field(2, "m") + field(3, "c")
    for packet in (names, names + field(20, b""), names + field(13, field(1, "x"))):
        assert refused(packet).reason == Reason.NO_KIND


def test_self_reference() -> None:
    refusal = refused(least(field(11, field(1, "x")), field(11, field(1, "m"))))
    assert refusal.reason == Reason.SELF_REFERENCE
    assert isinstance(accepted(least(field(13, field(1, "m")))), Message)


@pytest.mark.parametrize(
    ("name", "packet"),
    [
        *written_twice().items(),
        ("content", least(field(20, b"a") + field(20, b""))),
        ("causal_history.message_id", least(field(11, field(1, "x") + field(1, "y")))),
        ("repair_request.sender_id", least(field(13, field(1, "x") + field(3, "y") + field(3, "y")))),
    ],
)
def test_duplicated_field(name: str, packet: bytes) -> None:
    refusal = refused(packet)
    assert (refusal.reason, refusal.detail) == (Reason.DUPLICATE_FIELD, f"{name} is there twice")


def test_unknown_fields() -> None:
    overhead = len(field(200, b"x" * 300)) - 300
    for size in (limits.MAX_UNKNOWN_BYTES - 1, limits.MAX_UNKNOWN_BYTES):
        assert accepted(least(field(200, b"x" * (size - overhead)))) == accepted(least())
    assert refused(least(field(200, b"x" * (limits.MAX_UNKNOWN_BYTES + 1 - overhead)))).reason == Reason.UNKNOWN_FIELDS


def test_unknown_fields_add_up_and_are_found_in_entries() -> None:
    half = field(200, b"x" * (limits.MAX_UNKNOWN_BYTES // 2))
    assert accepted(least(half)) == accepted(least())
    assert refused(least(half, half)).reason == Reason.UNKNOWN_FIELDS
    entries = [field(11, field(1, name) + half) for name in ("x", "y")]
    assert refused(least(*entries)).reason == Reason.UNKNOWN_FIELDS


def test_an_unknown_group_counts_whole() -> None:
    def group(size: int) -> bytes:
        return tag(30, GROUP) + tag(31, GROUP) + field(1, b"x" * size) + tag(31, END_GROUP) + tag(30, END_GROUP)

    assert accepted(least(group(10))) == accepted(least())
    assert refused(least(group(600))).reason == Reason.UNKNOWN_FIELDS


@pytest.mark.parametrize(
    "wrong",
    [
        field(1, 5),
        tag(2, FIXED32) + b"abcd",
        tag(10, FIXED64) + b"abcdefgh",
        field(10, b"\x07"),
        tag(11, GROUP) + tag(11, END_GROUP),
        field(12, 1),
        field(20, 1),
        field(11, field(1, "x") + field(2, 7)),
    ],
)
def test_wrong_wire_type(wrong: bytes) -> None:
    refusal = refused(least(wrong))
    assert refusal.reason == Reason.UNREADABLE
    assert "wire type" in refusal.detail


@pytest.mark.parametrize(("number", "name"), [(1, "sender_id"), (2, "message_id"), (3, "channel_id")])
def test_bad_utf8(number: int, name: str) -> None:
    for bad in (b"\xff", b"\xed\xa0\x80", b"\xc0\x80"):
        parts = [field(n, bad if n == number else "x") for n in (1, 2, 3)]
        refusal = refused(b"".join(parts) + field(10, 7))
        assert (refusal.reason, refusal.detail) == (Reason.UNREADABLE, f"{name} is not UTF-8")


def test_bad_utf8_in_an_entry() -> None:
    refusal = refused(least(field(11, field(1, b"\xff"))))
    assert (refusal.reason, refusal.detail) == (Reason.UNREADABLE, "causal_history.message_id is not UTF-8")
    assert (refusal.sender_id, refusal.message_id) == ("s", "m")


def test_truncated() -> None:
    packet = CODEC.encode(full_message())
    for size in range(len(packet)):
        result = CODEC.decode(packet[:size])
        if isinstance(result, Message):  # cut between two fields: a valid, shorter packet
            assert result.message_id == digest("message")
        else:
            assert result.reason in (Reason.UNREADABLE, Reason.FIELD_MISSING, Reason.NO_KIND)


def test_packet_of_nim_sds() -> None:
    entry = field(1, digest("x")) + field(2, b"\xff\xfe")
    head = field(1, digest("m")) + field(2, 1_760_331_342)
    tail = field(4, "lobby") + field(5, b"hello") + field(6, b"\xff" * 18_752) + field(7, "nim-sender")
    for packet in (head + tail, head + field(3, entry) + tail, head + field(3, field(1, digest("x"))) * 20 + tail):
        refusal = refused(packet)
        assert refusal.reason == Reason.FOREIGN_DIALECT
        assert "nim-sds" in refusal.detail
        assert (refusal.sender_id, refusal.message_id) == ("nim-sender", digest("m"))
    for clock in (field(2, 7), b""):  # since 0.4 nim-sds leaves out a clock of 0
        packet = field(1, "m") + clock + field(4, "lobby") + field(5, b"hello")
        assert refused(packet).reason == Reason.FOREIGN_DIALECT
        found = read_any(packet)
        assert found is not None
        assert found.dialect == NIM


def test_the_names_in_a_broken_packet_are_told_up_to_their_bounds() -> None:
    sender, message = "s" * limits.MAX_SENDER_BYTES, "m" * limits.MAX_ID_BYTES
    for more in ("", "x"):
        refusal = refused(field(1, sender + more) + field(2, message + more) + b"\xff")
        assert (refusal.sender_id, refusal.message_id) == (("", "") if more else (sender, message))


def test_only_so_many_fields_of_a_malformed_packet_are_read() -> None:
    cut = field(1, b"ann")[:-1]
    assert refused(field(11, b"") * 2560 + cut).detail.startswith("field 1 at byte")
    assert refused(field(11, b"") * 2561 + cut).detail == "has more than 2560 fields"
