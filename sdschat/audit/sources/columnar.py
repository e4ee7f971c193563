"""Fast reading of a database, many rows at a time: the same content as `AuditReader` gives, if it is sound.

The same checks are done for a whole batch at once. What is wrong with a row is not said: after a bad batch the caller
goes on with `AuditReader`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import compress, islice, repeat
from operator import xor
from typing import Any, Final, NamedTuple
from zlib import crc32

from sdschat.audit.processes import BYTES, ROWS
from sdschat.audit.sources.packets import NO_SIZES, Known, Memory, Version, are_ids
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import WITHOUT_A_BODY, AckState, OutgoingRow
from sdschat.store import dropped_packets
from sdschat.store.audit_reader import WITHHELD, AuditReader, ChannelCounts
from sdschat.store.columns import LOG_COLUMNS, dump_ids, load_ids
from sdschat.store.errors import UNREADABLE, StoreError, as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.journal import fingerprint_step, fingerprint_text
from sdschat.store.journal_writer import JOURNAL_COLUMNS
from sdschat.store.schema import PLACE_BITS

Columns = dict[str, Sequence[Any]]  # by name

_JOURNAL: Final = f"SELECT {JOURNAL_COLUMNS} FROM journal ORDER BY place"
_JOURNAL_NAMES: Final = JOURNAL_COLUMNS.split(", ")
_SPANS: Final = (
    f"SELECT place >> {PLACE_BITS} AS boot, channel, min(place), max(place), count(*), min(ts_ms), max(ts_ms) "
    "FROM journal GROUP BY boot, channel ORDER BY boot"
)
_COUNTED: Final = (
    "SELECT lamport, message_id FROM log WHERE channel = ? "
    "UNION ALL SELECT lamport, lower(hex(message_id)) FROM past WHERE channel = ?"
)
_BETWEEN: Final = "WHERE place BETWEEN ? AND ? ORDER BY place"
_LOG: Final = f"SELECT {LOG_COLUMNS} FROM log {_BETWEEN}"
_BODY: Final = f"SELECT place, raw, sum FROM body {_BETWEEN}"
_SIZE: Final = f"SELECT sum(length(raw)) FROM body {_BETWEEN}"
_TEXT: Final = f"SELECT place, nick, text, verdict, sent_at, sum FROM text {_BETWEEN}"
_TEXTS: Final = "SELECT count(*) FROM log CROSS JOIN text ON text.place = log.place WHERE log.place BETWEEN ? AND ?"
_OUTGOING_COLUMNS: Final = ("channel", *OutgoingRow._fields, "sum")
_OUTGOING: Final = (
    f"SELECT log.place, {', '.join(f'outgoing.{name}' for name in _OUTGOING_COLUMNS)} FROM log JOIN outgoing "
    "ON outgoing.channel = log.channel AND outgoing.message_id = log.message_id "
    "WHERE log.own = 1 AND log.place BETWEEN ? AND ?"
)
_STATE: Final = 1 + _OUTGOING_COLUMNS.index("state")
_STATES: Final = {int(state): state.name.lower() for state in AckState}


_Bodies = tuple[Sequence[bytes | None], Sequence[int | None]]


class Logged(NamedTuple):
    """Rows of the log as columns, named as those of `Message`; `None` stands for a missing text, state or packet."""

    lamport: Sequence[int]
    message_id: Sequence[str]
    sender: Sequence[str]
    deps: Sequence[str]  # JSON
    own: Sequence[int]
    via: Sequence[str]
    received_ms: Sequence[int]
    raw: Sequence[bytes | None]
    sums: Sequence[int | None]  # checksums of the packets
    nick: Sequence[str | None]
    text: Sequence[str | None]
    sent_ms: Sequence[int | None]
    state: Sequence[str | None]


class JournalSpan(NamedTuple):
    """A part of the journal: the rows of one boot and one channel."""

    boot: int
    channel: int | None
    first_place: int
    last_place: int
    rows: int
    first_ms: int
    last_ms: int


class LogSums:
    """The sums over rows of a log: their number, their fingerprint, and the nick on the last own one that has one.

    `mark` is a checksum of the messages in any order; it means nothing in another process.
    """

    def __init__(self) -> None:
        self.count = self.fingerprint = self.mark = 0
        self.nick: str | None = None

    def add(self, log: Logged, known: Sequence[Known]) -> None:
        self.count += len(log.message_id)
        self.fingerprint = reduce(xor, [each.fingerprint for each in known], self.fingerprint)
        self.mark += sum(map(hash, zip(log.lamport, log.message_id, strict=True)))
        if any(log.own):
            nicks = compress(reversed(log.nick), reversed(log.own))
            self.nick = next(filter(None, nicks), self.nick)


class Unsound(Exception):
    """The database is not as it was written, or of an unusual kind: it has to be read row by row."""


NOT_SOUND: Final = (StoreError, Unsound, *UNREADABLE)  # raised where a database has to be read row by row


class Columnar(AuditReader):
    """The reader of one database. Raises Unsound at altered data."""

    def boots(self) -> dict[int, tuple[str, str]]:
        return self._boots

    def channels(self) -> dict[int, str]:
        return {tally.number: name for name, tally in sorted(self._tallies.items())}

    def has_members(self) -> bool:
        with as_store_error(self.path):
            return bool(self._connection.execute(_MEMBERS).fetchone()[0])

    def standing(self, number: int, sums: LogSums) -> ChannelCounts | None:
        """Return the counts of a channel, as it recorded them and as the rows of its log have them. None where SQLite
        counts other rows as this log: it goes by the channel in the rows, whatever their places say, and by an index,
        which alone may be damaged."""
        tally = next(each for each in self._tallies.values() if each.number == number)
        with as_store_error(self.path):
            if sum(map(hash, self._connection.execute(_COUNTED, (number, number)))) != sums.mark:
                return None
            horizon = self._horizon(number)
        claimed = (tally.messages, fingerprint_text(tally.fingerprint))
        return ChannelCounts(tally.name, number, horizon, *claimed, sums.count, fingerprint_text(sums.fingerprint))

    def spans(self) -> list[JournalSpan]:
        with as_store_error(self.path):
            return list(map(JournalSpan._make, self._connection.execute(_SPANS)))

    def journal_columns(self) -> Iterator[Columns]:
        with as_store_error(self.path):
            cursor = self._connection.execute(_JOURNAL)
            while rows := cursor.fetchmany(ROWS):
                _must_be_sound(rows)
                yield dict(zip(_JOURNAL_NAMES, zip(*rows, strict=True), strict=True))

    def log_columns(self, number: int) -> Iterator[Logged]:
        with as_store_error(self.path):
            log = self._connection.execute(_LOG, (first_place(number), last_place(number)))
            while rows := log.fetchmany(ROWS):
                _must_be_sound(rows)
                for some in self._portions(rows):
                    yield self._logged(number, some)
            yield from self._past_columns(number)

    def _past_columns(self, number: int) -> Iterator[Logged]:
        """Yield messages of which a Store kept the id and little more."""
        left = dropped_packets.entries(self._connection, number, 0, MAX_LAMPORT)
        while some := list(islice(left, ROWS)):
            lamports, ids, senders, dependencies, _ = zip(*some, strict=True)
            own, via, nothing = (0,) * len(some), ("live",) * len(some), (None,) * len(some)
            known = (lamports, ids, senders, tuple(map(dump_ids, dependencies)), own, via, lamports)
            yield Logged(*known, *repeat(nothing, 6))

    def _portions(self, rows: list[Any]) -> Iterator[list[Any]]:
        """Split the rows into parts, so that large packets do not use much memory."""
        size = self._connection.execute(_SIZE, (rows[0][0], rows[-1][0])).fetchone()[0] or 0
        count = max(1, len(rows) * BYTES // max(size, BYTES))
        for start in range(0, len(rows), count):
            yield rows[start : start + count]

    def _logged(self, number: int, rows: list[Any]) -> Logged:
        places, channels, lamports, ids, senders, dependencies, generations, own, via, received, _ = zip(
            *rows, strict=True
        )
        bounds = (places[0], places[-1])
        raw, sums = self._bodies(bounds, places)
        texts = self._texts(bounds, dict(zip(places, ids, strict=True)))
        states = self._states(bounds) if any(own) else {}
        if None in states.values() or channels.count(number) < len(places):  # place and row name different channels
            raise Unsound
        if None in raw and not self._let_go(number, zip(raw, own, lamports, generations, strict=True)):
            raise Unsound
        if not texts:
            nicks = said = sent = (None,) * len(places)
        else:
            nicks, said, sent = zip(*(texts.get(place, _NO_TEXT) for place in places), strict=True)
        state = tuple(map(states.get, places)) if states else (None,) * len(places)
        return Logged(lamports, ids, senders, dependencies, own, via, received, raw, sums, nicks, said, sent, state)

    def _bodies(self, bounds: tuple[int, int], places: Sequence[int]) -> _Bodies:
        rows = self._connection.execute(_BODY, bounds).fetchall()
        there, raw, sums = zip(*rows, strict=True) if rows else ((), (), ())
        if there == places:
            return raw, sums
        held = {row[0]: row[1:] for row in rows}  # includes bodies whose log rows somebody deleted
        found = [held.get(place, _NO_BODY) for place in places]
        return tuple([each[0] for each in found]), tuple([each[1] for each in found])

    def _let_go(self, number: int, rows: Iterable[tuple[bytes | None, int, int, int]]) -> bool:
        """True if packets are missing only where a Store removes them, or the id alone was ever kept."""
        kept_from = self._kept_from(number)
        return all(
            packet is not None or not (mine or (lamport >= kept_from and generation > WITHOUT_A_BODY))
            for packet, mine, lamport, generation in rows
        )

    def _texts(self, bounds: tuple[int, int], ids: dict[int, str]) -> dict[int, tuple[Any, Any, Any]]:
        rows = [row for row in self._connection.execute(_TEXT, bounds) if row[0] in ids]
        _must_be_sound([(ids[row[0]], *row) for row in rows])
        if len(rows) < len(ids) and self._connection.execute(_TEXTS, bounds).fetchone()[0] > len(rows):
            raise Unsound  # the table is out of order: a scan ended early
        return {place: (nick, None if verdict == WITHHELD else text, at) for place, nick, text, verdict, at, _ in rows}

    def _states(self, bounds: tuple[int, int]) -> dict[int, str | None]:
        rows = self._connection.execute(_OUTGOING, bounds).fetchall()
        _must_be_sound([row[1:] for row in rows])
        return {row[0]: _STATES.get(row[_STATE]) for row in rows}


_MEMBERS: Final = "SELECT EXISTS (SELECT 1 FROM timber_row)"
_NO_TEXT: Final = (None, None, None)
_NO_BODY: Final = (None, None)


def _must_be_sound(rows: Sequence[tuple[Any, ...]]) -> None:
    """Raise Unsound unless every row matches the checksum in its last column, like `row_sum`.

    A sound row has no bytes here: formatted as text they match no checksum. The last column is formatted with no width,
    because cutting it off takes longer.
    """
    form = "\x1f".join(["%s"] * (len(rows[0]) - 1)) + "%.0s" if rows else ""
    if [crc32((form % row).encode()) for row in rows] != [row[-1] for row in rows]:
        raise Unsound


def known_of(log: Logged, memory: Memory) -> list[Known]:
    """Return the values of each row. Raises Unsound if one differs from its packet, or that cannot be read."""
    found = list(map(memory.packets.get, log.raw))
    if None in found:
        for at in compress(range(len(found)), [each is None for each in found]):
            raw = log.raw[at]
            found[at] = _without_packet(log, at) if raw is None else memory.packet(raw)
    every = [known for known in found if known is not None]
    if len(every) < len(found) or not _agree(log, every):
        raise Unsound
    return every


def _without_packet(log: Logged, at: int) -> Known | None:
    """Return the values of a row alone: a Store removes old packets."""
    name, lamport, sender, listed = log.message_id[at], log.lamport[at], log.sender[at], log.deps[at]
    deps = load_ids(listed)
    if not are_ids(deps):
        return None
    version = Version(lamport, sender, deps, "")
    return Known(name, lamport, sender, listed, version, None, None, fingerprint_step(0, lamport, name), NO_SIZES)


def _agree(log: Logged, known: Sequence[Known]) -> bool:
    ids, lamports, senders, dependencies, _, texts, sums, *_ = zip(*known, strict=True)
    if (log.message_id, log.lamport, log.sender, log.deps, log.sums) != (ids, lamports, senders, dependencies, sums):
        return False
    if log.text.count(None) == len(log.text):
        return True
    both = zip(log.text, texts, strict=True)
    return all(ours is None or theirs is None or ours == theirs for ours, theirs in both)
