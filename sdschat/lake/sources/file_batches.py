"""Any file as batches of columns: of the wanted tables. A bad file, or a part of it, is a row of the quarantine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, ClassVar, Final

import pyarrow
import pyarrow.compute

from sdschat.audit.processes import no_collection
from sdschat.audit.schemas import Declared, Journal, Message, Node, Quarantine
from sdschat.audit.sources.columnar import Columnar, Columns, IdLists
from sdschat.audit.sources.databases import (
    MAGIC,
    NOBODYS,
    SEQ_MASK,
    UNREADABLE,
    PacketMemory,
    Reading,
    damage_told,
    journal_rows,
    refused,
    why_unread,
)
from sdschat.lake.sources.batch import Batch, batch_of, in_batches
from sdschat.lake.sources.files import LINES, parquet_rows
from sdschat.lake.sources.line_columns import declared_batches, line_batches, log_batches, measured_packets
from sdschat.store.errors import StoreError
from sdschat.store.journal import VERSION
from sdschat.store.schema import PLACE_BITS

_PARQUET: Final = b"PAR1"
_LOG: Final[frozenset[type]] = frozenset({Message, Node})
_OTHERWISE: Final = ("place", "channel", "deps", "sum")  # columns of a database that are others here


class ParsedInput:
    """Caches of decoded packets and lists, for reading by row and by column."""

    _here: ClassVar[ParsedInput | None] = None

    def __init__(self) -> None:
        self.open = PacketMemory()
        self.packets = measured_packets()
        self.lists = IdLists()

    @classmethod
    def of_process(cls) -> ParsedInput:
        """Return the cache of this process, which reads several files with the same packets."""
        if cls._here is None or cls._here.packets.full:
            cls._here = cls()
        return cls._here


def file_batches(reading: Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    with no_collection():
        for batch in _batches(reading, tables, memory):
            if batch.table in tables:
                yield batch


def _batches(reading: Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    """Yield the batches of a file by its first bytes, or by its name if these are not enough."""
    try:
        with open(reading.path, "rb") as file:
            start = file.read(len(MAGIC))
        if start == MAGIC:
            yield from _database(reading, tables, memory)
        elif start.startswith(_PARQUET):
            yield from in_batches(parquet_rows(reading))
        elif reading.path.suffix in LINES:
            yield from line_batches(reading)
        else:
            yield from in_batches([refused(reading, "", "it is no database of a profile, no journal and no capture")])
    except OSError as error:
        yield from in_batches([refused(reading, "", f"it cannot be read: {error.strerror or error}")])


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


def journal_batches(reading: Reading, evidence: Columnar, node: str, lists: IdLists) -> Iterator[Batch]:
    done = 0
    for found in evidence.journal_columns():
        batch = None
        if found is not None:
            with suppress(*UNREADABLE):
                batch = _batch(reading, evidence, node, found, lists)
        if batch is None:
            yield from in_batches(islice(journal_rows(reading, evidence, node), done, None))
            return
        done += batch.size
        yield batch


def _batch(reading: Reading, evidence: Columnar, node: str, values: Columns, lists: IdLists) -> Batch:
    places = pyarrow.array(values["place"], pyarrow.int64())
    boots, channels = evidence.boots(), evidence.channels()
    numbers = [place >> PLACE_BITS for place in values["place"]]
    whose = _each(numbers, lambda number: boots.get(number, ("", ""))[0] or node)
    boot = _each(numbers, lambda number: boots.get(number, ("", ""))[1])
    return batch_of(
        Journal,
        len(places),
        run_id=reading.run_id,
        v=VERSION,
        node=whose,
        boot=boot,
        seq=pyarrow.compute.bit_wise_and(places, SEQ_MASK),
        channel=_each(values["channel"], lambda number: channels.get(number, "")),
        deps=tuple(map(lists.__getitem__, values["deps"])),
        **{name: column for name, column in values.items() if name not in _OTHERWISE},
    )


def _each(numbers: Sequence[Any], name: Any) -> Any:
    """Return the name of each number. There are few different numbers, so each name is looked up once."""
    names = {number: name(number) for number in set(numbers)}
    return next(iter(names.values())) if len(names) == 1 else [names[number] for number in numbers]
