"""Files that somebody else made: `python -m tests.attacks.hostile_files [--size 60]`."""

from __future__ import annotations

import base64
import json
import random
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from sdschat.identity.backup import seal_identity
from tests.attacks.attacker import new_key
from tests.attacks.replayed import Listener
from tests.attacks.stage import CHANNEL, PATIENCE, Stage, has_text, main, seconds_until
from tests.cli.processes import command, environment, run
from tests.tui.hostile.judge import harmful

_LINES = 8
_PASSPHRASE = "long enough to be taken"
_VALUES: Final[tuple[Any, ...]] = (
    0, -1, 2**63, 10**400, 1e308, float("nan"), "", "\x1b]0;owned\x07", "\u202eevil", "x" * 100_000, None, True, [], {},
    {"b": "AAAA"}, {"o": "Put", "v": []}, ["a"] * 5000, "../../etc/passwd",
)  # fmt: skip
_CELLS: Final[tuple[Any, ...]] = (
    0, -1, 2**63 - 1, 1e308, "", "\x1b]0;x\x07", "x" * 200_000, None, b"", b"\xff" * 1000, "[" * 50_000, '["\\ud800"]',
)  # fmt: skip
_SCHEMAS: Final = (
    "ALTER TABLE {0} RENAME TO spare; CREATE VIEW {0} AS "
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM spare, n",
    "CREATE TRIGGER hurt AFTER INSERT ON {0} BEGIN DELETE FROM {0}; END",
    "DROP TABLE {0}",
)


def hostile_files(stage: Stage, size: int) -> bool:
    """Recordings, captures, databases and exported identities with one thing altered, given to those who read them.

    Defended if each command ends in time, with a reason in words, and prints no order to a terminal. `size` is the
    number of files of each kind.
    """
    home = stage.home
    _made(stage)
    draw = random.Random(size)
    wrong: list[str] = []
    for number in range(size):
        for make in (_recording, _capture, _database, _identity):
            what, commands = make(home, draw)
            wrong += [f"file {number}, {what}: {why}" for one in commands if (why := _why_wrong(home, one))]
    stage.saw("files of each kind", size)
    for one in wrong:
        stage.saw("not defended", one)
    return not wrong


def _made(stage: Stage) -> None:
    """Make the sound files: of each kind one."""
    chat = ("join", CHANNEL, "--plain", "--name", "ann", "--record", str(stage.home / "run.jsonl"), *stage.options)
    quiet, bob = subprocess.DEVNULL, stage.pipe("bob")
    ann = subprocess.Popen(
        command(*chat), cwd=stage.home, env=environment(stage.home), stdin=subprocess.PIPE, stdout=quiet, stderr=quiet
    )
    assert ann.stdin is not None
    with closing(Listener(stage.port, 0)) as listener:
        bob.until_event("presence", nick="ann", online=True)
        for number in range(_LINES):
            ann.stdin.write(f"line {number}\n".encode())
            ann.stdin.flush()
            bob.say(f"and {number}")
        seconds_until(bob, has_text(bob, f"line {_LINES - 1}"))
        lines = [
            {"v": 1, "tap": "aa", "seq": at, "ts_ms": 1_700_000_000_000 + at, "topic": topic, "channel": CHANNEL,
             "retained": False, "packet_id": f"{at:016x}", "raw": base64.b64encode(payload).decode()}
            for at, (topic, payload) in enumerate(list(listener.heard))
        ]  # fmt: skip
    (stage.home / "tap.jsonl").write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))
    bob.kill(signal.SIGTERM)
    ann.send_signal(signal.SIGTERM)
    ann.communicate(timeout=PATIENCE)
    for name in ("ann", "bob"):
        with closing(sqlite3.connect(stage.database(name))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(stage.database(name), stage.home / f"{name}.db")


Made = tuple[str, list[tuple[str, ...]]]


def _altered(value: Any, draw: random.Random) -> Any:
    """Return a value of JSON with something in it replaced."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        return {**value, key: _altered(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        return [*value[:at], _altered(value[at], draw), *value[at + 1 :]]
    return draw.choice(_VALUES)


def _with_altered_line(source: Path, target: Path, draw: random.Random) -> None:
    lines = source.read_text().splitlines()
    at = draw.randrange(len(lines))
    nested = draw.random() < 0.1
    lines[at] = "[" * 100_000 if nested else json.dumps(_altered(json.loads(lines[at]), draw))
    target.write_text("".join(f"{line}\n" for line in lines))


def _recording(home: Path, draw: random.Random) -> Made:
    _with_altered_line(home / "run.jsonl", home / "altered.jsonl", draw)
    page = home / "page.html"
    page.unlink(missing_ok=True)
    return "recording", [("share", CHANNEL, "--from", str(home / "altered.jsonl"), "-o", str(page))]


def _capture(home: Path, draw: random.Random) -> Made:
    folder = _empty(home / "captures")
    _with_altered_line(home / "tap.jsonl", folder / "tap.jsonl", draw)
    lake = ("pipeline", "ingest", str(folder), "--lake", str(_empty(home / "lake")))
    return "capture", [("decode", str(folder)), ("decode", "--lint", str(folder)), lake]


def _database(home: Path, draw: random.Random) -> Made:
    target = home / "altered.db"
    shutil.copy(home / "ann.db", target)
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        connection.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON")
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        table = draw.choice([name for name in tables if name != "search" and not name.startswith("sqlite_")])
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        with suppress(sqlite3.Error):
            if draw.random() < 0.25:
                connection.executescript(draw.choice(_SCHEMAS).format(table))
            else:
                connection.execute(f"UPDATE OR IGNORE {table} SET {draw.choice(columns)} = ?", (draw.choice(_CELLS),))
    both = (str(target), str(home / "bob.db"))
    lake = ("pipeline", "ingest", *both, "--lake", str(_empty(home / "lake")))
    return f"database ({table})", [("audit", *both), ("audit", "--json", "--figures", *both), lake]


def _identity(home: Path, draw: random.Random) -> Made:
    names = draw.choice([(), ("\x1b[2J", "\u202e"), ("x" * 100_000,), ("../../x", "a\nb")])
    whole = bytearray(seal_identity(new_key(), _PASSPHRASE, "ann", names).encode())
    if draw.random() < 0.5:
        whole[draw.randrange(len(whole))] = draw.randrange(256)
    (home / "ann.key").write_bytes(whole)
    (home / "passphrase").write_text(f"{_PASSPHRASE}\n")
    options = ("--name", "eve", "--passphrase-file", str(home / "passphrase"), "--data-dir", str(_empty(home / "new")))
    return "identity", [("import-identity", str(home / "ann.key"), *options)]


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _why_wrong(home: Path, arguments: tuple[str, ...]) -> str:
    """Return what is wrong with the end of a command, or nothing."""
    try:
        done = run(home, *arguments)
    except subprocess.TimeoutExpired:
        return f"`{arguments[0]}` does not end"
    told = done.stdout + done.stderr
    if "unexpected failure" in told or "Traceback" in told or done.returncode < 0:
        return f"`{arguments[0]}` ended with {done.returncode}: {done.stderr.strip()[-200:]!r}"
    found = [bad for line in told.split("\n") for bad in harmful(line.replace("\t", " "))]
    return f"`{arguments[0]}` printed {found[0]}" if found else ""


if __name__ == "__main__":
    main(hostile_files, 60, "files")
