"""The script of the theatre, and its keys. A link has the number of the key that cuts it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from sdschat.tui.model.words import UNICODE, Glyphs

Link = tuple[str, str]

PEOPLE: Final = ("ann", "bob", "carol", "dave")
ME: Final = PEOPLE[0]  # the participant for whom the person at the keyboard writes
LINKS: Final[tuple[Link, ...]] = (
    ("ann", "bob"),
    ("ann", "carol"),
    ("bob", "dave"),
    ("carol", "dave"),
    ("ann", "dave"),
    ("bob", "carol"),
)
BETWEEN_SIDES: Final = (0, 3, 4, 5)  # the links from the left two participants to the right two


class Deed(StrEnum):
    SAY = "say"
    SPLIT = "split"  # cut all links between left and right
    MEND = "mend"
    LOSS = "loss"
    KILL = "kill"  # and start again
    TELL = "tell"  # what holds whatever the person has done meanwhile
    MEET = "meet"  # wait until all logs are equal, but not for ever: the person may have cut a link


class TheatreAct(NamedTuple):
    pause: float  # seconds before it
    deed: Deed
    who: str = ""
    text: str = ""


def _says(*lines: tuple[str, str], pause: float = 1.2) -> list[TheatreAct]:
    return [TheatreAct(pause, Deed.SAY, who, text) for who, text in lines]


ACTS: Final = (
    TheatreAct(0.3, Deed.TELL, text="Four nodes, four databases. Equal logs have one fingerprint: see the names."),
    *_says(("ann", "hello, all"), ("bob", "hi ann"), ("dave", "good morning"), ("carol", "morning")),
    TheatreAct(2.0, Deed.MEET),
    TheatreAct(1.3, Deed.SPLIT),
    *_says(
        ("ann", "the left side"),
        ("bob", "the right side"),
        ("carol", "of the cut"),
        ("dave", "goes its own way"),
        ("ann", "who hears me?"),
    ),
    TheatreAct(3.3, Deed.MEND),
    *_says(("bob", "there you are"), ("carol", "I read it all"), pause=1.5),
    TheatreAct(0.5, Deed.MEET),
    TheatreAct(2.3, Deed.LOSS),
    *_says(("dave", "half of this"), ("ann", "gets lost"), ("bob", "on the way"), ("carol", "and comes again")),
    TheatreAct(0.5, Deed.MEET),
    TheatreAct(1.0, Deed.MEND),
    TheatreAct(0.8, Deed.KILL, "dave"),
    *_says(("bob", "where is dave?"), ("dave", "here again"), pause=2.0),
    TheatreAct(0.5, Deed.MEET),
    TheatreAct(3.0, Deed.TELL, text="It begins again. Cut links yourself: 1 to 6; m mends. Enter writes for ann."),
    TheatreAct(2.0, Deed.MEND),  # says nothing where there is nothing to mend
)

_KEYS: Final = (
    "1-6 cut",
    "s split",
    "m mend",
    "l loss",
    "k kill",
    "space pause",
    "→ step",
    "Enter write",
    "? help",
    "q quit",
)
_WHILE_WRITING: Final = ("Enter sends", "Esc back to the keys", "Ctrl+C quits")
_DISPENSABLE: Final = ("→ step", "l loss", "s split")  # where there is no room for all; help has them
_HELP: Final = """\
Four participants, each a real node with its own database.
Behind each name stands the fingerprint of its log.

  1 ann-bob     2 ann-carol   3 bob-dave   cut, or mend,
  4 carol-dave  5 ann-dave    6 bob-carol  the link
  s             cuts all links between left and right
  m             mends all links, and ends the loss
  l             loses packets on all links, or no more
  Tab, k        chooses one of them; kills and restarts it
  space, →      pauses the script, as faults do; next act
  Enter         writes for ann; Esc goes back to the keys
  q             quits
Cells, one for each other: ● known to have it, ◐ perhaps,
○ nothing yet; ✓ all of them. They follow equal logs once
packets tell the author. Any key closes this page."""
KEYS_OF_HELP: Final = re.compile(r"(?m)(?<=^  )(?:\d(?= )|\S.*?(?=  ))|(?<=  )\d(?= \w)")  # that it names


def keys_in(room: int, glyphs: Glyphs, *, writing: bool) -> tuple[list[str], str]:
    """Return the keys that there is room for, and what stands between them."""
    keys, between = _fitting(room, writing=writing)
    return [_plain(key, glyphs) for key in keys], _plain(between, glyphs)


def _fitting(room: int, *, writing: bool) -> tuple[list[str], str]:
    keys = [*(_WHILE_WRITING if writing else _KEYS)]
    for between in (" · ", "  "):
        if len(between.join(keys)) <= room:
            return keys, between
    for one in _DISPENSABLE:
        if len("  ".join(keys)) > room and one in keys:
            keys.remove(one)
    return keys, "  "


def help_in(glyphs: Glyphs) -> str:
    """Return the page of help with the signs that are drawn here."""
    text = _HELP
    for name in ("known", "maybe", "nothing", "acked"):
        text = text.replace(getattr(UNICODE, name), getattr(glyphs, name))
    return _plain(text, glyphs)


def _plain(text: str, glyphs: Glyphs) -> str:
    if glyphs is UNICODE:
        return text
    return text.replace(" · ", " | ").replace("→    ", "right").replace("→", "right")
