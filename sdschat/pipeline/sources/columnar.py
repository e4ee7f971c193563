"""A database many rows at a time: what `Evidence` says of a sound one, in a fraction of the time.

Everything is checked that is checked there, for a whole batch at once. Nothing here says what is wrong with a row: who
finds one goes on with `Evidence`, from that batch on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from zlib import crc32

from sdschat.pipeline.sources.databases import BYTES, ROWS
from sdschat.pipeline.sources.telling import Telling
from sdschat.sds.rows import AckState, OutgoingRow
from sdschat.store.book import JOURNAL_COLUMNS
from sdschat.store.columns import LOG_COLUMNS
from sdschat.store.errors import told_plainly
from sdschat.store.history import first_place, last_place
from sdschat.store.schema import PLACE_BITS

Columns = list[tuple[Any, ...]]

_JOURNAL: Final = f"SELECT {JOURNAL_COLUMNS} FROM journal ORDER BY place"
_NEXT: Final = "SELECT min(place) FROM journal WHERE place >= ?"
_COUNTED: Final = "SELECT lamport, message_id FROM log WHERE channel = ?"
_BETWEEN: Final = "WHERE place BETWEEN ? AND ? ORDER BY place"
_LOG: Final = f"SELECT {LOG_COLUMNS} FROM log {_BETWEEN}"
_BODY: Final = f"SELECT place, raw, sum FROM body {_BETWEEN}"
_SIZE: Final = f"SELECT sum(length(raw)) FROM body {_BETWEEN}"
_TEXT: Final = f"SELECT place, nick, text, verdict, sent_at, sum FROM text {_BETWEEN}"
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
    """Rows of the log as columns, each as long as the others; `None` where a message has no text, no state, or no
    packet any more. Whether packets are as they were written is for `taken_apart.Packets` to say."""

    places: Sequence[int]
    lamports: Sequence[int]
    ids: Sequence[str]
    senders: Sequence[str]
    dependencies: Sequence[str]  # JSON
    own: Sequence[int]
    via: Sequence[str]
    received: Sequence[int]
    raw: Sequence[bytes | None]
    sums: Sequence[int | None]  # of the packets
    nicks: Sequence[str | None]
    texts: Sequence[str | None]
    sent: Sequence[int | None]
    states: Sequence[str | None]


class Columnar(Telling):
    """Of every generator: `None` for a batch in which something is not as it was written, and then nothing more."""

    def __enter__(self) -> Columnar:
        return self

    def boots(self) -> dict[int, tuple[str, str]]:
        """Number: node and boot."""
        return self._boots

    def boots_told_of(self) -> list[int]:
        """Numbers of the boots that have events, found by one step for each."""
        found: list[int] = []
        after = 0
        with told_plainly(self.path):
            while (place := self._connection.execute(_NEXT, (after,)).fetchone()[0]) is not None:
                found.append(place >> PLACE_BITS)
                after = (found[-1] + 1) << PLACE_BITS
        return found

    def channels(self) -> dict[int, str]:
        return {tally.number: name for name, tally in sorted(self._tallies.items())}

    def counted(self, number: int) -> int:
        """As `mark_of`, of what SQLite counts as a log: by what rows say, whatever their places say, and by an index,
        which may be damaged alone."""
        with told_plainly(self.path):
            return sum(map(hash, self._connection.execute(_COUNTED, (number,))))

    def claims(self, number: int) -> tuple[int, int, int]:
        """Horizon, and how many messages with what fingerprint there are by the channel's own count."""
        tally = self._tallies[self.channels()[number]]
        with told_plainly(self.path):
            return self._horizon(number), tally.messages, tally.fingerprint

    def journal_columns(self) -> Iterator[Columns | None]:
        """In the order of `JOURNAL_COLUMNS`."""
        with told_plainly(self.path):
            cursor = self._connection.execute(_JOURNAL)
            while rows := cursor.fetchmany(ROWS):
                if not _sound(rows):
                    yield None
                    return
                yield list(zip(*rows, strict=True))

    def log_columns(self, number: int) -> Iterator[Logged | None]:
        with told_plainly(self.path):
            log = self._connection.execute(_LOG, (first_place(number), last_place(number)))
            while rows := log.fetchmany(ROWS):
                for some in self._portions(rows) if _sound(rows) else [None]:
                    found = None if some is None else self._logged(number, some)
                    yield found
                    if found is None:
                        return

    def _portions(self, rows: list[Any]) -> Iterator[list[Any]]:
        """Where packets are large, so many that they are little in memory."""
        size = self._connection.execute(_SIZE, (rows[0][0], rows[-1][0])).fetchone()[0] or 0
        count = max(1, len(rows) * BYTES // max(size, BYTES))
        for start in range(0, len(rows), count):
            yield rows[start : start + count]

    def _logged(self, number: int, rows: list[Any]) -> Logged | None:
        places, channels, lamports, ids, senders, dependencies, _, own, via, received, _ = zip(*rows, strict=True)
        bounds = (places[0], places[-1])
        raw, sums = self._bodies(bounds, places)
        texts = self._texts(bounds, dict(zip(places, ids, strict=True)))
        states = self._states(bounds) if any(own) else {}
        if texts is None or states is None or None in states.values():
            return None
        if channels.count(number) < len(places):  # the place says one channel and the row another
            return None
        if None in raw and not self._let_go(number, raw, own, lamports):
            return None
        if not texts:
            nicks = said = sent = (None,) * len(places)
        else:
            nicks, said, sent = zip(*(texts.get(place, _NO_TEXT) for place in places), strict=True)
        state = tuple(map(states.get, places)) if states else (None,) * len(places)
        return Logged(
            places, lamports, ids, senders, dependencies, own, via, received, raw, sums, nicks, said, sent, state
        )  # fmt: skip

    def _bodies(self, bounds: tuple[int, int], places: Sequence[int]) -> _Bodies:
        """Packets, and their checksums."""
        rows = self._connection.execute(_BODY, bounds).fetchall()
        there, raw, sums = zip(*rows, strict=True) if rows else ((), (), ())
        if there == places:
            return raw, sums
        held = {row[0]: row[1:] for row in rows}  # also what was left behind by rows that somebody deleted
        found = [held.get(place, _NO_BODY) for place in places]
        return tuple([each[0] for each in found]), tuple([each[1] for each in found])

    def _let_go(self, number: int, raw: Sequence[bytes | None], own: Sequence[int], lamports: Sequence[int]) -> bool:
        """Whether packets lack only where a Store lets go of them."""
        kept_from = self._kept_from(number)
        return all(
            packet is not None or not (mine or lamport >= kept_from)
            for packet, mine, lamport in zip(raw, own, lamports, strict=True)
        )

    def _texts(self, bounds: tuple[int, int], ids: dict[int, str]) -> dict[int, tuple[Any, Any, Any]] | None:
        rows = [row for row in self._connection.execute(_TEXT, bounds) if row[0] in ids]
        if rows and not _sound([(ids[row[0]], *row) for row in rows]):
            return None
        return {row[0]: (row[1], row[2], row[4]) for row in rows}

    def _states(self, bounds: tuple[int, int]) -> dict[int, str | None] | None:
        rows = self._connection.execute(_OUTGOING, bounds).fetchall()
        if rows and not _sound([row[1:] for row in rows]):
            return None
        return {row[0]: _STATES.get(row[_STATE]) for row in rows}


_NO_TEXT: Final = (None, None, None)
_NO_BODY: Final = (None, None)


def mark_of(log: Logged) -> int:
    """Of its messages, in whatever order; of several logs the sum. Means nothing in another process."""
    return sum(map(hash, zip(log.lamports, log.ids, strict=True)))


def last_nick(log: Logged) -> str | None:
    """Whose log it is, by the name on what they wrote last."""
    if not any(log.own):
        return None
    return next((nick for own, nick in zip(reversed(log.own), reversed(log.nicks), strict=True) if own and nick), None)


def _sound(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether every row matches its last column, as by `row_sum`. Bytes are not what a sound row would have here:
    written out they match nothing. The last column is given no room instead of being cut off, which takes longer."""
    form = "\x1f".join(["%s"] * (len(rows[0]) - 1)) + "%.0s"
    return [crc32((form % row).encode()) for row in rows] == [row[-1] for row in rows]
