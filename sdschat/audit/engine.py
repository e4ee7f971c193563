"""The audit on SQLite: the evidence goes into tables in memory, and the views of `views.sql` give the verdict."""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from itertools import chain, count, groupby, islice, repeat
from operator import itemgetter
from typing import Any, Final

from sdschat.audit.node_evidence import AuditEvidence, Held, Member, member_of
from sdschat.audit.schemas import AuditChannel, AuditFinding, AuditMissing, AuditNode, Presence
from sdschat.audit.sources.packets import Version
from sdschat.audit.statements import statements
from sdschat.audit.verdict import LARGEST_LAMPORT, Audit, Rules

SEPARATOR: Final = "\x1f"  # between the ids in the text of `deps`; no id has it
_PLACE: Final = struct.Struct(">qq")  # the hash of a place in a log, or of all of them, as two numbers
_TABLES: Final = """
CREATE TABLE rule (settle, max_skew, max_lamport);
CREATE TABLE presence (member INTEGER PRIMARY KEY, chan INTEGER, run_id, channel, node, nick, origin, horizon,
  retained_from, first_ms, last_ms);
CREATE TABLE version (version INTEGER PRIMARY KEY, message INTEGER, chan INTEGER, message_id, lamport, sender, deps,
  digest, x1, x2);
CREATE TABLE need (version INTEGER, dependency INTEGER);
CREATE TABLE copy (member INTEGER, message INTEGER, version INTEGER, lamport INTEGER, received_ms INTEGER, own INTEGER,
  damage TEXT, PRIMARY KEY (member, message)) WITHOUT ROWID;
CREATE TABLE shown (member INTEGER, message INTEGER, moment INTEGER, PRIMARY KEY (member, message)) WITHOUT ROWID;
CREATE TABLE excused (member INTEGER, message INTEGER, moment INTEGER, PRIMARY KEY (member, message)) WITHOUT ROWID;
CREATE TABLE declared (member INTEGER, message INTEGER, message_id TEXT, kind TEXT);
CREATE TABLE claim (member INTEGER, claimed, claimed_fingerprint, counted, counted_fingerprint);
CREATE TABLE apart (member INTEGER, detail TEXT);
"""
_COPY: Final = "(?, ?, ?, ?, ?, ?, NULLIF(?, ''))"  # binding None takes much longer
_AT_ONCE: Final = 250  # rows of a statement
_LOADED: Final = "CREATE INDEX copy_by ON copy (message, member, version, received_ms)"  # all that `tally` reads
_INDEXES: Final[Mapping[str, str]] = {
    "log": "message",
    "holding": "member",
    "outside": "message",
    "spared": "message",
    "short": "message",
    "allowed": "member, position",
    "needs": "dependency",
}
_IN_LOG_ORDER: Final = (
    "ORDER BY run_id, channel, COALESCE(position, 0), node, kind, COALESCE(message_id, ''), COALESCE(other, '')"
)


def judge(said: AuditEvidence, rules: Rules) -> Audit:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.execute("PRAGMA temp_store = MEMORY")
        database.create_aggregate("BITWISE_XOR_AGG", 1, _Xor)
        database.executescript(_TABLES)
        database.execute("INSERT INTO rule VALUES (?, ?, ?)", (rules.settle, rules.max_skew, LARGEST_LAMPORT))
        _Loader(database).load(said)
        database.execute(_LOADED)
        for file in ("holding", "views"):
            answer(database, file, _INDEXES)
        return _audit(database, said)


class _Xor:
    """The exclusive or of a group; SQLite has none."""

    def __init__(self) -> None:
        self._value = 0

    def step(self, value: int) -> None:
        self._value ^= value

    def finalize(self) -> int:
        return self._value


