"""The tables of a lake, kept by Delta Lake, and its folders. A commit is there whole or not at all, and has a number.

Bronze is appended to, by whoever was the last to read it: a writer that another one overtook is told, and compares
again. Silver and gold are replaced. No other module writes or lists the files of a lake.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote
from uuid import uuid4

import pyarrow
from deltalake import CommitProperties, DeltaTable, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from pyarrow import fs

from sdschat.audit import schemas
from sdschat.audit.answers import METRICS, answers
from sdschat.audit.errors import PipelineProblem
from sdschat.audit.processes import Busy, alone
from sdschat.lake.sources.batch import arrow_schema

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"
PLACES: Final[dict[type, str]] = {
    schemas.Journal: f"{BRONZE}/journal",
    schemas.Message: f"{BRONZE}/messages",
    schemas.Node: f"{BRONZE}/nodes",
    schemas.Declared: f"{BRONZE}/declared",
    schemas.KnownRun: f"{BRONZE}/runs",
    schemas.KnownVersion: f"{BRONZE}/versions",
    schemas.Packet: f"{BRONZE}/packets",
    schemas.Quarantine: f"{BRONZE}/quarantine",
    schemas.Whole: f"{BRONZE}/wholes",
    schemas.Event: f"{SILVER}/events",
    schemas.Presence: f"{SILVER}/presences",
    schemas.Log: f"{GOLD}/log",
    schemas.AuditBase: f"{GOLD}/audit_base",
    schemas.AuditChannel: f"{GOLD}/audit_channel",
    schemas.AuditNode: f"{GOLD}/audit_node",
    schemas.AuditMissing: f"{GOLD}/audit_missing",
    schemas.AuditFinding: f"{GOLD}/audit_finding",
    schemas.AuditJournal: f"{GOLD}/audit_journal",
} | {kind: f"{GOLD}/{place}" for kind, place in map(answers().__getitem__, METRICS)}
OF_BRONZE: Final = tuple(table for table, place in PLACES.items() if place.startswith(f"{BRONZE}/"))
# Parts of bronze tables: a channel of a campaign, and a day by this column. A row comes again in the same part.
PARTS: Final = ("channel_key", "day")
PARTED: Final[dict[type, str]] = {
    schemas.Journal: "ts_ms",
    schemas.Packet: "ts_ms",
    schemas.Message: "received_ms",
    schemas.KnownVersion: "0",  # all in one
}
KEPT_BY_AUDIT: Final[Mapping[str, type]] = {
    "silver_event": schemas.Event,
    "silver_presence": schemas.Presence,
    "gold_log": schemas.Log,
    "audit_missing": schemas.AuditMissing,
    "audit_finding": schemas.AuditFinding,
    "audit_node": schemas.AuditNode,
    "gold_channel": schemas.AuditChannel,
    "gold_journal": schemas.AuditJournal,
}
# They are replaced by parts of these tables: a bucket of channels, by the beginning of the `channel_key`.
BUCKET: Final = "bucket"
BUCKETED: Final = frozenset(KEPT_BY_AUDIT.values()) - {schemas.AuditJournal}
BUCKETS: Final = frozenset(f"{number:02x}" for number in range(256))
CHANNEL_KEY: Final = "SUBSTRING(MD5(run_id || CHR(31) || channel), 1, 8)"
BUCKET_OF: Final = "SUBSTRING(MD5(run_id || CHR(31) || channel), 1, 2)"
FEW: Final = 50_000  # rows, of which Spark shall above all begin soon
ROW_SUM: Final = "row_sum"  # a column of these tables: what a row says, as a number
DAY_MS: Final = 86_400_000
_FILE: Final = re.compile("file:///(?!/)")


def folder_of(root: str) -> Path | None:
    """Return the folder of a lake, which may be given as a URI, or None if the lake is not in a folder."""
    if _FILE.match(root):
        return Path(root.removeprefix("file://"))
    return None if "://" in root else Path(root).absolute()


_SCRATCH: Final = "scratch"
_LEFT: Final = 86_400  # seconds after which nobody uses a folder there any more
_KEPT_HOURS: Final = 1  # a reader that began before a replacement may go on for so long
_MANY: Final = 32  # files in one part of a table, from which on they are made fewer
_REFUSED_IN_PATHS: Final = frozenset("[]^%")  # the library takes the path for a part of a URL, which has none of these
_TIDY_LOCK: Final = ".tidy.lock"
_DESCRIBED: Final = re.compile(r"sdschat tables, version (\d+)")
WRITTEN_BY: Final = f"sdschat tables, version {schemas.VERSION}"


class Overtaken(Exception):
    """Another writer committed to a table since it was read."""


class Tables:
    """The tables of one lake, as they were when each of them was first looked at, or at the last `refresh`."""

    def __init__(self, root: str) -> None:
        """Name a lake; nothing is read or made. Raises PipelineProblem where Delta tables cannot be."""
        self.folder = folder_of(root)
        self.root = root.rstrip("/") if self.folder is None else str(self.folder)
        self._seen: dict[type, DeltaTable | None] = {}
        if self.folder is not None and _REFUSED_IN_PATHS & set(str(self.folder)):
            raise PipelineProblem(
                f"A lake cannot be in {self.folder}: Delta tables do not go where a path has [, ], ^ or % in it. "
                "Choose another folder.",
                2,
            )

    def __contains__(self, table: type) -> bool:
        """True if the table was ever written."""
        return self._look(table) is not None

    def version(self, table: type) -> int:
        """Return the number of the last commit; -1 for a table that was never written."""
        there = self._look(table)
        return -1 if there is None else int(there.version())

    def files(self, table: type, wanted: Callable[[Any], bool] = lambda part: True) -> list[str]:
        """Return the paths or URIs of the files of a table, or only of the wanted parts of it."""
        return self._files(table, self._look(table), wanted)

    def files_of(self, table: type, buckets: Collection[str]) -> list[str]:
        return self.files(table, lambda part: part[0][:2] in buckets)

    def rows(self, table: type) -> int:
        """Return the number of rows of a table, or more: a file that does not tell it counts by its bytes."""
        there = self._look(table)
        if there is None:
            return 0
        actions = there.get_add_actions(flatten=True)
        told, sizes = (actions.column(name).to_pylist() for name in ("num_records", "size_bytes"))
        return sum(size if rows is None else rows for rows, size in zip(told, sizes, strict=True))

    def files_at(self, table: type, version: int) -> list[str]:
        """Return the files of a table as they were after this commit; none if the commit is not known any more."""
        if version < 0:
            return []
        if version == self.version(table):
            return self.files(table)
        try:
            return self._files(table, DeltaTable(self._place(table), version=version), lambda part: True)
        except (DeltaError, OSError):
            return []

    def _files(self, table: type, there: DeltaTable | None, wanted: Callable[[Any], bool]) -> list[str]:
        if there is None:
            return []
        actions = there.get_add_actions(flatten=True)
        found = zip(actions.column("path").to_pylist(), _parts_of(actions), strict=True)
        paths = sorted(str(path) for path, part in found if wanted(part))
        return [f"{self._place(table)}/{unquote(path) if self.folder is not None else path}" for path in paths]

    def refresh(self) -> None:
        """Forget what was read, so that what others wrote meanwhile is seen."""
        self._seen.clear()

    def append(self, table: type, rows: Any) -> None:
        """Add rows, with the columns of `PARTS` in a table that has parts. Raises Overtaken."""
        there = self._look(table)
        if there is None:
            there = self._create(table)
            if there.version() > 0:
                raise Overtaken(table.__name__)
        try:
            write_deltalake(
                there,
                rows,
                mode="append",
                schema_mode="merge",
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except CommitFailedError as error:
            self._seen.pop(table, None)
            raise Overtaken(table.__name__) from error
        self._committed(table)

    def replace(self, table: type, rows: Any, buckets: Collection[str] = BUCKETS) -> None:
        """Write the table anew, or these buckets of it: `rows` then has a column for the bucket."""
        there = self._look(table) or self._create(table)
        if table not in BUCKETED or len(buckets) == len(BUCKETS):
            by = [BUCKET] if table in BUCKETED else None
            write_deltalake(there, rows, mode="overwrite", schema_mode="overwrite", partition_by=by)
        else:
            wanted = ", ".join(f"'{bucket}'" for bucket in buckets)
            write_deltalake(there, rows, mode="overwrite", predicate=f"{BUCKET} IN ({wanted})")
        self._committed(table)
        self._forget_old(table)

    def adopt(self, table: type, files: Mapping[str, int], buckets: Collection[str] = BUCKETS) -> None:
        """Replace the table, or these buckets of it, by Parquet files that another engine wrote below its place, given
        with their sizes. Those of a bucket are in a folder `bucket=…`."""
        there = self._look(table) or self._create(table)
        by = [BUCKET] if table in BUCKETED else []
        buckets_of = {path: path.partition(f"{BUCKET}=")[2].partition("/")[0] for path in files}
        added: list[AddAction | RemoveAction] = [
            AddAction(path, size, dict.fromkeys(by, buckets_of[path]), 0, True, "{}") for path, size in files.items()
        ]
        some = by and len(buckets) < len(BUCKETS)
        there.create_write_transaction(
            added,
            "overwrite",
            Schema.from_arrow(full_schema(table)),
            by,
            [(BUCKET, "in", list(buckets))] if some else None,
        )
        self._seen.pop(table, None)
        self._forget_old(table)

    def scratch(self) -> str:
        """Return the place of a new folder for what an audit computes on its way, which whoever asks for it drops. What
        somebody left there a day ago is removed: they were killed."""
        if self.folder is not None:
            for old in (self.folder / _SCRATCH).glob("*"):
                if time.time() - old.stat().st_mtime > _LEFT:
                    shutil.rmtree(old, ignore_errors=True)
        return f"{self.root}/{_SCRATCH}/{uuid4()}"

    def drop_scratch(self, place: str) -> None:
        if self.folder is not None:
            shutil.rmtree(place, ignore_errors=True)
            with contextlib.suppress(OSError):  # it has those of others
                (self.folder / _SCRATCH).rmdir()
            return
        system, path = fs.FileSystem.from_uri(place)
        system.delete_dir(path)

    def tidy(self) -> None:
        """Make fewer files of many small ones in bronze, unless somebody else does so just now.

        Of two who did so with the same files, the library would let both: each row would be there twice. So this is
        done where a lock can be held, which is in a folder, and on the table as it is then.
        """
        if self.folder is None:
            return
        many = [table for table in PARTED if self._has_many_files(table)]
        if not many:
            return
        with contextlib.suppress(Busy), alone(self.folder / _TIDY_LOCK, "others do it"):
            for table in many:
                self._seen.pop(table, None)
                there = self._look(table)
                if there is not None and self._has_many_files(table):
                    there.optimize.compact()
                    self._seen.pop(table, None)
                    self._forget_old(table)

    def _has_many_files(self, table: type) -> bool:
        there = self._look(table)
        parts = Counter(_parts_of(there.get_add_actions(flatten=True)) if there else ())
        return any(files > _MANY for files in parts.values())

    def _committed(self, table: type) -> None:
        """Wait until the commit that was just made is on the disk: files that a later commit names as taken in are not
        read again. The library's table is as this commit left it."""
        if self.folder is None:
            return
        place = self.folder / PLACES[table]
        commit = place / "_delta_log" / f"{self.version(table):020}.json"
        added = [json.loads(line).get("add") for line in commit.read_text("utf-8").splitlines()]
        for file in (*(place / unquote(each["path"]) for each in added if each), commit, commit.parent):
            opened = os.open(file, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)

    def _forget_old(self, table: type) -> None:
        there = self._look(table)
        assert there is not None
        there.vacuum(_KEPT_HOURS, dry_run=False, enforce_retention_duration=False)

    def _look(self, table: type) -> DeltaTable | None:
        if table not in self._seen:
            self._seen[table] = self._opened(table)
        return self._seen[table]

    def _opened(self, table: type) -> DeltaTable | None:
        place = self._place(table)
        try:
            found = DeltaTable(place)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            said = str(error).splitlines()[0]
            raise PipelineProblem(f"The table in {place} cannot be read: {said}") from error
        told = _DESCRIBED.search(found.metadata().description or "")
        if told is not None and int(told[1]) > schemas.VERSION:
            raise PipelineProblem(
                f"{self.root} was written by a newer sdschat (tables of version {told[1]}; this one knows "
                f"{schemas.VERSION}). Update the program."
            )
        return found

    def _create(self, table: type) -> DeltaTable:
        """Make an empty table, unless somebody else has just done so."""
        if self.folder is not None:
            (self.folder / PLACES[table]).mkdir(parents=True, exist_ok=True)
        parts = list(PARTS) if table in PARTED else [BUCKET] if table in BUCKETED else None
        DeltaTable.create(
            self._place(table), full_schema(table), mode="ignore", partition_by=parts, description=WRITTEN_BY
        )
        self._seen.pop(table, None)
        made = self._look(table)
        assert made is not None
        return made

    def _place(self, table: type) -> str:
        return f"{self.root}/{PLACES[table]}"


def has_few_rows(tables: Tables) -> bool:
    return sum(map(tables.rows, OF_BRONZE)) <= FEW


def _parts_of(actions: Any) -> list[Any]:
    """Return the part of each file: of nothing, in a table without parts."""
    there = [name for name in (f"partition.{name}" for name in (*PARTS, BUCKET)) if name in actions.schema.names]
    return list(zip(*(actions.column(name).to_pylist() for name in there), strict=True)) or [()] * actions.num_rows


def full_schema(table: type) -> pyarrow.Schema:
    """Return the columns of a table as they are on the disk: its own, and those that the lake adds."""
    added: list[Any] = []
    if table in PARTED:
        added = [(ROW_SUM, pyarrow.int64()), (PARTS[0], pyarrow.string()), (PARTS[1], pyarrow.int64())]
    if table in BUCKETED:
        added = [(BUCKET, pyarrow.string())]
    return pyarrow.schema([*arrow_schema(table), *added])
