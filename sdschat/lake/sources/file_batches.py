"""Any file as batches of columns: of the wanted tables. A bad file, or a part of it, is a row of the quarantine.

A block of a file that holds only sound rows is read as columns; any other block is read row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, ClassVar, Final, TypeVar

import pyarrow
import pyarrow.compute
import pyarrow.json

from sdschat.audit.processes import no_collection
from sdschat.audit.schemas import Declared, Journal, Message, Node, Quarantine
from sdschat.audit.sources import databases
from sdschat.audit.sources.columnar import Columnar, Columns, IdLists, Logged, LogSums, Packets, Unsound
from sdschat.lake.sources.batch import Batch, arrow_schema, batch_of, in_batches
from sdschat.lake.sources.files import LINES, NEEDED, line_rows, parquet_rows
from sdschat.store.errors import UNREADABLE, StoreError
from sdschat.store.journal import VERSION

T = TypeVar("T")
_PARQUET: Final = b"PAR1"
_LOG: Final[frozenset[type]] = frozenset({Message, Node})
_SIZES: Final = ("bytes", "content_bytes", "filter_bytes", "history_bytes", "request_bytes")
_OTHERWISE: Final = ("place", "channel", "deps", "sum")  # columns of a database that are others here
_BLOCK: Final = 4 << 20


class ParsedInput:
    """Caches of decoded packets and lists, for reading by row and by column."""

    _here: ClassVar[ParsedInput | None] = None

    def __init__(self) -> None:
        self.open = databases.packet_memory()
        self.packets = Packets(databases.REMEMBERED, databases.sizes_of)
        self.lists = IdLists()

    @classmethod
    def of_process(cls) -> ParsedInput:
        """Return the cache of this process, which reads several files with the same packets."""
        if cls._here is None or cls._here.packets.full:
            cls._here = cls()
        return cls._here


def file_batches(reading: databases.Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    with no_collection():
        for batch in _batches(reading, tables, memory):
            if batch.table in tables:
                yield batch


def _batches(reading: databases.Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    """Yield the batches of a file by its first bytes, or by its name if these are not enough."""
    try:
        with open(reading.path, "rb") as file:
            start = file.read(len(databases.MAGIC))
        if start == databases.MAGIC:
            yield from _database(reading, tables, memory)
        elif start.startswith(_PARQUET):
            yield from in_batches(parquet_rows(reading))
        elif reading.path.suffix in LINES:
            yield from line_batches(reading)
        else:
            yield from in_batches(
                [databases.refused(reading, "", "it is no database of a profile, no journal and no capture")]
            )
    except OSError as error:
        yield from in_batches([databases.refused(reading, "", f"it cannot be read: {error.strerror or error}")])


def _database(reading: databases.Reading, tables: Collection[type], memory: ParsedInput) -> Iterator[Batch]:
    try:
        with databases.damage_told(reading.path), Columnar(reading.path) as evidence:
            node = evidence.node()
            if not node:
                yield from in_batches([databases.refused(reading, "", databases.NOBODYS)])
                return
            # Unreadable data may be anywhere.
            everything = set(tables) == {Quarantine}
            if everything or not _LOG.isdisjoint(tables):
                yield from _log_batches(reading, evidence, node, memory.packets)
            if everything or Declared in tables:
                for number, channel in evidence.channels().items():
                    yield from in_batches(databases.declared_rows(reading, evidence, node, channel, number))
            if everything or Journal in tables:
                columns = partial(_events, reading, evidence, node, memory.lists)
                rows = partial(databases.journal_rows, reading, evidence, node)
                yield from _by_column_or_row(evidence.journal_columns(), columns, rows)
    except StoreError as error:
        yield from in_batches([databases.refused(reading, "", databases.why_unread(reading.path, error))])


def _log_batches(reading: databases.Reading, evidence: Columnar, node: str, packets: Packets) -> Iterator[Batch]:
    as_of = evidence.as_of()
    for number, channel in evidence.channels().items():
        sums = LogSums()
        whole = {"run_id": reading.run_id, "node": node, "channel": channel, "as_of": as_of, "read_ms": reading.read_ms}
        columns = partial(_messages, packets=packets, sums=sums, whole=whole)
        rows = partial(_message_rows, reading, evidence, node, channel, number, sums)
        yield from _by_column_or_row(evidence.log_columns(number), columns, rows)
        # The sums lack what was read by row.
        counts = evidence.standing(number, sums) or next(each for each in evidence.standings() if each.number == number)
        yield from in_batches([databases.node_row(reading, node, counts, sums.nick, as_of)])


def _messages(log: Logged, packets: Packets, sums: LogSums, whole: Mapping[str, Any]) -> Batch:
    """Return a batch of a log, and add it to the sums; `whole` is the same in all rows."""
    known = packets.known(log)
    _, _, deps, digests = zip(*[each.version for each in known], strict=True)
    sizes = zip(*[each.sizes for each in known], strict=True)
    batch = batch_of(
        Message,
        len(log.ids),
        **whole,
        message_id=log.ids,
        lamport=log.lamports,
        sender=log.senders,
        deps=deps,
        digest=digests,
        own=pyarrow.array(log.own, pyarrow.int8()).cast(pyarrow.bool_()),
        via=log.via,
        received_ms=log.received,
        nick=log.nicks,
        text=log.texts,
        sent_ms=log.sent,
        state=log.states,
        raw=log.raw,
        gone=False,
        **dict(zip(_SIZES, sizes, strict=True)),
    )
    sums.add(log, known)
    return batch


def _message_rows(
    reading: databases.Reading, evidence: Columnar, node: str, channel: str, number: int, sums: LogSums
) -> Iterator[Message]:
    as_of = evidence.as_of()
    for row in evidence.messages(number):
        sums.nick = (row.nick if row.own else None) or sums.nick
        yield databases.message_row(reading, node, channel, row, as_of)


def _by_column_or_row(
    found: Iterable[T], columns: Callable[[T], Batch], rows: Callable[[], Iterator[databases.Row]]
) -> Iterator[Batch]:
    """Yield a batch for each of these. From the first on that is unsound, yield the rest row by row."""
    done = 0
    try:
        for batch in map(columns, found):
            done += batch.size
            yield batch
    except (Unsound, *UNREADABLE):
        yield from in_batches(islice(rows(), done, None))


def _events(reading: databases.Reading, evidence: Columnar, node: str, lists: IdLists, values: Columns) -> Batch:
    places = pyarrow.array(values["place"], pyarrow.int64())
    boots, channels = evidence.boots(), evidence.channels()
    bits = databases.SEQ_MASK.bit_length()
    numbers = [place >> bits for place in values["place"]]
    whose = _each(numbers, lambda number: boots.get(number, ("", ""))[0] or node)
    boot = _each(numbers, lambda number: boots.get(number, ("", ""))[1])
    return batch_of(
        Journal,
        len(places),
        run_id=reading.run_id,
        v=VERSION,
        node=whose,
        boot=boot,
        seq=pyarrow.compute.bit_wise_and(places, databases.SEQ_MASK),
        channel=_each(values["channel"], lambda number: channels.get(number, "")),
        deps=tuple(map(lists.__getitem__, values["deps"])),
        **{name: column for name, column in values.items() if name not in _OTHERWISE},
    )


def _each(numbers: Sequence[Any], name: Any) -> Any:
    """Return the name of each number. There are few different numbers, so each name is looked up once."""
    names = {number: name(number) for number in set(numbers)}
    return next(iter(names.values())) if len(names) == 1 else [names[number] for number in numbers]


def line_batches(reading: databases.Reading) -> Iterator[Batch]:
    number = 1
    with open(reading.path, "rb") as file:
        for block in blocks(file):
            events = sound_events(block)
            if events is None:
                yield from in_batches(line_rows(reading, BytesIO(block), number))
            else:
                yield _event_batch(reading, events)
            number += block.count(b"\n")


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield blocks of whole lines. Only the last line may lack its end."""
    begun: list[bytes] = []  # the beginning of a line, which may be longer than a block
    while chunk := file.read(_BLOCK):
        whole, end, rest = chunk.rpartition(b"\n")
        if end:
            yield b"".join((*begun, whole, end))
            begun.clear()
        begun.append(rest)
    if last := b"".join(begun):
        yield last


