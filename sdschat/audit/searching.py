"""A check of a database's full-text index.

No message depends on the index, and no audit reads it; but with a damaged index a search finds too little.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Final

from sdschat.store.connection import open_reader
from sdschat.store.errors import StoreDamaged, StoreError, as_store_error

# The tables of SQLite's index; `data` has the words, and in its first row their number.
_TABLES: Final = ("data", "idx", "docsize", "config")
_TOTALS: Final = "SELECT block FROM search_data WHERE id = 1"
# Parts of the index that no search can reach.
_LOST: Final = "SELECT EXISTS (SELECT id >> 37 FROM search_data WHERE id > 10 EXCEPT SELECT segid FROM search_idx)"
_LAST: Final = 9  # bytes of the longest number


def search_is_damaged(path: Path) -> bool:
    """True if the index is damaged, judged by its pages and by a count of its words.

    That finds damage by disks, which lose or alter whole pages. A single altered letter in a word is found only by the
    node itself, which compares the index with the texts.
    """
    try:
        connection = open_reader(path)
    except StoreError:  # the reader of this database reports the error
        return False
    with closing(connection):
        try:
            with as_store_error(path):
                return not _is_whole(connection)
        except StoreError as error:
            return isinstance(error, StoreDamaged)


def _is_whole(connection: Any) -> bool:
    connection.execute("BEGIN")  # the node may be writing
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone():
        return True
    for table in _TABLES:
        if connection.execute(f"PRAGMA quick_check(search_{table})").fetchall() != [("ok",)]:
            return False
    if connection.execute(_LOST).fetchone()[0]:
        return False
    return _counted(connection) == _claimed(connection)


def _counted(connection: Any) -> tuple[int, int]:
    """Return the number of texts, and of words in all texts, by reading all of the index."""
    # The table is in memory: the file was opened for reading only.
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search, row)")
    (words,) = connection.execute("SELECT coalesce(sum(cnt), 0) FROM temp.words").fetchone()
    (texts,) = connection.execute("SELECT count(*) FROM search_docsize").fetchone()
    return texts, words


def _claimed(connection: Any) -> tuple[int, int] | None:
    """Return the same two numbers as the index itself records them; None if the record is unreadable."""
    found = connection.execute(_TOTALS).fetchone()
    block = found[0] if found else b""
    if not isinstance(block, bytes):
        return None
    texts, rest = _number(block)
    return texts, _number(rest)[0]


def _number(block: bytes) -> tuple[int, bytes]:
    """Return the first number in SQLite's variable length, and the rest of the block; zero for an empty block."""
    value = 0
    for at, byte in enumerate(block[:_LAST]):
        if at == _LAST - 1:
            return value << 8 | byte, block[_LAST:]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, block[at + 1 :]
    return value, b""
