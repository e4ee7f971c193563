"""A filter as it came from a peer: untrusted, of any length."""

from __future__ import annotations

from functools import lru_cache

from sdschat.sds.bloom import compact, waku
from sdschat.sds.bloom.compact import CompactFilter
from sdschat.sds.bloom.waku import WakuFilter

MAX_FILL = 0.60  # an honest filter at capacity is half full; a fuller one claims too much to be believed

ReceivedFilter = CompactFilter | WakuFilter


def read_filter(packet: bytes) -> ReceivedFilter | str:
    """The filter, or why it is ignored. The shape tells the layout; nothing else is taken from the sender's word."""
    if len(packet) == waku.BYTES:
        return WakuFilter(packet)
    if packet[:1] == bytes([compact.WINDOW]):
        return _read_compact(packet)
    if packet[:1] == bytes([compact.OLD_WINDOW]):
        return "written by an older version of sdschat, to be updated there"
    return f"unknown layout of {len(packet)} bytes"


@lru_cache(maxsize=16)  # several channels of one process hear the same packet
def _read_compact(packet: bytes) -> CompactFilter | str:
    return compact.decode(packet)
