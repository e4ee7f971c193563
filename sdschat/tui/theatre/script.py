"""The script of the theatre. A link has the number of the key that cuts it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

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
    verb: Deed
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
