"""Two logs compared to the end, in memory: what was found, and what it cost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from sdschat.catchup import HIGHEST, LOWEST, Asker, Key, Need, answer
from sdschat.catchup.answers import Effort
from sdschat.catchup.memory import MemoryLog
from sdschat.catchup.sketch import Shortener

Keys = list[tuple[int, str]]
PLENTY = 10**9


def some_keys(count: int, seed: int = 1, spread: int = 700) -> Keys:
    draw = Random(seed)
    made = {
        (1_700_000_000_000 + at * spread + draw.randrange(300), hashlib.sha256(b"%d %d" % (seed, at)).hexdigest())
        for at in range(count)
    }
    return sorted(made)


class Found(NamedTuple):
    lacks: set[tuple[int, str]]
    lacking: int
    packets: int
    read: int  # messages that the other side read to answer
    needs: list[Need]


def fetched(needs: Iterable[Need], theirs: MemoryLog) -> list[tuple[int, str]]:
    """What the other side would send."""
    found: list[tuple[int, str]] = []
    for need in needs:
        keys = theirs.keys(need.low, need.high)
        if need.shorts:
            shortener, wanted = Shortener(need.salt), set(need.shorts)
            keys = [key for key in keys if shortener.short(key[1]) in wanted]
        found += keys
    return found


def compare(ours: Keys, theirs: Keys, *, low: Key = LOWEST, high: Key = HIGHEST, room: int = PLENTY) -> Found:
    """`room`: how many messages may be read for one packet."""
    mine, other = MemoryLog(ours), MemoryLog(theirs)
    asker = Asker(mine, low, high, salt=77)
    packets = read = 0
    while (ask := asker.ask()) is not None:
        effort = Effort(room, 0, 0)
        asker.answered(answer(ask, other, effort))
        packets += 2
        read += room - effort.left
        assert packets < 10_000
    return Found(set(fetched(asker.needs, other)), asker.lacking, packets, read, asker.needs)
