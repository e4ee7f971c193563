"""The input: its history, and completion."""

from __future__ import annotations

import pytest

from sdschat.tui.model.line_input import KEPT, InputHistory, emoji_completion, matching, nick_completion


def test_going_back_and_forth_keeps_what_was_being_written() -> None:
    past = InputHistory(["one", "two"])
    assert past.older("three, unfinished") == "two"
    assert past.older("two") == "one"
    assert past.older("one") is None
    assert past.newer("one") == "two"
    assert past.newer("two") == "three, unfinished"
    assert past.newer("three, unfinished") is None


def test_the_same_twice_in_a_row_is_kept_once() -> None:
    past = InputHistory()
    for text in ("a", "a", "b", "a", "  "):
        past.add(text)
    assert past.texts == ["a", "b", "a"]


def test_a_text_that_is_not_to_be_saved_is_recalled_all_the_same() -> None:
    past = InputHistory(["one"])
    past.add("two", saved=False)
    past.add("three")
    assert past.to_save() == ["one", "three"]
    assert past.older("") == "three"
    assert past.older("three") == "two"


def test_the_past_is_bounded() -> None:
    past = InputHistory()
    for number in range(KEPT + 10):
        past.add(str(number))
    assert len(past.texts) == KEPT


def test_search_finds_the_newest_then_the_next_ones() -> None:
    past = InputHistory(["release 1", "lunch", "Release 2"])
    assert past.search("release") == "Release 2"
    assert past.search("release", further=True) == "release 1"
    assert past.search("release", further=True) is None
    assert past.search("nothing like it") is None


def test_a_nick_at_the_beginning_is_spoken_to() -> None:
    found = nick_completion("bo", 2, ["bob"])
    assert found is not None
    assert found.turn() == "bob: "


def test_a_nick_within_a_line_is_named() -> None:
    found = nick_completion("ask bo now", 6, ["bob"])
    assert found is not None
    assert (found.start, found.turn(), found.rest) == (4, "bob ", " now")


def test_a_sign_before_a_nick_stays() -> None:
    found = nick_completion("@bo", 3, ["bob"])
    assert found is not None
    assert found.turn() == "@bob "


def test_every_press_takes_the_next_one() -> None:
    found = nick_completion("b", 1, ["bob", "bert"])
    assert found is not None
    assert [found.turn() for _ in range(3)] == ["bob: ", "bert: ", "bob: "]
    assert found.choices(80, 4) == "[bob:]  bert:"


@pytest.mark.parametrize("text", ["", "hello ", "xyz"])
def test_nothing_to_complete(text: str) -> None:
    assert nick_completion(text, len(text), ["bob"]) is None


def test_the_beginning_of_the_name_of_an_emoji_becomes_the_emoji_with_the_shortest_names_first() -> None:
    found = emoji_completion("well :smi done", 9)
    assert found is not None
    assert (found.start, found.turn(), found.rest) == (5, "\U0001f604 ", " done")
    assert found.choices(200, 2).startswith("[\U0001f604 smile]  \U0001f60f smirk  \U0001f603 smiley  ")


def test_a_whole_name_between_colons_is_one_emoji() -> None:
    found = emoji_completion(":+1:", 4)
    assert found is not None
    assert (found.turn(), found.choices(80, 2)) == ("\U0001f44d ", "")


@pytest.mark.parametrize("text", [":", ":)", ":D", "x:smile", "http://host:80", ":nothing_of_this_name"])
def test_what_only_looks_like_the_name_of_an_emoji_is_left_alone(text: str) -> None:
    assert emoji_completion(text, len(text)) is None


def test_matching_ignores_case_and_doubles() -> None:
    assert matching("B", ["bob", "Bert", "bob", "carol"]) == ["bob", "Bert"]
