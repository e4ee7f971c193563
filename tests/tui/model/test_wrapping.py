"""Lines by cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sdschat.tui.model.words import closed, fitted, whole_parts, wrapped


def lines(text: str, width: int) -> list[str]:
    return [text[low:high] for low, high in wrapped(text, width)]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("", 5, [""]),
        ("short", 10, ["short"]),
        ("two words", 5, ["two", "words"]),
        ("a line\nanother", 20, ["a line", "another"]),
        ("\n\n", 5, ["", "", ""]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("see unbreakable", 6, ["see", "unbrea", "kable"]),
        ("exactly ten", 7, ["exactly", "ten"]),
        ("漢字漢字", 5, ["漢字", "漢字"]),
        ("a  b", 3, ["a", "b"]),
    ],
)
def test_where_lines_break(text: str, width: int, expected: list[str]) -> None:
    assert lines(text, width) == expected


@given(st.text(st.sampled_from("ab 漢é\n-"), max_size=60), st.integers(2, 12))
def test_no_line_is_too_wide_and_no_letter_is_lost(text: str, width: int) -> None:
    found = lines(text, width)
    assert all(cell_len(line) <= width for line in found)
    assert "".join(found).replace(" ", "").replace("\n", "") == text.replace(" ", "").replace("\n", "")


@given(st.text(st.sampled_from("ab 漢"), max_size=30), st.integers(2, 12))
def test_fitted_is_exactly_so_wide(text: str, width: int) -> None:
    assert cell_len(fitted(text, width)) == width


def test_what_is_cut_says_so() -> None:
    assert fitted("a long name", 6) == "a lon…"
    assert fitted("漢字漢字", 6) == "漢字… "


def test_parts_that_have_no_room_are_left_out_whole() -> None:
    assert whole_parts("alone, private, epoch 1", 16) == "alone, private"
    assert whole_parts("nothing missing", 4) == "nothing missing"


def test_an_emoji_of_several_characters_is_never_cut() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    heart = "\u2764\ufe0f"
    for one in (family, heart):
        text = one * 6
        parts = [text[low:high] for low, high in wrapped(text, 5)]
        assert parts == [one * 2] * 3
        assert fitted(text, 5) == f"{one * 2}…"


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("no isolate", "no isolate"),
        ("\u2068\u05e9\u2069 12", "\u2068\u05e9\u2069 12"),
        ("by \u2068\u05e9", "by \u2068\u05e9\u2069"),
        ("\u05e9\u2069 12", "\u2068\u05e9\u2069 12"),
        ("\u05e9\u2069 and \u2068\u05e9", "\u2068\u05e9\u2069 and \u2068\u05e9\u2069"),
    ],
)
def test_a_line_that_ends_within_an_isolate_ends_the_isolate(part: str, whole: str) -> None:
    assert closed(part) == whole
    assert fitted("by \u2068\u05e9\u05e9\u05e9\u05e9\u2069", 5, "~") == "by \u2068\u05e9\u2069~"
