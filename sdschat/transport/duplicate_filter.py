"""A filter for packets that the broker sends again because it got no acknowledgement: each is recorded once."""

from __future__ import annotations

import base64
import contextlib
import json
from collections import deque
from hashlib import blake2b
from pathlib import Path
from typing import Final

from sdschat.transport.segments import SUFFIX

# A broker has at most this many unacknowledged packets for a client, so a repeated packet is among the last so many.
WINDOW: Final = 65_535


class DuplicateFilter:
    """The last packets that are on disk. A repeated packet has the same id, topic and bytes."""

    def __init__(self) -> None:
        self._order: deque[bytes] = deque()
        self._counts: dict[bytes, int] = {}

    def add(self, packet_id: int, topic: str, payload: bytes) -> None:
        key = _key(packet_id, topic, payload)
        self._order.append(key)
        self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._order) > WINDOW:
            oldest = self._order.popleft()
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]

    def has(self, packet_id: int, topic: str, payload: bytes) -> bool:
        return _key(packet_id, topic, payload) in self._counts

    def __len__(self) -> int:
        return len(self._order)


def known_in(folder: Path) -> DuplicateFilter:
    """Return the packets in the newest segments of the folder, as an earlier run left them."""
    lines: deque[bytes] = deque()
    for path in sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
        lines.extendleft(reversed(path.read_bytes().splitlines()))
        if len(lines) >= WINDOW:
            break
    known = DuplicateFilter()
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # not a line of ours
            found = json.loads(line)
            if found["packet_id"]:
                known.add(found["packet_id"], found["topic"], base64.b64decode(found["raw"]))
    return known


def _key(packet_id: int, topic: str, payload: bytes) -> bytes:
    return blake2b(b"%d %s\0" % (packet_id, topic.encode()) + payload, digest_size=16).digest()
