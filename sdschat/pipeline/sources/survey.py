"""A survey of files before anything is read: their node, their boots, and if they are equal to ingested files.

Boots show which events could be in two files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader

from sdschat.audit.schemas import Ids, ddl
from sdschat.audit.sources.columnar import Columnar
from sdschat.pipeline.sources.batch import BatchShape, in_batches
from sdschat.pipeline.sources.files import FileKind, kind_of
from sdschat.pipeline.sources.line_columns import stretches
from sdschat.pipeline.sources.staged import SomeFiles, in_parts
from sdschat.store.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME: Final = "sdschat_files"
_BESIDE: Final = ("", "-wal")  # the latest writes of a database are in a second file


class Seen(NamedTuple):
    """One file. `node` is empty unless the file is a readable database."""

    path: str
    stamp: str  # sizes and times, which change when somebody writes
    digest: str  # of the whole content; empty if not requested or not readable
    node: str
    as_of: int
    declared: int  # number of declared gaps; 1 if they cannot be read
    boots: Ids  # pairs of node and boot in its journal, flattened; empty if an event may be in it twice

    @property
    def stretches(self) -> set[tuple[str, str]]:
        return set(zip(self.boots[::2], self.boots[1::2], strict=True))


def survey(spark: SparkSession, paths: Iterable[str], known: Iterable[str] = ()) -> list[Seen]:
    """Survey the files. `known`: digests of files whose content need not be read."""
    return _ask(spark, paths, {"known": json.dumps(sorted(known))})


def stamps(spark: SparkSession, paths: Iterable[str]) -> dict[str, str]:
    """Return the present stamp of each path."""
    return {seen.path: seen.stamp for seen in _ask(spark, paths, {})}


def _ask(spark: SparkSession, paths: Iterable[str], options: dict[str, str]) -> list[Seen]:
    spark.dataSource.register(Survey)
    asked = spark.read.format(_NAME).options(**options, paths=json.dumps(list(paths))).load()
    rows = [row.asDict() for row in asked.select(*Seen._fields).collect()]
    return sorted(Seen(**row | {"boots": tuple(row["boots"])}) for row in rows)


def stamped(path: Path) -> Seen:
    return Seen(str(path), _stamp(path), "", "", 0, 0, ())


def look(path: Path, known: Collection[str] = ()) -> Seen:
    seen = stamped(path)
    with suppress(OSError, StoreError):
        seen = seen._replace(digest=_digest(path))
        kind = kind_of(path)
        if kind is FileKind.DATABASE:
            return _of_database(seen, path)
        if kind is FileKind.LINES and seen.digest not in known:
            return seen._replace(boots=_flat(stretches(path) or ()))
    return seen


def _of_database(seen: Seen, path: Path) -> Seen:
    with Columnar(path) as evidence:
        node = evidence.node()
        seen = seen._replace(node=node, as_of=evidence.as_of(), declared=1)
        # The reader of the damaged part finds the damage and reports it.
        with suppress(StoreError):
            declared = sum(len(list(evidence.declared(number))) for number in evidence.channels())
            seen = seen._replace(declared=declared)
        with suppress(StoreError):
            seen = seen._replace(boots=_flat(_boots(evidence, node)))
        return seen


def _boots(evidence: Columnar, node: str) -> set[tuple[str, str]]:
    """Return the boots with events. Empty if a name was altered: events of several boots could then be equal."""
    names, told = evidence.boots(), evidence.boots_told_of()
    found = {(names[number][0] or node, names[number][1]) for number in told if number in names}
    return found if len(found) == len(told) else set()


def _flat(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(name for pair in sorted(pairs) for name in pair)


def _stamp(path: Path) -> str:
    found = []
    for end in _BESIDE:
        with suppress(OSError):
            status = path.with_name(path.name + end).stat()
            found.append(f"{status.st_size} {status.st_mtime_ns}" if status.st_size else "")
    return " ".join(filter(None, found))


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for end in _BESIDE:
        beside = path.with_name(path.name + end)
        if not end or beside.exists():
            with open(beside, "rb") as file:
                hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


class Survey(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        return f"`table` STRING, {ddl(Seen)}"

    def reader(self, schema: Any) -> SurveyReader:
        return SurveyReader(dict(self.options))


class SurveyReader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self.paths: list[str] = json.loads(options["paths"])
        self.known: frozenset[str] | None = frozenset(json.loads(options["known"])) if "known" in options else None

    def partitions(self) -> list[SomeFiles]:
        return [SomeFiles(self.paths)] if self.known is None else [SomeFiles(paths) for paths in in_parts(self.paths)]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        paths, known = map(Path, partition.value), self.known
        seen = map(stamped, paths) if known is None else (look(path, known) for path in paths)
        return map(BatchShape([Seen]).record_batch, in_batches(seen))
