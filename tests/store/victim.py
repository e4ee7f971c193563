"""Nodes that are killed with -9 at a point of their work, and the state of their database: `python -m
tests.store.victim DIR`.

One process forks a node for each point. The node saves step after step of a fixed conversation, reports on a pipe which
steps are saved, and kills itself at the point. Then the database is opened and compared with the report. Prints one
JSON line for each point.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from sdschat.store.connection import open_writer
from sdschat.store.files import prepare_directory, prepare_file
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.migrate import migrate
from sdschat.store.schema import MIGRATIONS
from sdschat.store.store import Store
from tests.store.samples import CODEC, Talk

STEPS = 12
_STATEMENTS_TRIED = 20_000  # more than the work has


class Point(NamedTuple):
    """The point of death: before the n-th statement of SQLite, while making tables, migrating or saving a
    conversation."""

    phase: str
    statement: int


class Outcome(NamedTuple):
    """The result of one death."""

    point: str
    died: bool
    said_saved: int
    found: int


def _dies_at(statement: int, names: list[str]) -> Callable[[str], None]:
    def trace(sql: str) -> None:
        names.append(" ".join(sql.split()[:4]))
        if len(names) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    return trace


def _work(path: Path, point: Point, said: int) -> list[str]:
    """Run the node. Return the number of statements that it executed, if it survives."""
    names: list[str] = []
    if point.phase != "talk":
        prepare_directory(path)
        prepare_file(path)
        connection = open_writer(path)
        connection.set_trace_callback(_dies_at(point.statement, names))
        migrate(connection, path, MIGRATIONS if point.phase == "tables" else MIGRATIONS[:-1])
        connection.close()
        return names
    with Store.open(path, CODEC, journal=JournalSettings("me", "boot")) as store:
        store.connection.execute("PRAGMA wal_autocheckpoint = 20")  # so that checkpoints are among the points
        store.connection.set_trace_callback(_dies_at(point.statement, names))
        talk = Talk()
        for step in range(STEPS):
            writes, rows, texts = talk.step()
            store.commit([("lobby", writes)], rows, texts)
            os.write(said, bytes([step + 1]))
    return names


def _run(path: Path, point: Point) -> tuple[bool, int]:
    """True if the node was killed, and the number of steps reported as saved."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live_and_leave(path, point, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, max(told, default=0)


def _live_and_leave(path: Path, point: Point, said: int) -> NoReturn:
    """Run the node in the forked process, which never returns into the code of its parent."""
    try:
        _work(path, point, said)
    finally:
        os._exit(0)


def _found(path: Path) -> int:
    """Number of steps in the database. The content must be that after so many steps, and the work must go on from
    there."""
    talk = Talk()
    expected = [talk.step() for _ in range(STEPS + 1)]
    with Store.open(path, CODEC, journal=JournalSettings("me", "again")) as store:
        assert store.losses == []
        history = store.channel("lobby").history
        ids = [entry.message_id for entry in history.newest(1000)]
        count = len(ids)
        assert ids == [message.message_id for message in talk.messages[:count]]
        assert all(history.row(message_id) is not None for message_id in ids)
        assert (store.channel("lobby").snapshot() is not None) == (count > 0)
        writes, rows, texts = expected[count]
        store.commit([("lobby", writes)], rows, texts)
        check = store.connection.execute("PRAGMA integrity_check").fetchall()
        assert check == [("ok",)], check
    with Store.open_read_only(path, CODEC) as reader:
        shown = list(reader.messages("lobby"))
        assert [message.text for message in shown] == [
            talk.texts[message.message_id] for message in talk.messages[: count + 1]
        ]
        assert [row.seq for row in reader.journal()] == [*range(1, count + 1), 1]
        assert len(list(reader.messages("lobby", search=talk.texts[shown[-1].message_id]))) == 1
    return count


def _points(directory: Path) -> list[tuple[Point, str]]:
    """Statements of all phases, by name, thinned out evenly."""
    found: list[tuple[Point, str]] = []
    for phase, every in (("tables", 3), ("migrations", 26), ("talk", 7)):
        names = _work(directory / f"all {phase}" / "p" / "sdschat.db", Point(phase, _STATEMENTS_TRIED), _null())
        for at in range(1, len(names) + 1, every):
            found.append((Point(phase, at), f"{phase} {at}: {names[at - 1]}"))
    return found


def _null() -> int:
    return os.open(os.devnull, os.O_WRONLY)


def main(directory: Path) -> None:
    for point, name in _points(directory):
        path = directory / f"{point.phase} {point.statement}" / "p" / "sdschat.db"
        died, said = _run(path, point)
        print(json.dumps(Outcome(name, died, said, _found(path))._asdict()), flush=True)


if __name__ == "__main__":
    assert sqlite3.threadsafety
    main(Path(sys.argv[1]))
