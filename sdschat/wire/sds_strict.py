"""Slow examination of an SDS packet that is not in its shortest form, or that the parser could not read.

Packets of honest writers hardly ever need it. Every loop is bounded, because a dishonest writer can force it at will.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple

from sdschat.sds.limits import MAX_ID_BYTES, MAX_SENDER_BYTES, MAX_UNKNOWN_BYTES
from sdschat.sds.values import Reason, Refusal
from sdschat.wire import nim_fields
from sdschat.wire.names import readable
from sdschat.wire.protobuf_scan import BYTES, VARINT, Field, Malformed, fields

MOST_FIELDS: Final = 2560  # more fields than full histories and the allowed unknown bytes can have
_LOOK_AT: Final = 256  # fields of a refused packet that are searched for its ids


class _Known(NamedTuple):
    name: str
    wire: int = BYTES
    repeated: bool = False
    text: bool = False


_ENTRY: Final = {
    1: _Known("message_id", text=True),
    2: _Known("retrieval_hint"),
    3: _Known("sender_id", text=True),
}
_MESSAGE: Final = {
    1: _Known("sender_id", text=True),
    2: _Known("message_id", text=True),
    3: _Known("channel_id", text=True),
    10: _Known("lamport_timestamp", VARINT),
    11: _Known("causal_history", repeated=True),
    12: _Known("bloom_filter"),
    13: _Known("repair_request", repeated=True),
    20: _Known("content"),
}


class _Problem(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def examine(packet: bytes) -> Refusal | None:
    """Return a refusal if the form of a packet is wrong although the parser read it, else None.

    An overlong number is not wrong: protobuf allows it, and it changes no value.
    """
    try:
        _Examination(packet).run()
    except _Problem as problem:
        return foreign(packet) or refuse(packet, problem.reason, problem.detail)
    return None


def explain(packet: bytes) -> Refusal:
    """Return a refusal with the reason why the parser could not read a packet."""
    detail = "is not a protobuf message"
    try:
        _Examination(packet).run(texts=True)
    except _Problem as problem:
        detail = problem.detail
    return foreign(packet) or refuse(packet, Reason.UNREADABLE, detail)


def refuse(packet: bytes, reason: Reason, detail: str) -> Refusal:
    """Return a refusal with the ids of the packet, as far as they can be read."""
    found = {field.number: field for field in _first_fields(packet) if field.wire == BYTES}
    sender, message = _text(packet, found.get(1), MAX_SENDER_BYTES), _text(packet, found.get(2), MAX_ID_BYTES)
    return Refusal(reason, detail, sender, message)


def foreign(packet: bytes) -> Refusal | None:
    """Return a refusal if this is a packet of nim-sds, else None."""
    found = {(field.number, field.wire): field for field in _first_fields(packet)}
    if not nim_fields.is_nim(found.keys()):
        return None
    message = _text(packet, found.get((nim_fields.MESSAGE_ID, BYTES)), MAX_ID_BYTES)
    sender = _text(packet, found.get((nim_fields.SENDER, BYTES)), MAX_SENDER_BYTES)
    detail = "has the field numbers of nim-sds (message_id 1, lamport_timestamp 2), not those of the specification"
    return Refusal(Reason.FOREIGN_DIALECT, detail, sender, message)


def _first_fields(packet: bytes) -> list[Field]:
    found: list[Field] = []
    try:
        # One by one, to keep the fields before a malformed one.
        for field in islice(fields(packet), _LOOK_AT):
            found.append(field)
    except Malformed:
        pass
    return found


def _text(packet: bytes, field: Field | None, limit: int) -> str:
    if field is None or field.end - field.body > limit:
        return ""
    try:
        return readable(packet[field.body : field.end].decode(), limit)
    except UnicodeDecodeError:
        return ""


class _Examination:
    """One pass over a packet and its entries."""

    def __init__(self, packet: bytes) -> None:
        self.packet = packet
        self.unknown = 0
        self.looked_at = 0

    def run(self, *, texts: bool = False) -> None:
        """Raise the first problem. `texts`: check UTF-8 as well, which the parser has not done."""
        try:
            self._message(_MESSAGE, "", 0, len(self.packet), texts)
        except Malformed as error:
            raise _Problem(Reason.UNREADABLE, str(error)) from error

    def _message(self, known_fields: dict[int, _Known], inside: str, at: int, end: int, texts: bool) -> None:
        seen: set[int] = set()
        for field in fields(self.packet, at, end):
            self.looked_at += 1
            if self.looked_at > MOST_FIELDS:
                raise _Problem(Reason.UNREADABLE, f"has more than {MOST_FIELDS} fields")
            known = known_fields.get(field.number)
            if known is None:
                self._count_unknown(field)
                continue
            name = inside + known.name
            if field.wire != known.wire:
                raise _Problem(Reason.UNREADABLE, f"{name} has the wire type {field.wire}, not {known.wire}")
            if known.repeated:
                self._message(_ENTRY, f"{name}.", field.body, field.end, texts)
            elif field.number in seen:
                raise _Problem(Reason.DUPLICATE_FIELD, f"{name} is there twice")
            elif texts and known.text:
                self._need_utf8(name, field)
            seen.add(field.number)

    def _count_unknown(self, field: Field) -> None:
        self.unknown += field.end - field.start
        if self.unknown > MAX_UNKNOWN_BYTES:
            raise _Problem(Reason.UNKNOWN_FIELDS, f"has more than {MAX_UNKNOWN_BYTES} bytes of unknown fields")

    def _need_utf8(self, name: str, field: Field) -> None:
        try:
            self.packet[field.body : field.end].decode()
        except UnicodeDecodeError as error:
            raise _Problem(Reason.UNREADABLE, f"{name} is not UTF-8") from error
