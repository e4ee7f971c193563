"""The date from which on a channel's packets are kept. Older packets were dropped, and are not missing."""

from __future__ import annotations

import json
from typing import NamedTuple, Protocol


class RetentionFloor(NamedTuple):
    """Retention of one channel: packets of others dated before `lamport` are dropped."""

    lamport: int = 0
    packets: int = 0  # packets dropped so far
    at: int = 0  # epoch milliseconds of the last drop
    ids_from: int = 0  # Lamport time from which on ids are kept; the log begins here
    ids_gone: int = 0  # ids dropped so far, at most `packets`

    @property
    def ids(self) -> int:
        """Number of ids without a packet."""
        return self.packets - self.ids_gone


class FloorValues(Protocol):
    """A `Store` or a `Reader`."""

    def value(self, name: str) -> bytes | None: ...


def floor_name(channel: str) -> str:
    return f"floor/{channel}"


def floor_of(values: FloorValues, channel: str) -> RetentionFloor:
    kept = values.value(floor_name(channel))
    return RetentionFloor() if kept is None else RetentionFloor(*json.loads(kept))
