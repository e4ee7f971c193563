"""A lake asked by Spark, which reads the Parquet files of each table's last commit: no package for Delta tables.

A table that is computed once goes through this process if it has few rows: that takes one job and no file, and Spark
plans nothing for the tables that have no rows. What is asked of large tables is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Final
from uuid import uuid4

import pyarrow
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sdschat.audit.schemas import SPARK_TYPES, columns, ddl
from sdschat.lake.engine import LakeEngine, OnBatches
from sdschat.lake.sources.batch import arrow_schema
from sdschat.lake.tables import BUCKET, BUCKET_OF, BUCKETED, FEW, PLACES, Tables, full_schema
from sdschat.pipeline.session.spark_target import NOT_COMPILED

# These have a row for each message or event, or for many of them. Of all others few are expected.
MANY: Final = frozenset(
    {"silver_event", "heard", "variant", "version", "message", "reread", "need", "told", "shown"}
    | {"tally", "log", "gold_log", "needs"}
)
_QUICK: Final = {"compression": "none", "parquet.page.write-checksum.enabled": "false"}  # nobody reads them tomorrow
# Copies are put together where they are asked for: writing them takes longer than reading bronze five times.
_NOT_KEPT: Final = frozenset({"copy"})
_SENT: Final = 64 << 20  # bytes of a table that each task gets whole
_TEXT: Final = 100  # bytes of a text
_NUMBERS: Final = frozenset({"bigint", "int", "boolean"})
_WORD: Final = re.compile(r"\w+")


class Lake(LakeEngine):
    words: ClassVar = ""

    def __init__(self, spark: SparkSession, root: str) -> None:
        super().__init__(Tables(root))
        self.spark = spark
        self._made: list[str] = []
        self._large: set[str] = set()  # names of what has many rows, or is asked of such
        self._scratch = ""  # the folder of large tables, once there is one
        self._settings: dict[str, str] = {}  # of the session, as they were before it was not to compile
        self._compiles = True

    @property
    def engine(self) -> str:
        return f"Spark {self.spark.version}"

    def read(self, table: type) -> DataFrame:
        """Return a table with the columns of this version. Columns that an older program did not write are null."""
        return table_rows(self.spark, table, self.tables.files(table))

    def replace(self, table: type, rows: DataFrame) -> tuple[DataFrame, int]:
        """Write the judged buckets of the table, and return them as read from the lake: nobody computes them again.
        Return their number too."""
        folder = f"{PLACES[table]}/spark-{uuid4()}"
        place = f"{self.tables.root}/{folder}"
        count = _write(_with_bucket(table, rows), place, *([BUCKET] if table in BUCKETED else []))
        sizes = self.spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(as_it_is(place))
        name = folder.rpartition("/")[2]
        found = [(row.path.rpartition(f"/{name}/")[2], row.length) for row in sizes.select("path", "length").collect()]
        files = {f"{name}/{path}": length for path, length in found}
        self.tables.adopt(table, files, self.buckets)
        added = [f"{self.tables.root}/{PLACES[table]}/{file}" for file in files]
        return table_rows(self.spark, table, added), count

    def name(self, table: type, name: str, files: Sequence[str] | None = None, where: str = "TRUE") -> None:
        found = self.tables.files(table) if files is None else files
        self._is(name, large=bool(found) and self.tables.rows(table) > FEW)
        table_rows(self.spark, table, found).where(where).createOrReplaceTempView(name)

    def make(self, name: str, query: str, *, once: bool) -> None:
        large = self._is_about_large(query)
        made = self._asked(query, large)
        if once and name not in _NOT_KEPT:
            # Without this each table would be planned anew down to bronze, in each place where it is used.
            few = _rows_if_few(name, made, large)
            made, large = self._computed(name, made) if few is None else (self._held(few, made.schema), False)
        self._is(name, large=large)
        made.createOrReplaceTempView(name)
        self._made.append(name)

    def keep_answer(self, table: type, name: str, query: str) -> None:
        typed = [f"CAST({each} AS {SPARK_TYPES[kind]}) AS {each}" for each, kind in columns(table).items()]
        large = self._is_about_large(query)
        rows = self._asked(query, large).selectExpr(*typed)
        few = _rows_if_few(name, _with_bucket(table, rows), large)
        if few is None:
            kept, count = self.replace(table, rows)
            rows, large = self._held_if_few(kept, count)
        else:
            found = few.cast(full_schema(table))
            self.tables.replace(table, found, self.buckets)
            rows, large = self._held(found.select(list(columns(table))), ddl(table)), False
        rows.createOrReplaceTempView(name)
        self._is(name, large=large)

    def _is(self, name: str, *, large: bool) -> None:
        (self._large.add if large else self._large.discard)(name)

    def _is_about_large(self, query: str) -> bool:
        return not self._large.isdisjoint(_WORD.findall(query))

    def _asked(self, query: str, large: bool) -> DataFrame:
        self._set_compiler(large)
        return self.spark.sql(query)

    def _set_compiler(self, wanted: bool) -> None:
        """Let Spark compile queries, as the session is set, or not."""
        if wanted != self._compiles:
            self._settings = self._settings or {each: self.spark.conf.get(each) or "" for each in NOT_COMPILED}
            for key, value in (self._settings if wanted else NOT_COMPILED).items():
                self.spark.conf.set(key, value)
            self._compiles = wanted

    def _computed(self, name: str, rows: DataFrame) -> tuple[DataFrame, bool]:
        """Compute the rows once. Return them, and True if they are many. Spark's memory would keep all their plans."""
        self._scratch = self._scratch or self.tables.scratch()
        place = f"{self._scratch}/{name}-{uuid4()}"
        count = _write(rows, place, **_QUICK)
        found = self.spark.read.schema(rows.schema).parquet(as_it_is(place))
        # Spark takes these files for as many times larger as others: see `MEANING`.
        return self._held_if_few(found.hint("broadcast") if count * _width(rows.schema) < _SENT else found, count)

    def _held_if_few(self, rows: DataFrame, count: int) -> tuple[DataFrame, bool]:
        if count > FEW:
            return rows, True
        return self._held(rows.toArrow(), rows.schema), False

    def _held(self, rows: pyarrow.Table, schema: StructType | str) -> DataFrame:
        """Return rows of this process to Spark, in one part: parts that are known to be one are not shuffled. Without
        the schema, a Connect server takes no table that is empty."""
        return self.spark.createDataFrame(rows, schema).coalesce(1)

    def apply(self, name: str, query: str, function: OnBatches, table: type) -> None:
        large = self._is_about_large(query)
        rows = self._asked(query, large)
        if not large:  # no process for Python has to be started
            made = pyarrow.Table.from_batches(function(rows.toArrow().to_batches()), arrow_schema(table))
            found = self._held(made, ddl(table))
        else:
            found = rows.mapInArrow(function, ddl(table))
        self._is(name, large=large)
        found.createOrReplaceTempView(name)
        self._made.append(name)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(query, list(values)).collect()]

    def forget(self) -> None:
        self._set_compiler(True)
        while self._made:
            self.spark.catalog.dropTempView(self._made.pop())
        if self._scratch:
            self.tables.drop_scratch(self._scratch)
            self._scratch = ""
        self._large.clear()


