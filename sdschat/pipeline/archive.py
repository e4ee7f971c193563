"""The archive: two copies of the canonical log, in two orders, written by Spark and looked up with pyarrow alone.

Store nodes and `sdschat pipeline get` look messages up. The statistics of all row groups are read once; a look-up then
reads only the few groups that can hold its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sdschat.audit.problem import PipelineProblem
from sdschat.audit.schemas import FIELD, Log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BY_ID: Final = "archive/by_id"
BY_PLACE: Final = "archive/by_place"
ROWS_A_GROUP: Final = 5_000  # a look-up reads one group: two megabytes with packets of 400 bytes
ROWS_A_FILE: Final = 2_000_000
_COLUMNS: Final = (*Log._fields, "raw")
MOST: Final = 1_000  # rows in one answer
_ID: Final = ("message_id",)
_PLACE: Final = ("run_id", "channel", "position", "lamport")
_END: Final = 1 << 62
_LAST_LETTER: Final = "\U0010ffff"  # the greatest character: no id contains it

Row = dict[str, Any]
Bounds = Mapping[str, tuple[Any, Any]]  # column: the least and the greatest value, both included


class _Group(NamedTuple):
    file: int
    at: int
    bounds: Bounds

    def may_have(self, wanted: Bounds) -> bool:
        """True if the group may hold wanted rows. Columns outside the sort order have no bounds and are ignored."""
        return all(
            low <= wanted[name][1] and wanted[name][0] <= high
            for name, (low, high) in self.bounds.items()
            if name in wanted
        )


class _Sorted:
    """Parquet files in the order of some columns, opened once."""

    def __init__(self, folder: Path, by: Sequence[str]) -> None:
        self._files = [pq.ParquetFile(path, memory_map=True) for path in sorted(folder.glob("*.parquet"))]
        self._groups = [group for number, file in enumerate(self._files) for group in _groups(file, number, by)]

    def find(self, wanted: Bounds, most: int | None = MOST) -> Iterator[Row]:
        """Yield the wanted rows in order. `most` limits the rows of each row group, if the caller needs no more."""
        for group in self._groups:
            if group.may_have(wanted):
                # One thread: for so few rows, starting other threads takes longer than the work.
                table = self._files[group.file].read_row_group(group.at, use_threads=False)
                yield from table.filter(_within(table, wanted)).slice(0, most).to_pylist()

    def close(self) -> None:
        for file in self._files:
            file.close()


def _within(table: pa.Table, wanted: Bounds) -> Any:
    mask = None
    for name, (low, high) in wanted.items():
        column = table[name]
        inside = (
            pc.equal(column, low)
            if low == high
            else pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
        )
        mask = inside if mask is None else pc.and_(mask, inside)
    return mask


def _groups(file: pq.ParquetFile, number: int, by: Sequence[str]) -> Iterator[_Group]:
    schema = file.metadata.schema
    leaves = {schema.column(at).path: at for at in range(file.metadata.num_columns)}
    for at in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(at)
        found = {name: group.column(leaves[name]).statistics for name in by}
        if group.num_rows:
            yield _Group(number, at, {name: (each.min, each.max) for name, each in found.items()})


class Archive:
    """The archive of a lake. Open it once: the first look-up also reads the statistics, which takes longer."""

    def __init__(self, lake: Path) -> None:
        """Raise PipelineProblem if the lake has no archive."""
        for folder in (lake / BY_ID, lake / BY_PLACE):
            if not any(folder.glob("*.parquet")):
                raise PipelineProblem(f"There is no archive in {lake}: `sdschat pipeline archive` makes it.", 2)
        self._lake = lake
        self._opened: list[_Sorted] = []

    @cached_property
    def _by_id(self) -> _Sorted:
        return self._open(BY_ID, _ID)

    @cached_property
    def _by_place(self) -> _Sorted:
        return self._open(BY_PLACE, _PLACE)

    def _open(self, place: str, by: Sequence[str]) -> _Sorted:
        self._opened.append(_Sorted(self._lake / place, by))
        return self._opened[-1]

    def get(self, message_id: str) -> list[Row]:
        """Return the message with this id, from every channel and run that has it."""
        return list(self._by_id.find({"message_id": (message_id, message_id)}))

    def beginning(self, start: str, run_id: str | None = None, most: int = 1) -> dict[str, list[Row]]:
        """Return the first `most` messages whose ids begin with `start`, by id. A full id gives that message alone."""
        found: dict[str, list[Row]] = {}
        wanted: dict[str, tuple[Any, Any]] = {"message_id": (start, start + _LAST_LETTER)}
        if run_id is not None:
            wanted["run_id"] = (run_id, run_id)
        for row in self._by_id.find(wanted) if start else ():
            message_id = row["message_id"]
            if message_id not in found and (len(found) == most or start in found):
                break
            found.setdefault(message_id, []).append(row)
        return found

    def positions(self, channel: str, first: int, last: int, run_id: str = FIELD) -> Iterator[Row]:
        """Yield the messages of a channel by position, both ends included, without a limit. Rows are read on demand."""
        place = {"run_id": (run_id, run_id), "channel": (channel, channel), "position": (first, min(last, _END))}
        return self._by_place.find(place, None) if first <= _END else iter(())

    def dated(self, channel: str, first: int, last: int = _END, run_id: str = FIELD, count: int = MOST) -> list[Row]:
        """Return the first `count` messages of a channel by Lamport time, both ends included."""
        bounds = {"run_id": (run_id, run_id), "channel": (channel, channel), "lamport": (first, last)}
        return list(islice(self._by_place.find(bounds, min(count, MOST)), min(count, MOST)))

    def close(self) -> None:
        for each in self._opened:
            each.close()


def write_archive(log: DataFrame, raw: DataFrame, lake: str) -> int:
    """Write the log in both orders, joined with the packets. Return the number of messages.

    `raw` has the columns run_id, channel, message_id and raw, for messages with a known packet. Files have a limited
    size and row groups are small, so that a look-up reads one of them.
    """
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
    """Write small row groups. The look-up needs no page index: the statistics of the groups are enough."""
    options = {
        "parquet.block.row.count.limit": str(ROWS_A_GROUP),
        "parquet.bloom.filter.enabled#message_id": "false",
    }
    rows.write.mode("overwrite").options(**options).parquet(path)
