"""Completion of what is being written: commands, their arguments, nicks."""

from __future__ import annotations

from collections.abc import Iterable


class Completion:
    """What a word may become. Every press of the key takes the next one."""

    def __init__(self, start: int, rest: str, words: list[str]) -> None:
        self.start = start  # where the word begins
        self.rest = rest  # what stands behind it
        self._words = words
        self._at = -1

    def turn(self) -> str:
        self._at = (self._at + 1) % len(self._words)
        return self._words[self._at]

    def choices(self) -> str:
        """All of them, the one that was taken in brackets; nothing where there is but one."""
        if len(self._words) < 2:
            return ""
        shown = [f"[{word.strip()}]" if at == self._at else word.strip() for at, word in enumerate(self._words)]
        return "  ".join(shown)


def matching(prefix: str, words: Iterable[str]) -> list[str]:
    """Those that begin like this, in their order, whatever the case."""
    low = prefix.lower()
    return list(dict.fromkeys(word for word in words if word.lower().startswith(low)))


def nick_completion(text: str, at: int, nicks: Iterable[str]) -> Completion | None:
    """Of the word before the cursor. At the beginning of a line a nick is spoken to."""
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