def _rows_if_few(name: str, rows: DataFrame, large: bool) -> pyarrow.Table | None:
    """Return the rows, in one job and without a file, or None if they are many."""
    if not large:
        return rows.toArrow()
    found = None if name in MANY else rows.limit(FEW + 1).toArrow()
    return found if found is not None and found.num_rows <= FEW else None


def _width(schema: StructType) -> int:
    return sum(_TEXT if each.dataType.simpleString() not in _NUMBERS else 8 for each in schema)


def _with_bucket(table: type, rows: DataFrame) -> DataFrame:
    return rows.selectExpr(*columns(table), *([f"{BUCKET_OF} AS {BUCKET}"] if table in BUCKETED else []))


def _write(rows: DataFrame, place: str, *parts: str, **options: str) -> int:
    seen = Observation()
    writer = rows.observe(seen, F.count(F.lit(1)).alias("rows")).write
    (writer.partitionBy(*parts) if parts else writer).options(**options).parquet(as_it_is(place))
    return int(seen.get["rows"])


def table_rows(spark: SparkSession, table: type, files: Sequence[str]) -> DataFrame:
    """Return the rows of files of a table, without a query, which declarative pipelines forbid."""
    if not files:
        nulls = (f"CAST(NULL AS {SPARK_TYPES[kind]}) AS {name}" for name, kind in columns(table).items())
        return spark.range(0).selectExpr(*nulls)
    # Columns that are a part of the path would be added, and are not asked for here.
    reader = spark.read.option("recursiveFileLookup", "true")
    return reader.schema(ddl(table)).parquet(*map(as_it_is, files))


def as_it_is(path: str) -> str:
    """Return the path with escaped brackets: Spark's readers take brackets in a folder's name for a pattern."""
    return "".join(f"\\{letter}" if letter in "[]{}*?\\" else letter for letter in path)
