"""Ingest: files into the bronze tables of a lake. What is there is not added again, from whatever copy it comes.

Files are read once; then each table is compared with the lake and added to in one commit. So an ingest that was killed,
or that another writer overtook, loses nothing and doubles nothing when it is done again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.schemas import Declared, Journal, KnownRun, KnownVersion, Message, Node, Packet, Quarantine, Whole
from sdschat.lake.compare import LakeComparison, New
from sdschat.lake.duck import connected
from sdschat.lake.sources.batch import table_of
from sdschat.lake.sources.survey import Seen, look, maybe_mended, newest_of, stamp, stands_in_for, taken_already
from sdschat.lake.staging import Source, stage
from sdschat.lake.tables import Overtaken, Tables

_EVENTS: Final = (Journal, Packet)
_LOGS: Final = (Message, Node, Declared)
_TRIES: Final = 50  # commits of others, after which somebody should look at who writes so much


class Added(NamedTuple):
    """Counts of one table: rows read, and new rows added. For the table `file`: files instead of rows."""

    table: str
    read: int
    added: int


def ingest(tables: Tables, paths: Sequence[Path], run_id: str, read_ms: int) -> list[Added]:
    with TemporaryDirectory(prefix="sdschat-") as scratch, connected(scratch) as connection:
        intake = _Intake(LakeComparison(connection, tables, Path(scratch), run_id, read_ms), tables, Path(scratch))
        return intake.ingest(paths)


def quarantined(tables: Tables, paths: Sequence[Path]) -> list[Quarantine]:
    """Return the parts of these files that could not be read, now or earlier, and were not repaired since."""
    with TemporaryDirectory(prefix="sdschat-") as scratch, connected(scratch) as connection:
        return LakeComparison(connection, tables, Path(scratch), "", 0).quarantined(map(str, paths))


class _Intake:
    """One ingest: what it read, what it added, and the files with something odd in them."""

    def __init__(self, comparison: LakeComparison, tables: Tables, scratch: Path) -> None:
        self._comparison = comparison
        self._tables = tables
        self._scratch = scratch
        self._odd: set[str] = set()  # paths of files with something that cannot be read, or contradicts something
        self._read: Counter[str] = Counter()
        self._added: Counter[str] = Counter()
        self._numbers = count()

    def ingest(self, paths: Sequence[Path]) -> list[Added]:
        self._tables.refresh()
        comparison = self._comparison
        seen, bad = sorted(map(look, paths)), comparison.standing()
        # A repaired file may equal the file that was ingested before the damage.
        known = taken_already(seen, comparison.wholes()) - maybe_mended(seen, bad)
        files = [file for file in seen if file.path not in known]
        again = [file for file in seen if file.path in known and any(stands_in_for(file, each) for each in bad)]
        if files or again:
            self._stage(files)
            for table in _EVENTS:  # before the logs: a verdict in between then finds no delivery missing in its log
                if self._read[table.__name__]:
                    self._add(table, partial(comparison.new_events, table))
                    self._odd |= comparison.note_conflicts(table)
            if any(file.runs for file in files):
                self._add(KnownRun, lambda: comparison.new_runs(files))
            if self._read[Node.__name__]:  # segments of a stream have no logs, and nothing is asked for them
                self._add(Declared, comparison.new_declared)
                self._add(KnownVersion, comparison.new_versions)  # messages refer to them
                self._add(Message, comparison.new_messages)
                # Last, since a reading says that its messages are there.
                self._add(Node, comparison.new_nodes)
            self._remember([*files, *again])
            if self._odd:
                self._add(Quarantine, lambda: comparison.new_quarantine(files))
            self._tables.tidy()
        return [Added("file", len(seen), len(files)), *self._counts()]

    def _counts(self) -> list[Added]:
        names = [table.__name__ for table in (*_EVENTS, *_LOGS, Quarantine)]
        told = [name for name in names if self._read[name] or self._added[name]]
        return [Added(name.lower(), self._read[name], self._added[name]) for name in told]

    def _stage(self, files: Sequence[Seen]) -> None:
        """Read the files. Of the databases of one node the log of the furthest is read, and where a part of that cannot
        be, the log of the next as well."""
        newest = newest_of(files)
        logs = {file.path for file in newest}
        self._read_files([file.path for file in files if file.path not in logs], _EVENTS)
        self._read_files([file.path for file in newest], (*_EVENTS, *_LOGS))
        rest = [file for file in files if file not in newest]
        while broken := {file.node for file in newest if file.path in self._odd}:
            newest = newest_of([file for file in rest if file.node in broken])
            rest = [file for file in rest if file not in newest]
            self._read_files([file.path for file in newest], _LOGS)

    def _read_files(self, paths: Sequence[str], tables: tuple[type, ...]) -> None:
        comparison = self._comparison
        sources = [Source(next(self._numbers), path, tables) for path in paths]
        for staged in stage(sources, self._scratch, comparison.run_id, comparison.read_ms):
            if staged.rows[Quarantine.__name__]:
                self._odd.add(staged.source.path)
            self._read.update(staged.rows)
            comparison.sources[staged.source.number] = staged.source.path

    def _add(self, table: type, new: Callable[[], New | None]) -> None:
        """Add what `new` gives, once more where somebody else was faster."""
        for _ in range(_TRIES):
            rows = new()
            if rows is None:
                return
            try:
                self._tables.append(table, rows.relation)
            except Overtaken:
                continue
            self._added[table.__name__] += rows.size
            return
        raise PipelineProblem(f"Others write to {self._tables.root} all the time. Wait for them, and start this again.")

    def _remember(self, files: Sequence[Seen]) -> None:
        """Record the files whose whole content is in the lake now. A file written to in the meantime is left out."""
        comparison = self._comparison
        whole = [
            Whole(comparison.run_id, file.digest, file.node, file.as_of, comparison.read_ms, file.path)
            for file in files
            if file.digest and file.path not in self._odd and stamp(Path(file.path)) == file.stamp
        ]
        if whole:
            self._add(Whole, lambda: New(table_of(Whole, whole), len(whole)))
