"""A lake in a folder of this machine, asked by DuckDB: without Java, and without a session to wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

import duckdb
import pyarrow
from duckdb import DuckDBPyConnection

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.processes import half_of_memory
from sdschat.audit.schemas import SPARK_TYPES, columns
from sdschat.lake.engine import LakeEngine, OnBatches
from sdschat.lake.sources.batch import arrow_schema
from sdschat.lake.tables import BUCKET, BUCKET_OF, BUCKETED, Tables

_AT_ONCE: Final = 10_000  # rows given to a function
_MOST_MEMORY: Final = 4 << 30  # bytes
# Hexadecimal digits as a signed number, as in Spark; and a number that stands for a text.
_MACROS: Final = """
CREATE MACRO number_of(said) AS CAST('0x' || SUBSTRING(MD5(said), 1, 15) AS BIGINT);
CREATE MACRO conv(digits, base, other) AS CASE
  WHEN ('0x' || digits)::UBIGINT < 9223372036854775808 THEN ('0x' || digits)::UBIGINT::BIGINT
  ELSE (('0x' || digits)::UBIGINT::HUGEINT - 18446744073709551616)::BIGINT END
"""


@contextmanager
def connected(scratch: str) -> Iterator[DuckDBPyConnection]:
    """Connect to DuckDB. What does not fit into half of the machine's memory, or 4 GiB, goes to `scratch`."""
    with duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = {_text(scratch)}")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"SET memory_limit = '{half_of_memory(_MOST_MEMORY, _MOST_MEMORY)}B'")
        connection.execute(_MACROS)
        yield connection


@contextmanager
def connected_for(tables: Tables) -> Iterator[tuple[DuckDBPyConnection, Path]]:
    """Connect to DuckDB for work on a lake, with a folder until its end. Raises PipelineProblem for a damaged file."""
    with TemporaryDirectory(prefix="sdschat-") as scratch, connected(scratch) as connection:
        try:
            yield connection, Path(scratch)
        except duckdb.Error as error:
            said = str(error).splitlines()[0]
            raise PipelineProblem(f"DuckDB cannot read or write the lake in {tables.root}: {said}") from error


@contextmanager
def open_duck(folder: Path) -> Iterator[DuckLake]:
    tables = Tables(str(folder))
    with connected_for(tables) as (connection, _):
        yield DuckLake(connection, tables)


class DuckLake(LakeEngine):
    words: ClassVar = "_duckdb"

    def __init__(self, connection: DuckDBPyConnection, tables: Tables) -> None:
        super().__init__(tables)
        self._connection = connection
        self._made: dict[str, str] = {}  # name: a table or a view

    @property
    def engine(self) -> str:
        return f"DuckDB {duckdb.__version__}"

    def name(self, table: type, name: str, files: Sequence[str] | None = None, where: str = "TRUE") -> None:
        rows = parquet_rows(self._connection, table, self.tables.files(table) if files is None else files)
        self.make(name, f"SELECT * FROM ({rows}) AS every_row WHERE {where}", once=False)

    def make(self, name: str, query: str, *, once: bool) -> None:
        kind = "TABLE" if once else "VIEW"
        before = self._made.get(name)
        if before not in (None, kind):
            self._connection.execute(f"DROP {before} {name}")
        self._made[name] = kind
        self._connection.execute(f"CREATE OR REPLACE {kind} {name} AS {query}")

    def keep_answer(self, table: type, name: str, query: str) -> None:
        self.make(name, query, once=True)
        typed = ", ".join(f"CAST({each} AS {kind}) AS {each}" for each, kind in duck_columns(table).items())
        rows = f"SELECT {typed} FROM {name}"
        if table in BUCKETED:  # once for each channel: for each row it would take as long as all the rest
            channels = f"SELECT DISTINCT run_id, channel FROM {name}"
            keys = f"SELECT run_id, channel, {BUCKET_OF} AS {BUCKET} FROM ({channels}) AS channels"
            rows = f"SELECT {typed}, {BUCKET} FROM {name} JOIN ({keys}) AS keys USING (run_id, channel)"
        self.tables.replace(table, self._connection.sql(rows), self.buckets)

    def apply(self, name: str, query: str, function: OnBatches, table: type) -> None:
        made = pyarrow.Table.from_batches(function(self._batches(query)), arrow_schema(table))
        self._connection.register(f"{name}_rows", made)
        self.make(name, f"SELECT * FROM {name}_rows", once=True)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, list(values)).fetchall()

    def forget(self) -> None:
        """Do nothing: the memory is freed with the connection."""

    def _batches(self, query: str) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a query. The ways of DuckDB's versions to give Arrow differ; rows they all give."""
        found = self._connection.execute(query)
        names = [column[0] for column in found.description or ()]
        while rows := found.fetchmany(_AT_ONCE):
            yield pyarrow.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


def parquet_rows(
    connection: DuckDBPyConnection, table: type, files: Sequence[Path | str], more: Mapping[str, str] | None = None
) -> str:
    """Return a query for the rows of Parquet files, with the columns of this version and `more` ones with their types.
    What an older program did not write is null. Of no files there are no rows."""
    paths = ", ".join(_text(_as_it_is(str(file))) for file in files)
    source = f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false, filename = true)"
    there = {row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()} if files else set()
    typed = (
        f"CAST({each if each in there else 'NULL'} AS {kind}) AS {each}"
        for each, kind in (duck_columns(table) | dict(more or {})).items()
    )
    return f"SELECT {', '.join(typed)} {f'FROM {source}' if files else 'WHERE FALSE'}"


def duck_columns(table: type) -> dict[str, str]:
    """Return the types of the columns of a table. DuckDB has Spark's names for them, but for a list."""
    return {name: SPARK_TYPES[kind].replace("ARRAY<STRING>", "STRING[]") for name, kind in columns(table).items()}


def _as_it_is(file: str) -> str:
    """Return the path for a reader that takes brackets and stars for a pattern."""
    return "".join(f"[{letter}]" if letter in "[*?" else letter for letter in file)


def _text(value: Path | str) -> str:
    return "'" + str(value).replace("'", "''") + "'"
