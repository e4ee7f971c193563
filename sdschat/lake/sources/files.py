"""The rows of exported journals and recorded packets. A bad line or row is a row of the quarantine."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from sdschat.audit.schemas import Ids, Journal, Packet, columns
from sdschat.audit.sources.databases import Reading, Row, are_ids, encodable, refused
from sdschat.audit.sources.packets import LARGEST, Opened, opened
from sdschat.catchup.values import RefusedFrame
from sdschat.sds.limits import clock_refusal
from sdschat.sds.values import Message, MessageKind, Refusal
from sdschat.wire.catchup_codec import PAGES, Records, SyncCodec

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
    import pyarrow
    import pyarrow.parquet

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
    return packet_row(head, raw, reading.open)


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


def packet_row(head: Head, raw: bytes, open_packet: Callable[[bytes], Opened] = opened) -> Packet:
    """Return the row of a packet. Only the topic of messages carries SDS; other packets have only kind and bytes."""
    if not head[4].endswith("/msg"):
        return Packet(*head, other_kind(head[4], raw), None, None, None, None, (), (), len(raw), 0, 0, 0, 0, raw)
    known = open_packet(raw)
    message = known.message
    if isinstance(message, Message):
        message = clock_refusal(message) or message
    if isinstance(message, Refusal):
        named = (message.message_id or None, message.sender_id or None, None)
        return Packet(*head, "refused", str(message.reason), *named, (), (), len(raw), *known.parts, raw)
    kind = "message" if message.kind is MessageKind.CONTENT else str(message.kind)
    deps = tuple(entry.message_id for entry in message.causal_history)
    requests = tuple(entry.message_id for entry in message.repair_request)
    ids = (message.message_id, message.sender_id, message.lamport_timestamp)
    return Packet(*head, kind, None, *ids, deps, requests, len(raw), *known.parts, raw)
