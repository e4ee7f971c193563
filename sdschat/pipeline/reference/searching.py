"""Whether the full-text index of a database is as it was written. No message depends on it, and no audit reads it: but
who searches there would be told less than there is."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Final

from sdschat.store.connection import open_reader
from sdschat.store.errors import StoreDamaged, StoreError, told_plainly

# The tables that SQLite keeps the index in; `data` has the words, and in its first row how many there are.
_TABLES: Final = ("data", "idx", "docsize", "config")
_TOTALS: Final = "SELECT block FROM search_data WHERE id = 1"
# Parts of the index to which no search finds its way.
_LOST: Final = "SELECT EXISTS (SELECT id >> 37 FROM search_data WHERE id > 10 EXCEPT SELECT segid FROM search_idx)"
_LAST: Final = 9  # bytes in the longest number


def search_is_damaged(path: Path) -> bool:
    """Looks at the pages of the index, and counts the words in it. That finds what disks do, which is to lose or alter
    whole pages; a single letter altered in a word only its node finds, which compares the index with the texts."""
    try:
        connection = open_reader(path)
    except StoreError:  # whoever reads it says so
        return False
    with closing(connection):
        try:
            with told_plainly(path):
                return not _is_whole(connection)
        except StoreError as error:
            return isinstance(error, StoreDamaged)


def _is_whole(connection: Any) -> bool:
    connection.execute("BEGIN")  # its node may be writing
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone():
        return True
    for table in _TABLES:
        if connection.execute(f"PRAGMA quick_check(search_{table})").fetchall() != [("ok",)]:
            return False
    if connection.execute(_LOST).fetchone()[0]:
        return False
    return _counted(connection) == _claimed(connection)


def _counted(connection: Any) -> tuple[int, int]:
    """Texts, and words in all of them, by reading all of the index."""
    # A table in memory, as all that it can be here: the file was opened for reading.
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search, row)")
    (words,) = connection.execute("SELECT coalesce(sum(cnt), 0) FROM temp.words").fetchone()
    (texts,) = connection.execute("SELECT count(*) FROM search_docsize").fetchone()
    return texts, words


def _claimed(connection: Any) -> tuple[int, int] | None:
    """The same, as the index has it written down, if it is anything that it could have written."""
    found = connection.execute(_TOTALS).fetchone()
    block = found[0] if found else b""
    if not isinstance(block, bytes):
        return None
    texts, rest = _number(block)
    return texts, _number(rest)[0]


def _number(block: bytes) -> tuple[int, bytes]:
    """The first number in SQLite's variable length, and what comes after it; zero where there is nothing."""
    value = 0
    for at, byte in enumerate(block[:_LAST]):
        if at == _LAST - 1:
            return value << 8 | byte, block[_LAST:]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, block[at + 1 :]
    return value, b""
