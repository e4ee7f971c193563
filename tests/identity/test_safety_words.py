"""Six words of two keys, and a key in a file that a passphrase opens."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from sdschat.identity import backup
from sdschat.identity.backup import open_identity, seal_identity
from sdschat.identity.keyfile import KeyFileError, create, load_or_create
from sdschat.identity.safety_words import _words, safety_words
from sdschat.identity.signing import Identity

OF_BEFORE = """sdschat identity backup v1
salt 88eaa86cbaffec53d1dcbae7bc7d13cd
nonce a6131dd78a46db9b0075596de7e5d79d035e9cd5e59ab8a9
key a9cdb2ff46eb7b20c24cc81fcc62db555306c442e159deb881a600ae271728f0b3dc05c78fb0d9d2982c7cd41d8b5671
"""
WITHOUT_NICK = """sdschat identity backup v2
salt 2266335a2a8e63fc50dd46fd2f455611
nonce 323ae5b1b7008140c175d60cb709da3a29156542a5bb3492
key 9fe12876555acec342462c9e223ff36bb6f08f25401185121312adf32e5c623972089043fc3b04dcbfbffa7ef071e56c1646bdb18b8c38
"""
ANN, BOB = Identity(bytes(32)), Identity(bytes([1]) * 32)


def test_the_list_has_2048_words_that_are_told_apart_by_four_letters() -> None:
    assert len(_words()) == 2048
    assert len({word[:4] for word in _words()}) == 2048


def test_both_see_the_same_words_and_everybody_else_others() -> None:
    words = safety_words(ANN.public_key, BOB.public_key)
    assert words == safety_words(BOB.public_key, ANN.public_key)
    assert len(words) == 6
    # By another implementation of BLAKE2b, and another way to cut bits.
    joined = b"".join(sorted((ANN.public_key, BOB.public_key)))
    digest = hashlib.blake2b(joined, digest_size=32, person=b"sdschat words   ").digest()
    bits = f"{int.from_bytes(digest):0256b}"
    assert words == tuple(_words()[int(bits[start : start + 11], 2)] for start in range(0, 66, 11))
    others = {safety_words(ANN.public_key, Identity(bytes([number]) * 32).public_key) for number in range(1, 200)}
    assert len(others) == 199
    assert len(Counter(word for each in others for word in each)) > 800


def test_a_key_comes_back_with_its_passphrase_alone() -> None:
    text = seal_identity(ANN, "correct horse battery", "ann", ["garden~qvzs3b", "shed~abcdef"])
    opened = open_identity(text, "correct horse battery")
    assert opened.identity.public_key == ANN.public_key
    assert opened.private_channels == ("garden~qvzs3b", "shed~abcdef")
    assert opened.nick == "ann"
    assert "garden" not in text
    assert bytes(32).hex() not in text
    with pytest.raises(KeyFileError, match="does not open"):
        open_identity(text, "correct horse")
    for damaged in ("", "hello", text[:-5], text.replace("v3", "v4"), text.replace("salt ", "salt 00")):
        with pytest.raises(KeyFileError, match="not a whole file"):
            open_identity(damaged, "correct horse battery")


def test_a_file_of_before_which_has_the_key_alone_is_opened() -> None:
    opened = open_identity(OF_BEFORE, "correct horse battery")
    assert opened.identity.public_key.hex() == "dc0819f6f960b4d4a91eed1c6b56f8871ef22ed0c78d61d6ae8f6a271bfd505a"
    assert (opened.private_channels, opened.nick) == ((), "")


def test_a_file_of_before_which_has_no_nick_is_opened() -> None:
    opened = open_identity(WITHOUT_NICK, "correct horse battery")
    assert opened.identity.public_key == ANN.public_key
    assert (opened.private_channels, opened.nick) == (("a~b", "c~d"), "")


def test_a_short_passphrase_is_refused() -> None:
    with pytest.raises(KeyFileError, match="needs 8"):
        seal_identity(ANN, "x" * (backup.SHORTEST - 1), "ann")


def test_a_key_is_never_put_over_another(tmp_path: Path) -> None:
    folder = tmp_path
    create(folder, ANN)
    create(folder, ANN)  # the same again changes nothing
    with pytest.raises(KeyFileError, match="another key already"):
        create(folder, BOB)
    assert load_or_create(folder).public_key == ANN.public_key
