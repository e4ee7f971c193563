"""A lake as an engine sees it: tables with names, statements in SQL, and answers that are kept."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sdschat.audit.schemas import AuditBase, Declared, Journal, KnownRun, Message, Node
from sdschat.lake.tables import Tables

if TYPE_CHECKING:
    import pyarrow

    OnBatches = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]

_MADE: Final = re.compile(r"CREATE (TABLE|VIEW) (\w+) AS\s+(.*)", re.DOTALL)
READ_BY_AUDIT: Final = (Journal, Message, Node, Declared, KnownRun)


class Asked(ABC):
    """The base of the engines."""

    words: ClassVar[str]  # what the name of a file of statements ends in

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    @property
    @abstractmethod
    def engine(self) -> str:
        """Return the name and version of the engine."""

    def has(self, table: type) -> bool:
        """Return True if the table was ever written."""
        return table in self.tables

    @abstractmethod
    def name(self, table: type, name: str) -> None:
        """Give a table of the lake a name for statements. One that was never written is empty."""

    @abstractmethod
    def begin(self) -> None:
        """Get ready for the statements of an audit."""

    @abstractmethod
    def make(self, name: str, query: str, *, once: bool) -> None:
        """Give a query a name for statements. With `once` it is computed once, without it where it is used."""

    @abstractmethod
    def keep_answer(self, table: type, name: str, query: str) -> None:
        """Replace a table of the lake by what a query gives. Statements find it by this name."""

    @abstractmethod
    def apply(self, name: str, query: str, function: OnBatches, table: type) -> None:
        """Give a name for statements to what a function of this package makes of the rows of a query."""

    @abstractmethod
    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Return the rows of an answer; each `?` in the query stands for a value."""

    @abstractmethod
    def forget(self) -> None:
        """Free the memory of what was computed once."""

    def statements(self, package: str, name: str) -> list[tuple[str, str, bool]]:
        """Return the statements of a file in the words of this engine."""
        return statements(package, f"{name}{self.words}")

    def bronze(self) -> str:
        """Return a digest of the files that an audit reads: another one after each ingest that brought something."""
        files = [file for table in READ_BY_AUDIT for file in self.tables.files(table)]
        names = (file.removeprefix(self.tables.root) for file in files)
        return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()

    def note_bronze(self) -> None:
        """Note what silver is made from. A whole verdict on the same rows stays one."""
        self._note(AuditBase(self.bronze(), self.has_verdict()))

    def note_verdict(self, whole: bool) -> None:
        """Note that the verdict is being made, or that it is whole."""
        for row in self._base():
            self._note(row._replace(whole=whole))

    def has_verdict(self) -> bool:
        """Return True if an audit came to its end, and was made of what is in bronze now."""
        return self._base() == [AuditBase(self.bronze(), True)]

    def _base(self) -> list[AuditBase]:
        self.name(AuditBase, "base")
        return [AuditBase(*row) for row in self.rows("SELECT bronze, whole FROM base")]

    def _note(self, base: AuditBase) -> None:
        self.keep_answer(AuditBase, "base", f"SELECT '{base.bronze}' AS bronze, {base.whole} AS whole")


def statements(package: str, name: str) -> list[tuple[str, str, bool]]:
    """Return the name and query of each statement in a file, and if it is a table."""
    text = files(package).joinpath(f"{name}.sql").read_text("utf-8")
    made = [_MADE.search(each) for each in text.strip().removesuffix(";").split(";\n")]
    return [(each[2], each[3], each[1] == "TABLE") for each in made if each is not None]
