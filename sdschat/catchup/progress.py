"""Where catching up stands, as it is told."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """Where catching up stands."""

    WAITING = "waiting"  # for somebody to ask
    COMPARING = "comparing"
    LOADING = "loading"
    PAUSED = "paused"
    DONE = "done"


class Progress(NamedTuple):
    """`done` of `total` messages are here; `source` is who is asked now, or was asked last."""

    state: State
    done: int
    total: int
    source: str