def sound_events(block: bytes) -> pyarrow.Table | None:
    """Return the events of a block with one event per line, else None.

    Arrow accepts objects without regard to the ends of lines, and any text, so both are checked first.
    """
    lines = block.count(b"\n")
    if not (block.startswith(b"{") and block.endswith(b"}\n") and block.count(b"}\n{") == lines - 1):
        return None
    reads = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    parses = pyarrow.json.ParseOptions(explicit_schema=arrow_schema(Journal), unexpected_field_behavior="error")
    try:
        block.decode()
        events = pyarrow.json.read_json(pyarrow.BufferReader(block), reads, parses)
    except (UnicodeDecodeError, pyarrow.ArrowException):
        return None
    if events.num_rows != lines or any(events[name].null_count for name in NEEDED):
        return None
    return None if pyarrow.compute.list_flatten(events["deps"]).null_count else events


def _event_batch(reading: databases.Reading, events: pyarrow.Table) -> Batch:
    given: dict[str, Any] = {name: events[name].combine_chunks() for name in events.column_names}
    for name, value in {"run_id": reading.run_id, "channel": "", "mono_us": 0}.items():
        given[name] = pyarrow.compute.fill_null(given[name], value)
    run = given["run_id"]
    given["run_id"] = pyarrow.compute.if_else(pyarrow.compute.equal(run, ""), reading.run_id, run)
    return Batch(Journal, events.num_rows, given)
