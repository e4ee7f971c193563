"""Results of a command, without Textual: the pages of a sheet, or the error with which it ends."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from string import hexdigits
from typing import Final, NamedTuple

from sdschat.node.files import expanded

Mark = tuple[int, int, str]  # the first letter, the end, and the name of the style of what is between
_GOES_ON: Final = " " * 20  # a line that begins so belongs to the one above it, whose first column is long


class Page(NamedTuple):
    """One page: its title, its lines, and what Enter does on each line of a list."""

    title: str
    lines: Sequence[str]
    runs: Sequence[str] = ()  # command lines without their slash, one for each line; empty: a text, nothing to choose
    enter: str = ""  # what Enter does with the chosen line: "shows it"
    renew: Callable[[], Page] | None = None  # returns the page as it is now, while it is shown
    marks: Sequence[Sequence[Mark]] = ()  # of each line; without any, the first column of a table is marked
    chosen: int = 0  # the line of a list that is chosen first
    at_top: bool = False  # a list that one opens again and again: it stands in one place, whatever is written
    names_keys: bool = False  # a text about the program: keys and commands that it names are marked


class CommandError(Exception):
    """The command cannot be done. The text says what, why and what to do; the typed line stays in the input."""


def typed_path(text: str) -> Path:
    """Return the path that stands in a command, with a home in the place of `~`. Raises CommandError."""
    try:
        return expanded(text)
    except ValueError as error:
        raise CommandError(str(error)) from error


def is_like_an_id(word: str) -> bool:
    """True for a word that is rather the beginning of an id than of a text."""
    mixed = any(one.isdigit() for one in word) and any(one.isalpha() for one in word)
    return set(word.lower()) <= set(hexdigits) and (len(word) >= 8 or (len(word) >= 3 and mixed))


def switched(name: str, argument: str, now: bool) -> bool:
    """Return what a switch is to be: as the argument says, else the other way round. Raises CommandError."""
    word = argument.lower()
    if word not in ("", "on", "off"):
        raise CommandError(f"/{name} takes on or off; alone it changes from one to the other.")
    return not now if not word else word == "on"


def quoted_words(argument: str, hint: str) -> list[str]:
    """Return the words of an argument, which may stand in quotes as in a shell."""
    try:
        return shlex.split(argument)
    except ValueError:
        raise CommandError(f"A quote is not closed. {hint}") from None


def goes_on(lines: Sequence[str], at: int) -> bool:
    """True if the line at this place goes on with the one above it."""
    return 0 < at < len(lines) and lines[at].startswith(_GOES_ON)


def lines_with(lines: Sequence[str], words: Sequence[str]) -> Iterator[int]:
    """Yield the lines that have all these words, each together with what goes on with it."""
    at = 0
    while at < len(lines):
        end = at + 1
        while goes_on(lines, end):
            end += 1
        text = " ".join(lines[at:end]).lower()
        if all(word in text for word in words):
            yield from range(at, end)
        at = end
