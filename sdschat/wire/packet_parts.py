"""The sizes of the parts of an SDS packet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.message import DecodeError

from sdschat.wire.protobuf_scan import Malformed, fields
from sdschat.wire.sds_pb2 import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdschat.wire.sds_pb2 import HistoryEntry

_HISTORY, _FILTER, _REQUEST, _CONTENT = 11, 12, 13, 20
_PARTS: Final = {_CONTENT: 0, _FILTER: 1, _HISTORY: 2, _REQUEST: 3}


class PacketParts(NamedTuple):
    """Bytes of each part, with its tag and length except for the content. The rest of the packet is ids, channel and
    clock."""

    content: int
    filter: int
    history: int
    request: int


def parts(packet: bytes) -> PacketParts:
    """Return the sizes of the parts. Total: malformed bytes count up to their first fault."""
    parsed = Message()
    try:
        parsed.ParseFromString(packet)
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return _scanned(packet)
    parsed.DiscardUnknownFields()
    if parsed.ByteSize() != len(packet):  # there is something in it that the parser skipped
        return _scanned(packet)
    return PacketParts(
        len(parsed.content),
        _field_size(len(parsed.bloom_filter)) if parsed.HasField("bloom_filter") else 0,
        _entry_sizes(parsed.causal_history),
        _entry_sizes(parsed.repair_request),
    )


def _entry_sizes(entries: Iterable[HistoryEntry]) -> int:
    return sum([_field_size(entry.ByteSize()) for entry in entries])


def _field_size(size: int) -> int:
    """Return the bytes of a field with a tag of one byte, a length, and a value of this size."""
    return 1 + max(1, (size.bit_length() + 6) // 7) + size


def _scanned(packet: bytes) -> PacketParts:
    sizes = [0, 0, 0, 0]
    try:
        for field in fields(packet):
            at = _PARTS.get(field.number)
            if at is not None:
                sizes[at] += field.end - (field.body if field.number == _CONTENT else field.start)
    except Malformed:
        pass
    return PacketParts(*sizes)
