"""The script of the three members: an edit, a deletion, and one who goes silent, is put out, and comes back."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

MEMBERS: Final = ("ann", "bob", "cleo")
FOUNDER: Final = MEMBERS[0]
WORD: Final = "wombat"  # of the post that is taken back


class GardenDeed(StrEnum):
    INVITE = "invite"  # and wait until they are members
    SAY = "say"
    EDIT = "edit"  # their last post
    DELETE = "delete"  # their last post
    SETTLE = "settle"  # wait until all have settled the same
    SEARCH = "search"  # the files of all profiles for the word
    VANISH = "vanish"  # wait until no file has the word
    SILENCE = "silence"
    PUT_OUT = "put out"  # wait until the others have put them out
    HEAR = "hear"  # end the silence
    TELL = "tell"


class GardenAct(NamedTuple):
    pause: float  # seconds before it
    deed: GardenDeed
    who: str = ""
    text: str = ""


def _say(*lines: tuple[str, str], pause: float = 1.0) -> list[GardenAct]:
    return [GardenAct(pause, GardenDeed.SAY, who, text) for who, text in lines]


def _tell(text: str, pause: float = 1.5) -> GardenAct:
    return GardenAct(pause, GardenDeed.TELL, text=text)


ACTS: Final = (
    _tell("ann made this members' channel. bob and cleo knock, and ann lets them in.", 0.3),
    GardenAct(1.0, GardenDeed.INVITE, "bob"),
    GardenAct(0.5, GardenDeed.INVITE, "cleo"),
    *_say(("ann", "welcome to the garden"), ("bob", "hello"), ("cleo", "hello, all")),
    GardenAct(0.5, GardenDeed.SETTLE),
    _tell("bob changes what he said: an edited post says so."),
    *_say(("bob", "see you at nine")),
    GardenAct(1.5, GardenDeed.EDIT, "bob", "see you at ten"),
    GardenAct(0.5, GardenDeed.SETTLE),
    _tell("ann says too much. All have it on their disks."),
    *_say(("ann", f"the key is under the {WORD}")),
    GardenAct(0.5, GardenDeed.SETTLE),
    GardenAct(1.0, GardenDeed.SEARCH),
    _tell("She takes it back. Once all have settled that, it is on no disk any more."),
    GardenAct(1.0, GardenDeed.DELETE, "ann"),
    GardenAct(0.5, GardenDeed.VANISH),
    GardenAct(0.5, GardenDeed.SEARCH),
    _tell("Now cleo hears nobody, and nobody hears her. Nothing can be settled without her word.", 3.0),
    GardenAct(0.5, GardenDeed.SILENCE, "cleo"),
    *_say(
        ("cleo", "does anybody hear me?"),
        ("ann", "shall we go on?"),
        ("bob", "cleo says nothing"),
        ("ann", "we wait for her word"),
        ("bob", "she is silent"),
        ("ann", "then we put it to the vote"),
        ("bob", "I agree"),
        pause=0.8,
    ),
    GardenAct(0.3, GardenDeed.PUT_OUT, "cleo"),
    _tell("Two of three agreed that she is out, so that they can go on settling what they say."),
    *_say(("ann", "we go on")),
    GardenAct(1.0, GardenDeed.SETTLE),
    _tell("cleo is back. ann lets her in again, and what she said meanwhile is written again, once."),
    GardenAct(0.5, GardenDeed.HEAR, "cleo"),
    GardenAct(0.5, GardenDeed.INVITE, "cleo"),
    *_say(("cleo", "here I am again")),
    GardenAct(0.5, GardenDeed.SETTLE),
    _tell("All three have settled the same. It begins again; q quits.", 0.5),
    _tell("", 6.0),
)
