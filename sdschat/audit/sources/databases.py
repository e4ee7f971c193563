"""The rows of a profile's database. It is only read, and its node may be writing to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.schemas import FIELD, Declared, Journal, Message, Node, Quarantine
from sdschat.audit.sources.packets import NO_SIZES, Memory, are_ids
from sdschat.store.audit_reader import AlteredRow, AuditReader, ChannelCounts, LogRowFound
from sdschat.store.errors import UNREADABLE, SchemaOlder, StoreDamaged, StoreError
from sdschat.store.journal import JournalRow
from sdschat.store.schema import PLACE_BITS

SEQ_MASK: Final = (1 << PLACE_BITS) - 1
Row = Journal | Message | Node | Declared | Quarantine

_told: Final = attrgetter(*(name for name in Journal._fields[3:] if name in JournalRow._fields))
_key_of: Final = attrgetter("message_id", "lamport", "sender_id")
_text_of: Final = attrgetter("own", "via", "received_at", "nick", "text", "sent_at")
_WRONG_USE: Final = 2
MAGIC: Final = b"SQLite format 3\0"
NOBODYS: Final = "nothing in it says whose it is: it never connected"
EMPTY: Final = "it is empty, and no database of sdschat"
NO_DATABASE: Final = "it is no database, or its beginning is damaged"


class Reading(NamedTuple):
    """One reading of one file."""

    run_id: str
    path: Path
    read_ms: int
    memory: Memory


def readings_of(paths: Iterable[Path], read_ms: int, *, sized: bool) -> list[Reading]:
    memory = Memory(sized=sized)
    return [Reading(FIELD, path, read_ms, memory) for path in paths]


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Raise StoreDamaged for an unreadable value, so that one altered database does not stop the reading of others."""
    try:
        yield
    except UNREADABLE as error:
        raise StoreDamaged(path, f"there is a value in it that no row can have: {error}") from error


def read_database(reading: Reading) -> Iterator[Row]:
    """Yield all rows of a database. An unreadable part is a row of the quarantine, never an error."""
    try:
        with damage_told(reading.path), AuditReader(reading.path) as evidence:
            node = evidence.node()
            if not node:
                yield refused(reading, "", NOBODYS)
                return
            as_of = evidence.as_of()
            for standing in evidence.standings():
                yield from _channel(reading, evidence, standing, node, as_of)
            yield from journal_rows(reading, evidence, node)
    except StoreError as error:
        yield refused(reading, "", why_unread(reading.path, error))


def why_unread(path: Path, error: StoreError) -> str:
    """Return the reason in words. An empty file, which a writer takes for the oldest schema, has its own text, and so
    has a file of something else."""
    if isinstance(error, StoreDamaged) and not is_database(path):
        return NO_DATABASE
    return EMPTY if isinstance(error, SchemaOlder) and not error.found else str(error)


def journal_rows(reading: Reading, evidence: AuditReader, node: str) -> Iterator[Journal | Quarantine]:
    for row in evidence.journal():
        if isinstance(row, AlteredRow):
            yield refused(reading, f"journal {row.boot} {row.seq}", row.detail)
        elif row.deps is not None and not are_ids(row.deps):
            yield refused(reading, f"journal {row.boot} {row.seq}", "its dependencies are no list of ids")
        else:
            yield Journal(reading.run_id, row.v, row.node or node, *_told(row))


def _channel(reading: Reading, evidence: AuditReader, standing: ChannelCounts, node: str, as_of: int) -> Iterator[Row]:
    nick = None
    for found in evidence.messages(standing.number):
        if found.own and found.nick:
            nick = found.nick
        yield message_row(reading, node, standing.channel, found, as_of)
    yield node_row(reading, node, standing, nick, as_of)
    yield from declared_rows(reading, evidence, node, standing.channel, standing.number)


def node_row(reading: Reading, node: str, standing: ChannelCounts, nick: str | None, as_of: int) -> Node:
    counts = (standing.claimed, standing.claimed_fingerprint, standing.counted, standing.counted_fingerprint)
    place = (reading.run_id, node, standing.channel, as_of, reading.read_ms)
    return Node(*place, nick, standing.horizon, *counts, str(reading.path))


def declared_rows(reading: Reading, evidence: AuditReader, node: str, channel: str, number: int) -> Iterator[Declared]:
    at = (evidence.as_of(), reading.read_ms)
    for told in evidence.declared(number):
        yield Declared(reading.run_id, node, channel, told.message_id, told.kind, told.at, *at)


def message_row(reading: Reading, node: str, channel: str, found: LogRowFound, as_of: int) -> Message:
    damage = found.damage
    known = None if found.raw is None else reading.memory.packet(found.raw)
    if known is not None and not damage:
        damage = known.contradicts(found.message_id, found.lamport, found.sender_id, found.dependencies)
        if not damage and known.text is not None and found.text is not None and known.text != found.text:
            damage = "its text is not that of its packet"
    deps = found.dependencies if are_ids(found.dependencies) else ()  # if they are not ids, there is damage too
    state = None if found.state is None else found.state.name.lower()
    row: list[Any] = [reading.run_id, node, channel, *_key_of(found), deps, *_text_of(found), state]
    row += [
        "" if known is None else known.version.digest,
        *(NO_SIZES if known is None else known.sizes),
        found.raw,
        damage or None,
        False,
        as_of,
        reading.read_ms,
    ]
    return Message(*row)


def refused(reading: Reading, place: str, reason: str, sample: str = "") -> Quarantine:
    return Quarantine(reading.run_id, str(reading.path), place, reason, sample, reading.read_ms)


def databases(sources: Iterable[Path]) -> list[Path]:
    """Return the databases: files as they are given, and from a folder all that are named like one. A folder in it that
    cannot be read counts as one, so that the audit tells that it was not read."""
    found: list[Path] = []
    for source in sources:
        if source.is_dir():
            inside = sorted(_named_like_one(source))
            if not inside:
                raise PipelineProblem(
                    f"There is no database of a profile in {source}. Name another folder.", _WRONG_USE
                )
            found += inside
        elif not source.exists():
            raise PipelineProblem(f"There is no {source}. Name databases of profiles, or folders.", _WRONG_USE)
        else:
            found.append(source)
    return found


def _named_like_one(folder: Path) -> Iterator[Path]:
    """Yield the databases in a folder: also in a profile's folder that is a link, and every folder that is closed."""
    closed: list[OSError] = []
    for at, folders, files in os.walk(folder, onerror=closed.append):
        yield from (Path(at, name) for name in files if name.endswith(".db"))
        for link in filter(Path.is_symlink, (Path(at, name) for name in folders)):
            yield from link.glob("*.db")
    yield from (Path(error.filename) for error in closed)


def is_database(path: Path) -> bool:
    if not path.is_file():  # a pipe would be waited for without end
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
