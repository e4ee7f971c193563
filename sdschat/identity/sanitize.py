"""Make text from other participants safe for a terminal. All text that is shown goes through `harmless`.

The result cannot control the terminal, change the text direction, hide anything, or take more room than its limit.
It is plain text: the code that draws it must not read markup in it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Categories that are not drawn, or that change how the following text is drawn: control, format (for example text
# direction), surrogates, private use, unassigned, and the separators of lines and paragraphs.
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# These letters are drawn as nothing, so a name made of them would be invisible.
_UNSEEN_LETTERS: Final = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\U0001d159")
_MARKS: Final = frozenset({"Mn", "Me"})
_MOST_MARKS: Final = 4  # on one letter; living languages take three
_MOST_BREAKS: Final = 3  # in a row: two empty lines
_JOINERS: Final = frozenset("\u200c\u200d")
# Scripts that need the joiners for correct spelling: Arabic to Sinhala, Myanmar, Khmer and Mongolian.
_JOINING: Final = re.compile("[\u0600-\u0dff\u1000-\u109f\u1780-\u18af]")
_EMOJI: Final = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
# Emoji newer than Python's tables count as unassigned. Only emoji will ever be assigned in this range.
_NEW_EMOJI: Final = re.compile("[\U0001f300-\U0001faff]")
# Variation selectors. One U+FE0F stays behind a symbol, which is drawn as an emoji then, two cells wide, and in a
# keycap; the others are left out.
_SELECTORS: Final = re.compile(
    "(?<=[\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\u00a9\u00ae\U0001f000-\U0001faff])"
    "(\ufe0f)(?![\ufe00-\ufe0f\u0300-\u036f])|(?<=[0-9#*])(\ufe0f)(?=\u20e3)|[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)
# Text that needs no change: ASCII, the letters of Latin, Greek and Cyrillic, kana and Chinese characters.
_PLAIN: Final = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u0391-\u03c9\u0400-\u0482\u3041-\u3096\u4e00-\u9fa5]*"
)
_PLAIN_LINES: Final = re.compile(rf"{_PLAIN.pattern}(?:\n{{1,{_MOST_BREAKS}}}{_PLAIN.pattern[:-1]}+)*")
_BREAKS: Final = re.compile(rf"\n{{{_MOST_BREAKS + 1},}}")
_WRITTEN: Final = {"\n": "\\n", "\r": "\\r"}
_SPACES: Final = {"\t": "    ", "\u2800": " "}  # the second one is the empty cell of pictures in braille


def harmless(text: str, *, limit: int | None = None, lines: bool = False) -> str:
    """Return at most `limit` characters of the text, made safe; a cut text ends with "…". `lines` keeps line breaks."""
    long = limit is not None and len(text) > limit
    cut = text[:limit] if long else text
    if (_PLAIN_LINES if lines else _PLAIN).fullmatch(cut) is None:
        cut = _rewritten(_SELECTORS.sub(_kept, cut.replace("\r\n", "\n")), lines)
        if lines:
            cut = _BREAKS.sub("\n" * _MOST_BREAKS, cut)
        long = long or (limit is not None and len(cut) > limit)
    return _shortened(cut, limit) if long and limit is not None else cut


def before_text(name: str) -> str:
    """Return a name to stand before a text: in quotation marks if the text could seem to begin within it, as in
    `ann: hello bob`."""
    return f'"{name}"' if ": " in name or name.endswith(":") else name


def _kept(selectors: re.Match[str]) -> str:
    return selectors[1] or selectors[2] or ""


def _shortened(text: str, limit: int) -> str:
    return f"{text[: limit - 1]}…" if limit else ""


def _rewritten(text: str, lines: bool) -> str:
    written: list[str] = []
    marks = -1  # number of marks on the letter before; -1: no letter before that can have marks
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        category = unicodedata.category(char)
        if category in _MARKS:
            if marks < 0:
                written.append(_escaped(char))
            elif marks < _MOST_MARKS:
                written.append(char)
                marks += 1
            at += 1
            continue
        if char in _SPACES:
            written.append(_SPACES[char])
        elif (char == "\n" and lines) or _drawn(text, at, category):
            written.append(char)
        else:
            run = _run(text, at)
            written.append(_escaped(char, run))
            at += run - 1
        marks = _bearing(char, category, marks)
        at += 1
    return "".join(written)


def _bearing(char: str, category: str, before: int) -> int:
    """Return the number of marks on the character that the next mark would be drawn on; -1: no such character."""
    if char in _UNSEEN_LETTERS:
        return -1
    if category == "Mc":
        return max(0, before)
    return before if char in _JOINERS else 0 if category[0] in "LNPS" else -1


def _drawn(text: str, at: int, category: str) -> bool:
    """True if the character at `at` is visible, or is a joiner that belongs between its neighbours."""
    char = text[at]
    if category not in _UNSAFE:
        return char not in _UNSEEN_LETTERS
    if char in _JOINERS:
        around = (text[at - 1 : at], text[at + 1 : at + 2])
        if around[0] == "\ufe0f":  # of the symbol before it
            around = (text[at - 2 : at - 1], around[1])
        if _JOINING.match(around[0]):  # also at the end of a word, where it gives its last letter another form
            return around[1] not in _JOINERS
        return char == "\u200d" and all(map(_EMOJI.match, around))
    return category == "Cn" and _NEW_EMOJI.match(char) is not None


def _run(text: str, at: int) -> int:
    """Return how many times the character at `at` is repeated in a row."""
    end = at + 1
    while end < len(text) and text[end] == text[at]:
        end += 1
    return end - at


def _escaped(char: str, run: int = 1) -> str:
    if run == 1:
        return _WRITTEN.get(char) or f"\\u{{{ord(char):x}}}"
    return f"\\u{{{ord(char):x}*{run}}}"
