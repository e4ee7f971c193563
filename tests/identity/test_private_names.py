"""The name of a private channel, and the level of topics that stands for it: what all programs must make alike."""

from __future__ import annotations

from hashlib import blake2b

import pytest

from sdschat.identity.packets import channel_level
from sdschat.identity.private.link import channel_name, genesis_digest, is_private_name
from sdschat.wire.private_codec import Genesis

GENESIS = Genesis(b"k" * 32, b"s" * 16, "garden", False)


def with_length(*values: bytes) -> bytes:
    return b"".join(len(value).to_bytes(4, "big") + value for value in values)


def test_the_level_is_an_e_and_the_digest_in_base32() -> None:
    assert channel_level(bytes(range(20))) == "eaaaqeayeaudaocajbifqydiob4ibceqt"


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, ()),
        ({"data_set": b"d" * 32}, (b"d" * 32,)),
        ({"since_join": True}, (b"since-join",)),
    ],
)
def test_the_digest_is_of_all_values_with_which_the_channel_began(
    changes: dict[str, object], more: tuple[bytes, ...]
) -> None:
    genesis = GENESIS._replace(**changes)  # type: ignore[arg-type]
    signed = b"sdschat/genesis/v1\0" + with_length(b"k" * 32, b"s" * 16, b"garden", bytes(8), *more)
    assert genesis_digest(genesis) == blake2b(signed, digest_size=20).digest()


def test_channels_of_one_name_are_told_apart_by_six_digits_of_the_digest() -> None:
    names = [channel_name(GENESIS._replace(salt=bytes([number]) * 16)) for number in range(5)]
    levels = [channel_level(genesis_digest(GENESIS._replace(salt=bytes([number]) * 16))) for number in range(5)]
    assert names == [f"garden~{level[1:7]}" for level in levels]
    assert len(set(names)) == 5
    assert all(map(is_private_name, names))
