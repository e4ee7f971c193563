"""Stretches in which a peer's log equals ours. They tell that it has our own messages there, which nobody may ever name
again: of thousands that were written while nobody was there, syncs name two."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sdschat.catchup.values import ComparedLog, LogKey, behind


class EqualRanges(NamedTuple):
    """`peer` had in `session` what we have from `low` to `high`, the latter excluded."""

    peer: str
    session: int
    low: LogKey
    high: LogKey


def own_messages_in(
    stretches: Sequence[EqualRanges], own: Sequence[tuple[int, str]], log: ComparedLog
) -> Iterator[tuple[EqualRanges, list[str]]]:
    """Yield each stretch that contains own messages, with their ids. `own` is in order. Only messages in the log were
    compared, so a message that is not saved yet is not among them."""
    for stretch in stretches:
        keys = own[bisect_left(own, stretch.low) : bisect_left(own, stretch.high)]
        ids = [key[1] for key in keys if log.keys(LogKey(*key), behind(LogKey(*key)), 1)]
        if ids:
            yield stretch, ids
