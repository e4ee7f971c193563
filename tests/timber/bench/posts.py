"""The posts that all peers get, and the figures that each gives back."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

WORDS: Final = 4000
SEARCHED: Final = 300  # deleted texts that are looked for
ROUND: Final = 100  # posts of one writer before the other one takes them
AWAY: Final = 10  # posts of the writer who was offline
AWAY_AMONG: Final = 1000  # posts that everybody holds before it goes


@dataclass
class Sample:
    """Posts in their order; post `n` is by writer `n // ROUND % 2`. `deleted[share]` grows with the share."""

    texts: list[str]
    deleted: dict[int, list[int]]

    def alive_bytes(self, share: int) -> int:
        gone = set(self.deleted[share])
        return sum(len(text.encode()) for at, text in enumerate(self.texts) if at not in gone)

    def searched(self, share: int) -> list[bytes]:
        """Return some of the deleted texts, as bytes to look for."""
        gone = self.deleted[share]
        return [self.texts[at].encode() for at in gone[:: max(1, len(gone) // SEARCHED)]]


@dataclass
class Figures:
    """The figures of one peer. Times are of the processor, in seconds."""

    peer: str
    posts: int
    append: float = 0.0
    merge: float = 0.0
    exchanged: int = 0  # bytes
    stored: dict[int, float] = field(default_factory=dict)  # bytes after compaction for each living byte, by share
    found: dict[int, str] = field(default_factory=dict)  # deleted texts in those bytes, by share
    away: str = ""  # what became of the writer who was offline
    notes: list[str] = field(default_factory=list)


def sample(count: int) -> Sample:
    rng = random.Random("posts")
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(WORDS)]
    texts = [" ".join(rng.choices(words, k=rng.randint(3, 22))) for _ in range(count)]
    order = rng.sample(range(count), count)
    return Sample(texts, {share: sorted(order[: count * share // 100]) for share in (10, 99)})


def found_in(wanted: Sequence[bytes], raw: bytes) -> str:
    count = sum(text in raw for text in wanted)
    return f"{count} of {len(wanted)}"


def fate(wanted: Iterable[str], kept: Iterable[str], deleted: Iterable[str]) -> str:
    """Return what became of a writer's posts, and of what was deleted while it was away."""
    here = set(kept)
    mine = list(wanted)
    arrived = sum(text in here for text in mine)
    back = sum(text in here for text in deleted)
    return f"{arrived} of its {len(mine)} posts arrive" + (f"; {back} deleted ones are back" if back else "")
