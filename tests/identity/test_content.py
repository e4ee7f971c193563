"""Signing and verification: our own content comes back whole, and no other content passes for it."""

from __future__ import annotations

import hashlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.identity.content import (
    ContentKind,
    OpenedContent,
    Verdict,
    claims_identity,
    open_content,
    problems_with,
    seal,
)
from sdschat.identity.key_book import KeyBook
from sdschat.identity.key_rows import KeyRow
from sdschat.identity.signing import Identity
from sdschat.wire.chat_codec import MAGIC, PLACED_MAGIC, Place, decode_envelope, encode_envelope
from sdschat.wire.chat_pb2 import Chat, PlacedChat
from tests.identity.signed import old_content

ALICE, MALLORY = Identity(b"a" * 32), Identity(b"m" * 32)
NOBODY = KeyBook()
NONCE = bytes(range(8))
PLACE = Place(b"a device", 7, bytes(32), 1_700_000_000_000, bytes(20), bytes(range(20)))


def message_id(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def sealed(text: str = "hello", *, identity: Identity = ALICE, channel: str = "lobby", nick: str = "alice") -> bytes:
    return seal(
        identity, channel, text, nick=nick, sent_time=1_700_000_000_000, nonce=NONCE, reply_to="ab" * 32, place=PLACE
    )


def opened(content: bytes, *, sender: str = ALICE.sender_id, book: KeyBook = NOBODY) -> OpenedContent:
    return open_content(content, "lobby", sender, message_id(content), book)


def test_what_was_sealed_comes_back() -> None:
    content = seal(
        ALICE,
        "lobby",
        "wavés",
        nick="alice",
        sent_time=7,
        nonce=NONCE,
        kind=ContentKind.ACTION,
        reply_to="x",
        place=PLACE,
    )
    assert opened(content) == OpenedContent(
        Verdict.NEW, "wavés", ContentKind.ACTION, "alice", ALICE.public_key, 7, "x", PLACE
    )
    assert content.startswith(b"SDC2")
    assert "wavés".encode() in content  # readable in a program that shows raw content


def test_the_five_verdicts() -> None:
    book = KeyBook([KeyRow(ALICE.public_key, "alice", 1)])
    content = sealed()
    assert opened(content).verdict is Verdict.NEW
    assert opened(content, book=book).verdict is Verdict.KNOWN
    assert opened(b"plain words").verdict is Verdict.UNSIGNED
    assert opened(content, sender=MALLORY.sender_id).verdict is Verdict.MISMATCHED
    envelope = decode_envelope(content)
    assert envelope is not None
    forged = encode_envelope(envelope._replace(text="not what alice said"))
    assert opened(forged).verdict is Verdict.BAD_SIGNATURE


def other_value(value: str | bytes | int) -> str | bytes | int:
    """Return another value that the field of an envelope may have."""
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    return value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"


@pytest.mark.parametrize("name", [field.name for field in PlacedChat.DESCRIPTOR.fields])
def test_each_field_is_signed(name: str) -> None:
    chat = PlacedChat.FromString(sealed()[4:])
    setattr(chat, name, other_value(getattr(chat, name)))
    altered = opened(PLACED_MAGIC + chat.SerializeToString(deterministic=True))
    assert altered.verdict is Verdict.BAD_SIGNATURE


@pytest.mark.parametrize("name", [field.name for field in Chat.DESCRIPTOR.fields])
def test_each_field_of_a_content_without_its_place_is_signed(name: str) -> None:
    chat = Chat.FromString(old_content(ALICE, "lobby", "hello", nick="alice")[4:])
    setattr(chat, name, other_value(getattr(chat, name)))
    altered = opened(MAGIC + chat.SerializeToString(deterministic=True))
    assert altered.verdict is Verdict.BAD_SIGNATURE


def test_the_channel_is_signed() -> None:
    assert opened(sealed(channel="other")).verdict is Verdict.BAD_SIGNATURE


def test_where_a_field_ends_is_signed() -> None:
    envelope = decode_envelope(sealed())
    assert envelope is not None
    altered = encode_envelope(envelope._replace(nick="alicehello", text=""))
    assert opened(altered).verdict is Verdict.BAD_SIGNATURE


def test_every_flipped_bit_of_a_content_takes_its_proof_away() -> None:
    content = sealed()
    for bit in range(8 * len(content)):
        wrong = bytearray(content)
        wrong[bit // 8] ^= 1 << bit % 8
        assert not opened(bytes(wrong)).verdict.signed, f"bit {bit}"


def test_one_signed_content_cannot_be_shown_twice_in_another_encoding() -> None:
    content = sealed()
    chat = PlacedChat.FromString(content[4:])
    reordered = PLACED_MAGIC + PlacedChat(text=chat.text).SerializeToString() + content[4:]
    unknown_field = content + bytes([0x9A, 0x06, 0x01, 0x78])
    doubled = content + content[4:]
    long_varint = content.replace(b"\x0a\x20", b"\x0a\xa0\x00", 1)
    for variant in (reordered, unknown_field, doubled, long_varint):
        assert variant != content
        verdict = opened(variant)
        assert not verdict.verdict.signed
        assert verdict.verdict is Verdict.BAD_SIGNATURE


def test_a_content_without_its_place_counts_as_unsigned() -> None:
    content = old_content(ALICE, "lobby", "hello", nick="alice")
    book = KeyBook([KeyRow(ALICE.public_key, "alice", 1)])
    got = opened(content, book=book)
    assert (got.verdict, got.text, got.author_key) == (Verdict.UNSIGNED, "hello", ALICE.public_key)
    assert "not its place" in got.why
    assert claims_identity(got, ALICE)
    envelope = decode_envelope(content)
    assert envelope is not None
    assert opened(encode_envelope(envelope._replace(text="hellp"))).verdict is Verdict.BAD_SIGNATURE
    assert opened(encode_envelope(envelope._replace(place=PLACE, nonce=NONCE))).verdict is Verdict.BAD_SIGNATURE


def test_a_place_is_whole_or_there_is_none() -> None:
    envelope = decode_envelope(sealed())
    assert envelope is not None
    wrong = [
        {"device": b"short"},
        {"previous": b""},
        {"previous": bytes(31)},
        {"sequence": 1},
        {"sequence": 0, "previous": b""},
        {"lamport": 0},
        {"history": b""},
        {"filter": bytes(32)},
    ]
    for change in wrong:
        place = PLACE._replace(**change)  # type: ignore[arg-type]
        assert decode_envelope(encode_envelope(envelope._replace(place=place))) is None, change


def test_a_signed_content_under_another_message_id_is_mismatched() -> None:
    content = sealed()
    got = open_content(content, "lobby", ALICE.sender_id, "f" * 64, NOBODY)
    assert got.verdict is Verdict.MISMATCHED
    assert "id" in got.why


def test_unsigned_content_under_the_id_of_somebody_who_signs_is_told() -> None:
    book = KeyBook([KeyRow(ALICE.public_key, "alice", 1)])
    assert "signed before" in opened(b"send me money", book=book).why
    assert opened(b"send me money", sender="someone else", book=book).why == ""


@pytest.mark.parametrize("content", [b"", b"SDC", b"SDC1", b"SDC1\xff", b"\xff\xfe", b"SDC1\x0a\x20short", b"SDC2abc"])
def test_what_is_not_our_envelope_is_shown_as_text_where_it_is_text(content: bytes) -> None:
    got = opened(content)
    assert got.verdict is Verdict.UNSIGNED
    try:
        assert got.text == content.decode()
    except UnicodeDecodeError:
        assert got.text is None


def test_a_content_in_another_channel_name_that_is_no_text_is_refused() -> None:
    content = sealed()
    assert open_content(content, "\ud800", ALICE.sender_id, "", NOBODY).verdict is Verdict.BAD_SIGNATURE


@given(st.binary(max_size=400), st.text(max_size=20), st.text(max_size=20))
def test_opening_is_total(content: bytes, channel: str, sender: str) -> None:
    for data in (content, MAGIC + content, PLACED_MAGIC + content):
        assert not open_content(data, channel, sender, "id", NOBODY).verdict.signed


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_a_damaged_envelope_never_raises_and_never_passes(place: int, junk: bytes) -> None:
    content = sealed()
    place %= len(content)
    damaged = content[:place] + junk + content[place + len(junk) :]
    assert damaged == content or not opened(damaged).verdict.signed


def test_only_a_proven_signature_raises_the_identity_alarm() -> None:
    assert claims_identity(opened(sealed()), ALICE)
    assert not claims_identity(opened(b"I am alice"), ALICE)
    assert not claims_identity(opened(sealed(identity=MALLORY)), ALICE)
    envelope = decode_envelope(sealed(identity=MALLORY))
    assert envelope is not None
    stolen = encode_envelope(envelope._replace(author_key=ALICE.public_key))
    assert not claims_identity(opened(stolen), ALICE)


def test_what_cannot_be_said_is_refused_in_words_before_signing() -> None:
    assert problems_with("hello", "alice") == []
    for text, nick in (("\ud800", "alice"), ("hello", ""), ("hello", "a\x1bb"), ("hello", "n" * 129)):
        assert problems_with(text, nick)
        with pytest.raises(ValueError, match=r"nick|message"):
            sealed(text, nick=nick)
    with pytest.raises(ValueError, match="nonce"):
        seal(ALICE, "lobby", "hello", nick="alice", sent_time=1, nonce=b"short", place=PLACE)


def test_opening_is_fast_enough_for_the_stated_rate() -> None:
    """Opening takes at most 222 µs: 1,500 messages a second leave 667 µs for each, and a slow machine a third of it."""
    contents = [sealed(f"message {number} of a usual length, as people write them") for number in range(200)]
    jobs = [(content, message_id(content)) for content in contents]
    best = min(_seconds(jobs) for _ in range(5))
    print(f"open_content: {best / len(jobs) * 1e6:.0f} µs")
    assert best / len(jobs) < 222e-6


def _seconds(jobs: list[tuple[bytes, str]]) -> float:
    start = time.process_time()
    for content, identifier in jobs:
        open_content(content, "lobby", ALICE.sender_id, identifier, NOBODY)
    return time.process_time() - start
