"""The script of the demonstration, scene by scene. `Act.peer` counts from the first peer."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import cycle
from typing import Final, NamedTuple

NAMES: Final = (
    "ann",
    "bob",
    "carol",
    "dave",
    "eve",
    "frank",
    "grace",
    "heidi",
    "ivan",
    "judy",
    "mike",
    "nina",
    "olaf",
    "peggy",
    "rupert",
    "sybil",
)
WATCHER: Final = "guest"  # no word that people say to each other: it would be a mention
GREETING: Final = "hello, I am watching"
WRITTEN_FOR_YOU: Final = "The demonstration wrote this line for you, so that you see who has a message of yours."
ANSWER: Final = "I read you, guest: the sign at the right of your line says who has it"
# To what the watcher writes, one after the other.
ANSWERS: Final = (
    "got it, guest: the cells at the right of your line fill as others confirm it",
    "me too, guest: F5 tells who has your line, and how that is known",
    "still here, guest: /why tells what a line of yours waits for",
    "I hear you, guest: F2 shows the packets that carry all this",
)


class Verb(StrEnum):
    SAY = "say"
    GREET = "greet"  # the watcher says something
    LOSS = "loss"  # on all connections, as high as the user asked for
    DEAF = "deaf"  # the watcher loses everything that comes in
    HEAR = "hear"
    LEAVE = "leave"  # a peer goes offline
    RETURN = "return"
    SILENCE = "silence"  # the watcher does not hear one peer
    UNSILENCE = "unsilence"
    BROKER = "broker"  # end the process of the broker
    CALM = "calm"  # no faults any more
    TELL = "tell"  # a line for the watcher


class Act(NamedTuple):
    pause: float  # seconds before it
    verb: Verb
    peer: int = 0
    text: str = ""


def _talk(*lines: tuple[int, str]) -> list[Act]:
    return [Act(1.0, Verb.SAY, peer, text) for peer, text in lines]


OPENING: Final = [
    Act(0.5, Verb.TELL, text="Everybody here is a real node, with its own database and network connection."),
    *_talk((0, "hello, all"), (1, "hi ann"), (2, "is this on?"), (0, "yes: the tick says who has it")),
    Act(1.0, Verb.GREET, text=GREETING),
    Act(2.5, Verb.SAY, 0, ANSWER),
]
SCENES: Final[tuple[list[Act], ...]] = (
    [
        Act(1.0, Verb.LOSS),
        Act(0.2, Verb.TELL, text="From now on every connection loses packets, at random, in both directions."),
        *_talk(
            (1, "half of what I say is gone"),
            (3, "and still it comes through"),
            (2, "after a while"),
            (0, "who misses something asks for it"),
        ),
    ],
    [
        Act(1.5, Verb.DEAF),
        Act(0.1, Verb.TELL, text="Nothing reaches you for a moment. Watch a gap open and close: /lens repair."),
        *_talk((2, "this one you will miss")),
        Act(0.3, Verb.HEAR),
        *_talk((1, "but this one names it, so you know")),
        Act(6.0, Verb.SAY, 0, "it should be back by now"),
    ],
    [
        Act(1.0, Verb.LEAVE, 1),
        Act(0.1, Verb.TELL, text="bob has no connection now, and goes on writing."),
        *_talk((1, "nobody hears this yet"), (0, "has anybody seen bob?"), (1, "nor this"), (2, "he will be back")),
        Act(1.5, Verb.RETURN, 1),
        Act(3.0, Verb.SAY, 1, "here I am: what I wrote took its place above"),
    ],
    [
        Act(1.0, Verb.SILENCE, 2),
        Act(0.1, Verb.TELL, text="What carol writes does not reach you now. It reaches all the others."),
        *_talk((2, "can you read this?"), (0, "I can")),
        Act(3.0, Verb.UNSILENCE, 2),
        Act(0.1, Verb.TELL, text="What carol writes reaches you again. Your program asks for what is missing."),
        *_talk((2, "and now?")),
        Act(5.0, Verb.SAY, 3, "all there"),
    ],
    [
        Act(1.0, Verb.BROKER),
        Act(0.1, Verb.TELL, text="The process that hosted the broker has ended. Another one takes over."),
        Act(3.5, Verb.SAY, 0, "that was quick"),
        *_talk((1, "nothing is lost: it was all on disk")),
    ],
    [
        Act(1.5, Verb.CALM),
        Act(0.1, Verb.TELL, text="No more faults. Everything that is missing anywhere is found now."),
        *_talk((3, "quiet again"), (2, "so it is")),
        Act(6.0, Verb.TELL, text="Look at any two logs: same messages, same order. It starts over; /quit ends it."),
    ],
)


ONCE: Final = len(OPENING) + sum(map(len, SCENES))  # number of acts until everything was played once
LENGTH: Final = sum(act.pause for part in (OPENING, *SCENES) for act in part)  # seconds


def acts() -> Iterator[Act]:
    """Yield the acts of the opening, and then those of the scenes again and again."""
    yield from OPENING
    for scene in cycle(SCENES):
        yield from scene
