"""The one table of sources that failed, and until when each is left alone. Pure.

Catching up asks here for everybody, and questions to Stores ask here too: with two tables one of them could wait for a
source that the other had no intention to try again.
"""

from __future__ import annotations

from typing import Final, NamedTuple

REST_FIRST: Final = 2_000  # milliseconds after the first failure, doubled with each one that follows
# A Store that is back is used again within this time. One question in so long is no load for anybody.
REST_LONGEST: Final = 16_000
REST_OF_PEERS: Final = 60_000  # the same for participants, of whom there may be many
_MOST: Final = 2048  # anybody can make up sources: the oldest of so many is forgotten
_DOUBLINGS: Final = 16


class _Rest(NamedTuple):
    times: int
    until: int  # on the monotonic clock


class Rests:
    """Sources that failed, by name."""

    __slots__ = ("_rests",)

    def __init__(self) -> None:
        self._rests: dict[str, _Rest] = {}

    def __len__(self) -> int:
        return len(self._rests)

    def until(self, name: str) -> int:
        """The time at which the source may be asked again; 0 if it does not rest."""
        rest = self._rests.get(name)
        return 0 if rest is None else rest.until

    def failed(self, name: str, mono: int, rest: int = 0, longest: int = REST_LONGEST) -> None:
        """Note a failure. `rest` milliseconds replace the doubling rest. Several questions to one source often fail
        together, and are told by both who asked: while it rests already, they count as one failure."""
        known = self._rests.get(name)
        if known is not None and known.until > mono and not rest:
            return
        times = min(known.times + 1, _DOUBLINGS) if known is not None else 0
        until = mono + (rest or min(REST_FIRST << times, longest))
        self._rests[name] = _Rest(times, max(until, known.until if known is not None else 0))
        if len(self._rests) > _MOST:
            del self._rests[next(iter(self._rests))]

    def forget(self, name: str) -> None:
        """Forget its failures: it answered, or it was started again."""
        self._rests.pop(name, None)
