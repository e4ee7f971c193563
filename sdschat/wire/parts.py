"""What the bytes of an SDS packet are spent on."""

from __future__ import annotations

from typing import Final, NamedTuple

from sdschat.wire.protobuf_scan import Malformed, fields

_HISTORY, _FILTER, _REQUEST, _CONTENT = 11, 12, 13, 20
_PARTS: Final = {_CONTENT: 0, _FILTER: 1, _HISTORY: 2, _REQUEST: 3}


class Parts(NamedTuple):
    """Bytes of each part, its tag and length included but for the content. What is left of the packet are ids,
    channel and clock."""

    content: int
    filter: int
    history: int
    request: int


def parts(packet: bytes) -> Parts:
    """Total: of what is no packet, as far as it can be read."""
    sizes = [0, 0, 0, 0]
    try:
        for field in fields(packet):
            at = _PARTS.get(field.number)
            if at is not None:
                sizes[at] += field.end - (field.body if field.number == _CONTENT else field.start)
    except Malformed:
        pass
    return Parts(*sizes)
