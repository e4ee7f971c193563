"""A disk that fills up at any statement: a clear error, nothing half done, and success once there is space."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import pytest

from sdschat.sds.values import Write
from sdschat.store.connection import open_writer
from sdschat.store.errors import DiskFull, StoreError, StoreUnavailable, translate
from sdschat.store.journal import JournalRow
from sdschat.store.migrate import keep_copy, migrate, schema_digest
from sdschat.store.schema import MIGRATIONS, Migration
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText
from tests.store.samples import CODEC, Talk

STEPS = 200
Step = tuple[list[Write], list[JournalRow], list[IndexedText]]


class _Disk(NamedTuple):
    f_bavail: int
    f_frsize: int = 4096


@pytest.mark.parametrize(("free", "kind"), [(3, DiskFull), (300, StoreUnavailable)])
def test_a_failure_of_the_disk_is_told_as_a_full_one_where_it_is_full(
    monkeypatch: pytest.MonkeyPatch, free: int, kind: type[StoreError]
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    monkeypatch.setattr(os, "statvfs", lambda _: _Disk(free))
    assert type(translate(error, Path("sdschat.db"))) is kind


def _limit(store: Store, pages: int) -> None:
    store.connection.execute(f"PRAGMA max_page_count = {pages}")


def _pages(store: Store) -> int:
    count: int = store.connection.execute("PRAGMA page_count").fetchone()[0]
    return count


def _ids(store: Store) -> list[str]:
    return [entry.message_id for entry in store.channel("lobby").history.recently_added(1000)]


def _try(store: Store, step: Step) -> str | None:
    """The text of the error of a full disk, or None."""
    try:
        store.commit([("lobby", step[0])], step[1], step[2])
    except DiskFull as error:
        return str(error)
    return None


def _save_page_by_page(store: Store, step: Step, failed_at: set[str]) -> int:
    """Try the same commit with one page more each time, until it fits. Return the number of failures."""
    statements: list[str] = []
    store.connection.set_trace_callback(statements.append)
    before = _ids(store)
    for more in range(40):
        _limit(store, _pages(store) + more)
        statements.clear()
        said = _try(store, step)
        if said is None:
            store.connection.set_trace_callback(None)
            return more
        assert "the disk is full" in said
        failed = [statement for statement in statements if statement != "ROLLBACK"]
        failed_at.add(" ".join(failed[-1].split()[:3]))
        assert not store.connection.in_transaction
        assert _ids(store) == before
    raise AssertionError("it never fits")


def test_the_disk_may_be_full_at_every_statement(tmp_path: Path) -> None:
    """Each new page is requested by some statement, and is refused once."""
    talk = Talk()
    failed_at: set[str] = set()
    refused = 0
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        for count in range(1, STEPS + 1):
            refused += _save_page_by_page(store, talk.step(), failed_at)
            assert len(_ids(store)) == count
        _limit(store, 1_000_000)
        assert store.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert [message.message_id for message in talk.messages] == _ids(store)
    assert refused >= 40
    for table in ("log", "body", "text", "journal", "outgoing"):
        assert f"INSERT INTO {table}" in failed_at, failed_at
    with Store.open_read_only(tmp_path / "p" / "sdschat.db", CODEC) as reader:
        assert [row.seq for row in reader.journal()] == list(range(1, STEPS + 1))


def test_a_full_disk_frees_the_reserve(tmp_path: Path) -> None:
    talk = Talk()
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        assert store.reserve.held()
        _limit(store, _pages(store))
        refused = next(step for step in (talk.step() for _ in range(STEPS)) if _try(store, step) is not None)
        assert not store.reserve.held()
        _limit(store, 1_000_000)
        assert _try(store, refused) is None
        assert len(_ids(store)) == len(talk.messages)
        assert store.reserve.take()


def test_a_start_on_a_full_disk_uses_the_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, reserve = tmp_path / "sdschat.db", tmp_path / "sdschat.db.reserve"
    Store.open(path, CODEC).close()

    def needs_the_reserve(path: Path) -> sqlite3.Connection:
        if reserve.exists():
            raise DiskFull(path)
        return open_writer(path)

    monkeypatch.setattr("sdschat.store.store.open_writer", needs_the_reserve)
    with Store.open(path, CODEC) as store:
        assert _try(store, Talk().step()) is None


def test_half_a_copy_is_not_kept_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Store.open(tmp_path / "sdschat.db", CODEC) as store:
        before = set(tmp_path.iterdir())
        monkeypatch.setattr("os.fsync", no_room)
        with pytest.raises(StoreUnavailable, match="No space left"):
            keep_copy(store.connection, store.path, 9)
        assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("migrations", [MIGRATIONS, MIGRATIONS[:-1]], ids=["at once", "one after another"])
def test_a_disk_that_is_full_while_the_tables_are_made(migrations: tuple[Migration, ...], tmp_path: Path) -> None:
    """For a failure at any page: all tables of a migration exist, or none of them."""
    path = tmp_path / "sdschat.db"
    refused = 0
    for pages in range(1, 200):
        path.touch()
        connection = open_writer(path)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        try:
            migrate(connection, path, migrations)
        except DiskFull:
            refused += 1
            done = connection.execute("PRAGMA user_version").fetchone()[0]
            assert schema_digest(connection) == (MIGRATIONS[done - 1].digest if done else crc32(b"[[]]"))
            connection.close()
            continue
        connection.close()
        break
    assert refused > 20
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA user_version").fetchone() == (migrations[-1].number,)
    check.close()
