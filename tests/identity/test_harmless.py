"""Hostile text is made safe, and harmless text is not changed."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.identity.sanitize import before_text, harmless

UNTOUCHED = {
    "ascii": "plain text, [bold]not markup[/bold] & <b>this</b> neither \\u{1b}",
    "accents": "Ångström, façade, naïve",
    "combined accents": "e\u0301 o\u0308\u0301",
    "vietnamese": "Ti\u0065\u0302\u0301ng Vi\u0065\u0302\u0323t",
    "russian": "Привет",
    "hebrew with points": "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",
    "persian with a joiner": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "persian with a joiner at the end of a word": "\u0647\u200d. \u062e\u0627\u0646\u0647\u200c \u0647\u0627",
    "sinhala with a joiner at the end of a word": "\u0d9a\u0dca\u200d",
    "hindi": "\u0915\u094d\u0937\u093f \u0939\u0948\u0902",
    "a vowel sign alone with a mark": "\u093e\u0902",
    "japanese": "こんにちは、世界",
    "emoji": "👍🏽 🎉",
    "family": "👨\u200d👩\u200d👧",
    "emoji younger than the tables": "\U0001fae8 \U0001fadf",
    "flag": "🇳🇴",
    "wide space": "a\u3000b",
    "braille": "⠓⠑⠇⠇⠕",
}

CHANGED = {
    "escape": ("\x1b[2J", "\\u{1b}[2J"),
    "bell": ("\x07", "\\u{7}"),
    "c1": ("\x9b31m", "\\u{9b}31m"),
    "delete": ("\x7f", "\\u{7f}"),
    "return": ("good\rbad", "good\\rbad"),
    "tab": ("a\tb", "a    b"),
    "empty cell of braille": ("⠓\u2800⠇", "⠓ ⠇"),
    "empty note": ("ann\U0001d159", "ann\\u{1d159}"),
    "override": ("a\u202eb", "a\\u{202e}b"),
    "isolate": ("\u2067x\u2069", "\\u{2067}x\\u{2069}"),
    "direction mark": ("a\u200fb", "a\\u{200f}b"),
    "zero width": ("a\u200bb", "a\\u{200b}b"),
    "zero width flood": ("a" + "\u200b" * 5000 + "b", "a\\u{200b*5000}b"),
    "joiner between letters": ("a\u200db", "a\\u{200d}b"),
    "joiners in a row": ("\u0645\u200c\u200c\u062e", "\u0645\\u{200c*2}\u062e"),
    "a joiner before any letter": ("\u200c\u062e", "\\u{200c}\u062e"),
    "byte order mark": ("\ufeffa", "\\u{feff}a"),
    "line separator": ("a\u2028b", "a\\u{2028}b"),
    "private use": ("\ue0b0", "\\u{e0b0}"),
    "no character": ("\uffff", "\\u{ffff}"),
    "tag letters": ("a\U000e0041b", "a\\u{e0041}b"),
    "lone surrogate": ("a\ud800b", "a\\u{d800}b"),
    "unseen letters": ("\u3164\u3164", "\\u{3164*2}"),
    "variation selectors": ("\u2764\ufe0f x" + "\ufe01" * 99, "\u2764\ufe0f x"),
    "many selectors": ("\u2764" + "\ufe0f" * 99 + "x", "\u2764x"),
    "a selector of a letter": ("a\ufe0fb", "ab"),
    "a keycap": ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
    "a joined emoji with a selector": ("\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"),
    "mark on nothing": ("\u0301a", "\\u{301}a"),
    "mark on a space": ("a \u0301", "a \\u{301}"),
    "too many marks": ("a" + "\u0301" * 99 + "b", "a" + "\u0301" * 4 + "b"),
    "too many marks around a vowel sign": (
        "\u0915" + "\u0301" * 3 + "\u093e" + "\u0301" * 99,
        "\u0915" + "\u0301" * 3 + "\u093e" + "\u0301",
    ),
    "mark on an escaped character": ("\x1b\u0301", "\\u{1b}\\u{301}"),
}


@pytest.mark.parametrize("text", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_people_write_is_left_alone(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(("text", "expected"), CHANGED.values(), ids=CHANGED)
def test_what_drives_hides_or_piles_up_is_written_out(text: str, expected: str) -> None:
    assert harmless(text) == expected


def test_lines_stay_lines_only_where_they_may() -> None:
    assert harmless("a\nb\r\nc") == "a\\nb\\nc"
    assert harmless("a\nb\r\nc", lines=True) == "a\nb\nc"


def test_a_flood_of_empty_lines_is_two() -> None:
    assert harmless("a" + "\n" * 500 + "b", lines=True) == "a\n\n\nb"
    assert harmless("a\x00" + "\n" * 500 + "b", lines=True) == "a\\u{0}\n\n\nb"


def test_a_limit_is_kept_and_what_is_cut_is_said_to_be() -> None:
    assert harmless("x" * 10, limit=10) == "x" * 10
    assert harmless("x" * 11, limit=10) == "x" * 9 + "…"
    assert harmless("\x1b" + "a" * 6, limit=7) == "\\u{1b}…"
    assert harmless("x", limit=0) == ""


ANY = st.text(st.characters(min_codepoint=0, max_codepoint=sys.maxunicode, exclude_categories=()))


@given(ANY, st.booleans())
def test_of_any_text_nothing_unsafe_is_left(text: str, lines: bool) -> None:
    shown = harmless(text, limit=200, lines=lines)
    assert len(shown) <= 200
    for char in shown.replace("\n", "") if lines else shown:
        assert char in "\u200c\u200d" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    shown.encode()


@given(ANY)
def test_what_is_harmless_is_not_changed_again(text: str) -> None:
    once = harmless(text)
    assert harmless(once) == once


@pytest.mark.parametrize(
    ("name", "shown"),
    [("ann", "ann"), ("12:00:00 ann", "12:00:00 ann"), ("ann: hello bob", '"ann: hello bob"'), ("ann:", '"ann:"')],
)
def test_no_text_seems_to_begin_within_a_name(name: str, shown: str) -> None:
    """`ann: hello bob` said something: it read as what ann said, in `log` and in the chat in lines."""
    assert before_text(name) == shown
