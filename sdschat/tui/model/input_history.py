"""The history of the input: texts that were sent, to be recalled."""

from __future__ import annotations

from typing import Final

KEPT: Final = 500


class InputHistory:
    """Texts that were sent, newest last. Going back keeps the unsent text, and going forward returns to it."""

    def __init__(self, texts: list[str] | None = None) -> None:
        self.texts: list[str] = list(texts or [])[-KEPT:]
        self._at = len(self.texts)
        self._unsent = ""
        self._found = len(self.texts)
        self._unsaved: set[str] = set()

    def add(self, text: str, *, saved: bool = True) -> None:
        """Take in a text that was sent. One that is not `saved` is recalled in this run alone."""
        if text.strip() and (not self.texts or self.texts[-1] != text):
            self.texts.append(text)
            del self.texts[:-KEPT]
        if not saved:
            self._unsaved = {*self._unsaved, text}.intersection(self.texts)
        self._at = self._found = len(self.texts)
        self._unsent = ""

    def to_save(self) -> list[str]:
        """Return the texts that later runs may recall."""
        return [text for text in self.texts if text not in self._unsaved]

    def older(self, current: str) -> str | None:
        if not self._at:
            return None
        if self._at == len(self.texts):
            self._unsent = current
        self._at -= 1
        return self.texts[self._at]

    def newer(self, current: str) -> str | None:
        if self._at >= len(self.texts):
            return None
        self._at += 1
        return self._unsent if self._at == len(self.texts) else self.texts[self._at]

    def search(self, words: str, further: bool = False) -> str | None:
        """Return the newest text that contains these words; with `further`, the next older one than the last hit."""
        start = self._found if further else len(self.texts)
        for at in range(start - 1, -1, -1):
            if words.lower() in self.texts[at].lower():
                self._found = at
                return self.texts[at]
        return None
