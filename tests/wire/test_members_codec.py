"""Envelopes and announcements of members' channels, to bytes and back."""

from __future__ import annotations

import pytest

from sdschat.timber.limits import KEY_BYTES, MAX_NUMBER, MAX_OPERATION_BYTES, MAX_PACKET_BYTES, SIGNATURE_BYTES
from sdschat.wire.chat_codec import MAX_NICK_BYTES
from sdschat.wire.members_codec import (
    MAX_CONTACTS,
    Announcement,
    TimberEnvelope,
    decode_announcement,
    decode_timber_envelope,
    encode_announcement,
    encode_timber_envelope,
)

KEY, SIGNATURE = bytes(range(KEY_BYTES)), bytes(range(SIGNATURE_BYTES))
ENVELOPE = TimberEnvelope(KEY, "ann", b"a packet", SIGNATURE)
ANNOUNCEMENT = Announcement(b"the first operation", SIGNATURE, (KEY, KEY[::-1]), 7, SIGNATURE[::-1])


@pytest.mark.parametrize(
    "envelope",
    [
        ENVELOPE,
        ENVELOPE._replace(nick="", packet=b""),
        ENVELOPE._replace(nick="é" * (MAX_NICK_BYTES // 2)),
        ENVELOPE._replace(packet=bytes(MAX_PACKET_BYTES)),
    ],
)
def test_an_envelope_comes_back(envelope: TimberEnvelope) -> None:
    assert decode_timber_envelope(encode_timber_envelope(envelope)) == envelope


@pytest.mark.parametrize(
    "envelope",
    [
        ENVELOPE._replace(author_key=KEY[1:]),
        ENVELOPE._replace(author_key=KEY + b"."),
        ENVELOPE._replace(signature=SIGNATURE[1:]),
        ENVELOPE._replace(nick="n" * (MAX_NICK_BYTES + 1)),
        ENVELOPE._replace(nick="a\x1bb"),
        ENVELOPE._replace(packet=bytes(MAX_PACKET_BYTES + 1024)),
    ],
)
def test_an_envelope_out_of_bounds_is_none(envelope: TimberEnvelope) -> None:
    assert decode_timber_envelope(encode_timber_envelope(envelope)) is None


def test_an_envelope_as_large_as_is_allowed() -> None:
    """A packet at its bound, and 1024 bytes around it."""
    around = len(encode_timber_envelope(ENVELOPE._replace(packet=bytes(MAX_PACKET_BYTES)))) - MAX_PACKET_BYTES
    largest = ENVELOPE._replace(packet=bytes(MAX_PACKET_BYTES + 1024 - around))
    assert decode_timber_envelope(encode_timber_envelope(largest)) == largest
    beyond = ENVELOPE._replace(packet=largest.packet + b"x")
    assert decode_timber_envelope(encode_timber_envelope(beyond)) is None


def test_an_announcement_as_large_as_is_allowed() -> None:
    """An operation at its bound, and the keys of all contacts with two bytes around each."""
    most = MAX_OPERATION_BYTES + MAX_CONTACTS * (KEY_BYTES + 2)
    around = len(encode_announcement(ANNOUNCEMENT._replace(genesis=bytes(MAX_OPERATION_BYTES)))) - MAX_OPERATION_BYTES
    largest = ANNOUNCEMENT._replace(genesis=bytes(most - around))
    assert len(encode_announcement(largest)) == most
    assert decode_announcement(encode_announcement(largest)) == largest
    assert decode_announcement(encode_announcement(largest._replace(genesis=largest.genesis + b"x"))) is None


def test_other_bytes_are_no_envelope() -> None:
    assert decode_timber_envelope(b"") is None
    assert decode_timber_envelope(b"\xff" * 40) is None


@pytest.mark.parametrize(
    "announcement",
    [
        ANNOUNCEMENT,
        ANNOUNCEMENT._replace(contacts=(KEY,) * MAX_CONTACTS),
        ANNOUNCEMENT._replace(number=1, contacts=(KEY,)),
        ANNOUNCEMENT._replace(number=MAX_NUMBER),
    ],
)
def test_an_announcement_comes_back(announcement: Announcement) -> None:
    assert decode_announcement(encode_announcement(announcement)) == announcement


@pytest.mark.parametrize(
    "announcement",
    [
        ANNOUNCEMENT._replace(contacts=(KEY,) * (MAX_CONTACTS + 1)),
        ANNOUNCEMENT._replace(contacts=()),
        ANNOUNCEMENT._replace(contacts=(KEY, KEY[1:])),
        ANNOUNCEMENT._replace(number=0),
        ANNOUNCEMENT._replace(number=MAX_NUMBER + 1),
        ANNOUNCEMENT._replace(genesis=b""),
    ],
)
def test_an_announcement_out_of_bounds_is_none(announcement: Announcement) -> None:
    assert decode_announcement(encode_announcement(announcement)) is None


def test_other_bytes_are_no_announcement() -> None:
    assert decode_announcement(b"\xff" * 40) is None
    assert decode_announcement(b"") is None
