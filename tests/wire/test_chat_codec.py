"""Envelopes in `content` at their bounds: what is one of ours, and what is content of another program."""

from __future__ import annotations

import pytest

from sdschat.wire.chat_codec import (
    MAX_NICK_BYTES,
    MAX_REPLY_TO_BYTES,
    MAX_SENT_TIME,
    Envelope,
    Place,
    decode_envelope,
    encode_envelope,
    is_canonical,
    is_ours,
)

KEY, NONCE, SIGNATURE = b"k" * 32, b"n" * 16, b"s" * 64
PLAIN = Envelope(KEY, NONCE, "ann", 1_800_000_000_000, 1, "grüße", "ab" * 32, SIGNATURE)
PLACE = Place(b"device 1", 7, b"p" * 32, 1_800_000_000_001, b"h" * 20, b"f" * 20)
PLACED = PLAIN._replace(nonce=b"n" * 8, place=PLACE)


def come_back(*envelopes: Envelope) -> bool:
    return all(decode_envelope(encode_envelope(one)) == one for one in envelopes)


def none_of_ours(*envelopes: Envelope) -> bool:
    return not any(decode_envelope(encode_envelope(one)) for one in envelopes)


@pytest.mark.parametrize("envelope", [PLAIN, PLACED], ids=["SDC1", "SDC2"])
def test_each_field_comes_back_up_to_its_bound(envelope: Envelope) -> None:
    change = envelope._replace
    assert come_back(
        envelope,
        change(nick="", text="", reply_to="", sent_time=0, kind=0),
        change(nick="ü" * (MAX_NICK_BYTES // 2), reply_to="r" * MAX_REPLY_TO_BYTES, sent_time=MAX_SENT_TIME),
    )
    assert none_of_ours(
        change(author_key=KEY[1:]),
        change(author_key=KEY + b"k"),
        change(nonce=envelope.nonce[1:]),
        change(nonce=envelope.nonce + b"n"),
        change(signature=SIGNATURE[1:]),
        change(nick="n" * (MAX_NICK_BYTES + 1)),
        change(nick="a\x1bb"),
        change(sent_time=MAX_SENT_TIME + 1),
        change(reply_to="r" * (MAX_REPLY_TO_BYTES + 1)),
        change(reply_to="a\nb"),
    )


def test_a_place_has_every_part_of_its_size() -> None:
    change = PLACE._replace
    first = change(sequence=1, previous=b"")
    ephemeral = change(sequence=0, previous=b"", lamport=0)
    assert come_back(*(PLACED._replace(place=place) for place in (first, ephemeral, change(sequence=2))))
    assert none_of_ours(
        *(
            PLACED._replace(place=place)
            for place in (
                change(device=b"short"),
                change(history=b"h" * 32),
                change(filter=b""),
                change(previous=b""),  # the second of a device and later ones name the one before
                change(previous=b"p" * 31),
                change(sequence=1),  # the first one names none
                change(sequence=0, previous=b""),  # an ephemeral message has no time
                change(lamport=0),  # a message has one
            )
        )
    )


def test_the_two_forms_differ_in_their_first_bytes_alone() -> None:
    assert encode_envelope(PLAIN)[:4] == b"SDC1"
    assert encode_envelope(PLACED)[:4] == b"SDC2"
    assert decode_envelope(b"SDC2" + encode_envelope(PLAIN)[4:]) is None
    assert decode_envelope(b"SDC3" + encode_envelope(PLAIN)[4:]) is None
    assert is_ours(b"SDC1 and nothing else")
    assert is_ours(b"SDC2")
    assert not is_ours(b"SDC3")
    assert not is_ours(b"hello")
    assert decode_envelope(b"SDC1\xff") is decode_envelope(b"SDC2\xff") is None


@pytest.mark.parametrize("envelope", [PLAIN, PLACED], ids=["SDC1", "SDC2"])
def test_another_encoding_of_an_envelope_is_not_canonical(envelope: Envelope) -> None:
    content = encode_envelope(envelope)
    unknown = content + b"\xf8\x3f\x01"
    assert decode_envelope(unknown) == envelope
    assert is_canonical(envelope, content)
    assert not is_canonical(envelope, unknown)
