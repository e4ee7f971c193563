"""Exported journals, and logs of a database with their state, as columns: the same rows as `files` and `databases`
read.

A block of a journal that holds only sound events is read as columns; any other block is read line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from io import BytesIO
from itertools import islice
from operator import xor
from typing import Any, BinaryIO, Final

import pyarrow
import pyarrow.compute
import pyarrow.json

from sdschat.audit.schemas import Journal, Message, Node, columns
from sdschat.audit.sources.columnar import Columnar, Logged, Packets, last_nick, mark_of
from sdschat.audit.sources.databases import REMEMBERED, UNREADABLE, Reading, declared_rows, message_row
from sdschat.lake.sources.batch import ARROW, Batch, batch_of, in_batches
from sdschat.lake.sources.files import line_rows
from sdschat.store.audit_reader import LogRowFound
from sdschat.store.journal import fingerprint_text
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
        log = _Channel(reading, evidence, node, channel, number, as_of)
        yield from log.messages(packets)
        yield log.standing()


def declared_batches(reading: Reading, evidence: Columnar, node: str) -> Iterator[Batch]:
    for number, channel in evidence.channels().items():
        yield from in_batches(declared_rows(reading, evidence, node, channel, number))


class _Channel:
    """One log, with the counts made while it was read."""

    def __init__(self, reading: Reading, evidence: Columnar, node: str, channel: str, number: int, as_of: int) -> None:
        self._reading = reading
        self._evidence = evidence
        self._number = number
        self._common: dict[str, Any] = {
            "run_id": reading.run_id,
            "node": node,
            "channel": channel,
            "as_of": as_of,
            "read_ms": reading.read_ms,
        }
        self._nick: str | None = None
        self._count = self._mark = 0
        self._fingerprint = 0
        self._odd = False

    def messages(self, packets: Packets) -> Iterator[Batch]:
        for found in self._evidence.log_columns(self._number):
            batch = None if found is None else self._batch(found, packets)
            if batch is None:
                self._odd = True
                yield from in_batches(map(self._row, islice(self._evidence.messages(self._number), self._count, None)))
                return
            yield batch

    def _batch(self, log: Logged, packets: Packets) -> Batch | None:
        with suppress(*UNREADABLE):
            return self._columns(log, packets)
        return None

    def _columns(self, log: Logged, packets: Packets) -> Batch | None:
        known = packets.known(log)
        if known is None:
            return None
        _, _, deps, digests = zip(*[each.version for each in known], strict=True)
        sizes = zip(*[each.sizes for each in known], strict=True)
        batch = batch_of(
            Message,
            len(log.ids),
            **self._common,
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
        self._count += len(log.ids)
        self._mark += mark_of(log)
        self._fingerprint = reduce(xor, [each.fingerprint for each in known], self._fingerprint)
        self._nick = last_nick(log) or self._nick
        return batch

    def _row(self, found: LogRowFound) -> Message:
        if found.own and found.nick:
            self._nick = found.nick
        common = self._common
        return message_row(self._reading, common["node"], common["channel"], found, common["as_of"])

    def standing(self) -> Batch:
        horizon, claimed, fingerprint = self._evidence.claims(self._number)
        counted = (self._count, fingerprint_text(self._fingerprint))
        if self._odd or self._evidence.counted(self._number) != self._mark:
            there = next(each for each in self._evidence.standings() if each.number == self._number)
            counted = (there.counted, there.counted_fingerprint)
        return batch_of(
            Node,
            1,
            **self._common,
            nick=[self._nick],
            horizon=horizon,
            claimed=claimed,
            claimed_fingerprint=fingerprint_text(fingerprint),
            counted=counted[0],
            counted_fingerprint=counted[1],
            source=str(self._reading.path),
        )