class _Loader:
    """Puts evidence into the tables. Keys are numbers in the order in which things are met."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database, self._insert = database, partial(insert, database)
        self._chans: dict[tuple[str, str], int] = {}
        self._members: dict[Member, int] = {}
        self._next_message = count(1).__next__
        self._messages: list[defaultdict[str, int]] = []  # for each channel: id -> key of the message
        self._versions: dict[tuple[str, Version], int] = {}  # of one channel: id and version -> key of the version
        self._made: list[tuple[Any, ...]] = []  # versions to insert
        self._needs: list[tuple[int, int]] = []

    def load(self, said: AuditEvidence) -> None:
        self._database.execute("BEGIN")
        for channel, witnesses in groupby(said.presences, key=lambda row: member_of(row)[:2]):
            chan = self._chans[channel] = len(self._chans)
            self._messages.append(defaultdict(self._next_message))
            self._versions.clear()
            for at in witnesses:
                self._witness(chan, at, said)
        self._insert("version", self._made)
        self._insert("need", self._needs)
        self._insert("claim", [(self._members[member_of(row)], *row[7:11]) for row in said.nodes])
        self._insert("apart", [(self._members[member], detail) for member, detail in said.apart])
        rows = []
        for row in said.declared:
            member = self._members.get(member_of(row))
            if member is not None:
                message = self._messages[self._chans[row.run_id, row.channel]][row.message_id]
                rows.append((member, message, row.message_id, row.kind))
        self._insert("declared", rows)
        self._database.execute("COMMIT")

    def _witness(self, chan: int, at: Presence, said: AuditEvidence) -> None:
        member = self._members[member_of(at)] = len(self._members)
        place = (at.origin, at.horizon, at.retained_from, at.first_ms, at.last_ms)
        self._insert("presence", [(member, chan, at.run_id, at.channel, at.node, at.nick, *place)])
        self._insert("copy", self._copies(chan, member, said.held_by(at)), _COPY)
        key_of, told = self._messages[chan].__getitem__, said.told.get(member_of(at))
        for table, moments in (("shown", told.shown), ("excused", told.excused)) if told else ():
            self._insert(table, zip(repeat(member), map(key_of, moments), moments.values()))

    def _copies(self, chan: int, member: int, held: Held) -> Iterable[tuple[Any, ...]]:
        """Return the rows of a log, put together by column: there are many."""
        names, known = held.versions.keys(), self._versions
        versions = [known.get(each) or self._version(chan, *each) for each in held.versions.items()]
        return zip(
            repeat(member),
            map(self._messages[chan].__getitem__, names),
            versions,
            map(itemgetter(0), held.versions.values()),
            map(held.received.__getitem__, names),
            map(int, map(held.own.__contains__, names)),
            map(held.damage.get, names, repeat("")),
        )

    def _version(self, chan: int, name: str, version: Version) -> int:
        """Return the key of a version that is met for the first time."""
        key = self._versions[name, version] = len(self._made) + 1
        messages, deps = self._messages[chan], SEPARATOR.join(version.deps)
        place = _PLACE.unpack_from(hashlib.sha256(f"{version.lamport}:{name}".encode()).digest())
        row = (key, messages[name], chan, name, version.lamport, version.sender, deps, version.digest, *place)
        self._made.append(row)
        self._needs += [(key, messages[each]) for each in version.deps]
        return key


def insert(database: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]], values: str = "") -> None:
    """Insert many rows by each statement: half the time of one by one."""
    left = iter(rows)
    while some := list(islice(left, _AT_ONCE)):
        values = values or f"({', '.join('?' * len(some[0]))})"
        every = ", ".join([values] * len(some))
        database.execute(f"INSERT INTO {table} VALUES {every}", list(chain.from_iterable(some)))


def answer(database: sqlite3.Connection, file: str, indexes: Mapping[str, str]) -> None:
    """Make all tables and views of a file. Each table is indexed before the next one is made from it.

    SQLite is told which tables are empty: it takes a table of which it knows nothing for a large one.
    """
    database.execute("ANALYZE sqlite_schema")  # makes its table of statistics
    for name, query, is_table in statements("sdschat.audit", f"{file}_sqlite"):
        database.execute(f"CREATE {'TABLE' if is_table else 'VIEW'} {name} AS {query}")
        if is_table and name in indexes:
            database.execute(f"CREATE INDEX {name}_by ON {name} ({indexes[name]})")
        if is_table and not database.execute(f"SELECT EXISTS (SELECT 1 FROM {name})").fetchone()[0]:
            database.execute("INSERT INTO sqlite_stat1 VALUES (?, NULL, 0)", (name,))
            database.execute("ANALYZE sqlite_schema")


def _audit(database: sqlite3.Connection, said: AuditEvidence) -> Audit:
    def rows(table: str, order: str) -> list[tuple[Any, ...]]:
        return database.execute(f"SELECT * FROM {table} {order}").fetchall()

    return Audit(
        [
            AuditChannel._make([*row[:4], bool(row[4]), *row[5:9], _PLACE.pack(*row[9:]).hex()])
            for row in rows("audit_channel", "ORDER BY run_id, channel")
        ],
        [
            AuditNode(*row)._replace(agrees=bool(row[-1]))
            for row in rows("audit_node", "ORDER BY run_id, channel, node")
        ],
        [AuditMissing(*row) for row in rows("audit_missing", "ORDER BY run_id, channel, position, node")],
        [AuditFinding(*row) for row in rows("audit_finding", _IN_LOG_ORDER)],
        said.journals,
    )
