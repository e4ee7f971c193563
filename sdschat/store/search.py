"""What people type, as a condition on texts."""

from __future__ import annotations

import unicodedata
from typing import Final, NamedTuple

_MAX_WORDS: Final = 16


class Condition(NamedTuple):
    """SQL over `text`, and its values. It starts from the full-text index where that can answer."""

    table: str
    place: str  # the column of `table` that is the message's place
    where: str
    values: tuple[str, ...]


def condition_for(search: str) -> Condition:
    """All words must occur, in any order and letter case; the last one may be the beginning of a word.

    Scripts that put no spaces between words have no words for the index; there, and where there are only signs, the
    texts themselves are looked through for the whole of it.
    """
    words = _words(search)
    if not words or any(_unspaced(letter) for letter in search):
        return Condition("text", "text.place", "instr(lower(text.text), lower(?)) > 0", (search.strip(),))
    quoted = [f'"{word}"' for word in words[:_MAX_WORDS]]
    last = "*" if search[-1].isalnum() else ""
    match = " ".join(quoted) + last
    return Condition("search", "search.rowid", "search MATCH ?", (match,))


def plain_condition(search: str) -> Condition:
    """The same without the index, for when that was altered: slower, and right."""
    words = _words(search)[:_MAX_WORDS] or [search.strip()]
    where = " AND ".join("instr(lower(text.text), lower(?)) > 0" for _ in words)
    return Condition("text", "text.place", where, tuple(words))


def _words(search: str) -> list[str]:
    """As the index's tokenizer splits: letters, marks and digits belong to words."""
    kept = "".join(letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in search)
    return kept.split()


def _unspaced(letter: str) -> bool:
    """Han, kana, Thai, Lao, Khmer, Myanmar: written without spaces between words."""
    code = ord(letter)
    return 0x0E00 <= code <= 0x109F or 0x1780 <= code <= 0x17FF or 0x2E80 <= code <= 0x9FFF or code >= 0x20000
