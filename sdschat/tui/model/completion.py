"""Completion of what is being written: commands, their arguments, nicks."""

from __future__ import annotations

from collections.abc import Iterable


class Completion:
    """The completions of one word. Every press of the key takes the next one."""

    def __init__(self, start: int, rest: str, words: list[str]) -> None:
        self.start = start  # index of the word's first letter
        self.rest = rest  # the text after the cursor
        self._words = words
        self._at = -1

    def turn(self) -> str:
        self._at = (self._at + 1) % len(self._words)
        return self._words[self._at]

    def choices(self) -> str:
        """Return all choices, with the taken one in brackets; empty if there is only one."""
        if len(self._words) < 2:
            return ""
        shown = [f"[{word.strip()}]" if at == self._at else word.strip() for at, word in enumerate(self._words)]
        return "  ".join(shown)


def matching(prefix: str, words: Iterable[str]) -> list[str]:
    """Return the words that begin with the prefix, in their order; upper and lower case are equal."""
    low = prefix.lower()
    return list(dict.fromkeys(word for word in words if word.lower().startswith(low)))


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
