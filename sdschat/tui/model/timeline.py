"""The part of a log in memory: some hundred rows around the visible ones, however long the log is."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Flag, auto
from operator import attrgetter
from typing import Final

from sdschat.node.view.values import Key
from sdschat.tui.model.items import GapItem, Item, KeptNote, MessageItem, NoteItem, Place, Tone, tail_key
from sdschat.tui.model.words import strangers_words

MOST: Final = 1500  # rows in memory; beyond that, those farthest from the visible ones are dropped
_MOST_NOTES: Final = 500  # lines of the program, also those outside the part in memory; then the oldest is dropped
_MINUTE: Final = 60_000  # milliseconds
_place = attrgetter("place")


class ModelChange(Flag):
    """The parts of the screen that have to be drawn again."""

    NOTHING = 0
    ROWS = auto()  # rows of the log
    BADGES = auto()  # unread counts and sync state
    PEOPLE = auto()
    CONNECTION = auto()


class Timeline:
    """Rows in log order. `at_start` and `at_end` are True if the log has no messages beyond them."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.entries: dict[str, MessageItem] = {}
        self.gaps: dict[str, GapItem] = {}
        self.notes: dict[Place, NoteItem] = {}  # also those outside the part in memory, which is empty at first
        self.at_start = False
        self.at_end = False
        self.version = 0  # increases with every change of the rows

    def __len__(self) -> int:
        return len(self.items)

    def first_key(self) -> Key | None:
        return next((item.key for item in self.items if isinstance(item, MessageItem)), None)

    def last_key(self) -> Key | None:
        return next((item.key for item in reversed(self.items) if isinstance(item, MessageItem)), None)

    def index_of(self, place: Place) -> int | None:
        at = bisect_left(self.items, place, key=_place)
        return at if at < len(self.items) and self.items[at].place == place else None

    def index_of_message(self, message_id: str) -> int | None:
        found: Item | None = self.entries.get(message_id) or self.gaps.get(message_id)
        return None if found is None else self.index_of(found.place)

    def replace_all(self, entries: Iterable[MessageItem], *, at_start: bool, at_end: bool) -> None:
        """Replace all rows by another part of the log, with the lines of the program that belong to it."""
        found = list(entries)
        self.items = list(found)
        self.entries = {entry.message_id: entry for entry in found}
        self.gaps = {}
        self.at_start, self.at_end = at_start, at_end
        self._put_notes()

    def _put_notes(self) -> None:
        """Insert the lines of the program that belong to the part in memory."""
        for place, note in self.notes.items():
            if self.covers(place) and self.index_of(place) is None:
                insort(self.items, note, key=_place)
        self.version += 1

    def covers(self, place: Place) -> bool:
        """True if a row of this place belongs to the part in memory."""
        first, last = self.first_key(), self.last_key()
        after_first = self.at_start or (first is not None and place[:2] >= first)
        before_last = self.at_end or (last is not None and place[:2] <= last)
        return after_first and before_last

    def has_around(self, place: Place, rows: int) -> bool:
        """True if so many rows on both sides of this place are in memory, or all that there are."""
        at = bisect_left(self.items, place, key=_place)
        return (self.at_start or at >= rows) and (self.at_end or at + rows <= len(self.items))

    def extend_before(self, entries: list[MessageItem], at_start: bool) -> None:
        fresh = [entry for entry in entries if entry.message_id not in self.entries]
        self.items[:0] = fresh
        self.entries.update((entry.message_id, entry) for entry in fresh)
        self.at_start = at_start
        self._put_notes()

    def extend_after(self, entries: list[MessageItem], at_end: bool) -> None:
        fresh = [entry for entry in entries if entry.message_id not in self.entries]
        self.items.extend(fresh)
        self.entries.update((entry.message_id, entry) for entry in fresh)
        self.at_end = at_end
        self._put_notes()

    def put(self, item: Item) -> bool:
        """Insert or replace a row. Return False if it lies outside the part in memory."""
        if isinstance(item, NoteItem):
            self._keep(item)
        at = self.index_of(item.place)
        if at is not None:
            self.items[at] = item
        elif self.covers(item.place):
            insort(self.items, item, key=_place)
        else:
            return False
        if isinstance(item, MessageItem):
            self.entries[item.message_id] = item
        elif isinstance(item, GapItem):
            self.gaps[item.message_id] = item
        self.version += 1
        return True

    def _keep(self, note: NoteItem) -> None:
        self.notes[note.place] = note
        if len(self.notes) > _MOST_NOTES:
            self.remove(next(iter(self.notes.values())))

    def remove(self, item: Item) -> None:
        self.notes.pop(item.place, None)
        at = self.index_of(item.place)
        if at is None:
            return
        del self.items[at]
        if isinstance(item, MessageItem):
            self.entries.pop(item.message_id, None)
        elif isinstance(item, GapItem):
            self.gaps.pop(item.message_id, None)
        self.version += 1

    def set_mark(self, wanted: NoteItem | None) -> None:
        """Set the line above the first message, or remove it with None."""
        before = self.items[0] if self.items and isinstance(self.items[0], NoteItem) else None
        marked = before if before is not None and not before.number else None
        if marked != wanted:
            if marked is not None:
                del self.items[0]
            if wanted is not None:
                self.items.insert(0, wanted)
            self.version += 1

    def set_gaps(self, wanted: Iterable[GapItem]) -> None:
        """Make these the only gaps."""
        found = {gap.message_id: gap for gap in wanted}
        for message_id, gap in list(self.gaps.items()):
            new = found.get(message_id)
            if new is None or new.place != gap.place:
                self.remove(gap)
        for message_id, gap in found.items():
            if self.gaps.get(message_id) != gap:
                self.put(gap)

    def trim(self, low: int, high: int, most: int = MOST) -> None:
        """Drop the rows farthest from the range `low` to `high` if there are more than `most`."""
        excess = len(self.items) - most
        if excess <= 0:
            return
        above = min(excess, max(0, low - most // 4))
        below = min(excess - above, max(0, len(self.items) - high - most // 4))
        gone = self.items[:above] + (self.items[len(self.items) - below :] if below else [])
        self.items = self.items[above : len(self.items) - below]
        for item in gone:
            if isinstance(item, MessageItem):
                del self.entries[item.message_id]
            elif isinstance(item, GapItem):
                self.gaps.pop(item.message_id, None)
        self.at_start = self.at_start and not above
        self.at_end = self.at_end and not below
        self.version += 1

    def clear_notes(self) -> None:
        self.notes.clear()
        self.items = [item for item in self.items if not isinstance(item, NoteItem)]
        self.version += 1

    def messages(self) -> Iterator[MessageItem]:
        return (item for item in self.items if isinstance(item, MessageItem))


class ProgramLines:
    """Puts lines of the program into a timeline. At most one stands for the new keys that wait, and one for each sender
    who exceeds the limit or says two things: their texts change while they are in the timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._added = 0
        self._kept: dict[str, NoteItem] = {}
        self._counted: dict[str, tuple[int, int]] = {}  # how often something happened, and since when
        self._strangers: NoteItem | None = None

    def add(self, text: str, at: int, tone: Tone = Tone.INFO, below: Key | None = None) -> NoteItem:
        """Add a line below the row with this key, else below the newest one, and return it."""
        self._added += 1
        line = NoteItem(text, tone, at, below or self._newest(at), self._added)
        self._timeline.put(line)
        return line

    def _newest(self, at: int) -> Key:
        """Return the key of the newest row, which may be another line: a message of before it may have come late."""
        rows = self._timeline
        newest = rows.items[-1].place[:2] if rows.at_end and rows.items else (0, "")
        return newest if rows.at_end and rows.last_key() is not None else max(newest, tail_key(at))

    def say_kept(self, note: KeptNote, at: int) -> None:
        """Say in one line what happens again. What is counted begins a new line after a minute."""
        before, text = self._kept.get(note.key), note.text
        if note.counts:
            times, since = self._counted.get(note.key, (0, at))
            if at - since > _MINUTE:
                before, times, since = None, 0, at
            self._counted[note.key] = (times + 1, since)
            text += f" ({times + 1} times within a minute)" if times else ""
        self._kept[note.key] = self._change(before, text, at, note.tone)

    def say_strangers(self, keys: int, messages: int, at: int) -> None:
        """Say how many new keys wait. Remove the line if none does."""
        before = self._strangers
        self._strangers = self._change(before, strangers_words(keys, messages), at) if keys else None
        if before is not None and not keys:
            self._timeline.remove(before)

    def _change(self, before: NoteItem | None, text: str, at: int, tone: Tone = Tone.INFO) -> NoteItem:
        """Change the text of a line, or add one if there is none any more."""
        if before is None or before.place not in self._timeline.notes:
            return self.add(text, at, tone)
        line = replace(before, text=text)
        self._timeline.put(line)
        return line
