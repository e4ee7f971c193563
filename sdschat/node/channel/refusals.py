"""Rows of the journal for packets that were refused or kept as ids: one a minute for each kind, reason and sender, with
their number. Of what came twice some have rows of their own; anybody can send a packet again, any number of times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from sdschat.sds.values import Now
from sdschat.store.journal import DUPLICATE, KEPT_AS_ID, REJECTED, JournalRow

MINUTE: Final = 60_000
SENDERS: Final = 64  # pairs of reason and sender told apart in a minute: anybody can make up senders
DUPLICATES: Final = 256  # rows of a minute for what came twice; a busy group without an attacker has fewer

_COUNTED: Final = frozenset({REJECTED, KEPT_AS_ID})
_Key = tuple[str, str, str]  # event, reason and sender; an empty sender stands for all beyond `SENDERS`


class RefusalCounter:
    """The packets of one channel that were refused, kept as ids, or here already."""

    def __init__(self) -> None:
        self._since = -MINUTE  # on the monotonic clock
        self._counts: Counter[_Key] = Counter()
        self._told: set[_Key] = set()
        self._duplicates = 0  # rows of this minute
        self._merged: Counter[str] = Counter()

    def take_merged(self) -> dict[str, int]:
        """Take the numbers of refusals that got no row since the last call, by reason."""
        merged, self._merged = self._merged, Counter()
        return dict(merged)

    def count(self, reason: str, packets: int) -> None:
        """Count packets that were refused without a look into them."""
        self._merged[reason] += packets

    def merge(self, channel: str, rows: Iterable[JournalRow], now: Now) -> list[JournalRow]:
        """Return the rows, but of counted ones only the first of each minute, and then a row for the others of it."""
        kept: list[JournalRow] = []
        if now.mono - self._since >= MINUTE:
            kept += self._counted(channel, now)
        for row in rows:
            if row.event not in _COUNTED and row.event != DUPLICATE:
                kept.append(row)
                continue
            if not self._told and not self._duplicates:
                self._since = now.mono
            if row.event == DUPLICATE and self._duplicates < DUPLICATES:
                self._duplicates += 1
                kept.append(row)
                continue
            key = (row.event, row.cause or "", row.sender or "")
            if key not in self._told and len(self._told) >= SENDERS:
                key = (*key[:2], "")
            if key in self._told:
                self._counts[key] += 1
                if row.event == REJECTED:
                    self._merged[key[1]] += 1
            else:
                self._told.add(key)
                kept.append(row)
        return kept

    def _counted(self, channel: str, now: Now) -> Iterator[JournalRow]:
        """Yield a row for each kind of refusal of the last minute, and begin another minute."""
        counts, self._counts, self._told = self._counts, Counter(), set()
        self._duplicates = 0
        for (event, reason, sender), count in sorted(counts.items()):
            yield JournalRow(
                event,
                channel,
                now.wall,
                now.mono * 1000,
                sender=sender or None,
                attempt=count,
                cause=reason or None,
            )
