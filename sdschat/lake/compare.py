"""The comparison of an ingest: rows that were read with those that a lake has, by statements of `ingest_duckdb.sql`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from duckdb import DuckDBPyConnection

from sdschat.audit import schemas
from sdschat.audit.schemas import Blob, Ids, columns
from sdschat.lake.duck import DuckLake, parquet_rows
from sdschat.lake.judge import name_refused
from sdschat.lake.sources.batch import table_of
from sdschat.lake.sources.survey import Seen, Standing
from sdschat.lake.staging import staged_file
from sdschat.lake.tables import CHANNEL_KEY, DAY_MS, PARTED, PARTS, ROW_SUM, Tables

# The number of an event.
_KEYS: Final[dict[type, tuple[str, ...]]] = {
    schemas.Journal: ("run_id", "node", "boot", "seq"),
    schemas.Packet: ("run_id", "tap", "seq"),
}
# Of the reading, not of the message.
_NOT_SAID: Final = frozenset({"as_of", "read_ms", "gone", "again", "member_key", "message_key", "version_key"})
_CONFLICT: Final = "says something else than another of its number; both are kept"


class New(NamedTuple):
    """Rows to add."""

    relation: Any  # of DuckDB, or a table of Arrow
    size: int


class LakeComparison:
    """The rows of one ingest, compared with a lake. Each question is asked anew, since others may write meanwhile."""

    def __init__(
        self, connection: DuckDBPyConnection, tables: Tables, scratch: Path, run_id: str, read_ms: int
    ) -> None:
        self.run_id = run_id
        self.read_ms = read_ms
        self.sources: dict[int, str] = {}  # path by number
        self._connection = connection
        self._lake = DuckLake(connection, tables)
        self._ask = self._lake.rows
        self._tables = tables
        self._scratch = scratch
        self._statements = {each[0]: each for each in self._lake.statements("sdschat.lake", "ingest")}
        self._conflicts: list[schemas.Quarantine] = []
        self._events: type | None = None  # the table of events whose rows are named
        self._here: list[Any] | None = None  # the readings whose messages are named

    # What the lake knows of files.

    def wholes(self) -> list[schemas.Whole]:
        self._lake.name(schemas.Whole, "whole")
        return [schemas.Whole(*row) for row in self._ask("SELECT * FROM whole WHERE run_id = ?", self.run_id)]

    def standing(self) -> list[Standing]:
        names = ", ".join(Standing._fields)
        name_refused(self._lake)
        rows = self._ask(f"SELECT DISTINCT {names} FROM refused WHERE run_id = ?", self.run_id)
        return [Standing(*row) for row in rows]

    def quarantined(self, paths: Iterable[str]) -> list[schemas.Quarantine]:
        names = ", ".join(columns(schemas.Quarantine))
        name_refused(self._lake)
        wanted = f"SELECT {names} FROM refused WHERE source IN (SELECT UNNEST(?)) ORDER BY 2, 3"
        return [schemas.Quarantine(*row) for row in self._ask(wanted, list(paths))]

    # Events: each has a number, and is written once.

    def new_events(self, table: type) -> New | None:
        self._name_events(table)
        return self._new(table, "new_event")

    def note_conflicts(self, table: type) -> set[str]:
        """Note the rows that share their number with another row that says something else. Return their files."""
        self._name_events(table)
        self._make("contradiction")
        found = [(self.sources[number], *told) for number, *told in self._ask("SELECT * FROM contradiction")]
        for source, run_id, place in found:
            self._conflicts.append(schemas.Quarantine(run_id, source, place, _CONFLICT, "", self.read_ms))
        return {row[0] for row in found}

    def _name_events(self, table: type) -> None:
        key = f"HASH({', '.join(_KEYS[table])}) AS key"  # it is not kept, since another version makes other ones
        if self._events is not table:
            _, *whose, seq = _KEYS[table]
            place = f"'{table.__name__.lower()} ' || {seq} || ' of ' || CONCAT_WS(' ', {', '.join(whose)}) AS place"
            self._name_read(table)
            self._lake.make("came", f"SELECT *, {key}, {place} FROM read_{table.__name__}", once=True)
            self._events = table
        parts = set(self._ask(f"SELECT DISTINCT {', '.join(PARTS)} FROM came"))
        self._name_known(table, "every_known", parts.__contains__)
        self._lake.make("known", f"SELECT *, {key} FROM every_known", once=False)

    # Logs: the furthest reading of a database counts.

    def new_versions(self) -> New | None:
        self._name_here()
        self._name_known(schemas.KnownVersion, "known_version", self._of_channels("fresh"))
        return self._new(schemas.KnownVersion, "new_version")

    def new_messages(self) -> New | None:
        """Return the new and changed messages, and, marked as gone, those that a reading no longer has."""
        self._name_here()
        self._name_known(schemas.Message, "known_message", self._of_channels("fresh"))
        self._make("before", "there", "several")
        return self._new(schemas.Message, "new_message")

    def _name_here(self) -> None:
        """Name the messages of the readings, unless those of the same ones have the name."""
        self._name_readings()
        readings = self._ask("SELECT * FROM fresh ORDER BY ALL")
        if readings != self._here:
            self._here = readings
            self._name_read(schemas.Message)
            self._make("here")

    def new_nodes(self) -> New | None:
        """Return the readings that differ from all earlier ones of the same database."""
        self._name_readings()
        return self._counted(schemas.Node, "new_node")

    def new_declared(self) -> New | None:
        """Return what nodes say to lack, with the time of the reading that it belongs to."""
        self._name_readings()
        self._name_read(schemas.Declared)
        self._lake.name(schemas.Declared, "known_declared")
        return self._new(schemas.Declared, "new_declared")

    def _name_readings(self) -> None:
        """Name the readings that are not older than a known one, and those of them that say something new."""
        self._name_read(schemas.Node)
        self._lake.name(schemas.Node, "known_node")
        self._name_known(schemas.Message, "logged", self._of_channels("read_node"))
        self._make("reached", "fresh", "new_node")

    def new_runs(self, files: Iterable[Seen]) -> New | None:
        """Return the runs that databases know, of those databases that know more than each earlier one."""
        self._lake.name(schemas.KnownRun, "known_run")
        known: dict[tuple[str, str], set[str]] = defaultdict(set)
        for node, digest, boot in self._ask("SELECT node, digest, boot FROM known_run WHERE run_id = ?", self.run_id):
            known[node, digest].add(boot)
        new = []
        for file in files:
            runs = set(file.runs)
            if not file.digest or any(runs <= each for (node, _), each in known.items() if node == file.node):
                continue
            known[file.node, file.digest] = runs
            new += [schemas.KnownRun(self.run_id, file.node, file.digest, run, file.path) for run in file.runs]
        return New(table_of(schemas.KnownRun, new), len(new)) if new else None

    # What could not be read.

    def new_quarantine(self, files: Iterable[Seen]) -> New | None:
        """Return the parts of these files that could not be read, with the node of each and how far its log is."""
        self._name_read(schemas.Quarantine)
        name_refused(self._lake)
        self._connection.register("contradicted", table_of(schemas.Quarantine, self._conflicts))
        whose = [Standing(file.path, file.node, file.as_of) for file in files]
        self._connection.register("file", table_of(Standing, whose))
        self._make("unread")
        return self._new(schemas.Quarantine, "new_quarantine")

    # Statements.

    def _make(self, *names: str) -> None:
        self._lake.run((self._statements[name] for name in names), {})

    def _new(self, table: type, name: str) -> New | None:
        self._make(name)
        return self._counted(table, name)

    def _counted(self, table: type, name: str) -> New | None:
        names = ", ".join((*columns(table), *((ROW_SUM, *PARTS) if table in PARTED else ())))
        self._lake.make("new_rows", f"SELECT {names} FROM {name}", once=False)
        ((size,),) = self._ask("SELECT COUNT(*) FROM new_rows")
        return New(self._connection.table("new_rows"), size) if size else None

    def _name_read(self, table: type) -> None:
        """Name the rows of a table that were read, with the number of their source."""
        files = sorted(staged_file(self._scratch, table, 0).parent.glob("*.parquet"))
        rows = parquet_rows(self._connection, table, files, {"filename": "VARCHAR"})
        number = r"CAST(REGEXP_EXTRACT(filename, '(\d+)\.parquet$', 1) AS BIGINT) AS number"
        added = f", {_row_sum(table)} AS {ROW_SUM}{_parts(table)}" if table in PARTED else ""
        query = f"SELECT * EXCLUDE filename, {number}{added} FROM ({rows}) AS read_rows"
        self._lake.make(f"read_{table.__name__.lower()}", query, once=False)

    def _name_known(self, table: type, name: str, wanted: Callable[[Any], bool]) -> None:
        """Name the rows of the wanted parts of a table in the lake."""
        rows = parquet_rows(self._connection, table, self._tables.files(table, wanted), {ROW_SUM: "BIGINT"})
        self._lake.make(name, f"SELECT *{_parts(table)} FROM ({rows}) AS known_rows", once=False)

    def _of_channels(self, name: str) -> Callable[[Any], bool]:
        """Return a function that is true for parts of the channels in rows with this name."""
        keys = {row[0] for row in self._ask(f"SELECT DISTINCT {CHANNEL_KEY} FROM {name}")}
        return lambda part: part[0] in keys


def _row_sum(table: type) -> str:
    said = [_plain(name, kind) for name, kind in columns(table).items() if name not in _NOT_SAID]
    return f"number_of(CONCAT_WS(CHR(31), {', '.join(said)}))"


def _plain(name: str, kind: type) -> str:
    """Return the expression for a column as text; nothing is another text than an empty one."""
    texts: dict[object, str] = {Blob: f"MD5({name})", Ids: f"ARRAY_TO_STRING({name}, CHR(29))"}
    return f"COALESCE({texts.get(kind, f'CAST({name} AS VARCHAR)')}, CHR(30))"


def _parts(table: type) -> str:
    """Return the columns of the part of a row, which are not in its file."""
    return f", {CHANNEL_KEY} AS {PARTS[0]}, CAST({PARTED[table]} // {DAY_MS} AS BIGINT) AS {PARTS[1]}"
