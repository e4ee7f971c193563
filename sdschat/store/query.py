"""Queries for a window of the log."""

from __future__ import annotations

import sqlite3
import unicodedata
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from sdschat.sds.values import WITHOUT_A_BODY
from sdschat.store.columns import RowAltered
from sdschat.store.display_rows import SHOWN_COLUMNS, SHOWN_JOINS, DisplayMessage, Key, shown
from sdschat.store.history import first_place, last_place

_MAX_WORDS: Final = 500  # SQLite takes 1,000 conditions
# Muted, ignored or a stranger who waits, in `standing`: messages of this participant are shown where they are asked for
# by id or sender only.
HIDDEN: Final = 2 | 4 | 16


class Condition(NamedTuple):
    """SQL over `text`, and its values. It starts from the full-text index if the index can answer."""

    table: str
    place: str  # the column of `table` that is the message's place
    where: str
    values: tuple[str, ...]


def condition_for(search: str) -> Condition:
    """Return the condition that all words occur, in any order and letter case; the last one may be the beginning of a
    word.

    The index finds no words in scripts without spaces between words. A search in such a script, or one of punctuation
    alone, is matched as a whole against the texts themselves.
    """
    words = _words(search)
    if not words or any(_unspaced(letter) for letter in search):
        return Condition("text", "text.place", "instr(lower(text.text), lower(?)) > 0", (search.strip(),))
    quoted = [f'"{word}"' for word in words[:_MAX_WORDS]]
    last = "*" if search[-1].isalnum() else ""
    match = " ".join(quoted) + last
    return Condition("search", "search.rowid", "search MATCH ?", (match,))


def plain_condition(search: str) -> Condition:
    """Return a condition without the index, for an altered index: slower, and it also finds words within longer
    ones, and of letters beyond ASCII only the same case."""
    words = _words(search)[:_MAX_WORDS] or [search.strip()]
    where = " AND ".join("instr(lower(text.text), lower(?)) > 0" for _ in words)
    return Condition("text", "text.place", where, tuple(words))


def _words(search: str) -> list[str]:
    """Return the words as the tokenizer of the index splits them: letters, marks and digits belong to words."""
    kept = "".join(letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in search)
    return kept.split()


def _unspaced(letter: str) -> bool:
    """True for scripts written without spaces between words: Han, kana, Thai, Lao, Khmer, Myanmar."""
    code = ord(letter)
    return 0x0E00 <= code <= 0x109F or 0x1780 <= code <= 0x17FF or 0x2E80 <= code <= 0x9FFF or code >= 0x20000


_COLUMNS: Final = SHOWN_COLUMNS.count(",") + 1


IS_HIDDEN: Final = f"SELECT 1 FROM standing WHERE sender_id = ? AND standing & {HIDDEN}"
NOT_HIDDEN: Final = f"log.sender_id NOT IN (SELECT sender_id FROM standing WHERE standing & {HIDDEN})"

WITH_BODY: Final = f"log.generation <> {WITHOUT_A_BODY}"  # ids of other makes are kept in the log itself


class MessagePage(NamedTuple):
    """Messages of one window, in the direction of the walk."""

    messages: list[DisplayMessage]
    last: bool  # no messages follow


class MessageQuery(NamedTuple):
    """A selection of a channel's messages. Lamport times are included, keys are excluded."""

    number: int
    since: int | None = None
    until: int | None = None
    search: str = ""
    sender_id: str | None = None
    before: Key | None = None
    after: Key | None = None
    with_raw: bool = False
    message_id: str | None = None

    def beyond(self, key: Key, backwards: bool) -> MessageQuery:
        """Return the query for the messages after this key, in the direction of the walk."""
        return self._replace(before=key) if backwards else self._replace(after=key)

    def page(self, connection: sqlite3.Connection, channel: str, window: int, backwards: bool) -> MessagePage:
        """Return the next window. Raises `RowAltered` if rows were altered, or an index returns them in a wrong
        order."""
        where, values = self._where()
        down = " DESC" if backwards else ""
        order = f"ORDER BY log.lamport{down}, log.message_id{down} LIMIT ?"
        rows = connection.execute(f"{self._select()} WHERE {' AND '.join(where)} {order}", (*values, window)).fetchall()
        return MessagePage(self._read(channel, rows, backwards), len(rows) < window)

    def places(self, connection: sqlite3.Connection, limit: int | None) -> array[int]:
        """Return the places of the messages that a search finds, in log order: the last `limit` of them, or the first
        if `after` is set. Eight bytes each, since there may be as many as there are messages."""
        backwards = limit is not None and self.after is None
        try:
            found = self._found(connection, condition_for(self.search), limit, backwards)
        except sqlite3.DatabaseError:
            found = self._found(connection, plain_condition(self.search), limit, backwards)
        if backwards:
            found.reverse()
        return found

    def at_places(self, connection: sqlite3.Connection, channel: str, places: Sequence[int]) -> list[DisplayMessage]:
        """Return the messages at these places, in log order."""
        where = f"WHERE log.place IN ({', '.join('?' * len(places))}) ORDER BY log.lamport, log.message_id"
        return self._read(channel, connection.execute(f"{self._select()} {where}", places).fetchall(), False)

    def _found(
        self, connection: sqlite3.Connection, condition: Condition, limit: int | None, backwards: bool
    ) -> array[int]:
        where, values = self._where()
        # SQLite does a cross join in the order in which it is written: from the matches to their messages.
        sql = (
            f"SELECT log.place FROM {condition.table} CROSS JOIN log ON log.place = {condition.place} "
            f"WHERE {condition.where} AND {condition.place} BETWEEN ? AND ? AND {' AND '.join(where)} "
            f"ORDER BY log.lamport {'DESC' if backwards else ''}, log.message_id {'DESC' if backwards else ''} LIMIT ?"
        )
        bounds = (first_place(self.number), last_place(self.number))
        rows = connection.execute(sql, (*condition.values, *bounds, *values, -1 if limit is None else limit))
        return array("q", (place for (place,) in rows))

    def _select(self) -> str:
        raw = (", body.raw, body.sum", " LEFT JOIN body ON body.place = log.place") if self.with_raw else ("", "")
        return f"SELECT {SHOWN_COLUMNS}{raw[0]} FROM log {SHOWN_JOINS}{raw[1]}"

    def _read(self, channel: str, rows: list[Any], backwards: bool) -> list[DisplayMessage]:
        messages = [shown(channel, row[:_COLUMNS], row[_COLUMNS:] if self.with_raw else None) for row in rows]
        for earlier, later in pairwise(messages):
            if (earlier.key <= later.key) if backwards else (earlier.key >= later.key):
                raise RowAltered("the log is out of order")
        return messages

    def _where(self) -> tuple[list[str], list[Any]]:
        where, values = ["log.channel = ?"], [self.number]
        conditions: list[tuple[str, Any]] = [
            ("log.message_id = ?", self.message_id),
            ("log.lamport >= ?", self.since),
            ("log.lamport <= ?", self.until),
            ("log.sender_id = ?", self.sender_id),
            ("(log.lamport, log.message_id) < (?, ?)", self.before),
            ("(log.lamport, log.message_id) > (?, ?)", self.after),
        ]
        if self.message_id is None and self.sender_id is None:
            where += [NOT_HIDDEN, WITH_BODY]
        for sql, value in conditions:
            if value is not None:
                where.append(sql)
                values += value if isinstance(value, tuple) else (value,)
        return where, values
