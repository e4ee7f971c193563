"""The lake: a directory of Parquet, or any place that Spark can write. The only module that reads or writes tables.

Bronze tables are appended to; silver and gold tables are written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sdschat.audit import schemas
from sdschat.audit.lock import alone
from sdschat.audit.schemas import SPARK_TYPES, columns, ddl
from sdschat.lake.asked import READ_BY_AUDIT, Asked
from sdschat.lake.places import PLACES, check_version, folder_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sdschat.lake.asked import OnBatches

_LOCK_FILE: Final = ".lock"
_PATTERN: Final = re.compile(r"[\[\]{}*?\\]")
UNLIKE: Final = ("raw", "digest", "place")
# Files get their final place as each task ends. Otherwise the files of a killed writer would get their place with those
# of the next writer, who could not see them when it looked at the lake.
_AT_ONCE: Final = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}

# `conv` gives a signed number for a negative base.
_LANE: Final = """
CREATE OR REPLACE TEMPORARY FUNCTION lane(digits STRING) RETURNS BIGINT RETURN CAST(CONV(digits, 16, -10) AS BIGINT)
"""


class Lake(Asked):
    words: ClassVar = ""

    def __init__(self, spark: SparkSession, root: str) -> None:
        """Open a lake. Raises PipelineProblem if a newer program wrote it."""
        self.spark = spark
        self.folder = folder_of(root)
        self.root = root.rstrip("/") if "://" in root else str(self.folder)
        self._made: list[str] = []
        if self.folder is not None:  # elsewhere the columns of the Parquet files have to show the version
            check_version(self.folder)

    def path(self, table: type) -> str:
        return f"{self.root}/{PLACES[table]}"

    def read(self, table: type) -> DataFrame:
        """Return a table with the columns of this version. Columns that an older program did not write are null."""
        rows = self.there(table)
        return no_rows(self.spark, table) if rows is None else rows

    def there(self, table: type) -> DataFrame | None:
        """Like `read`, but None if the table was never written."""
        return read_parquet(self.spark, self.path(table), ddl(table))

    def append(self, table: type, rows: DataFrame) -> None:
        chosen = rows.select(*table.__annotations__).write.mode("append")
        # In these columns values do not repeat: a search for repeated values costs more than writing them.
        plain = {f"parquet.enable.dictionary#{name}": "false" for name in UNLIKE if name in table.__annotations__}
        chosen.options(**plain, **_AT_ONCE).parquet(self.path(table))

    def replace(self, table: type, rows: DataFrame) -> DataFrame:
        """Write the table and return it as read from the lake, so that nobody computes it again."""
        rows.select(*table.__annotations__).write.mode("overwrite").parquet(self.path(table))
        return self.read(table)

    def keep(self, table: type, rows: Iterable[Any]) -> DataFrame:
        """Like `replace`, for rows in this process."""
        return self.replace(table, self.spark.createDataFrame(list(rows), ddl(table)))

    @property
    def engine(self) -> str:
        return f"Spark {self.spark.version}"

    def has(self, table: type) -> bool:
        return self.there(table) is not None

    def name(self, table: type, name: str) -> None:
        self.read(table).createOrReplaceTempView(name)

    def begin(self) -> None:
        self.forget()
        self.spark.sql(_LANE)

    def make(self, name: str, query: str, *, once: bool) -> None:
        made = self.spark.sql(query)
        # Without a checkpoint each table would be planned anew down to bronze, in each place where it is used.
        (made.localCheckpoint() if once else made).createOrReplaceTempView(name)
        self._made.append(name)

    def keep_answer(self, table: type, name: str, query: str) -> None:
        typed = [f"CAST({each} AS {SPARK_TYPES[kind]}) AS {each}" for each, (kind, _) in columns(table).items()]
        self.replace(table, self.spark.sql(query).selectExpr(*typed)).createOrReplaceTempView(name)

    def apply(self, name: str, query: str, function: OnBatches, table: type) -> None:
        self.spark.sql(query).mapInArrow(function, ddl(table)).createOrReplaceTempView(name)
        self._made.append(name)

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(query, list(values)).collect()]

    def forget(self) -> None:
        while self._made:
            self.spark.catalog.dropTempView(self._made.pop())

    def bronze_files(self) -> Iterable[str]:
        for table in READ_BY_AUDIT:
            rows = self.there(table)
            files = () if rows is None else rows.inputFiles()
            yield from (PLACES[table] + file.rpartition(PLACES[table])[2] for file in files)

    def folder_for_tasks(self, table: type) -> Path | None:
        """Return the folder to which tasks may write files of a table by themselves, or None."""
        folder = own_folder(self.spark, self.root)
        return None if folder is None else folder / PLACES[table]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the lake for one ingest. Raises PipelineProblem if another one runs.

        Two ingests at once would both find the same rows missing, and Spark removes files that others are writing. A
        lake that is not in a folder cannot be locked.
        """
        if self.folder is None:
            yield
            return
        busy = f"another ingest is writing to {self.root}; wait for it to end, and start this one again."
        with alone(self.folder / _LOCK_FILE, busy):
            yield


def own_folder(spark: SparkSession, root: str) -> Path | None:
    """Return the folder of a lake, if all of Spark runs on this machine and sees the same folder; else None.

    Not every Spark reads a plain path from the local disk, so this is tested with a folder made for it.
    """
    folder = folder_of(root)
    if folder is None or not str(spark.conf.get("spark.master", "")).startswith("local") or not folder.is_dir():
        return None
    with TemporaryDirectory(prefix=".here-", dir=folder) as probe:
        there = read_parquet(spark, f"{root.rstrip('/')}/{Path(probe).name}", "nothing INT")
    return None if there is None else folder


def as_it_is(path: str) -> str:
    """Return the path with escaped brackets: Spark's readers take brackets in a folder's name for a pattern."""
    return _PATTERN.sub(r"\\\g<0>", path)


def no_rows(spark: SparkSession, table: type) -> DataFrame:
    """Return an empty table without a query: declarative pipelines forbid queries while they are built."""
    from pyspark.sql import functions as F

    nulls = [
        F.lit(None).cast(schemas.SPARK_TYPES[kind]).alias(name) for name, (kind, _) in schemas.columns(table).items()
    ]
    return spark.range(0).select(*nulls)


def read_parquet(spark: SparkSession, path: str, schema: str) -> DataFrame | None:
    """Read Parquet files, or return None if there is no such folder. A Connect session looks only when it is asked."""
    try:
        rows = spark.read.schema(schema).parquet(as_it_is(path))
        rows.schema  # noqa: B018
    except Exception as error:
        if not _not_there(error):
            raise
        return None
    return rows


def _not_there(error: Exception) -> bool:
    condition = getattr(error, "getCondition", lambda: "")()
    return condition == "PATH_NOT_FOUND"
