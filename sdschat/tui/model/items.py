"""What stands in a log: messages, gaps, and lines of the program itself. Immutable; a change makes a new one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from sdschat.node.view_values import Key, Lost, Missing

Place = tuple[int, str, int, str]  # Lamport time, id, rank beside that message, tie-breaker

_BEFORE, _AT, _AFTER = 0, 1, 2
_LAST_ID: Final = "\U0010ffff"


class Phase(IntEnum):
    """How far an own message is known to have come. It never goes back."""

    QUEUED = 0  # saved here, with nobody else
    UNACKED = 1  # with the broker
    MAYBE = 2
    ACKED = 3


class Fate(NamedTuple):
    """What a row says of an own message."""

    phase: Phase
    by: int = 0  # participants: of `ACKED`, those proven to have it; of `MAYBE`, those whose filters seem to have it
    refused: str = ""  # why the broker or this machine did not take it, while nobody has it

    def moved(self, phase: Phase, by: int) -> Fate:
        """Forward only: what is known stays known."""
        if phase < self.phase:
            return self
        known = by if phase > self.phase else max(self.by, by)
        return Fate(phase, known, "" if phase > Phase.QUEUED else self.refused)

    def refuse(self, why: str) -> Fate:
        """Only what nobody has can be refused: a later copy that is not taken changes nothing."""
        return self._replace(refused=why) if self.phase is Phase.QUEUED else self


class Quote(NamedTuple):
    """The message that another one answers, as far as it is here."""

    message_id: str
    nick: str
    text: str  # its first line; empty where it is not here


@dataclass(frozen=True, slots=True)
class Entry:
    """A message. All texts are clean."""

    key: Key
    sender_id: str
    nick: str  # empty: nobody proved to have one
    text: str
    verdict: str
    own: bool
    received_at: int
    sent_at: int
    via: str
    action: bool
    reply_to: str
    dependencies: tuple[str, ...]
    fate: Fate | None = None
    late: bool = False
    mention: bool = False
    readable: bool = True
    remark: str = ""  # what is amiss with it, in words
    quote: Quote | None = None

    @property
    def message_id(self) -> str:
        return self.key[1]

    @property
    def place(self) -> Place:
        return (*self.key, _AT, "")

    @property
    def at(self) -> int:
        """The date under which it stands in the log."""
        return self.key[0]


@dataclass(frozen=True, slots=True)
class GapItem:
    """A message that is not here, where it belongs: before the first that names it."""

    what: Missing | Lost
    before: Key
    author: str  # who wrote it, in words
    waiter: str  # whose message waits for it
    answerers: tuple[str, ...] = ()

    @property
    def message_id(self) -> str:
        return self.what.message_id

    @property
    def place(self) -> Place:
        return (*self.before, _BEFORE, self.what.message_id)

    @property
    def at(self) -> int:
        return self.before[0]

    @property
    def lost(self) -> bool:
        return isinstance(self.what, Lost)


class Tone(StrEnum):
    """How loud a line of the program is."""

    INFO = "info"
    ALERT = "alert"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class NoteItem:
    """A line of the program. It stands below what was newest when it was said."""

    text: str
    tone: Tone
    at: int
    after: Key
    number: int

    @property
    def message_id(self) -> str:
        return ""

    @property
    def place(self) -> Place:
        return (*self.after, _AFTER, f"{self.number:012d}")


Item = Entry | GapItem | NoteItem


def tail_key(lamport: int) -> Key:
    """A key below everything dated so."""
    return lamport, _LAST_ID


def first_line(entry: Entry) -> str:
    return entry.text.partition("\n")[0]
