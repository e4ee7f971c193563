"""The archive: two copies of the canonical log, in two orders, written by Spark and looked up by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.schemas import Log
from sdschat.lake.duck import parquet_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BY_ID: Final = "archive/by_id"
BY_PLACE: Final = "archive/by_place"
ROWS_A_GROUP: Final = 20_000  # a look-up reads one group: eight megabytes with packets of 400 bytes
ROWS_A_FILE: Final = 2_000_000
END: Final = 1 << 62  # after every position and Lamport time
_COLUMNS: Final = (*Log._fields, "raw")
_LAST_LETTER: Final = "\U0010ffff"  # the greatest character: no id contains it
_AT_ONCE: Final = 1_000  # rows

Row = dict[str, Any]


class Archive:
    """The archive of a lake. Open it once: the first look-up also reads the statistics, which takes longer."""

    def __init__(self, lake: Path) -> None:
        """Raise PipelineProblem if the lake has no archive."""
        files = {place: sorted((lake / place).glob("*.parquet")) for place in (BY_ID, BY_PLACE)}
        if not all(files.values()):
            raise PipelineProblem(f"There is no archive in {lake}: `sdschat pipeline archive` makes it.", 2)
        self._lake = lake
        self._connection = duckdb.connect()
        self._connection.execute("SET parquet_metadata_cache = true")
        with self._readable():
            self._rows = {
                place: parquet_rows(self._connection, Log, there, {"raw": "BLOB"}) for place, there in files.items()
            }

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise PipelineProblem(
                f"The archive in {self._lake} cannot be read: {str(error).splitlines()[0]}. `sdschat pipeline archive` "
                "makes it anew.",
                5,
            ) from error

    def _find(self, place: str, where: str, *values: object) -> Iterator[Row]:
        """Yield the rows in the order of the files, on demand."""
        with self._readable():
            found = self._connection.cursor().execute(f"SELECT * FROM ({self._rows[place]}) AS r WHERE {where}", values)
            while rows := found.fetchmany(_AT_ONCE):
                yield from (dict(zip(_COLUMNS, row, strict=True)) for row in rows)

    def channels(self) -> list[tuple[str, str]]:
        with self._readable():
            rows = self._connection.execute(f"SELECT DISTINCT run_id, channel FROM ({self._rows[BY_PLACE]}) AS r")
            return sorted(rows.fetchall())

    def beginning(self, start: str, run_id: str | None = None, most: int = 1) -> dict[str, list[Row]]:
        """Return the first `most` messages whose ids begin with `start`, by id. A full id gives that message alone."""
        found: dict[str, list[Row]] = {}
        if not start:
            return found
        where = "message_id BETWEEN ? AND ? AND run_id = COALESCE(?, run_id)"
        for row in self._find(BY_ID, where, start, start + _LAST_LETTER, run_id):
            message_id = row["message_id"]
            if message_id not in found and (len(found) == most or start in found):
                break
            found.setdefault(message_id, []).append(row)
        return found

    def between(self, column: str, first: int, last: int, channel: str, run_id: str) -> Iterator[Row]:
        """Yield the messages of a channel by `position` or `lamport`, both ends included."""
        where = f"run_id = ? AND channel = ? AND {column} BETWEEN ? AND ?"
        return self._find(BY_PLACE, where, run_id, channel, min(first, END), min(last, END))

    def close(self) -> None:
        self._connection.close()


def write_archive(log: DataFrame, raw: DataFrame, lake: str) -> int:
    """Write the log in both orders, joined with the packets that are known. Return the number of messages."""
    from pyspark.sql import functions as F

    whole = log.join(raw, ["run_id", "channel", "message_id"], "left").select(*_COLUMNS).persist()
    try:
        count = whole.count()
        files = max(1, -(-count // ROWS_A_FILE))
        by_id = whole.repartitionByRange(files, F.col("message_id")).sortWithinPartitions("message_id", "channel")
        _write(by_id, f"{lake.rstrip('/')}/{BY_ID}")
        place = ("run_id", "channel", "position")
        _write(whole.repartitionByRange(files, *place).sortWithinPartitions(*place), f"{lake.rstrip('/')}/{BY_PLACE}")
        return count
    finally:
        whole.unpersist()


def _write(rows: DataFrame, path: str) -> None:
    options = {
        "parquet.block.row.count.limit": str(ROWS_A_GROUP),
        "parquet.bloom.filter.enabled#message_id": "false",  # the statistics of small groups are enough
    }
    rows.write.mode("overwrite").options(**options).parquet(path)
