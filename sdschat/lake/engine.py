"""A lake as an engine sees it: tables with names, statements in SQL, and answers that are kept."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import pyarrow

from sdschat.audit import schemas
from sdschat.audit.schemas import AuditBase
from sdschat.audit.statements import Statement, statements
from sdschat.lake.tables import BUCKETS, KEPT_BY_AUDIT, PLACES, Tables

OnBatches = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]

READ_BY_AUDIT: Final[Mapping[type, str]] = {
    schemas.Journal: "journal",
    schemas.Message: "message",
    schemas.Node: "node",
    schemas.Declared: "declared",
    schemas.KnownRun: "run",
    schemas.KnownVersion: "version",
}


class LakeEngine(ABC):
    """An engine that runs SQL over the tables of a lake: the base of those by Spark and by DuckDB."""

    words: ClassVar[str]  # what the name of a file of statements ends in

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.buckets: Collection[str] = BUCKETS  # of channels, that this audit judges

    @property
    @abstractmethod
    def engine(self) -> str:
        """The name and version of the engine."""

    @abstractmethod
    def name(self, table: type, name: str, files: Sequence[str] | None = None, where: str = "TRUE") -> None:
        """Give a table of the lake a name for statements, or these files of it. One that was never written is empty."""

    @abstractmethod
    def make(self, name: str, query: str, *, once: bool) -> None:
        """Give a query a name for statements. With `once` it is computed once, without it where it is used."""

    @abstractmethod
    def keep_answer(self, table: type, name: str, query: str) -> None:
        """Replace the judged buckets of a table by what a query gives. Statements find that by this name."""

    def run(self, statements: Iterable[Statement], kept: Mapping[str, type]) -> None:
        """Carry out statements. The lake keeps the answers with a name in `kept`."""
        for name, query, once in statements:
            if name in kept:
                self.keep_answer(kept[name], name, query)
            else:
                self.make(name, query, once=once)

    @abstractmethod
    def apply(self, name: str, query: str, function: OnBatches, table: type) -> None:
        """Give a name for statements to what a function of this package makes of the rows of a query."""

    @abstractmethod
    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of an answer; each `?` in the query stands for a value."""

    @abstractmethod
    def forget(self) -> None:
        """Free the memory of what was computed once."""

    def statements(self, package: str, name: str) -> list[Statement]:
        return statements(package, f"{name}{self.words}")

    def bronze(self) -> str:
        """Return a digest of the files that an audit reads: another one after each ingest that brought something."""
        return self.digest_of(file for table in READ_BY_AUDIT for file in self.tables.files(table))

    def digest_of(self, files: Iterable[str]) -> str:
        names = (file.removeprefix(self.tables.root) for file in files)
        return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()

    def note_begun(self, rules: str) -> None:
        self._note(AuditBase(self.bronze(), False, rules))

    def note_whole(self) -> None:
        if base := self._base():
            self._note(base._replace(whole=True))

    def has_verdict(self) -> bool:
        """Return True if an audit came to its end, and was made of what is in bronze now."""
        base = self.whole_base()
        return base is not None and base.bronze == self.bronze()

    def whole_base(self) -> AuditBase | None:
        """Return what the verdict in the lake follows from; None if there is none, or another audit wrote since."""
        base = self._base()
        kept = {PLACES[table]: self.tables.version(table) for table in KEPT_BY_AUDIT.values()}
        if base is None or not base.whole or not kept.items() <= versions_of(base).items():
            return None
        return base

    def _base(self) -> AuditBase | None:
        self.name(AuditBase, "base")
        rows = self.rows(f"SELECT {', '.join(AuditBase._fields)} FROM base")
        return AuditBase(*rows[0]) if rows else None

    def _note(self, base: AuditBase) -> None:
        tables = (*READ_BY_AUDIT, *KEPT_BY_AUDIT.values())
        versions = ",".join(f"{PLACES[table]}={self.tables.version(table)}" for table in tables)
        noted = base._replace(versions=versions)
        values = (f"'{value}' AS {name}" for name, value in noted._asdict().items() if name != "whole")
        self.keep_answer(AuditBase, "base", f"SELECT {base.whole} AS whole, {', '.join(values)}")


def versions_of(base: AuditBase) -> dict[str, int]:
    """Return the commit of each table that a verdict was made from or is in, by the place of the table."""
    pairs = (each.split("=") for each in (base.versions or "").split(",") if each)
    return {place: int(version) for place, version in pairs}
