"""The rows of a file: databases, exported journals and recorded packets, as batches of columns of the wanted tables.

A bad file, line or row is a row of the quarantine. A block of a file that holds only sound rows is read as columns; any
other block is read row by row.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, Final, TypeVar

import pyarrow
import pyarrow.compute
import pyarrow.json
import pyarrow.parquet

from sdschat.audit.processes import no_collection
from sdschat.audit.schemas import Declared, Ids, Journal, Message, Node, Packet, Quarantine, columns
from sdschat.audit.sources import databases
from sdschat.audit.sources.columnar import Columnar, Columns, Logged, LogSums, Unsound, known_of
from sdschat.audit.sources.databases import Reading, Row, refused
from sdschat.audit.sources.packets import CODEC, LARGEST, Memory, are_ids, encodable
from sdschat.catchup.values import RefusedFrame
from sdschat.lake.sources.batch import Batch, arrow_schema, batch_of, in_batches
from sdschat.sds.limits import clock_refusal
from sdschat.sds.values import MessageKind, Refusal
from sdschat.store.errors import UNREADABLE, StoreError
from sdschat.store.journal import VERSION
from sdschat.wire.catchup_codec import PAGES, Records, SyncCodec
from sdschat.wire.packet_parts import parts

_SAMPLE: Final = 80
LINES: Final = (".jsonl", ".ndjson", ".json")
SUFFIXES: Final = (".db", *LINES, ".parquet")

_JOURNAL: Final = {name: kind for name, kind in columns(Journal).items() if name != "run_id"}
_TYPES: Final[Mapping[Any, Callable[[Any], bool]]] = {
    str: lambda value: isinstance(value, str) and encodable(value),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63,
    Ids: lambda value: isinstance(value, list | tuple) and are_ids(value),
}
NEEDED: Final = ("v", "node", "boot", "seq", "ts_ms", "event")  # exports of other programs may lack the others
_TOPICS: Final = {
    "presence": re.compile(r"/who/[^/]+$"),
    "store_query": re.compile(r"/store/query/[^/]+$"),
    "store_answer": re.compile(r"/store/answer/[^/]+$"),
}
_BETWEEN_TWO: Final = re.compile(r"/sync/[^/]+/[^/]+$")
_BETWEEN: Final = SyncCodec(LARGEST)
Head = tuple[str, str, int, int, str, str]  # run_id, tap, seq, ts_ms, topic, channel


def line_rows(reading: Reading, lines: Iterable[bytes], first: int = 1) -> Iterator[Row | Packet]:
    for number, line in enumerate(lines, first):
        if line.strip():
            yield _line(reading, number, line)


def _line(reading: Reading, number: int, line: bytes) -> Row | Packet:
    place = f"line {number}"
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        torn = "" if line.endswith(b"\n") else " and ends in the middle"
        return refused(reading, place, f"is not JSON{torn}", _sample(line))
    if not isinstance(found, dict):
        return refused(reading, place, "is no JSON object", _sample(line))
    try:
        return _packet(reading, found) if "tap" in found else journal_row(reading.run_id, found)
    except ValueError as error:
        return refused(reading, place, str(error), _sample(line))


def parquet_rows(reading: Reading) -> Iterator[Row]:
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(reading.path) as file:
            for batch in file.iter_batches():
                for found in batch.to_pylist():
                    number += 1
                    try:
                        yield journal_row(reading.run_id, found)
                    except ValueError as error:
                        yield refused(reading, f"row {number}", str(error), _sample(repr(found).encode()))
    except pyarrow.ArrowException as error:
        yield refused(reading, "", f"is no whole Parquet file: {str(error).splitlines()[0]}")


def journal_row(run_id: str, found: Mapping[str, Any]) -> Journal:
    """Return the row of an event. Raises ValueError if `found` is not an event of a journal."""
    values: dict[str, Any] = {}
    for name, kind in _JOURNAL.items():
        value = found.get(name)
        if value is None:
            if name in NEEDED:
                raise ValueError(f"has no {name}")
            value = {"channel": "", "mono_us": 0}.get(name)
        elif not _TYPES[kind](value):
            raise ValueError(f"{name} is {str(value)[:_SAMPLE]!r}")
        values[name] = tuple(value) if isinstance(value, list) else value
    more = {name: value for name, value in found.items() if name not in _JOURNAL and name != "run_id"}
    if more:
        values["extra"] = json.dumps(more, separators=(",", ":"), sort_keys=True, default=str)
    run = found.get("run_id") or run_id
    if not _TYPES[str](run):
        raise ValueError(f"run_id is {str(run)[:_SAMPLE]!r}")
    return Journal(run, **values)


def _packet(reading: Reading, found: Mapping[str, Any]) -> Packet:
    """Return the row of a line in a segment written by `sdschat tap`."""
    for name, kind in (("tap", str), ("seq", int), ("ts_ms", int), ("topic", str), ("channel", str), ("raw", str)):
        if not _TYPES[kind](found.get(name)):
            raise ValueError(f"{name} is {str(found.get(name))[:_SAMPLE]!r}" if name in found else f"has no {name}")
    raw = base64.b64decode(found["raw"], validate=True)
    head = (reading.run_id, found["tap"], found["seq"], found["ts_ms"], found["topic"], found["channel"])
    return packet_row(head, raw)


def _sample(line: bytes) -> str:
    return line[:_SAMPLE].decode("utf-8", "replace").strip()


def other_kind(topic: str, raw: bytes) -> str:
    """Return the kind of a packet outside the topic of messages, by the end of its topic: a prefix has any length."""
    for kind, end in _TOPICS.items():
        if end.search(topic):
            return kind
    if not _BETWEEN_TWO.search(topic):
        return "other"
    found = _BETWEEN.decode(raw)
    if isinstance(found, RefusedFrame):
        return "other"
    return "comparison" if not isinstance(found, Records) else "page" if found.lane == PAGES else "direct"


def packet_row(head: Head, raw: bytes) -> Packet:
    """Return the row of a packet. Only the topic of messages carries SDS; other packets have only kind and bytes."""
    if not head[4].endswith("/msg"):
        return Packet(*head, other_kind(head[4], raw), None, None, None, None, (), (), len(raw), 0, 0, 0, 0, raw)
    message, sizes = CODEC.decode(raw), (len(raw), *parts(raw))
    if not isinstance(message, Refusal):
        message = clock_refusal(message) or message
    if isinstance(message, Refusal):
        named = (message.message_id or None, message.sender_id or None, None)
        return Packet(*head, "refused", str(message.reason), *named, (), (), *sizes, raw)
    kind = "message" if message.kind is MessageKind.CONTENT else str(message.kind)
    deps = tuple(entry.message_id for entry in message.causal_history)
    requests = tuple(entry.message_id for entry in message.repair_request)
    ids = (message.message_id, message.sender_id, message.lamport_timestamp)
    return Packet(*head, kind, None, *ids, deps, requests, *sizes, raw)


T = TypeVar("T")
_PARQUET: Final = b"PAR1"
_LOG: Final[frozenset[type]] = frozenset({Message, Node})
_SIZES: Final = ("bytes", "content_bytes", "filter_bytes", "history_bytes", "request_bytes")
_BLOCK: Final = 4 << 20


def file_batches(reading: databases.Reading, tables: Collection[type]) -> Iterator[Batch]:
    with no_collection():
        for batch in _batches(reading, tables):
            if batch.table in tables:
                yield batch


def _batches(reading: databases.Reading, tables: Collection[type]) -> Iterator[Batch]:
    """Yield the batches of a file by its first bytes, or by its name if these are not enough."""
    try:
        with open(reading.path, "rb") as file:
            start = file.read(len(databases.MAGIC))
        if start == databases.MAGIC:
            yield from _database(reading, tables)
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


def _database(reading: databases.Reading, tables: Collection[type]) -> Iterator[Batch]:
    try:
        with databases.damage_told(reading.path), Columnar(reading.path) as evidence:
            node = evidence.node()
            if not node:
                yield from in_batches([databases.refused(reading, "", databases.NOBODYS)])
                return
            # Unreadable data may be anywhere.
            everything = set(tables) == {Quarantine}
            if everything or not _LOG.isdisjoint(tables):
                yield from _log_batches(reading, evidence, node)
            if everything or Declared in tables:
                for number, channel in evidence.channels().items():
                    yield from in_batches(databases.declared_rows(reading, evidence, node, channel, number))
            if everything or Journal in tables:
                columns = partial(_events, reading, evidence, node)
                rows = partial(databases.journal_rows, reading, evidence, node)
                yield from _by_column_or_row(evidence.journal_columns(), columns, rows)
    except StoreError as error:
        yield from in_batches([databases.refused(reading, "", databases.why_unread(reading.path, error))])


def _log_batches(reading: databases.Reading, evidence: Columnar, node: str) -> Iterator[Batch]:
    as_of = evidence.as_of()
    for number, channel in evidence.channels().items():
        sums = LogSums()
        whole = {"run_id": reading.run_id, "node": node, "channel": channel, "as_of": as_of, "read_ms": reading.read_ms}
        columns = partial(_messages, memory=reading.memory, sums=sums, whole=whole)
        rows = partial(_message_rows, reading, evidence, node, channel, number, sums)
        yield from _by_column_or_row(evidence.log_columns(number), columns, rows)
        # The sums lack what was read by row.
        counts = evidence.standing(number, sums) or next(each for each in evidence.standings() if each.number == number)
        yield from in_batches([databases.node_row(reading, node, counts, sums.nick, as_of)])


def _messages(log: Logged, memory: Memory, sums: LogSums, whole: dict[str, Any]) -> Batch:
    """Return a batch of a log, and add it to the sums; `whole` is the same in all rows."""
    known = known_of(log, memory)
    _, _, deps, digests = zip(*[each.version for each in known], strict=True)
    sizes = zip(_SIZES, zip(*[each.sizes for each in known], strict=True), strict=True)
    own = pyarrow.array(log.own, pyarrow.int8()).cast(pyarrow.bool_())
    told = {"deps": deps, "digest": digests, "own": own, "gone": False}
    batch = batch_of(Message, len(deps), log._asdict() | whole | told | dict(sizes))
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
            done += batch.rows.num_rows
            yield batch
    except (Unsound, *UNREADABLE):
        yield from in_batches(islice(rows(), done, None))


def _events(reading: databases.Reading, evidence: Columnar, node: str, values: Columns) -> Batch:
    places = pyarrow.array(values["place"], pyarrow.int64())
    boots, channels = evidence.boots(), evidence.channels()
    bits = databases.SEQ_MASK.bit_length()
    numbers = [place >> bits for place in values["place"]]
    whose = _each(numbers, lambda number: boots.get(number, ("", ""))[0] or node)
    boot = _each(numbers, lambda number: boots.get(number, ("", ""))[1])
    told = {
        "run_id": reading.run_id,
        "v": VERSION,
        "node": whose,
        "boot": boot,
        "seq": pyarrow.compute.bit_wise_and(places, databases.SEQ_MASK),
        "channel": _each(values["channel"], lambda number: channels.get(number, "")),
        "deps": tuple(map(reading.memory.lists.__getitem__, values["deps"])),
    }
    return batch_of(Journal, len(places), values | told)


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
    return batch_of(Journal, events.num_rows, given)
