"""Packets of every known implementation of SDS, read as far as possible, to explain them.

Four dialects are distinguished by their field numbers and by the types of the fields:

- `spec`: the numbers of the specification.
- `waku-older`: `@waku/sds` before 0.0.8. The numbers of the specification, an int32 Lamport timestamp that counts from
  0, no sender_id before August 2025, and a causal history of bare ids before March 2025.
- `nim-sds`: message_id 1, lamport_timestamp 2 (seconds), causal_history 3, channel_id 4, content 5, bloom_filter 6,
  sender_id 7, repair_request 13. Since 0.4, fields without a value are left off, and a history entry without an id
  makes the reader drop the whole message.
- `logos-chat`: `ReliablePayload` of libchat. The numbers of the specification, but sender_id is 7; an int32 Lamport
  timestamp that counts from 0; the bloom filter is always empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire import nim_fields
from sdschat.wire.protobuf_scan import BYTES, VARINT, Field, Malformed, fields, read_varint
from sdschat.wire.sds_strict import MOST_FIELDS

SPEC: Final = "spec"
WAKU_OLDER: Final = "waku-older"
NIM: Final = "nim-sds"
LOGOS_CHAT: Final = "logos-chat"
UNKNOWN: Final = "unknown"

_SENDER, _MESSAGE, _CHANNEL, _LAMPORT, _CAUSAL, _FILTER, _REPAIR, _CONTENT = 1, 2, 3, 10, 11, 12, 13, 20
_NAMES: Final[Mapping[int, str]] = {
    _SENDER: "sender_id",
    _MESSAGE: "message_id",
    _CHANNEL: "channel_id",
    _LAMPORT: "lamport_timestamp",
    _CAUSAL: "causal_history",
    _FILTER: "bloom_filter",
    _REPAIR: "repair_request",
    _CONTENT: "content",
}
_SAME: Final[Mapping[int, int]] = {number: number for number in _NAMES}
_LOGOS_TO_SPEC: Final[Mapping[int, int]] = {
    7: _SENDER,
    **{number: number for number in _NAMES if number not in (_SENDER, _REPAIR)},
}
_NUMBERS: Final = {SPEC: _SAME, WAKU_OLDER: _SAME, NIM: nim_fields.TO_SPEC, LOGOS_CHAT: _LOGOS_TO_SPEC}
_DEPARTURES: Final[Mapping[str, tuple[str, ...]]] = {
    SPEC: (),
    WAKU_OLDER: ("lamport_timestamp is an int32, not a uint64",),
    NIM: ("the field numbers are those of nim-sds (message_id 1, lamport_timestamp 2)",),
    LOGOS_CHAT: ("sender_id has the number 7, not 1", "lamport_timestamp is an int32, not a uint64"),
}
_IDS: Final = {(_SENDER, BYTES), (_MESSAGE, BYTES), (_CHANNEL, BYTES)}
_NEGATIVE: Final = 2**64 - 2**31  # a negative int32 is written as a number from here on
_COUNTED: Final = 10**9  # a clock below it counts messages; a clock in seconds passed it in 2001


class DialectReading(NamedTuple):
    """A packet read under the names of the specification.

    `message` holds the readable fields; a missing id is empty. `departures` lists the differences between the form of
    the packet and that of the specification.
    """

    dialect: str
    message: Message
    departures: tuple[str, ...]


def counts_from_zero(lamport: int | None) -> bool:
    """True if a Lamport timestamp is no time: it counts messages, or is a negative int32."""
    return lamport is not None and (lamport < _COUNTED or lamport >= _NEGATIVE)


def read_any(packet: bytes) -> DialectReading | None:
    """Read a packet of any dialect. Return None if it is not protobuf, or lacks two of the three ids of a message."""
    try:
        found = list(islice(fields(packet), MOST_FIELDS))
    except Malformed:
        return None
    dialect = _dialect(packet, found)
    return None if dialect is None else _read(packet, found, dialect)


def _dialect(packet: bytes, found: list[Field]) -> str | None:
    marks = {(field.number, field.wire) for field in found}
    if nim_fields.is_nim(marks):
        return NIM
    if {(7, BYTES), (_MESSAGE, BYTES)} <= marks and (_SENDER, BYTES) not in marks:
        return LOGOS_CHAT
    if len(marks & _IDS) < 2:
        return None
    older = any(
        counts_from_zero(read_varint(packet, field.body, field.end)[0])
        if (field.number, field.wire) == (_LAMPORT, VARINT)
        else (field.number, field.wire) == (_CAUSAL, BYTES) and _is_bare(packet[field.body : field.end])
        for field in found
    )
    return WAKU_OLDER if older else SPEC


def _read(packet: bytes, found: Iterable[Field], dialect: str) -> DialectReading:
    numbers = _NUMBERS[dialect]
    values: dict[str, Any] = {"causal_history": [], "repair_request": []}
    departures = list(_DEPARTURES[dialect])
    for field in found:
        number = numbers.get(field.number)
        if number is None:
            continue
        name, body = _NAMES[number], packet[field.body : field.end]
        wanted = VARINT if number == _LAMPORT else BYTES
        if field.wire != wanted:
            departures.append(f"{name} has the wire type {field.wire}, not {wanted}")
        elif number in (_CAUSAL, _REPAIR):
            bare = _is_bare(body)
            if bare:
                departures.append(f"{name} holds bare ids, not entries")
            values[name].append(HistoryEntry(_text(body)) if bare else _entry(body))
        else:
            if name in values:
                departures.append(f"{name} is there twice")
            values[name] = _value(number, body, signed=dialect != SPEC)
    return DialectReading(dialect, _message(values), tuple(dict.fromkeys(departures)))


def _value(number: int, body: bytes, *, signed: bool) -> str | bytes | int | None:
    if number == _LAMPORT:
        lamport = read_varint(body, 0, len(body))[0]
        return lamport - 2**64 if signed and lamport >= _NEGATIVE else lamport
    return _text(body) if number in (_SENDER, _MESSAGE, _CHANNEL) else body or None


def _message(values: Mapping[str, Any]) -> Message:
    return Message(
        values.get("sender_id", ""),
        values.get("message_id", ""),
        values.get("channel_id", ""),
        values.get("lamport_timestamp"),
        tuple(values["causal_history"]),
        values.get("bloom_filter"),
        tuple(values["repair_request"]),
        values.get("content"),
    )


def _is_bare(body: bytes) -> bool:
    """True if the bytes are the text of an id in the place of an entry. An entry has a tag below 0x20 before its id."""
    return bool(body) and min(body) >= 0x20


def _entry(body: bytes) -> HistoryEntry:
    values: dict[int, bytes] = {}
    try:
        for field in fields(body):
            if field.wire == BYTES:
                values[field.number] = body[field.body : field.end]
    except Malformed:
        pass  # keep the fields before the malformed one
    sender = _text(values.get(3, b""))
    return HistoryEntry(_text(values.get(1, b"")), values.get(2) or None, sender or None)


def _text(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")
