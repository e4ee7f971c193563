"""Rare packets, and the reports about them."""

from __future__ import annotations

from sdschat.sds.limits import MAX_CAUSAL_HISTORY, MAX_REPAIR_ENTRIES
from sdschat.sds.values import Message
from sdschat.wire.nim_codec import NimCodec
from tests.wire.samples import field, least, refused


def test_a_full_history_beside_too_many_requests_is_not_to_blame() -> None:
    packet = least(field(11, field(1, "a")) * MAX_CAUSAL_HISTORY, field(13, field(1, "b")) * (MAX_REPAIR_ENTRIES + 1))
    assert refused(packet).detail == "repair_request has 257 entries; 256 are allowed"


def test_content_that_is_no_text_is_not_to_blame_for_a_name_that_is_none() -> None:
    packet = field(20, b"\xff") + field(1, "s") + field(2, "m") + field(3, b"\xff") + field(10, 7)
    assert refused(packet).detail == "channel_id is not UTF-8"


def test_the_unknown_bytes_of_nim_sds_are_counted_wherever_they_stand() -> None:
    whole = NimCodec().encode(Message("s", "m", "c", 10**12, content=b"x" * 2000))
    assert isinstance(NimCodec().decode(whole + field(99, b"yz")), Message)
