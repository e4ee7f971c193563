"""The check of a signature against vectors like those of Wycheproof: the valid cases, and every kind of invalid case.

The valid ones are from RFC 8032, section 7.1. The invalid ones are computed here from the group order, the points of
small order and the non-canonical encodings of the curve, so that no outside source has to be trusted.
"""

from __future__ import annotations

import hashlib

import pytest

from sdschat.identity.signing import key_pair, sign, verify
from tests.identity.curve import L, P, decode, order_divides_eight

RFC_8032 = {
    "empty message": (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    "one byte": (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    "two bytes": (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
}

# The eight points whose order divides eight.
SMALL_ORDER = {
    "identity, y = 1": (1).to_bytes(32, "little"),
    "order 2, y = -1": (P - 1).to_bytes(32, "little"),
    "order 4, y = 0": (0).to_bytes(32, "little"),
    "order 4, y = 0, sign set": (1 << 255).to_bytes(32, "little"),
    "order 8, y8": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    "order 8, y8, sign set": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
    "order 8, -y8": bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    "order 8, -y8, sign set": bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"),
}
NON_CANONICAL = {
    "y = 1 as p + 1": (P + 1).to_bytes(32, "little"),
    "y = 0 as p": P.to_bytes(32, "little"),
    "y = -1 with sign set": (P - 1 | 1 << 255).to_bytes(32, "little"),
    "y = 1 with sign set": (1 | 1 << 255).to_bytes(32, "little"),
    "y = 2 as p + 2": (P + 2).to_bytes(32, "little"),
    "y = 18 as p + 18": (P + 18).to_bytes(32, "little"),
    "all bits set": b"\xff" * 32,
}
MESSAGE = b"a message"
PUBLIC, SECRET = key_pair(bytes(range(32)))
SIGNATURE = sign(SECRET, MESSAGE)
R, S = SIGNATURE[:32], int.from_bytes(SIGNATURE[32:], "little")


def with_s(value: int) -> bytes:
    return R + value.to_bytes(32, "little")


@pytest.mark.parametrize("name", RFC_8032)
def test_vectors_of_the_rfc_are_made_and_accepted(name: str) -> None:
    seed, public, message, signature = (bytes.fromhex(part) for part in RFC_8032[name])
    made_public, secret = key_pair(seed)
    assert made_public == public
    assert sign(secret, message) == signature
    assert verify(public, message, signature)


def test_every_flipped_bit_of_a_signature_is_noticed() -> None:
    for bit in range(8 * len(SIGNATURE)):
        wrong = bytearray(SIGNATURE)
        wrong[bit // 8] ^= 1 << bit % 8
        assert not verify(PUBLIC, MESSAGE, bytes(wrong)), f"bit {bit}"


def test_every_flipped_bit_of_key_and_message_is_noticed() -> None:
    for bit in range(8 * len(PUBLIC)):
        key = bytearray(PUBLIC)
        key[bit // 8] ^= 1 << bit % 8
        assert not verify(bytes(key), MESSAGE, SIGNATURE), f"bit {bit} of the key"
    for bit in range(8 * len(MESSAGE)):
        message = bytearray(MESSAGE)
        message[bit // 8] ^= 1 << bit % 8
        assert not verify(PUBLIC, bytes(message), SIGNATURE), f"bit {bit} of the message"


@pytest.mark.parametrize("factor", range(1, 16))
def test_s_not_below_the_group_order_is_refused(factor: int) -> None:
    """S + k·L satisfies the same equation: without the check one message would have many signatures."""
    malleated = S + factor * L
    if malleated < 2**256:
        assert not verify(PUBLIC, MESSAGE, with_s(malleated))


@pytest.mark.parametrize("value", [0, 1, L - 1, L, L + 1, 2**252, 2**253 - 1, 2**256 - 1])
def test_chosen_s_is_refused(value: int) -> None:
    assert not verify(PUBLIC, MESSAGE, with_s(value))


def test_the_vectors_are_what_they_are_called() -> None:
    assert len({decode(point) for point in SMALL_ORDER.values()}) == 8
    assert all(order_divides_eight(point) for point in SMALL_ORDER.values())
    for name, point in NON_CANONICAL.items():
        y = int.from_bytes(point, "little") % 2**255
        assert y >= P or decode(point[:31] + bytes([point[31] & 127])) in ((0, y), None), name
    assert decode((2).to_bytes(32, "little")) is None


def challenge(r: bytes, public: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % L


@pytest.mark.parametrize("name", SMALL_ORDER)
def test_keys_of_small_order_sign_nothing(name: str) -> None:
    """With such a key, S = 0 and R of small order fit one message in eight, or every message: they prove nothing."""
    key = SMALL_ORDER[name]
    for other in SMALL_ORDER.values():
        for text in range(16):
            assert not verify(key, b"%d" % text, other + bytes(32))


@pytest.mark.parametrize("name", SMALL_ORDER)
def test_r_of_small_order_is_refused(name: str) -> None:
    """R of small order with S = k·a is accepted by checks that multiply by the cofactor; ours refuses it."""
    scalar = bytearray(hashlib.sha512(bytes(range(32))).digest()[:32])
    scalar[0] &= 248
    scalar[31] = scalar[31] & 127 | 64
    secret = int.from_bytes(scalar, "little")
    r = SMALL_ORDER[name]
    for text in range(16):
        message = b"%d" % text
        s = challenge(r, PUBLIC, message) * secret % L
        assert not verify(PUBLIC, message, r + s.to_bytes(32, "little"))


@pytest.mark.parametrize("name", NON_CANONICAL)
def test_non_canonical_points_are_refused(name: str) -> None:
    point = NON_CANONICAL[name]
    for text in range(16):
        assert not verify(point, b"%d" % text, R + bytes(32))
        assert not verify(point, b"%d" % text, point + bytes(32))
        assert not verify(PUBLIC, b"%d" % text, point + SIGNATURE[32:])


def test_a_key_that_is_no_point_is_refused() -> None:
    """About half of all values of y have no x; 2 is one of them, see above."""
    assert not verify((2).to_bytes(32, "little"), MESSAGE, SIGNATURE)


@pytest.mark.parametrize("length", [0, 1, 31, 33, 63, 65, 128])
def test_odd_lengths_are_refused_and_raise_nothing(length: int) -> None:
    assert not verify(PUBLIC, MESSAGE, (SIGNATURE * 2)[:length])
    assert not verify((PUBLIC * 4)[:length], MESSAGE, SIGNATURE)


def test_a_signature_is_bound_to_key_and_message() -> None:
    other_public, other_secret = key_pair(bytes(32))
    assert not verify(other_public, MESSAGE, SIGNATURE)
    assert not verify(PUBLIC, b"another message", SIGNATURE)
    assert not verify(PUBLIC, MESSAGE, sign(other_secret, MESSAGE))
    assert not verify(PUBLIC, MESSAGE, bytes(64))
