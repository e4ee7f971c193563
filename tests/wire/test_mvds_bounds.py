"""The largest accepted payloads of MVDS, and the reasons for refusing the next larger ones."""

from __future__ import annotations

import pytest

from sdschat.mvds import limits
from sdschat.mvds.values import Message, Metadata, Payload, Reason, Refusal
from sdschat.wire.mvds_codec import Dialect, MvdsCodec
from tests.wire.samples import field

ID, OTHER = b"a" * 32, b"b" * 31
IDS = (ID,) * 5000  # ids have no bound of their own, only that of the packet
MESSAGE = Message(b"g" * 32, 7, b"body", Metadata((ID,) * limits.MAX_PARENTS, True))
CODEC = MvdsCodec()


def read(payload: Payload) -> Payload | Refusal:
    return CODEC.decode(CODEC.encode(payload))


@pytest.mark.parametrize(
    "payload",
    [
        Payload(IDS),
        Payload((), IDS),
        Payload((), (), IDS),
        Payload(messages=(Message(b"", 0, b""),) * limits.MAX_MESSAGES),
        Payload(messages=(MESSAGE,)),
    ],
)
def test_the_largest_are_taken(payload: Payload) -> None:
    assert read(payload) == payload


@pytest.mark.parametrize(
    ("payload", "refusal"),
    [
        (Payload((ID, OTHER)), Refusal(Reason.ID_LENGTH, "acks")),
        (Payload((), (OTHER, ID)), Refusal(Reason.ID_LENGTH, "offers")),
        (Payload((), (), (b"a" * 33,)), Refusal(Reason.ID_LENGTH, "requests")),
        (
            Payload(messages=(Message(b"", 0, b""),) * (limits.MAX_MESSAGES + 1)),
            Refusal(Reason.TOO_MANY_ENTRIES, f"{limits.MAX_MESSAGES + 1} messages"),
        ),
        (
            Payload(messages=(MESSAGE._replace(metadata=Metadata((ID,) * 257)),)),
            Refusal(Reason.TOO_MANY_ENTRIES, "257 parents"),
        ),
        (Payload(messages=(MESSAGE._replace(metadata=Metadata((OTHER,))),)), Refusal(Reason.ID_LENGTH, "parents")),
    ],
)
def test_the_next_larger_are_refused_and_say_why(payload: Payload, refusal: Refusal) -> None:
    assert read(payload) == refusal


def test_a_payload_may_be_as_long_as_is_said() -> None:
    packed = CODEC.encode(Payload(messages=(MESSAGE,)))
    assert MvdsCodec(max_bytes=len(packed)).decode(packed) == Payload(messages=(MESSAGE,))
    refusal = Refusal(Reason.TOO_LARGE, f"{len(packed)} bytes")
    assert MvdsCodec(max_bytes=len(packed) - 1).decode(packed) == refusal


def test_as_many_unknown_bytes_as_allowed_are_put_up_with() -> None:
    packed = CODEC.encode(Payload((ID,)))
    extra = field(99, b"x" * (limits.MAX_UNKNOWN_BYTES - 4))
    assert CODEC.decode(packed + extra) == Payload((ID,))
    assert CODEC.decode(packed + extra + field(99, b"")) == Refusal(Reason.UNKNOWN_FIELDS, "515 bytes")


@pytest.mark.parametrize(("ours", "theirs"), [(Dialect.SPEC, Dialect.GO), (Dialect.GO, Dialect.SPEC)])
def test_a_payload_in_the_other_numbers_says_which(ours: Dialect, theirs: Dialect) -> None:
    packed = MvdsCodec(theirs).encode(Payload((ID,), (), (), (MESSAGE,)))
    assert MvdsCodec(ours).decode(packed) == Refusal(Reason.FOREIGN_DIALECT, theirs)


def test_unknown_fields_are_no_other_dialect() -> None:
    assert CODEC.decode(field(99, b"x")) == Payload()
    assert CODEC.decode(field(1, b"too short for an id of the other dialect")) == Payload()
