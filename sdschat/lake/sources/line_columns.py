"""Exported journals, and logs of a database with their state, as columns: the same rows as `files` and `databases`
read.

A block of a journal that holds only sound events is read as columns; any other block is read line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, Final

import pyarrow
import pyarrow.compute
import pyarrow.json

from sdschat.audit.schemas import Journal, Message, columns
from sdschat.audit.sources.columnar import Columnar, Logged, LogSums, Packets
from sdschat.audit.sources.databases import REMEMBERED, UNREADABLE, Reading, declared_rows, message_row, node_row
from sdschat.lake.sources.batch import ARROW, Batch, batch_of, in_batches
from sdschat.lake.sources.files import line_rows
from sdschat.store.audit_reader import LogRowFound
from sdschat.wire.packet_parts import parts

_BLOCK: Final = 4 << 20
_SCHEMA: Final = pyarrow.schema([(name, ARROW[kind]) for name, (kind, _) in columns(Journal).items()])
_NEEDED: Final = ("v", "node", "boot", "seq", "ts_ms", "event")


def line_batches(reading: Reading) -> Iterator[Batch]:
    number = 1
    with open(reading.path, "rb") as file:
        for block in blocks(file):
            events = sound_events(block)
            if events is None:
                yield from in_batches(line_rows(reading, BytesIO(block), number))
            else:
                yield _batch(reading, events)
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
    parses = pyarrow.json.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="error")
    try:
        block.decode()
        events = pyarrow.json.read_json(pyarrow.BufferReader(block), reads, parses)
    except (UnicodeDecodeError, pyarrow.ArrowException):
        return None
    if events.num_rows != lines or any(events[name].null_count for name in _NEEDED):
        return None
    return None if pyarrow.compute.list_flatten(events["deps"]).null_count else events.combine_chunks()


def _batch(reading: Reading, events: pyarrow.Table) -> Batch:
    fill = {"run_id": reading.run_id, "channel": "", "mono_us": 0}
    given: dict[str, Any] = {name: _one(events[name]) for name in events.column_names}
    for name, value in fill.items():
        given[name] = pyarrow.compute.fill_null(given[name], value)
    run = given["run_id"]
    given["run_id"] = pyarrow.compute.if_else(pyarrow.compute.equal(run, ""), reading.run_id, run)
    return Batch(Journal, events.num_rows, given)


def _one(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    return column.chunk(0) if column.num_chunks == 1 else pyarrow.concat_arrays(column.chunks)


_SIZES: Final = ("bytes", "content_bytes", "filter_bytes", "history_bytes", "request_bytes")


def measured_packets() -> Packets:
    return Packets(REMEMBERED, lambda raw: (len(raw), *parts(raw)))


def log_batches(reading: Reading, evidence: Columnar, node: str, packets: Packets) -> Iterator[Batch]:
    as_of = evidence.as_of()
    for number, channel in evidence.channels().items():
        sums, standing = LogSums(), None
        whole = {"run_id": reading.run_id, "node": node, "channel": channel, "as_of": as_of, "read_ms": reading.read_ms}
        for log in evidence.log_columns(number):
            batch = None
            if log is not None:
                with suppress(*UNREADABLE):
                    batch = _messages(log, packets, sums, whole)
            if batch is None:
                left = islice(evidence.messages(number), sums.count, None)
                yield from in_batches(_rows(reading, left, node, channel, as_of, sums))
                break
            yield batch
        else:
            standing = evidence.standing(number, sums)
        counts = standing or next(each for each in evidence.standings() if each.number == number)
        yield from in_batches([node_row(reading, node, counts, sums.nick, as_of)])


def _messages(log: Logged, packets: Packets, sums: LogSums, whole: Mapping[str, Any]) -> Batch | None:
    """Return a batch of a log, and add it to the sums; `whole` is the same in all rows."""
    known = packets.known(log)
    if known is None:
        return None
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


def _rows(
    reading: Reading, found: Iterable[LogRowFound], node: str, channel: str, as_of: int, sums: LogSums
) -> Iterator[Message]:
    for row in found:
        sums.nick = (row.nick if row.own else None) or sums.nick
        yield message_row(reading, node, channel, row, as_of)


def declared_batches(reading: Reading, evidence: Columnar, node: str) -> Iterator[Batch]:
    for number, channel in evidence.channels().items():
        yield from in_batches(declared_rows(reading, evidence, node, channel, number))
