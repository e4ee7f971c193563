"""Message ids."""

from __future__ import annotations

from hashlib import sha256

from sdschat.sds.ids import content_id, message_id_for, recipe_of, text_id
from sdschat.sds.values import Message


def test_the_content_recipe_is_the_hash_of_the_content() -> None:
    assert message_id_for("content", "lobby", "a", 5, b"hello") == sha256(b"hello").hexdigest()


def test_the_text_recipe_tells_senders_apart() -> None:
    assert text_id("lobby", "a", 5, b"hello") != text_id("lobby", "b", 5, b"hello")


def test_the_text_recipe_tells_times_apart() -> None:
    assert text_id("lobby", "a", 5, b"hello") != text_id("lobby", "a", 6, b"hello")


def test_the_text_recipe_cannot_be_confused_by_moving_characters() -> None:
    assert text_id("lobby", "ab", 5, b"c") != text_id("lobby", "a", 5, b"bc")


def test_recipes_are_recognised() -> None:
    ids = {"content": content_id(b"x"), "text": text_id("lobby", "a", 5, b"x"), "foreign": "m1"}
    assert {name: recipe_of(Message("a", found, "lobby", 5, content=b"x")) for name, found in ids.items()} == {
        name: name for name in ids
    }


def test_a_clock_that_no_recipe_takes_is_foreign() -> None:
    assert recipe_of(Message("a", "m1", "lobby", 2**64 - 1, content=b"x")) == "foreign"
