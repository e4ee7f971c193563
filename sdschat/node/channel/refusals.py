"""Rows of the journal for refused packets: one a minute for each reason and sender, with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from sdschat.sds.values import Now
from sdschat.store.journal import REJECTED, JournalRow

MINUTE: Final = 60_000
SENDERS: Final = 64  # pairs of reason and sender told apart in a minute: anybody can make up senders

_Key = tuple[str, str]  # reason and sender; an empty sender stands for all beyond `SENDERS`


class RefusalCounter:
    """The refused packets of one channel."""

    def __init__(self) -> None:
        self._since = -MINUTE  # on the monotonic clock
        self._counts: Counter[_Key] = Counter()
        self._told: set[_Key] = set()
        self._merged: Counter[str] = Counter()

    def take_merged(self) -> dict[str, int]:
        """Take the numbers of refusals that got no row since the last call, by reason."""
        merged, self._merged = self._merged, Counter()
        return dict(merged)

    def merge(self, channel: str, rows: Iterable[JournalRow], now: Now) -> list[JournalRow]:
        """Return the rows, but of refusals only the first of each minute, and then a row for the others of it."""
        kept: list[JournalRow] = []
        if now.mono - self._since >= MINUTE:
            kept += self._counted(channel, now)
        for row in rows:
            if row.event != REJECTED:
                kept.append(row)
                continue
            if not self._told:
                self._since = now.mono
            key = (row.cause or "", row.sender or "")
            if key not in self._told and len(self._told) >= SENDERS:
                key = (key[0], "")
            if key in self._told:
                self._counts[key] += 1
                self._merged[key[0]] += 1
            else:
                self._told.add(key)
                kept.append(row)
        return kept

    def _counted(self, channel: str, now: Now) -> Iterator[JournalRow]:
        """Yield a row for each kind of refusal of the last minute, and begin another minute."""
        counts, self._counts, self._told = self._counts, Counter(), set()
        for (reason, sender), count in sorted(counts.items()):
            yield JournalRow(
                REJECTED, channel, now.wall, now.mono * 1000, sender=sender or None, attempt=count, cause=reason
            )
