"""The rows of a log: messages, gaps and lines of the program, and the words of gaps.

Rows are immutable; a change makes a new row. A gap stands before the first message that names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum, auto
from typing import Final, NamedTuple

from sdschat.node.view.values import Key, Lost, MissingMessage, RetrievalState
from sdschat.tui.model.words import NO_BREAK, Glyphs, bar, clock, countdown, listed

Place = tuple[int, str, int, str]  # Lamport time, id, rank beside that message, tie-breaker

_BEFORE, _AT, _AFTER = 0, 1, 2
_LAST_ID: Final = "\U0010ffff"


class Phase(IntEnum):
    """The known progress of an own message. It never goes back."""

    QUEUED = 0  # saved here; nobody else has it
    UNACKED = 1  # the broker has it
    MAYBE = 2
    ACKED = 3


_NOBODY: Final[frozenset[str]] = frozenset()


class Fate(NamedTuple):
    """The state of an own message as its row shows it. Participants stand in it by their ids, each in one place."""

    phase: Phase
    known: frozenset[str] = _NOBODY  # proven to have it
    perhaps: frozenset[str] = _NOBODY  # their filters seem to have it, which may be chance
    unproven: frozenset[str] = _NOBODY  # they say without a signature that they have it
    refused: str = ""  # reason of the broker or this machine not to take it, while nobody has it
    word: str = ""  # stands for the word of the phase, in a members' channel
    full: bool = False  # at some moment all who were here, and all it was for, were known to have it
    past: bool = False  # acknowledged before this program started, for who was here then
    addressed: frozenset[str] = _NOBODY  # who was here when it was written
    unsure: bool = False  # sent before this program started: nobody knows if the broker took it

    def moved(self, to: Fate) -> Fate:
        """Return the state after new evidence. It only goes forward: known evidence stays."""
        known = self.known | to.known
        perhaps = (self.perhaps | to.perhaps) - known
        phase = to.phase if self.unsure and to.refused else max(self.phase, to.phase)
        return Fate(
            phase,
            known,
            perhaps,
            (self.unproven | to.unproven) - known - perhaps,
            "" if phase > Phase.QUEUED else self.refused or to.refused,
            to.word or self.word,
            self.full or to.full,
            self.past or to.past,
            self.addressed or to.addressed,
            self.unsure and to.unsure,
        )

    def among(self, present: tuple[str, ...]) -> Fate:
        """Return the state for who is here now: full if all of them, and all who were here when the message was
        written, are known to have it."""
        if self.full or not present or not self.known.issuperset((*present, *self.addressed)):
            return self
        return self._replace(full=True)

    def but_for_removed(self, members: Callable[[frozenset[str]], frozenset[str]]) -> Fate:
        """Return the state without waiting for whom `members` leaves out."""
        found = members(self.addressed)
        return self if found == self.addressed else self._replace(addressed=found)

    def absent(self, present: tuple[str, ...]) -> list[str]:
        """Return who was here when the message was written, is not here now, and is not known to have it."""
        return sorted(self.addressed.difference(present) - self.known)

    def refuse(self, why: str) -> Fate:
        """Return the state after a refusal. It counts only while nobody has the message."""
        if self.phase is not Phase.QUEUED and not self.unsure:
            return self
        return self._replace(phase=Phase.QUEUED, refused=why, unsure=False)


class Doubt(Enum):
    """The reason for a remark on a message."""

    NONE = auto()
    NEW_KEY = auto()  # said once, calmly, at the first message of a key
    UNPROVEN = auto()
    FORGERY = auto()


class Quote(NamedTuple):
    """The message that another one answers, as far as its text is here."""

    message_id: str
    nick: str
    text: str  # its first line; empty if the message is not here


@dataclass(frozen=True, slots=True)
class MessageItem:
    """The row of a message. All texts are safe to draw."""

    key: Key
    sender_id: str
    nick: str  # empty: no key proved one
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
    remark: str = ""  # its defect in words: damaged, unsigned, …
    doubt: Doubt = Doubt.NONE
    quote: Quote | None = None
    tag: str = ""  # the beginning of the author's id, where another key goes by this nick
    verified: bool = False  # the user has compared words with the author

    @property
    def message_id(self) -> str:
        return self.key[1]

    @property
    def place(self) -> Place:
        return (*self.key, _AT, "")

    @property
    def at(self) -> int:
        """Return the date by which the log orders it: its Lamport time, in epoch milliseconds."""
        return self.key[0]


@dataclass(frozen=True, slots=True)
class GapItem:
    """The row of a missing message. It stands before the first message that names it."""

    what: MissingMessage | Lost
    before: Key
    author: str  # its author in words
    waiter: str  # author of the first message that waits for it
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
    """The tone of a line of the program: colour and sign follow from it."""

    INFO = "info"
    ALERT = "alert"
    HELP = "help"


class KeptNote(NamedTuple):
    """A line that stays for what happens again. `key`: of whom or what it tells; `counts`: it says how often that
    happened within a minute."""

    key: str
    text: str
    tone: Tone = Tone.INFO
    counts: bool = False


@dataclass(frozen=True, slots=True)
class NoteItem:
    """A line of the program. It stands below the row that was the newest when it was added."""

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


Item = MessageItem | GapItem | NoteItem


def tail_key(lamport: int) -> Key:
    """Return a key that is after every message with this Lamport time."""
    return lamport, _LAST_ID


def first_line(entry: MessageItem) -> str:
    return entry.text.partition("\n")[0]


def first_words(entry: MessageItem, most: int, cut: str) -> str:
    """Return the first line of a message, or so many letters of it and the sign for what is cut away."""
    line, more, _ = entry.text.partition("\n")
    if len(line) > most:
        return f"{line[: most - 1].rstrip()}{cut}"
    return f"{line} {cut}" if more else line


Namer = Callable[[str | None], str]


def gap_items(
    missing: Iterable[MissingMessage], lost: Mapping[str, Lost], entries: Iterable[MessageItem], name: Namer
) -> Iterator[GapItem]:
    """Yield a gap for every missing message, and for every lost one that one of `entries` names."""
    for entry in missing:
        first = entry.named_by[0] if entry.named_by else None
        before: Key = (entry.since, "") if first is None else (first.lamport, first.message_id)
        waiter = "" if first is None else name(first.sender_id)
        yield GapItem(entry, before, name(entry.sender_id), waiter, tuple(map(name, entry.answerers)))
    if lost:
        seen: set[str] = set()
        for row in entries:
            for dependency in row.dependencies:
                given_up = lost.get(dependency)
                if given_up is not None and dependency not in seen:
                    seen.add(dependency)
                    yield GapItem(given_up, row.key, name(given_up.sender_id), "")


_BAR: Final = 5  # letters


def gap_words(gap: GapItem, now: int, *, brief: bool = False, glyphs: Glyphs | None = None) -> str:
    """Return the text of a gap at this moment. `brief`: without those who wait for it, or may answer. With `glyphs` the
    time until it is asked for has a bar."""
    by = f" by {gap.author}" if gap.author else ""
    if isinstance(gap.what, Lost):
        more = "" if brief else ". It still comes if somebody who has it does"
        return f"1 message{by} is lost: nobody gave it to us until {clock(gap.what.at)}{more}"
    waits = f", and one by {gap.waiter} waits for it" if gap.waiter and not brief else ""
    return f"1 message{by} missing{waits}: {asking_words(gap, gap.what, now, brief=brief, glyphs=glyphs)}"


def asking_words(gap: GapItem, what: MissingMessage, now: int, *, brief: bool, glyphs: Glyphs | None) -> str:
    """Return in words the state of the request for a missing message: asker, time, and if not `brief` those who may
    answer. That nobody may is said in any case."""
    total, left = max(1, what.due - what.counts_from), what.due - now
    soon = countdown(left) if glyphs is None else f"{countdown(left)}{NO_BREAK}{bar(1 - left / total, _BAR, glyphs)}"
    others = [name for name in gap.answerers if name]
    may = f"; {listed(others)} may answer" if others and not brief else "" if others else "; nobody is here to answer"
    if what.asking is RetrievalState.WAITING:
        return f"we ask in {soon}{may}"
    if what.asking is RetrievalState.DUE:
        return f"we ask with the next packet{may}"
    if what.asking is RetrievalState.ASKED:
        times = "" if what.attempts < 2 else f" {what.attempts} times"
        return f"asked{times}{may}; again in {soon}"
    if what.asking is RetrievalState.RELYING:
        return f"relying on another's request{may}; we ask in {soon}"
    return "not asked for while there is no connection"
