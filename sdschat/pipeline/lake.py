"""The lake: a directory of Parquet, or any place that Spark can write. The only module that reads or writes tables.

Bronze tables are appended to; silver and gold tables are written anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from sdschat.audit import schemas
from sdschat.audit.problem import PipelineProblem
from sdschat.audit.schemas import VERSION, ddl
from sdschat.pipeline.alone import alone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"

# The folder of each table.
PLACES: Final[dict[type, str]] = {
    schemas.Journal: f"{BRONZE}/journal",
    schemas.Message: f"{BRONZE}/messages",
    schemas.Node: f"{BRONZE}/nodes",
    schemas.Declared: f"{BRONZE}/declared",
    schemas.Packet: f"{BRONZE}/packets",
    schemas.Quarantine: f"{BRONZE}/quarantine",
    schemas.Whole: f"{BRONZE}/wholes",
    schemas.Event: f"{SILVER}/events",
    schemas.Copy: f"{SILVER}/copies",
    schemas.Presence: f"{SILVER}/presences",
    schemas.Fingerprint: f"{SILVER}/fingerprints",
    schemas.Log: f"{GOLD}/log",
    schemas.AuditBase: f"{GOLD}/audit_base",
    schemas.AuditChannel: f"{GOLD}/audit_channel",
    schemas.AuditNode: f"{GOLD}/audit_node",
    schemas.AuditMissing: f"{GOLD}/audit_missing",
    schemas.AuditFinding: f"{GOLD}/audit_finding",
    schemas.AuditJournal: f"{GOLD}/audit_journal",
    schemas.MetricsClock: f"{GOLD}/metrics_clock",
    schemas.MetricsDelivery: f"{GOLD}/metrics_delivery",
    schemas.MetricsAck: f"{GOLD}/metrics_ack",
    schemas.MetricsRepair: f"{GOLD}/metrics_repair",
    schemas.MetricsTraffic: f"{GOLD}/metrics_traffic",
    schemas.MetricsRejected: f"{GOLD}/metrics_rejected",
    schemas.MetricsParts: f"{GOLD}/metrics_parts",
    schemas.MetricsFilter: f"{GOLD}/metrics_filter",
}
VERSION_FILE: Final = "_schema"
_LOCK_FILE: Final = ".lock"
_PATTERN: Final = re.compile(r"[\[\]{}*?\\]")
_FILE: Final = re.compile("file:///(?!/)")
UNLIKE: Final = ("raw", "digest", "place")
# Files get their final place as each task ends. Otherwise the files of a killed writer would get their place with those
# of the next writer, who could not see them when it looked at the lake.
_AT_ONCE: Final = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}


class Lake:
    def __init__(self, spark: SparkSession, root: str) -> None:
        """Open a lake. Raises PipelineProblem if a newer program wrote it."""
        self.spark = spark
        self.folder = folder_of(root)
        self.root = root.rstrip("/") if "://" in root else str(self.folder)
        self._check_version()

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

    def bronze(self) -> str:
        """Return a digest of the files that an audit reads: another one after each ingest that brought something."""
        names: list[str] = []
        for table in (schemas.Journal, schemas.Message, schemas.Node, schemas.Declared):
            rows = self.there(table)
            names += [] if rows is None else [file.rpartition(PLACES[table])[2] for file in rows.inputFiles()]
        return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()

    def note_bronze(self) -> None:
        """Note what silver is made from. A whole verdict on the same rows stays one."""
        self.keep(schemas.AuditBase, [schemas.AuditBase(self.bronze(), self.has_verdict())])

    def note_verdict(self, whole: bool) -> None:
        """Note that the verdict is being made, or that it is whole."""
        self.keep(schemas.AuditBase, [row._replace(whole=whole) for row in self._base()])

    def has_verdict(self) -> bool:
        """True if an audit came to its end, and was made of what is in bronze now."""
        return self._base() == [schemas.AuditBase(self.bronze(), True)]

    def _base(self) -> list[schemas.AuditBase]:
        return [schemas.AuditBase(row["bronze"], row["whole"]) for row in self.read(schemas.AuditBase).collect()]

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

    def _check_version(self) -> None:
        if self.folder is None:
            return  # no version file there: the columns of the Parquet files have to show the version
        file = self.folder / VERSION_FILE
        if file.exists():
            found = _version_in(file)
            if found > VERSION:
                raise PipelineProblem(
                    f"{self.root} was written by a newer sdschat (tables of version {found}; this one knows "
                    f"{VERSION}). Update the program.",
                )
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f".{VERSION_FILE}.new")
        with open(fresh, "w", encoding="utf-8") as output:
            output.write(json.dumps({"version": VERSION}))
            output.flush()
            os.fsync(output.fileno())
        fresh.replace(file)


def _version_in(file: Path) -> int:
    try:
        return int(json.loads(file.read_text("utf-8"))["version"])
    except (ValueError, TypeError, KeyError) as error:
        raise PipelineProblem(
            f"{file} is damaged: it should name the version of the tables in this lake. If this version of sdschat "
            "made the lake, delete the file; it is written anew."
        ) from error


def folder_of(root: str) -> Path | None:
    """Return the folder of a lake, which may be given as a URI, or None if the lake is not in a folder."""
    if _FILE.match(root):
        return Path(root.removeprefix("file://"))
    return None if "://" in root else Path(root).absolute()


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
