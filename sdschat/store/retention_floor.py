"""From which date on a channel's packets are kept. What is older was let go of, and is not missing."""

from __future__ import annotations

import json
from typing import NamedTuple, Protocol


class Floor(NamedTuple):
    """What a channel does not keep any more: packets of others that are dated before `lamport`."""

    lamport: int = 0
    packets: int = 0  # dropped so far
    at: int = 0  # when the last of them was, in epoch milliseconds
    ids_from: int = 0  # from this Lamport time on even ids are kept; the log begins here
    ids_gone: int = 0  # ids let go of so far

    @property
    def ids(self) -> int:
        """Ids without a packet."""
        return self.packets - self.ids_gone


class Values(Protocol):
    """A `Store` or a `Reader`."""

    def value(self, name: str) -> bytes | None: ...


def floor_name(channel: str) -> str:
    return f"floor/{channel}"


def floor_of(values: Values, channel: str) -> Floor:
    kept = values.value(floor_name(channel))
    return Floor() if kept is None else Floor(*json.loads(kept))
