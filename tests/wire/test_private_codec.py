"""Links and operations of private channels: any text gives a value or none."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from hypothesis import given
from hypothesis import strategies as st

from sdschat.wire.private_codec import (
    MAX_MEMBERS,
    MAX_SEEN,
    SCHEME,
    Admin,
    Genesis,
    Invite,
    Join,
    Link,
    Operation,
    Remove,
    Renew,
    Share,
    decode_link,
    decode_operation,
    encode_link,
    encode_operation,
)
from tests.wire.samples import field

KEY, OTHER, SIGNATURE = b"k" * 32, b"o" * 32, b"s" * 64
INVITE = Invite(OTHER, b"i" * 32, 3, 1_800_000_000_000, b"epoch id", SIGNATURE)
LINK = Link(Genesis(KEY, b"salt" * 4, "gärten", True), INVITE, b"e" * 32, b"x" * 32, "mqtts://broker:8883")
SHARES = tuple(Share(bytes([number]) * 32, bytes([number]) * 80) for number in range(3))
OPERATIONS: list[Operation] = [
    Join(INVITE, SIGNATURE, True),
    Remove(KEY, ("ab" * 32, "cd" * 32), b"epoch id", SHARES),
    Remove(KEY, (), b"epoch id", SHARES, True),
    Admin(KEY, (), True),
    Admin(KEY, ("ab" * 32,), False),
    Admin(KEY, ("ab" * 32,) * MAX_SEEN, False),
    Remove(KEY, ("ab" * 32,) * MAX_SEEN, b"epoch id", SHARES[:1] * MAX_MEMBERS),
    Renew(b"epoch id", ("ab" * 32,)),
    Renew(b"", ()),
]


def test_links_and_operations_come_back_as_they_were() -> None:
    assert decode_link(encode_link(LINK, b"another key" * 3)) == LINK
    assert [decode_operation(encode_operation(each)) for each in OPERATIONS] == OPERATIONS


def test_a_link_is_short_enough_for_a_picture_in_a_terminal() -> None:
    link = LINK._replace(invite=INVITE._replace(inviter_key=KEY))
    text = encode_link(link, INVITE.invite_key)
    assert len(text) < 425  # bytes of a QR code of 69 modules
    assert decode_link(text) == link._replace(invite=INVITE._replace(inviter_key=b"", invite_key=b""))


def test_values_of_wrong_sizes_are_none() -> None:
    for wrong in (
        Join(INVITE._replace(epoch=b"short"), SIGNATURE),
        Join(INVITE._replace(inviter_key=b""), SIGNATURE),
        Join(INVITE, b""),
        Remove(b"", (), b"epoch id", SHARES),
        Remove(KEY, ("ab",), b"epoch id", SHARES),
        Remove(KEY, (), b"", SHARES),
        Remove(KEY, (), b"epoch id", ()),
        Remove(KEY, (), b"epoch id", SHARES[:1] * (MAX_MEMBERS + 1)),
        Remove(KEY, (), b"epoch id", (Share(KEY, b"short"),)),
        Admin(b"short", (), True),
        Admin(KEY, ("ab" * 32,) * (MAX_SEEN + 1), True),
        Admin(KEY, ("ab" * 32, "ab"), True),
        Renew(b"short", ()),
        Renew(b"epoch id", ("ab",)),
    ):
        assert decode_operation(encode_operation(wrong)) is None
    for values in ({"invite_seed": b""}, {"epoch_secret": b"x"}, {"broker": "a\nb"}, {"broker": "x" * 301}):
        assert decode_link(encode_link(LINK._replace(**values), b"")) is None


def test_a_text_as_long_as_is_allowed_is_read() -> None:
    """The operation has a text of 65,536 characters, the link one of 4096; unknown fields fill them."""
    for text, prefix, limit, decode in (
        (encode_operation(OPERATIONS[0]), "", 65_536, decode_operation),
        (encode_link(LINK, b""), SCHEME, 4096, decode_link),
    ):
        raw = urlsafe_b64decode(text.removeprefix(prefix) + "==")
        around = len(field(99, bytes(limit))) - limit
        filling = limit * 3 // 4 - len(raw) - around
        whole, beyond = (prefix + urlsafe_b64encode(raw + field(99, bytes(filling + more))).decode() for more in (0, 3))
        assert len(whole) == len(prefix) + limit
        assert decode(whole) == decode(text) is not None
        assert decode(beyond) is None


def test_a_link_in_other_letters_is_none() -> None:
    assert decode_link(encode_link(LINK, b"")[:-1] + "ü") is None


@given(st.text())
def test_any_text_gives_a_value_or_none(text: str) -> None:
    decode_link(SCHEME + text)
    decode_operation(text)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_value_or_none(raw: bytes) -> None:
    text = urlsafe_b64encode(raw).decode().rstrip("=")
    decode_link(SCHEME + text)
    decode_operation(text)
