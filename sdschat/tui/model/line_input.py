"""Help for whoever writes a line: the lines written before, and completion of commands, their arguments and nicks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rich.cells import cell_len

from sdschat.tui.model.words import clean

KEPT: Final = 500
_AND_MORE: Final = len("and 1000 more")
_EMOJI_NAME: Final = re.compile(r"(?<!\S):([a-z0-9][a-z0-9_-]+|[+-]1?):?$", re.IGNORECASE)


# Dropped from what is typed and pasted: control characters but tab and line ends, and marks that turn the direction of
# what follows, so that the input would show another order than it sends.
NOT_TYPED: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class InputHistory:
    """Texts that were sent, newest last. Going back and forth keeps the unsent text, and what was changed in others."""

    def __init__(self, texts: list[str] | None = None) -> None:
        self.texts: list[str] = list(texts or [])[-KEPT:]
        self._back = 0  # how many texts one has gone back; 0: at the unsent one
        self._written: dict[int, str] = {}  # what stood in the input there
        self._found = len(self.texts)
        self._unsaved: set[str] = set()

    def add(self, text: str, *, saved: bool = True) -> None:
        """Take in a text that was sent. One that is not `saved` is recalled in this run alone."""
        if text.strip() and (not self.texts or self.texts[-1] != text):
            self.texts.append(text)
            del self.texts[:-KEPT]
        if not saved:
            self._unsaved = {*self._unsaved, text}.intersection(self.texts)
        self._back, self._found = 0, len(self.texts)
        self._written = {}

    def forget(self, text: str) -> None:
        """Forget a text that is gone from the log, and commands that end with it."""
        self.texts = [one for one in self.texts if not _says(clean(one, lines=True), text)]
        self._unsaved.intersection_update(self.texts)
        self._back, self._found = 0, len(self.texts)
        self._written = {back: unsent for back, unsent in self._written.items() if not back}

    def to_save(self) -> list[str]:
        """Return the texts that later runs may recall."""
        return [text for text in self.texts if text not in self._unsaved]

    def older(self, current: str) -> str | None:
        return self._go(1, current) if self._back < len(self.texts) else None

    def newer(self, current: str) -> str | None:
        return self._go(-1, current) if self._back else None

    def _go(self, steps: int, current: str) -> str:
        self._written[self._back] = current
        self._back += steps
        return self._written.get(self._back, self.texts[-self._back])

    def search(self, words: str, further: bool = False) -> str | None:
        """Return the newest text that contains these words; with `further`, the next older one than the last hit."""
        start = self._found if further else len(self.texts)
        for at in range(start - 1, -1, -1):
            if words.lower() in self.texts[at].lower():
                self._found = at
                return self.texts[at]
        return None


def _says(line: str, text: str) -> bool:
    """True if this line was a text, or a command with it, such as /reply."""
    return line == text or (line.startswith("/") and line.endswith(f" {text}"))


class Completion:
    """The completions of one word. Every press of the key takes the next one."""

    def __init__(self, start: int, rest: str, words: list[str], shown: list[str] | None = None) -> None:
        """`shown`: the words as the list of them has them, if it has more than the words."""
        self.start = start  # index of the word's first letter
        self.rest = rest  # the text after the cursor
        self._words = words
        self._shown = shown or [word.strip() for word in words]
        self._at = -1

    @property
    def alone(self) -> bool:
        return len(self._words) == 1

    def turn(self) -> str:
        self._at = (self._at + 1) % len(self._words)
        return self._words[self._at]

    def choices(self, width: int, rows: int) -> str:
        """Return the choices with the taken one in brackets: all, or as many around it as these rows hold, and the
        number of the others. Empty if there is only one."""
        if self.alone:
            return ""
        shown = [f"[{word}]" if at == self._at else word for at, word in enumerate(self._shown)]
        cells = [cell_len(word) + 2 for word in self._shown]
        room = rows * (width - max(cells)) - 2  # a row may end with what the next word did not fit into
        if sum(cells) <= room:
            return "  ".join(shown)
        start, end, used = 0, len(shown), 0
        for at, cell in enumerate(cells):
            if used and used + cell > room - _AND_MORE:
                if at > self._at:
                    end = at
                    break
                start, used = at, 0
            used += cell
        return f"{'  '.join(shown[start:end])}  and {len(shown) - end + start} more"


def matching(prefix: str, words: Iterable[str]) -> list[str]:
    """Return the words that begin with the prefix, in their order; upper and lower case are equal."""
    low = prefix.lower()
    return list(dict.fromkeys(word for word in words if word.lower().startswith(low)))


def emoji_completion(text: str, at: int) -> Completion | None:
    """Complete the name of an emoji before the cursor, as in `:smi`, to the emoji; the shortest name comes first."""
    found = _EMOJI_NAME.search(text, 0, at)
    if found is None:
        return None
    from rich._emoji_codes import EMOJI  # what rich replaces `:smile:` by; thousands of names, for this key alone

    names = sorted(matching(found[1], EMOJI), key=lambda name: (len(name), name))
    shown = [f"{EMOJI[name]} {name}" for name in names]
    return Completion(found.start(), text[at:], [f"{EMOJI[name]} " for name in names], shown) if names else None


def nick_completion(text: str, at: int, nicks: Iterable[str]) -> Completion | None:
    """Complete the word before the cursor to a nick; at the beginning of a line a colon follows."""
    start = at
    while start and not text[start - 1].isspace():
        start -= 1
    word = text[start:at]
    sign = "@" if word.startswith("@") else ""
    found = matching(word[len(sign) :], nicks) if word else []
    if not found:
        return None
    first = start == 0 or text[start - 1] == "\n"
    behind = ": " if first and not sign else " "
    rest = text[at:]
    return Completion(start, rest, [f"{sign}{nick}{behind}" for nick in found])
