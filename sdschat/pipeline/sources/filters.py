"""Sent filters, tested with ids that their senders cannot have had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sdschat.audit.sources.packets import CODEC
from sdschat.sds.bloom.compact import CompactFilter
from sdschat.sds.bloom.received import read_filter
from sdschat.sds.bloom.waku import HASHES
from sdschat.sds.values import Message

LATER: Final = 50  # ids tested against each filter: the ones that its sender delivered next


class Trial(NamedTuple):
    filters: int
    checks: int
    hits: int
    expected: float


def tried(packets: Iterable[tuple[bytes, Sequence[str]]]) -> Trial:
    """Test the filters of packets with ids that they contain only by chance."""
    filters = checks = hits = 0
    expected = 0.0
    for raw, ids in packets:
        message = CODEC.decode(raw)
        if not isinstance(message, Message) or not message.bloom_filter or not ids:
            continue
        found = read_filter(message.bloom_filter)
        if isinstance(found, str):
            continue
        filters += 1
        checks += len(ids)
        hits += sum(map(found.holds, ids))
        hashes = found.hashes if isinstance(found, CompactFilter) else HASHES
        expected += len(ids) * found.fill**hashes
    return Trial(filters, checks, hits, expected)
