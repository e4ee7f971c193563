"""Several databases of one node: copies of different ages, or copies that somebody altered; and their full-text index.

No message depends on the index, and no audit reads it; but with a damaged index a search finds too little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing, suppress
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from sdschat.audit.node_evidence import BronzeRows, Member, member_of
from sdschat.audit.schemas import Declared, Journal, Message, Node, Quarantine
from sdschat.audit.sources.columnar import Columnar
from sdschat.audit.sources.databases import Reading, Row
from sdschat.store.connection import open_reader
from sdschat.store.errors import UNREADABLE, StoreDamaged, StoreError, as_store_error
from sdschat.store.migrate import require_readable

_APART: Final = (  # as in lake/presence.sql
    "went apart: each has runs that the other lacks. They are copies of one profile, or devices with one key; compare "
    "each alone with those of others"
)


def logs_that_count(rows: Mapping[Reading, list[Row]]) -> dict[Reading, list[Row]]:
    """Keep one log for each node and channel: the furthest one that was read to its end, of equally far ones the first
    by path, as in an ingest. Events count from all databases."""
    furthest = {member: max(readings, key=itemgetter(0))[1] for member, readings in _logs(rows).items()}

    def counts(row: Row, reading: Reading) -> bool:
        return not isinstance(row, Message | Node | Declared) or furthest.get(member_of(row)) == reading

    return {each: [row for row in found if counts(row, each)] for each, found in rows.items()}


def _logs(rows: Mapping[Reading, list[Row]]) -> dict[Member, list[tuple[int, Reading]]]:
    """Return all readings of each log, and how far they go, in the order of their paths."""
    found: dict[Member, list[tuple[int, Reading]]] = defaultdict(list)
    for each in sorted(rows, key=lambda each: str(each.path.resolve())):
        for row in rows[each]:
            if isinstance(row, Node):
                found[member_of(row)].append((row.as_of, each))
    return found


def refuse_contradictions(taken: BronzeRows, read_ms: int) -> None:
    """Move events to the quarantine of which two databases of a node say different things: none of them counts."""
    said: dict[tuple[str, str, str, int], Journal] = {}
    twice = {
        key for row in taken.journal if said.setdefault(key := (row.run_id, row.node, row.boot, row.seq), row) != row
    }
    if not twice:
        return
    taken.journal = [row for row in taken.journal if (row.run_id, row.node, row.boot, row.seq) not in twice]
    for run_id, node, boot, seq in sorted(twice):
        reason = "two databases of this node say different things of this event; neither counts"
        taken.quarantine.append(Quarantine(run_id, f"node {node}", f"journal {boot} {seq}", reason, "", read_ms, node))


def went_apart(rows: Mapping[Reading, list[Row]]) -> list[tuple[Member, str]]:
    """Return the nodes with two databases of which each has runs of the program that the other lacks, in words: one run
    writes to one database, so no log of such a node tells all that it did."""
    found = []
    for member, readings in sorted(_logs(rows).items()):
        runs = {each: _runs(each) for _, each in readings} if len(readings) > 1 else {}
        for one, other in combinations(runs, 2):
            if runs[one] - runs[other] and runs[other] - runs[one]:
                found.append((member, f"its databases {one.path} and {other.path} {_APART}"))
    return found


def _runs(reading: Reading) -> set[str]:
    try:
        with Columnar(reading.path) as columns:
            return {name for _, name in columns.boots().values()}
    except (StoreError, *UNREADABLE):
        return set()  # the quarantine names this database


# The tables of SQLite's index; `data` has the words, and in its first row their number.
_TABLES: Final = ("data", "idx", "docsize", "config")
_TOTALS: Final = "SELECT block FROM search_data WHERE id = 1"
# Parts of the index that no search can reach.
_LOST: Final = "SELECT EXISTS (SELECT id >> 37 FROM search_data WHERE id > 10 EXCEPT SELECT segid FROM search_idx)"


def search_is_damaged(path: Path) -> bool:
    """True if the index is damaged, by its pages and by a count of its words: disks lose or alter whole pages."""
    try:
        connection = open_reader(path)
    except StoreError:  # the reader of this database reports the error
        return False
    with closing(connection), suppress(StoreError):
        require_readable(connection, path)  # anybody may have made it
        try:
            with as_store_error(path):
                return not _is_whole(connection)
        except StoreDamaged:
            return True
    return False


def _is_whole(connection: Any) -> bool:
    connection.execute("BEGIN")  # the node may be writing
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone():
        return True
    for table in _TABLES:
        if connection.execute(f"PRAGMA quick_check(search_{table})").fetchall() != [("ok",)]:
            return False
    if connection.execute(_LOST).fetchone()[0]:
        return False
    found = connection.execute(_TOTALS).fetchone()
    block = found[0] if found and found[0] else b"\0\0"  # none in an empty index
    return isinstance(block, bytes) and block.startswith(_counted(connection))


def _counted(connection: Any) -> bytes:
    """Return the number of texts, and of words in all texts, by reading all of the index: as it records them itself."""
    # The table is in memory: the file was opened for reading only.
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search, row)")
    (words,) = connection.execute("SELECT coalesce(sum(cnt), 0) FROM temp.words").fetchone()
    (texts,) = connection.execute("SELECT count(*) FROM search_docsize").fetchone()
    return _number(texts) + _number(words)


def _number(value: int) -> bytes:
    """Return a number in SQLite's variable length."""
    parts = [value & 0x7F]
    while value := value >> 7:
        parts.append(value & 0x7F | 0x80)
    return bytes(reversed(parts))
