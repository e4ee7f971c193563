"""The comparison of an ingest: rows that were read with rows that a lake has, by DuckDB."""

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
from sdschat.lake.tables import CHANNEL_KEY, DAY_MS, NUMBERS, PARTED, PARTS, ROW_SUM, Tables

_MEMBER: Final = ("run_id", "channel", "node")
_HELD: Final = (*_MEMBER, "message_id")
_READING: Final = ("as_of", "read_ms")
_KEYS: Final[dict[type, tuple[str, ...]]] = {
    schemas.Journal: ("run_id", "node", "boot", "seq"),
    schemas.Packet: ("run_id", "tap", "seq"),
    schemas.Quarantine: ("run_id", "source", "node", "place", "reason"),
}
# Of the reading, not of the message.
_NOT_SAID: Final[dict[type, tuple[str, ...]]] = {
    schemas.Message: (*_READING, "gone", "again", "member_key", "message_key", "version_key")
}
_SAID: Final = (*_MEMBER, "as_of", "horizon", "claimed", "claimed_fingerprint", "counted", "counted_fingerprint")
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
        once = f"SELECT MIN(rowid) FROM came GROUP BY {ROW_SUM}"
        return self._new(
            table,
            f"SELECT c.* FROM came AS c ANTI JOIN known AS k ON {_same('k', 'c', [ROW_SUM])} WHERE c.rowid IN ({once})",
        )

    def note_conflicts(self, table: type) -> set[str]:
        """Note the rows that share their number with another row that says something else. Return their files."""
        self._name_events(table)
        names = ", ".join(_KEYS[table])
        key = f"HASH({names})"  # a number instead of texts; it is not kept, since another version makes other ones
        near = f"SELECT {key} AS key, {ROW_SUM} FROM known WHERE {key} IN (SELECT {key} FROM came)"
        twice = (
            f"SELECT key FROM (SELECT {key} AS key, {ROW_SUM} FROM came UNION {near}) AS every "
            "GROUP BY key HAVING COUNT(*) > 1"
        )
        found = self._ask(f"SELECT DISTINCT number, {names} FROM came WHERE {key} IN ({twice}) ORDER BY ALL")
        for number, run_id, *whose, seq in found:
            place = f"{table.__name__.lower()} {seq} of {' '.join(whose)}"
            row = schemas.Quarantine(run_id, self.sources[number], place, _CONFLICT, "", self.read_ms)
            self._conflicts.append(row)
        return {self.sources[row[0]] for row in found}

    def _name_events(self, table: type) -> None:
        if self._events is not table:
            self._name_came("read_events", table)
            self._make("came", "SELECT * FROM read_events")  # it is asked several times
            self._events = table
        parts = set(self._ask(f"SELECT DISTINCT {', '.join(PARTS)} FROM came"))
        self._name("known", self._known(table, parts.__contains__))

    # Logs: the furthest reading of a database counts.

    def new_versions(self) -> New | None:
        self._name_readings()
        self._name_here()
        self._name("known", self._known(schemas.KnownVersion, self._of_channels("fresh")))
        names = ", ".join(_full(schemas.KnownVersion))
        came = f"SELECT DISTINCT {', '.join(columns(schemas.KnownVersion))} FROM here"
        added = f"version_key AS {ROW_SUM}{_parts(schemas.KnownVersion)}"  # it is what the row says, as a number
        return self._new(
            schemas.KnownVersion,
            f"SELECT {names} FROM (SELECT *, {added} FROM ({came}) AS every) AS c "
            f"ANTI JOIN known AS k ON {_same('k', 'c', columns(schemas.KnownVersion))}",
        )

    def new_messages(self) -> New | None:
        """Return the new and changed messages, and, marked as gone, those that a reading no longer has."""
        self._name_readings()
        self._name_here()
        self._name("known", self._known(schemas.Message, self._of_channels("fresh")))
        held, reading = ", ".join(_HELD), ", ".join(_READING)
        latest = f"ROW_NUMBER() OVER (PARTITION BY {held} ORDER BY as_of DESC, read_ms DESC) AS rank"
        self._make(
            "before",
            f"SELECT * EXCLUDE rank FROM (SELECT {held}, {reading}, gone, {ROW_SUM}, {latest} FROM known AS k "
            f"SEMI JOIN fresh AS f ON {_same('f', 'k', _MEMBER)}) AS readings WHERE rank = 1",
        )
        self._name("there", "SELECT * FROM before WHERE NOT gone")
        self._name(
            "several",
            f"SELECT {held} FROM before UNION ALL SELECT {held} FROM here GROUP BY {held} HAVING COUNT(*) > 1",
        )
        told = {"again": f"EXISTS (SELECT 1 FROM several AS s WHERE {_same('s', 'h', _HELD)})"}
        names = ", ".join(f"{told.get(name, f'h.{name}')} AS {name}" for name in _full(schemas.Message))
        fresh = f"SELECT {names} FROM here AS h ANTI JOIN there AS t ON {_same('t', 'h', (*_HELD, ROW_SUM))}"
        lacking = f"SELECT t.* FROM there AS t ANTI JOIN here AS h ON {_same('h', 't', _HELD)}"
        told = {"as_of": "f.as_of", "read_ms": "f.read_ms", "gone": "TRUE", "again": "TRUE"}
        last = ", ".join(f"{told.get(name, f'k.{name}')} AS {name}" for name in _full(schemas.Message))
        gone = (
            f"SELECT {last} FROM known AS k JOIN ({lacking}) AS l ON {_same('l', 'k', (*_HELD, *_READING))} "
            f"JOIN fresh AS f ON {_same('f', 'k', _MEMBER)} WHERE NOT k.gone"
        )
        return self._new(schemas.Message, f"{fresh} UNION ALL {gone}")

    def _name_here(self) -> None:
        """Name the messages of the readings, unless those of the same ones have the name."""
        readings = self._ask("SELECT * FROM fresh ORDER BY ALL")
        if readings == self._here:
            return
        self._here = readings
        self._name_came("read_messages", schemas.Message)
        keys = ", ".join(f"{number(said)} AS {name}" for name, said in NUMBERS.items())
        self._make(
            "here",
            f"SELECT c.* REPLACE ({keys}) FROM read_messages AS c "
            f"SEMI JOIN fresh AS f ON {_same('f', 'c', (*_MEMBER, *_READING))}",
        )

    def new_nodes(self) -> New | None:
        """Return the readings that differ from all earlier ones of the same database."""
        self._name_readings()
        return self._new(schemas.Node, "SELECT * FROM unsaid")

    def new_declared(self) -> New | None:
        """Return what nodes say to lack, with the time of the reading that it belongs to."""
        self._name_readings()
        self._name_came("read_declared", schemas.Declared)
        self._lake.name(schemas.Declared, "known")
        told = {"as_of": "f.as_of", "read_ms": "f.read_ms"}
        names = ", ".join(f"{told.get(name, f'c.{name}')} AS {name}" for name in columns(schemas.Declared))
        said = f"SELECT {names} FROM read_declared AS c JOIN unsaid AS f ON {_same('f', 'c', _MEMBER)}"
        return self._new(schemas.Declared, f"{said} EXCEPT SELECT {', '.join(columns(schemas.Declared))} FROM known")

    def _name_readings(self) -> None:
        """Name the readings that are not older than a known one, and those of them that say something new."""
        self._name_came("read_nodes", schemas.Node)
        self._lake.name(schemas.Node, "known")
        self._name("logged", self._known(schemas.Message, self._of_channels("read_nodes")))
        latest = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(_MEMBER)} ORDER BY as_of DESC, read_ms DESC) AS rank"
        every = ", ".join(columns(schemas.Node))
        # Messages come before their reading: of a writer at work, or one that was killed, there are only these.
        known = (
            f"SELECT {', '.join(_MEMBER)}, MAX(as_of) AS as_of FROM (SELECT {', '.join(_MEMBER)}, as_of FROM known "
            f"UNION ALL SELECT {', '.join(_MEMBER)}, as_of FROM logged) AS every GROUP BY ALL"
        )
        self._make(
            "fresh",
            f"SELECT {', '.join(f'n.{name}' for name in columns(schemas.Node))} "
            f"FROM (SELECT {every} FROM (SELECT *, {latest} FROM read_nodes) AS readings WHERE rank = 1) AS n "
            f"LEFT JOIN ({known}) AS k ON {_same('k', 'n', _MEMBER)} WHERE k.as_of IS NULL OR n.as_of >= k.as_of",
        )
        self._make("unsaid", f"SELECT f.* FROM fresh AS f ANTI JOIN known AS k ON {_same('k', 'f', _SAID)}")

    def new_runs(self, files: Iterable[Seen]) -> New | None:
        """Return the runs that databases know, of those databases that know more than each earlier one."""
        self._lake.name(schemas.KnownRun, "known")
        known: dict[tuple[str, str], set[str]] = defaultdict(set)
        for node, digest, boot in self._ask("SELECT node, digest, boot FROM known WHERE run_id = ?", self.run_id):
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
        self._name_came("read_refused", schemas.Quarantine)
        name_refused(self._lake)
        names = [name for name in columns(schemas.Quarantine) if name not in ("node", "as_of")]
        self._connection.register("conflict", table_of(schemas.Quarantine, self._conflicts))
        whose = [Standing(file.path, file.node, file.as_of) for file in files]
        self._connection.register("file", table_of(Standing, whose))
        every = " UNION ALL ".join(f"SELECT {', '.join(names)} FROM {name}" for name in ("read_refused", "conflict"))
        full = (
            f"SELECT {', '.join(f'e.{name}' for name in names)}, COALESCE(f.node, '') AS node, f.as_of "
            f"FROM ({every}) AS e LEFT JOIN file AS f ON f.source = e.source"
        )
        keys = _KEYS[schemas.Quarantine]
        there = _same("s", "f", [name for name in keys if name != "node"])
        return self._new(
            schemas.Quarantine,
            f"SELECT DISTINCT ON ({', '.join(keys)}) {', '.join(columns(schemas.Quarantine))} FROM ({full}) AS f "
            f"WHERE NOT EXISTS (SELECT 1 FROM refused AS s WHERE {there} AND COALESCE(s.node, '') = f.node)",
        )

    # Statements.

    def _new(self, table: type, query: str) -> New | None:
        self._name("new_rows", f"SELECT {', '.join(_full(table))} FROM ({query}) AS every")
        ((size,),) = self._ask("SELECT COUNT(*) FROM new_rows")
        return New(self._connection.table("new_rows"), size) if size else None

    def _name_came(self, name: str, table: type) -> None:
        """Name the rows of a table that were read, with the number of their source."""
        files = sorted(staged_file(self._scratch, table, 0).parent.glob("*.parquet"))
        rows = parquet_rows(self._connection, table, files, {"filename": "VARCHAR"})
        number = r"CAST(REGEXP_EXTRACT(filename, '(\d+)\.parquet$', 1) AS BIGINT) AS number"
        added = f", {_row_sum(table)} AS {ROW_SUM}{_parts(table)}" if table in PARTED else ""
        self._name(name, f"SELECT * EXCLUDE filename, {number}{added} FROM ({rows}) AS read_rows")

    def _known(self, table: type, wanted: Callable[[Any], bool]) -> str:
        """Return a query for the rows of the wanted parts of a table in the lake."""
        rows = parquet_rows(self._connection, table, self._tables.files(table, wanted), {ROW_SUM: "BIGINT"})
        return f"SELECT *{_parts(table)} FROM ({rows}) AS known_rows"

    def _of_channels(self, name: str) -> Callable[[Any], bool]:
        """Return a function that is true for parts of the channels in rows with this name."""
        keys = {row[0] for row in self._ask(f"SELECT DISTINCT {CHANNEL_KEY} FROM {name}")}
        return lambda part: part[0] in keys

    def _name(self, name: str, query: str) -> None:
        self._lake.make(name, query, once=False)

    def _make(self, name: str, query: str) -> None:
        self._lake.make(name, query, once=True)


def _full(table: type) -> list[str]:
    return [*columns(table), *((ROW_SUM, *PARTS) if table in PARTED else ())]


def _row_sum(table: type) -> str:
    left_out = _NOT_SAID.get(table, ())
    return number(", ".join(_plain(name, kind) for name, kind in columns(table).items() if name not in left_out))


def number(said: str) -> str:
    """Return the expression for a number that stands for these texts."""
    return f"CAST('0x' || SUBSTRING(MD5(CONCAT_WS(CHR(31), {said})), 1, 15) AS BIGINT)"


def _plain(name: str, kind: type) -> str:
    """Return the expression for a column as text; nothing is another text than an empty one."""
    texts: dict[object, str] = {Blob: f"MD5({name})", Ids: f"ARRAY_TO_STRING({name}, CHR(29))"}
    return f"COALESCE({texts.get(kind, f'CAST({name} AS VARCHAR)')}, CHR(30))"


def _parts(table: type) -> str:
    """Return the columns of the part of a row, which are not in its file."""
    return f", {CHANNEL_KEY} AS {PARTS[0]}, CAST({PARTED[table]} // {DAY_MS} AS BIGINT) AS {PARTS[1]}"


def _same(one: str, other: str, names: Iterable[str]) -> str:
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in names)
