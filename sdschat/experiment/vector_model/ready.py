"""The times from which each participant may do something, for cases where hardly anybody may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.wheel import Flags, Indices


class ReadyParticipants:
    """One time per participant. All of them are searched only when at least one can have come."""

    __slots__ = ("_first", "_times")

    def __init__(self, count: int, since: int = NEVER) -> None:
        self._times = np.full(count, since, dtype=np.int32)
        self._first = since  # nobody is ready earlier

    def put(self, who: Any, times: Any) -> None:
        """Set the times of these participants; NEVER: not until it is set again."""
        self._times[who] = times
        self._first = min(self._first, int(np.min(times, initial=NEVER)))

    def by(self, now: int, which: Callable[[], Flags] | None = None) -> Indices:
        """Return all participants that are ready and for which `which` is true, in order."""
        if self._first > now:
            return _NOBODY
        ready: Flags = self._times <= now
        if not ready.any():
            self._first = int(self._times.min())
            return _NOBODY
        found: Indices = np.flatnonzero(ready if which is None else ready & which())
        return found


_NOBODY: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
