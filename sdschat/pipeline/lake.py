"""A lake asked by Spark. Its tables are read as the Parquet files of their last commit, so Spark needs no package for
Delta tables.

In a lake of few rows each table that is computed once goes through this process: that takes fewer jobs, and Spark
plans nothing for the tables that have no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import uuid4

from sdschat.audit import schemas
from sdschat.audit.schemas import SPARK_TYPES, columns, ddl
from sdschat.lake.asked import Asked
from sdschat.lake.sources.batch import arrow_schema
from sdschat.lake.tables import BUCKET, BUCKET_OF, BUCKETED, OF_BRONZE, PLACES, Tables, full_schema

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sdschat.lake.asked import OnBatches

FEW: Final = 16 << 20  # bytes of bronze


def has_few_rows(tables: Tables) -> bool:
    return sum(map(tables.size, OF_BRONZE)) <= FEW


class Lake(Asked):
    words: ClassVar = ""

    def __init__(self, spark: SparkSession, root: str) -> None:
        super().__init__(Tables(root))
        self.spark = spark
        self._made: list[str] = []
        self._few = False

    @property
    def engine(self) -> str:
        return f"Spark {self.spark.version}"

    def read(self, table: type) -> DataFrame:
        """Return a table with the columns of this version. Columns that an older program did not write are null."""
        return table_rows(self.spark, table, self.tables.files(table))

    def replace(self, table: type, rows: DataFrame) -> DataFrame:
        """Write the judged buckets of the table, and return them as read from the lake: nobody computes them again."""
        folder = f"{PLACES[table]}/spark-{uuid4()}"
        place = f"{self.tables.root}/{folder}"
        if table in BUCKETED:
            rows = rows.selectExpr(*columns(table), f"{BUCKET_OF} AS {BUCKET}")
            rows.write.partitionBy(BUCKET).parquet(as_it_is(place))
        else:
            rows.select(*columns(table)).write.parquet(as_it_is(place))
        sizes = self.spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(as_it_is(place))
        name = folder.rpartition("/")[2]
        found = [(row.path.rpartition(f"/{name}/")[2], row.length) for row in sizes.select("path", "length").collect()]
        files = {f"{name}/{path}": length for path, length in found}
        self.tables.adopt(table, files, self.buckets)
        added = [f"{self.tables.root}/{PLACES[table]}/{file}" for file in files]
        return table_rows(self.spark, table, added)

    def name(self, table: type, name: str, files: Sequence[str] | None = None, where: str = "TRUE") -> None:
        found = self.tables.files(table) if files is None else files
        table_rows(self.spark, table, found).where(where).createOrReplaceTempView(name)

    def begin(self) -> None:
        self.forget()
        self._few = has_few_rows(self.tables)

    def make(self, name: str, query: str, *, once: bool) -> None:
        made = self.spark.sql(query)
        if once:
            # Without this each table would be planned anew down to bronze, in each place where it is used.
            made = self._held(made.toArrow(), made.schema) if self._few else made.localCheckpoint()
        made.createOrReplaceTempView(name)
        self._made.append(name)

    def keep_answer(self, table: type, name: str, query: str) -> None:
        typed = [f"CAST({each} AS {SPARK_TYPES[kind]}) AS {each}" for each, (kind, _) in columns(table).items()]
        rows = self.spark.sql(query).selectExpr(*typed)
        (self._replace_few(table, rows) if self._few else self.replace(table, rows)).createOrReplaceTempView(name)

    def _replace_few(self, table: type, rows: DataFrame) -> DataFrame:
        bucket = [f"{BUCKET_OF} AS {BUCKET}"] if table in BUCKETED else []
        found = rows.selectExpr("*", *bucket).toArrow().cast(full_schema(table))
        self.tables.replace(table, found, self.buckets)
        return self._held(found.select(list(columns(table))), ddl(table))

    def _held(self, rows: pyarrow.Table, schema: StructType | str) -> DataFrame:
        """Return rows of this process to Spark, in one part: parts that are known to be one are not shuffled. Without
        the schema, a Connect server takes no table that is empty."""
        return self.spark.createDataFrame(rows, schema).coalesce(1)

    def apply(self, name: str, query: str, function: OnBatches, table: type) -> None:
        rows = self.spark.sql(query)
        if self._few:  # no process for Python has to be started
            made = list(function(rows.toArrow().to_batches()))
            found = self._held(_table_of(made, table), ddl(table))
        else:
            found = rows.mapInArrow(function, ddl(table))
        found.createOrReplaceTempView(name)
        self._made.append(name)

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(query, list(values)).collect()]

    def forget(self) -> None:
        while self._made:
            self.spark.catalog.dropTempView(self._made.pop())


def table_rows(spark: SparkSession, table: type, files: Sequence[str]) -> DataFrame:
    """Return the rows of files of a table, without a query: declarative pipelines forbid queries while they
    are built."""
    if not files:
        return no_rows(spark, table)
    # Columns that are a part of the path would be added, and are not asked for here.
    reader = spark.read.option("recursiveFileLookup", "true")
    return reader.schema(ddl(table)).parquet(*map(as_it_is, files))


def _table_of(batches: Sequence[pyarrow.RecordBatch], table: type) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_batches(batches) if batches else arrow_schema(table).empty_table()


def as_it_is(path: str) -> str:
    """Return the path with escaped brackets: Spark's readers take brackets in a folder's name for a pattern."""
    return "".join(f"\\{letter}" if letter in "[]{}*?\\" else letter for letter in path)


def no_rows(spark: SparkSession, table: type) -> DataFrame:
    """Return an empty table."""
    from pyspark.sql import functions as F

    nulls = [
        F.lit(None).cast(schemas.SPARK_TYPES[kind]).alias(name) for name, (kind, _) in schemas.columns(table).items()
    ]
    return spark.range(0).select(*nulls)
