"""Any file as batches of columns: the same rows as `files.read_file`, of the wanted tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar, Final

from sdschat.audit.collector import no_collection
from sdschat.audit.schemas import Declared, Journal, Message, Node, Quarantine
from sdschat.audit.sources.columnar import Columnar
from sdschat.audit.sources.databases import NOBODYS, PacketMemory, Reading, damage_told, refused, why_unread
from sdschat.audit.sources.taken_apart import IdLists
from sdschat.pipeline.sources.batch import Batch, in_batches
from sdschat.pipeline.sources.files import FileKind, kind_of, read_file, unreadable
from sdschat.pipeline.sources.journal_columns import journal_batches
from sdschat.pipeline.sources.line_columns import line_batches
from sdschat.pipeline.sources.log_columns import declared_batches, log_batches, measured_packets
from sdschat.store.errors import StoreError

_LOG: Final[frozenset[type]] = frozenset({Message, Node})


class ParsedInput:
    """Caches of decoded packets and lists, for reading by row and by column."""

    _here: ClassVar[ParsedInput | None] = None

    def __init__(self) -> None:
        self.open = PacketMemory()
        self.packets = measured_packets()
        self.lists = IdLists()

    @classmethod
    def of_process(cls) -> ParsedInput:
        """Return the cache of this process. Spark runs many tasks in it, and their files hold the same packets."""
        if cls._here is None or cls._here.packets.full:
            cls._here = cls()
        return cls._here


def file_batches(reading: Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    with no_collection():
        for batch in _batches(reading, tables, memory):
            if batch.table in tables:
                yield batch


def _batches(reading: Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    try:
        kind = kind_of(reading.path)
        if kind is FileKind.DATABASE:
            yield from _database(reading, tables, memory)
        elif kind is FileKind.LINES:
            yield from line_batches(reading)
        else:
            yield from in_batches(read_file(reading))
    except OSError as error:
        yield from in_batches([unreadable(reading, error)])


def _database(reading: Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    try:
        with damage_told(reading.path), Columnar(reading.path) as evidence:
            node = evidence.node()
            if not node:
                yield from in_batches([refused(reading, "", NOBODYS)])
                return
            # Unreadable data may be anywhere.
            everything = set(tables) == {Quarantine}
            if everything or not _LOG.isdisjoint(tables):
                yield from log_batches(reading, evidence, node, memory.packets)
            if everything or Declared in tables:
                yield from declared_batches(reading, evidence, node)
            if everything or Journal in tables:
                yield from journal_batches(reading, evidence, node, memory.lists)
    except StoreError as error:
        yield from in_batches([refused(reading, "", why_unread(error))])
