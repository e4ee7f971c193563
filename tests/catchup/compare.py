"""Two logs compared to the end, in memory: what was found, and what it cost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from random import Random
from typing import NamedTuple, TypeVar

from sdschat.catchup import HIGHEST, LOWEST, AnswerFrame, Ask, LogKey, Need, RangeComparer, answer
from sdschat.catchup.responder import ReadingBudget
from sdschat.catchup.sketch import Shortener
from sdschat.catchup.values import Frame, makes_up
from sdschat.sim.companion import MemoryLog
from sdschat.wire.catchup_codec import decode_extension, encode_frame

Keys = list[tuple[int, str]]
PLENTY = 10**9
Carried = TypeVar("Carried", Ask, AnswerFrame)


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
    bytes: int  # both ways


def fetched(needs: Iterable[Need], theirs: MemoryLog) -> list[tuple[int, str]]:
    """Return the keys of the messages that the other side would send."""
    found: list[tuple[int, str]] = []
    for need in needs:
        keys = theirs.keys(need.low, need.high)
        if need.sole:
            keys = makes_up(keys, need.shorts[0], 77)
        elif need.shorts:
            shortener, wanted = Shortener(77), set(need.shorts)
            keys = [key for key in keys if shortener.short(key[1]) in wanted]
        found += keys
    return found


def _carried(what: Carried) -> tuple[Carried, int]:
    """As it comes out on the other side of the network, and its size."""
    frame = Frame(77, 3, what)
    packet = encode_frame(frame)
    assert decode_extension(packet) == frame
    return what, len(packet)


def compare(ours: Keys, theirs: Keys, *, low: LogKey = LOWEST, high: LogKey = HIGHEST, room: int = PLENTY) -> Found:
    """With another comparison after one that guessed. `room`: how many messages may be read for one packet."""
    found = _once(ours, theirs, low, high, room, guess=True)
    if not any(need.sole for need in found.needs):
        return found
    again = _once(sorted({*ours, *found.lacks}), theirs, low, high, room, guess=False)
    return Found(
        found.lacks | again.lacks,
        again.lacking,
        found.packets + again.packets,
        found.read + again.read,
        [*found.needs, *again.needs],
        found.bytes + again.bytes,
    )


def _once(ours: Keys, theirs: Keys, low: LogKey, high: LogKey, room: int, guess: bool) -> Found:
    mine, other = MemoryLog(ours), MemoryLog(theirs)
    asker = RangeComparer(mine, low, high, salt=77, guess=guess)
    packets = read = size = 0
    while (ask := asker.ask()) is not None:
        budget = ReadingBudget(room, 0, 0)
        question, asked = _carried(ask)
        answered, reply = _carried(answer(question, other, budget))
        asker.answered(answered)
        size += asked + reply
        packets += 2
        read += room - budget.left
        assert packets < 10_000
    return Found(set(fetched(asker.needs, other)), asker.lacking, packets, read, asker.needs, size)
