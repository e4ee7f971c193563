"""A variant of `AuditReader` that names the message or event with an unreadable value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from sdschat.store.audit_reader import AlteredRow, AuditReader, ChannelCounts, LogRowFound
from sdschat.store.errors import as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.journal import JournalRow
from sdschat.store.schema import PLACE_BITS

T = TypeVar("T")
# The errors of values that our program never writes, with a right checksum or before the checksum is checked.
UNREADABLE: Final = (ValueError, TypeError, KeyError, OverflowError, RecursionError)
SEQ_MASK: Final = (1 << PLACE_BITS) - 1
_MESSAGE: Final = "SELECT message_id FROM log WHERE place BETWEEN ? AND ? ORDER BY place LIMIT 1 OFFSET ?"
_UNCOUNTABLE: Final = "SELECT message_id FROM log WHERE lamport < 0 ORDER BY place LIMIT 1"
_EVENT: Final = "SELECT place FROM journal ORDER BY place LIMIT 1 OFFSET ?"


class Telling(AuditReader):
    """The evidence of a database. Raises ValueError with the name of a row that `AuditReader` cannot read."""

    def __enter__(self) -> Telling:
        return self

    def messages(self, number: int) -> Iterator[LogRowFound]:
        bounds = (first_place(number), last_place(number))
        return self._named(super().messages(number), lambda at: self._message(_MESSAGE, *bounds, at))

    def journal(self) -> Iterator[JournalRow | AlteredRow]:
        return self._named(super().journal(), self._event)

    def standings(self) -> list[ChannelCounts]:
        try:
            return super().standings()
        except UNREADABLE as error:
            raise ValueError(f"{self._message(_UNCOUNTABLE)}: {error}") from error

    def _named(self, rows: Iterator[T], name: Callable[[int], str]) -> Iterator[T]:
        """Yield the rows. `name` gives the name of a row by the number of rows before it."""
        count = 0
        try:
            for row in rows:
                yield row
                count += 1
        except UNREADABLE as error:
            raise ValueError(f"{name(count)}: {error}") from error

    def _message(self, query: str, *values: int) -> str:
        with as_store_error(self.path):
            row = self._connection.execute(query, values).fetchone()
        return "a message" if row is None else f"message {row[0]}"

    def _event(self, at: int) -> str:
        with as_store_error(self.path):
            row = self._connection.execute(_EVENT, (at,)).fetchone()
        if row is None:
            return "an event"
        return f"event {row[0] & SEQ_MASK} of boot {self._boots.get(row[0] >> PLACE_BITS, ('', '?'))[1]}"
