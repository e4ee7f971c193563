"""Ingest: files into the bronze tables of a lake. What is there is not added again, from whatever copy it comes.

Files are read once; then each table is compared with the lake and added to in one commit. So an ingest that was killed,
or that another writer overtook, loses nothing and doubles nothing when it is done again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.audit import schemas
from sdschat.audit.errors import PipelineProblem
from sdschat.lake.compare import LakeComparison, New
from sdschat.lake.duck import DuckLake, connected_for
from sdschat.lake.sources import survey
from sdschat.lake.sources.batch import table_of
from sdschat.lake.staging import Source, stage
from sdschat.lake.tables import Overtaken, Tables

_EVENTS: Final = (schemas.Journal, schemas.Packet)
_LOGS: Final = (schemas.Message, schemas.Node, schemas.Declared)
_TRIES: Final = 50  # commits of others, after which somebody should look at who writes so much


class Added(NamedTuple):
    """Counts of one table: rows read, and new rows added. For the table `file`: files instead of rows."""

    table: str
    read: int
    added: int


def ingest(tables: Tables, paths: Sequence[Path], run_id: str, read_ms: int) -> list[Added]:
    with connected_for(tables) as (connection, scratch):
        intake = _Intake(LakeComparison(connection, tables, scratch, run_id, read_ms), tables, scratch)
        return intake.ingest(paths)


def quarantined(tables: Tables, paths: Sequence[Path]) -> list[schemas.Quarantine]:
    """Return the parts of these files that could not be read, now or earlier, and were not repaired since."""
    with connected_for(tables) as (connection, scratch):
        return LakeComparison(connection, tables, scratch, "", 0).quarantined(map(str, paths))


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
        seen, bad = sorted(map(survey.look, paths)), comparison.standing()
        # A repaired file may equal the file that was ingested before the damage.
        known = survey.taken_already(seen, comparison.wholes()) - survey.maybe_mended(seen, bad)
        files = [file for file in seen if file.path not in known]
        again = [file for file in seen if file.path in known and any(survey.stands_in_for(file, each) for each in bad)]
        if files or again:
            self._stage(files)
            for table in _EVENTS:  # before the logs: a verdict in between then finds no delivery missing in its log
                if self._read[table.__name__]:
                    self._add(table, partial(comparison.new_events, table))
                    self._odd |= comparison.note_conflicts(table)
            if any(file.runs for file in files):
                self._add(schemas.KnownRun, lambda: comparison.new_runs(files))
            if self._read[schemas.Node.__name__]:  # segments of a stream have no logs, and nothing is asked for them
                self._add(schemas.Declared, comparison.new_declared)
                self._add(schemas.KnownVersion, comparison.new_versions)  # messages refer to them
                self._add(schemas.Message, comparison.new_messages)
                # Last, since a reading says that its messages are there.
                self._add(schemas.Node, comparison.new_nodes)
            self._remember([*files, *again])
            if self._odd:
                self._add(schemas.Quarantine, lambda: comparison.new_quarantine(files))
            self._tables.tidy()
        return [Added("file", len(seen), len(files)), *self._counts()]

    def _counts(self) -> list[Added]:
        names = [table.__name__ for table in (*_EVENTS, *_LOGS, schemas.Quarantine)]
        told = [name for name in names if self._read[name] or self._added[name]]
        return [Added(name.lower(), self._read[name], self._added[name]) for name in told]

    def _stage(self, files: Sequence[survey.Seen]) -> None:
        """Read the files. Of the databases of one node the log of the furthest is read, and where a part of that cannot
        be, the log of the next as well."""
        newest = survey.newest_of(files)
        logs = {file.path for file in newest}
        self._read_files([file.path for file in files if file.path not in logs], _EVENTS)
        self._read_files([file.path for file in newest], (*_EVENTS, *_LOGS))
        rest = [file for file in files if file not in newest]
        while broken := {file.node for file in newest if file.path in self._odd}:
            newest = survey.newest_of([file for file in rest if file.node in broken])
            rest = [file for file in rest if file not in newest]
            self._read_files([file.path for file in newest], _LOGS)

    def _read_files(self, paths: Sequence[str], tables: tuple[type, ...]) -> None:
        comparison = self._comparison
        sources = [Source(next(self._numbers), path, tables) for path in paths]
        for source, rows in stage(sources, self._scratch, comparison.run_id, comparison.read_ms):
            if rows[schemas.Quarantine.__name__]:
                self._odd.add(source.path)
            self._read.update(rows)
            comparison.sources[source.number] = source.path

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

    def _remember(self, files: Sequence[survey.Seen]) -> None:
        """Record the files whose whole content is in the lake now. A file written to in the meantime is left out."""
        comparison = self._comparison
        whole = [
            schemas.Whole(comparison.run_id, file.digest, file.node, file.as_of, comparison.read_ms, file.path)
            for file in files
            if file.digest and file.path not in self._odd and survey.stamp(Path(file.path)) == file.stamp
        ]
        if whole:
            self._add(schemas.Whole, lambda: New(table_of(schemas.Whole, whole), len(whole)))


class StreamedBatch(NamedTuple):
    """The counts of a batch. Of segments that were taken in before, nothing is added again."""

    number: int  # of the commits that name files as taken in
    segments: int
    events: int
    packets: int
    refused: int  # parts that could not be read
    at_ms: int
    took_ms: int
    unread: Sequence[schemas.Quarantine] = ()  # what could not be read of these segments, and why


class SegmentStream:
    """The segments of one folder, the oldest first. A file that was changed since is taken once more."""

    def __init__(self, tables: Tables, folder: Path, run_id: str, most: int) -> None:
        self._tables = tables
        self._folder = folder
        self._run_id = run_id
        self._most = most
        self._taken: dict[str, tuple[int, int]] = {}  # time and size by path

    def batch(self) -> StreamedBatch | None:
        """Take in what arrived, at most `most` segments. None: there was nothing."""
        found = sorted(self._arrived())[: self._most]
        if not found:
            return None
        at, began = time.time_ns() // 1_000_000, time.monotonic()
        paths = [Path(path) for *_, path in found]
        added = {row.table: row.added for row in ingest(self._tables, paths, self._run_id, at)}
        self._taken |= {path: (changed, size) for changed, size, path in found}
        events, packets, refused = (added.get(name, 0) for name in ("journal", "packet", "quarantine"))
        unread = quarantined(self._tables, paths) if refused else ()
        took, number = round((time.monotonic() - began) * 1000), max(0, self._tables.version(schemas.Whole) - 1)
        return StreamedBatch(number, added["file"], events, packets, refused, at, took, unread)

    def _arrived(self) -> Iterator[tuple[int, int, str]]:
        """Yield time, size and path of what was not taken yet."""
        for why, path in survey.within(self._folder):
            if why is None and path.name.endswith(survey.SEGMENTS):
                with suppress(OSError):  # it was moved away
                    status = path.stat()
                    if self._taken.get(os.fspath(path)) != (status.st_mtime_ns, status.st_size):
                        yield status.st_mtime_ns, status.st_size, os.fspath(path)


class ChannelNow(NamedTuple):
    channel: str
    packets: int
    bytes: int
    nodes: int
    fewest: int  # number of messages of the node with the fewest
    most: int
    alike: bool  # True if all delivered the same


def channels_now(tables: Tables) -> list[ChannelNow]:
    """Return the totals of all channels, by what was recorded of them and what their nodes' journals say."""
    with connected_for(tables) as (connection, _):
        lake = DuckLake(connection, tables)
        lake.name(schemas.Packet, "packet")
        lake.name(schemas.Journal, "journal")
        lake.run(lake.statements("sdschat.lake", "stream"), {})
        return [ChannelNow(*row) for row in lake.rows("SELECT * FROM channel_now ORDER BY channel")]
