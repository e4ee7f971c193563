"""Checks of output for a terminal: of its characters, and of its effect in an emulator."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import pyte

# What the application itself sends within a line: colours, and links to the web.
_OURS = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^;\x1b\x07]*;(?:https?://[^\x1b\x07]*)?\x1b\\")
# A text that goes from right to left is isolated from what stands beside it, once.
_ISOLATED = re.compile("[\u2066\u2068]([^\u2066-\u2069\u202a-\u202e]*)\u2069")
_BAD = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
_EXPECTED = frozenset({"draw", "select_graphic_rendition"})


def harmful(written: str) -> list[str]:
    """Return everything in the output that is not text, written out."""
    left = _ISOLATED.sub(r"\1", _OURS.sub("", written))
    return [
        f"U+{ord(char):04X} in {left[max(0, at - 20) : at + 20]!r}"
        for at, char in enumerate(left)
        if char not in _JOINERS and unicodedata.category(char) in _BAD
    ]


class _Spy:
    """A stand-in for a screen: notes the orders that a terminal would obey."""

    def __init__(self) -> None:
        self.obeyed: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        def note(*arguments: Any, **more: Any) -> None:
            if name not in _EXPECTED:
                self.obeyed.append(f"{name}{arguments}")

        return note


def obeyed(written: str) -> list[str]:
    """Return the orders that a terminal would obey, except colours."""
    spy = _Spy()
    pyte.Stream(spy).feed(written)  # type: ignore[arg-type]
    return spy.obeyed


_CLEAR: set[str] = set()  # lines that were judged already: most of a screen is as it was


def judge(lines: Iterable[str], where: str) -> None:
    """Return each line as it is written to the terminal."""
    for line in lines:
        if line in _CLEAR:
            continue
        assert not harmful(line), f"{where}: {harmful(line)[:3]}"
        assert not obeyed(line), f"{where}: {obeyed(line)[:3]} by {line!r:.200}"
        _CLEAR.add(line)
