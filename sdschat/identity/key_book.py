"""The public keys seen so far, and the key that used each nick first. Rows in, rows and events out; no I/O."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from enum import IntFlag
from typing import Final, NamedTuple

from sdschat.identity.content import OpenedContent
from sdschat.identity.key_rows import BookRow, KeyForgotten, KeyRow, NickRow, StandingForgotten, StandingRow
from sdschat.identity.lookalikes import NickUsers, PresentNicks, skeleton
from sdschat.identity.signing import sender_id_of

# Keys cost nothing to make. So few of them become people at once, and of the others the oldest are forgotten.
PEOPLE_A_MINUTE: Final = 20
PEOPLE_OF_HISTORY: Final = 1000  # in one run, by the minutes of their dates: a log of years may have many authors
MAX_STRANGERS: Final = 4096
MAX_NICKS_OF_A_KEY: Final = 8
MAX_PEOPLE: Final = 10_000  # of whom the user said nothing; beyond that some of the most crowded day are forgotten
_MINUTE: Final = 60_000
_DAY: Final = 24 * 60 * _MINUTE


class KeyStanding(IntFlag):
    """The standing of a participant here. Someone of another standing than `WAITING`, `PERSON` and `UNSIGNED` is never
    forgotten."""

    PERSON = 1  # one of the first to speak in a minute, or, with `KEPT`, somebody of whom the user said something
    MUTED = 2  # what they say is kept, and not shown
    IGNORED = 4  # only the ids of what they say are kept
    VERIFIED = 8  # the user has compared words with this person
    WAITING = 16  # a stranger: what they say is kept, and not shown until the user opens it
    UNSIGNED = 32  # somebody without a key was among the first to speak in a minute, or, with `WAITING`, was not
    KEPT = 64  # the user said something of this participant, or a private channel has them


SILENCED: Final = int(KeyStanding.MUTED | KeyStanding.IGNORED)  # by the user
_PERSON: Final = int(KeyStanding.PERSON)
_WAITING: Final = int(KeyStanding.WAITING)
_WELCOME: Final = int(KeyStanding.PERSON | KeyStanding.KEPT)
_CROWD: Final = (KeyStanding.PERSON, KeyStanding.UNSIGNED)  # anybody gets one of these by speaking
_STRANGE: Final = KeyStanding.WAITING | KeyStanding.UNSIGNED  # nothing else is known of somebody of this standing


class KeyMet(NamedTuple):
    """A key was seen for the first time."""

    sender_id: str
    nick: str


class NickChanged(NamedTuple):
    sender_id: str
    before: str
    after: str


class NickClaimed(NamedTuple):
    """A key uses a nick, or a look-alike of a nick, that another key used before. Users must see this."""

    sender_id: str
    nick: str
    held_as: str  # the nick as the first holder wrote it
    held_by: str  # the first holder's sender id
    verified: bool = False  # the user has compared words with the first holder: this is an alarm


KeyEvent = KeyMet | NickChanged | NickClaimed


class Meeting(NamedTuple):
    """The result of learning from a signed content: rows to save and events to report. Both are usually empty."""

    rows: tuple[BookRow, ...] = ()
    events: tuple[KeyEvent, ...] = ()


_NOTHING: Final = Meeting()


def opened_standing(standing: int) -> KeyStanding:
    """Return a standing as it is once the user has said something of this participant."""
    return (KeyStanding(standing) | KeyStanding.PERSON | KeyStanding.KEPT) & ~KeyStanding.WAITING


class KeyBook:
    """The keys and nicks known to this profile. `open_content` asks the book if a key is known."""

    __slots__ = (
        "_admitted",
        "_from_history",
        "_keys",
        "_nicks",
        "_nicks_of",
        "_people",
        "_senders",
        "_standing",
        "_strangers",
        "_unsigned",
        "_users",
        "openings",
        "present",
    )

    def __init__(self, rows: Iterable[KeyRow | NickRow | StandingRow] = ()) -> None:
        self._keys: dict[bytes, KeyRow] = {}
        self._users = NickUsers(MAX_NICKS_OF_A_KEY)
        self._nicks: dict[str, NickRow] = {}
        self.present = PresentNicks(MAX_STRANGERS)  # of this run: who has a nick and wrote nothing came first too
        self._senders: dict[str, bytes] = {}
        self._nicks_of: dict[bytes, set[str]] = {}
        self._standing: dict[str, StandingRow] = {}
        self._people: dict[int, dict[str, None]] = {}  # who may be forgotten, by the day since when, the oldest first
        self._strangers: dict[bytes, None] = {}  # who was heard last stands last
        self._unsigned: dict[str, None] = {}  # the same of those without a key: sender ids
        self._admitted: deque[int] = deque()  # times at which keys became people, of the last minute
        self._from_history: Counter[int] = Counter()  # keys of older messages that became people, by minute
        self.openings = 0  # number of times that a stranger who waits became a person
        for row in sorted(rows, key=lambda row: not isinstance(row, StandingRow)):
            self._take(row)
        for sender_id in [one for one, row in self._standing.items() if row.standing == KeyStanding.WAITING]:
            if sender_id not in self._senders:
                del self._standing[sender_id]  # forgotten; the row hides what they said, until that is gone

    def knows(self, public_key: bytes) -> bool:
        return public_key in self._keys

    def signs(self, sender_id: str) -> bool:
        """True if this sender id belongs to a known key: messages from this sender have been signed before."""
        return sender_id in self._senders

    def standing(self, sender_id: str) -> KeyStanding:
        row = self._standing.get(sender_id)
        return KeyStanding(0 if row is None else row.standing)

    def since(self, sender_id: str) -> int:
        """Return since when a participant has this standing, in epoch milliseconds."""
        row = self._standing.get(sender_id)
        return 0 if row is None else row.since

    def is_any(self, sender_id: str, standings: int) -> bool:
        """True if a participant has one of these standings. Asked for each message: flags as plain numbers are five
        times as fast."""
        row = self._standing.get(sender_id)
        return row is not None and row.standing & standings != 0

    def is_person(self, sender_id: str) -> bool:
        return self.is_any(sender_id, _PERSON)

    def is_waiting(self, sender_id: str) -> bool:
        """True for a stranger who came when too many did, and whom the user has not opened."""
        return self.is_any(sender_id, _WAITING)

    def is_shown(self, sender_id: str) -> bool:
        """True for a person, and for somebody without a key who does not wait."""
        return self.is_any(sender_id, _PERSON) or self.standing(sender_id) == KeyStanding.UNSIGNED

    @property
    def strangers(self) -> int:
        """Return the number of keys that spoke and are no people."""
        return len(self._strangers)

    def row(self, sender_id: str) -> KeyRow | None:
        key = self._senders.get(sender_id)
        return None if key is None else self._keys[key]

    def holder(self, nick: str) -> str | None:
        """Return the sender id of the first key that used this nick or a look-alike of it, or None."""
        held = self._nicks.get(skeleton(nick))
        return None if held is None else sender_id_of(held.public_key)

    def nicks(self) -> Iterator[tuple[str, str]]:
        """Yield the sender ids of all keys, with the nick that each went by last."""
        return ((sender_id, self._keys[key].nick) for sender_id, key in self._senders.items())

    def others_called(self, nick: str, sender_id: str) -> set[str]:
        """Return the sender ids of other keys that go or went by this nick, or by one that looks like it."""
        form, key = skeleton(nick), self._senders.get(sender_id, b"")
        held = self._nicks.get(form)
        users = self._users.of(form) | ({held.public_key} if held is not None else set())
        return {sender_id_of(each) for each in users if each != key}

    def set_standing(self, sender_id: str, standing: KeyStanding, now: int) -> StandingRow:
        """Set the standing of a participant, on the user's word: nobody of whom the user speaks is a stranger. Return
        the row to save."""
        row = StandingRow(sender_id, int(opened_standing(standing)), now)
        self._take(row)
        return row

    def meet(
        self, opened: OpenedContent, now: int, *, welcome: bool = False, dated: int | None = None, said_at: int = 0
    ) -> Meeting:
        """Learn from an opened content, if it is proven: nobody can change the nick of another key. `welcome`: its
        author is no stranger, however many keys came. `dated`: the time of a message that history brought. `said_at`:
        the Lamport time of any message; an older one than was there changes no nick. 0: it is said now."""
        if not opened.verdict.signed:
            return _NOTHING
        key = opened.author_key
        before = self._keys.get(key)
        is_old = self._users.note_date(key, said_at or now, 0 if before is None else before.first_seen)
        if before is not None and before.nick == opened.nick and key not in self._strangers:
            return _NOTHING
        sender_id = sender_id_of(key)
        rows: list[BookRow] = []
        events: list[KeyEvent] = []
        standing = self.standing(sender_id)
        if not standing & ~_STRANGE:
            if welcome or self._admits(now, now if dated is None else dated):
                rows.append(StandingRow(sender_id, _WELCOME if welcome else _PERSON, now))
            elif not standing:
                rows.append(StandingRow(sender_id, _WAITING, now))
        if before is None or before.nick != opened.nick:
            form = skeleton(opened.nick)
            is_new = self._users.use(form, key)
            if not is_old:
                rows.append(KeyRow(key, opened.nick, now if before is None else before.first_seen))
            if is_new or not is_old:
                events += self._naming(key, sender_id, opened.nick, before, is_old=is_old)
            if self._claims(key, opened.nick):
                rows.append(NickRow(form, opened.nick, key, now))
        for row in rows:
            self._take(row)
        if key in self._strangers:
            self._strangers[key] = self._strangers.pop(key)
            rows += self._forget_oldest()
        if rows:
            rows += self._forget_crowd()
        return Meeting(tuple(rows), tuple(events))

    def meet_unsigned(self, sender_id: str, now: int, *, dated: int | None = None) -> tuple[BookRow, ...]:
        """Learn that somebody without a key spoke: such names cost even less than keys, and are shown under the same
        limit. Return the rows to save."""
        standing = self.standing(sender_id)
        if standing & ~_STRANGE or standing == KeyStanding.UNSIGNED or sender_id in self._senders:
            return ()
        if self._admits(now, now if dated is None else dated):
            row = StandingRow(sender_id, int(KeyStanding.UNSIGNED), now)
        elif not standing:
            row = StandingRow(sender_id, int(_STRANGE), now)
        else:
            self._unsigned[sender_id] = self._unsigned.pop(sender_id, None)
            return ()
        self._take(row)
        return (row, *self._forget_crowd())

    def _admits(self, now: int, dated: int) -> bool:
        """True if one more key may become a person in this minute, or in that of an older message."""
        if dated < now - _MINUTE:
            minute, people = dated // _MINUTE, self._from_history
            if people[minute] >= PEOPLE_A_MINUTE or people.total() >= PEOPLE_OF_HISTORY:
                return False
            people[minute] += 1
            return True
        if not self._has_room(now):
            return False
        self._admitted.append(now)
        return True

    def _has_room(self, now: int) -> bool:
        admitted = self._admitted
        while admitted and not 0 <= now - admitted[0] < _MINUTE:
            admitted.popleft()
        return len(admitted) < PEOPLE_A_MINUTE

    def waits(self, sender_id: str, now: int) -> bool:
        """True for a stranger who waits, and for a new one who would if they spoke now."""
        standing = self.standing(sender_id)
        return (not standing or bool(standing & KeyStanding.WAITING)) and not self._has_room(now)

    def introduction(self, sender_id: str) -> tuple[KeyEvent, ...]:
        """Return what there is to tell of a known key that nothing was told of yet."""
        row = self.row(sender_id)
        return () if row is None else tuple(self._naming(row.public_key, sender_id, row.nick, None))

    def _naming(
        self, key: bytes, sender_id: str, nick: str, before: KeyRow | None, *, is_old: bool = False
    ) -> Iterator[KeyEvent]:
        """Yield what there is to tell of a key that goes by this nick from now on, or went by it."""
        if before is None:
            yield KeyMet(sender_id, nick)
        elif not is_old:
            yield NickChanged(sender_id, before.nick, nick)
        held_as, held_by = self._held(skeleton(nick))
        if held_by not in (b"", key):
            holder = sender_id_of(held_by)
            yield NickClaimed(sender_id, nick, held_as, holder, bool(self.standing(holder) & KeyStanding.VERIFIED))

    def _held(self, form: str) -> tuple[str, bytes]:
        """Return the nick and the key that had it first; nothing for a free one."""
        held = self._nicks.get(form)
        return (held.nick, held.public_key) if held is not None else self.present.first(form) or ("", b"")

    def _claims(self, key: bytes, nick: str) -> bool:
        """True if the nick is free, and the key has not taken too many."""
        form = skeleton(nick)
        free = form not in self._nicks and self._held(form)[1] in (b"", key)
        return bool(form) and free and len(self._nicks_of.get(key, ())) < MAX_NICKS_OF_A_KEY

    def _forget_oldest(self) -> Iterator[KeyForgotten]:
        while len(self._strangers) > MAX_STRANGERS:
            key = next(iter(self._strangers))
            del self._strangers[key]
            yield self._forget_key(key)

    def _forget_key(self, key: bytes) -> KeyForgotten:
        self._users.forget(key)
        sender_id = sender_id_of(key)
        del self._keys[key], self._senders[sender_id]
        self._leave_people(self._standing.pop(sender_id, None))
        self._unsigned.pop(sender_id, None)
        for form in self._nicks_of.pop(key, ()):
            del self._nicks[form]
        return KeyForgotten(key)

    def _forget_crowd(self) -> Iterator[KeyForgotten | StandingForgotten]:
        """Forget the first of the day on which most people came. A flood is crowded, so it drives out itself, and
        nobody who came on a quiet day."""
        while sum(map(len, self._people.values())) > MAX_PEOPLE:
            crowd = max(self._people.items(), key=lambda day: (len(day[1]), day[0]))[1]
            sender_id = next(iter(crowd))
            row, key = self._standing.pop(sender_id), self._senders.get(sender_id)
            self._leave_people(row)
            yield StandingForgotten(sender_id, row.since)
            if key is not None:
                yield self._forget_key(key)

    def _forget_oldest_unsigned(self) -> None:
        """Forget who was heard least lately. The row on disk hides what they said, until that is
        gone (`node/stranger_bodies.py`)."""
        while len(self._unsigned) > MAX_STRANGERS:
            oldest = next(iter(self._unsigned))
            del self._unsigned[oldest]
            if oldest not in self._senders:  # otherwise it is forgotten with its key
                del self._standing[oldest]

    def forget_names(self, sender_ids: Iterable[str]) -> None:
        """Forget names without a key that are shown, of whom no message is left."""
        for sender_id in sender_ids:
            if self.standing(sender_id) == KeyStanding.UNSIGNED and sender_id not in self._senders:
                self._leave_people(self._standing.pop(sender_id))

    def _take(self, row: BookRow) -> None:
        if isinstance(row, StandingRow):
            self.openings += self.is_waiting(row.sender_id) and not row.standing & _WAITING
            self._leave_people(self._standing.get(row.sender_id))
            self._standing[row.sender_id] = row
            if row.standing in _CROWD:
                self._people.setdefault(row.since // _DAY, {})[row.sender_id] = None
            self._unsigned.pop(row.sender_id, None)
            if row.standing == _STRANGE:
                self._unsigned[row.sender_id] = None
                self._forget_oldest_unsigned()
            key = self._senders.get(row.sender_id)
            if key is not None and row.standing != KeyStanding.WAITING:
                self._strangers.pop(key, None)
        elif isinstance(row, KeyRow):
            sender_id = sender_id_of(row.public_key)
            self._users.use(skeleton(row.nick), row.public_key)
            self._keys[row.public_key] = row
            self._senders[sender_id] = row.public_key
            if not self.standing(sender_id) & ~_STRANGE:
                self._strangers[row.public_key] = None
        elif isinstance(row, NickRow) and (form := skeleton(row.nick)) not in self._nicks:
            # Its own form may be that of an older program.
            self._nicks[form] = row
            self._nicks_of.setdefault(row.public_key, set()).add(form)

    def _leave_people(self, row: StandingRow | None) -> None:
        """Count somebody no more among the people of a day, if they were."""
        if row is not None and row.standing in _CROWD:
            day = row.since // _DAY
            del self._people[day][row.sender_id]
            if not self._people[day]:
                del self._people[day]
