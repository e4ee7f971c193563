"""Packets in the format of nim-sds: other field numbers, a clock in seconds, a filter in a frame of its own.

A packet is renumbered and then read by the codec of the specification, so that every check exists once. Other
differences:

- nim-sds starts its clock with the seconds of the epoch, and adopts the clocks that it receives. A clock too small
  for milliseconds is read as seconds.
- Its filters rest on the string hash of the Nim compiler, which no other implementation has. This codec drops them, and
  sends an empty filter in the place of our own, so that no lookup by nim-sds finds anything by chance. Our own filter
  follows in a field that nim-sds ignores, for peers that run this program.
- It refuses a packet without content or clock. So sync messages and ephemeral ones reach only peers of this program.
- Since 0.4 it drops a message with a history entry that has no id. This codec leaves such entries out.
- Its packets may have no sender. All such senders are one, `ANONYMOUS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sdschat.sds.limits import MAX_UNKNOWN_BYTES
from sdschat.sds.values import Message, Reason, Refusal
from sdschat.wire.nim_fields import CAUSAL, FILTER, FROM_SPEC, LAMPORT, LEAST_MS, REPAIR, SENDER, SPEC_MARK, TO_SPEC
from sdschat.wire.protobuf_scan import BYTES, VARINT, Malformed, fields, read_varint
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.sds_strict import MOST_FIELDS, refuse

ANONYMOUS: Final = "nim-sds"
CANNOT: Final = (
    "nim-sds drops our sync and ephemeral messages, so a message that nobody answers is acknowledged late or never",
    "its filters rest on the string hash of the Nim compiler and say nothing here, as ours say nothing there",
    "senders without a participant id appear as one",
)

_ID_TAG: Final = b"\x0a"  # an entry begins with its id, if it has one
_OURS: Final = 100  # number of the field of our own filter, in the frame of a filter


class NimCodec:
    """The `Codec` of the engine for a channel in the format of nim-sds."""

    __slots__ = ("_max_message_bytes", "_spec")

    def __init__(self, max_message_bytes: int = 65536) -> None:
        self._spec = SdsCodec(2 * max_message_bytes)  # renumbering adds a few bytes
        self._max_message_bytes = max_message_bytes

    def encode(self, message: Message) -> bytes:
        return b"".join(_nim_fields(self._spec.encode(message)))

    def size(self, message: Message) -> int:
        return len(self.encode(message))

    def decode(self, packet: bytes) -> Message | Refusal:
        size = len(packet)
        if size > self._max_message_bytes:
            detail = f"has {size} bytes; {self._max_message_bytes} are allowed"
            return Refusal(Reason.TOO_LARGE, detail)
        try:
            spec = b"".join(_spec_fields(packet))
        except _Foreign:
            return refuse(packet, Reason.FOREIGN_DIALECT, "has the field numbers of the specification, not of nim-sds")
        except Malformed as error:
            return Refusal(Reason.UNREADABLE, str(error))
        return self._spec.decode(spec)


class EitherCodec:
    """Decodes both formats, and encodes that of the specification: for databases that hold packets of either."""

    __slots__ = ("_nim", "_spec")

    def __init__(self, max_message_bytes: int = 65536) -> None:
        self._spec = SdsCodec(max_message_bytes)
        self._nim = NimCodec(max_message_bytes)

    def encode(self, message: Message) -> bytes:
        return self._spec.encode(message)

    def size(self, message: Message) -> int:
        return self._spec.size(message)

    def decode(self, packet: bytes) -> Message | Refusal:
        found = self._spec.decode(packet)
        if isinstance(found, Refusal) and found.reason is Reason.FOREIGN_DIALECT:
            return self._nim.decode(packet)
        return found


class _Foreign(Exception):
    """The packet has the field numbers of the specification."""


def _nim_fields(spec: bytes) -> Iterator[bytes]:
    """Yield the fields of a packet of the specification, in the numbers and the order of nim-sds."""
    found: list[tuple[int, bytes]] = []
    for field in fields(spec):
        number, body = FROM_SPEC[field.number], spec[field.body : field.end]
        if number in (CAUSAL, REPAIR) and not body.startswith(_ID_TAG):
            continue
        if number == FILTER:
            body = _framed(body)
        found.append((number, body if field.wire == VARINT else _sized(body)))
    for number, body in sorted(found, key=lambda entry: entry[0]):
        yield _tag(number, VARINT if number == LAMPORT else BYTES) + body


def _spec_fields(packet: bytes) -> Iterator[bytes]:
    """Yield the fields of a packet of nim-sds, in the numbers of the specification."""
    named = False
    unknown = 0
    for count, field in enumerate(fields(packet)):
        if count >= MOST_FIELDS:
            raise Malformed(f"has more than {MOST_FIELDS} fields")
        number = TO_SPEC.get(field.number)
        if (field.number, field.wire) == SPEC_MARK:
            raise _Foreign
        if number is None:
            unknown += field.end - field.start
            if unknown > MAX_UNKNOWN_BYTES:
                raise Malformed(f"has more than {MAX_UNKNOWN_BYTES} bytes of unknown fields")
            continue
        body = packet[field.body : field.end]
        if field.number == FILTER and field.wire == BYTES:
            body = _unframed(body)
            if not body:
                continue
        if field.number == LAMPORT and field.wire == VARINT:
            body = _varint(_milliseconds(read_varint(packet, field.body, field.end)[0]))
        if field.number == SENDER and field.wire == BYTES:
            named = named or bool(body)
            if not body:
                continue
        yield _tag(number, field.wire) + (_sized(body) if field.wire == BYTES else body)
    if not named:
        yield _tag(TO_SPEC[SENDER], BYTES) + _sized(ANONYMOUS.encode())


def _milliseconds(lamport: int) -> int:
    """Return a clock in milliseconds; seconds are recognised by their size.

    nim-sds adopts the clocks that it receives: after receiving milliseconds it counts in them.
    """
    return lamport * 1000 if lamport < LEAST_MS else lamport


def _framed(ours: bytes) -> bytes:
    """Return an empty filter in the frame of nim-sds, and our own filter behind it."""
    nothing: Iterable[tuple[int, int]] = ((2, 1), (3, 1000), (4, 1), (5, 64))  # capacity, error, hashes, bits
    frame = _tag(1, BYTES) + _sized(bytes(8)) + b"".join(_tag(n, VARINT) + _varint(v) for n, v in nothing)
    return frame + _tag(_OURS, BYTES) + _sized(ours)


def _unframed(frame: bytes) -> bytes:
    """Return our own filter from a frame, or nothing if the frame has none or is malformed."""
    try:
        found = [
            frame[field.body : field.end] for field in fields(frame) if (field.number, field.wire) == (_OURS, BYTES)
        ]
    except Malformed:
        return b""
    return found[0] if len(found) == 1 else b""


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _sized(body: bytes) -> bytes:
    return _varint(len(body)) + body


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
