"""Rows of senders go once no message of theirs is left, in any channel: a flood of invented senders must not stay.

Whoever has a key that is known here keeps their row, as does everybody of whom the user said something. Values about
senders, such as their numbers, go with the key, and those about copies of messages with the packets of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from sdschat.identity.key_book import KeyStanding
from sdschat.node.channel.author_chains import CHAINS, author_of
from sdschat.node.channel.basic_extensions import COUNTERS, counted_sender
from sdschat.node.channel.copies import COPY
from sdschat.node.node import Node
from sdschat.store.packets import ChannelLog
from sdschat.store.senders import (
    SenderOfIds,
    SenderStanding,
    count_values,
    senders_of_ids_after,
    speakers_after,
    standings_after,
    values_after,
)
from sdschat.store.store import Store

EVERY: Final = 3_600_000  # milliseconds from the end of one round to the next
AT_ONCE: Final = 20_000  # rows of each table that one walk through the log decides on
_DELETED: Final = 100  # rows of each table in one step; each may be on a page of its own, all of which are logged
_STEPS: Final = 20  # of a walk in one look: the limit of the database is kept in between
_MORE: Final = (
    1_000  # values of one kind that came since the last look: then they are looked at before the hour is over
)


# The kinds of values, by the beginning of their names, and how the sender id is read from a name.
_SENDER_IN: Final[dict[str, Callable[[str], str]]] = {CHAINS: author_of, COUNTERS: counted_sender}


class SilentSenders:
    """Senders of whom no message is left."""

    def __init__(self, node: Node, store: Store) -> None:
        self._node = node
        self._book = node.gate.book
        self._store = store
        self._walk: Iterator[None] | None = None
        self._due = 0
        self._standing = self._of_ids = 0  # the last rows that were decided on

    def hurry(self) -> None:
        """Begin the next round with the next look: there is too little room."""
        self._due = 0

    def tidy(self) -> Iterator[None]:
        """Take some steps of a round."""
        if self._walk is None and self._node.clock.now().mono >= self._due:
            self._walk = self._round()
        if self._walk is not None:
            yield from islice(self._walk, _STEPS)

    def _round(self) -> Iterator[None]:
        """Decide on some rows, by one walk through all logs."""
        try:
            standings = standings_after(self._store, self._standing, AT_ONCE)
            if standings:
                yield
            of_ids = senders_of_ids_after(self._store, self._of_ids, AT_ONCE)
            silent = {one.sender_id for one in of_ids} | {one.sender_id for one in standings if self._may_go(one)}
            places: dict[int, int] = {}
            for at in range(0, AT_ONCE, _DELETED):
                if standings[at : at + _DELETED] or of_ids[at : at + _DELETED]:
                    yield from self._leave_out_speakers(silent, places)
                    self._forget(silent, standings[at : at + _DELETED], of_ids[at : at + _DELETED])
                    yield
            self._standing = standings[-1].row if len(standings) == AT_ONCE else 0
            self._of_ids = of_ids[-1].row if len(of_ids) == AT_ONCE else 0
        finally:
            self._walk = None
            more = self._standing or self._of_ids
            self._due = self._node.clock.now().mono + (0 if more else EVERY)

    def _leave_out_speakers(self, silent: set[str], places: dict[int, int]) -> Iterator[None]:
        """Take off everybody of whom the logs have a message after these places, by channel, up to now."""
        more = True
        while silent and more:
            more = False
            for number in filter(None, map(self._store.number, self._store.channels())):
                page = speakers_after(self._store, number, places.get(number, 0))
                places[number] = page.place
                silent -= page.senders
                more = more or page.full
            if more:
                yield

    def _forget(self, silent: set[str], standings: Sequence[SenderStanding], of_ids: Sequence[SenderOfIds]) -> None:
        """Forget those who are silent. Nothing came in since the logs were looked at."""
        gone = [one for one in standings if one.sender_id in silent and self._may_go(one)]
        ids_gone = [one.row for one in of_ids if one.sender_id in silent]
        if gone or ids_gone:
            with self._store.transaction() as transaction:
                for one in gone:
                    transaction.forget_standing(one.sender_id, one.since)
                transaction.forget_senders_of_ids(ids_gone)
            self._book.forget_names(one.sender_id for one in gone)

    def _may_go(self, row: SenderStanding) -> bool:
        """True for a stranger who is not known apart any more, and for a name that never had a key."""
        if row.standing == KeyStanding.UNSIGNED:
            return self._book.standing(row.sender_id) == row.standing and not self._book.signs(row.sender_id)
        return not self._book.standing(row.sender_id)


class ForgottenValues:
    """Values about senders whose keys are forgotten: the numbers of their devices, and the counters of their sync
    messages; and about copies of messages whose packets are gone."""

    def __init__(self, node: Node, store: Store) -> None:
        self._node = node
        self._book = node.gate.book
        self._store = store
        self._left = dict.fromkeys((*_SENDER_IN, COPY), 0)  # values of each kind after the last look
        self._due = 0

    def tidy(self) -> Iterator[None]:
        """Let them go, step by step."""
        now = self._node.clock.now().mono
        hour, self._due = now >= self._due, self._due if now < self._due else now + EVERY
        for kind, left in self._left.items():
            if hour or count_values(self._store, kind) >= left + _MORE:
                yield from self._look_at(kind)
                self._left[kind] = count_values(self._store, kind)

    def _look_at(self, kind: str) -> Iterator[None]:
        name = ""
        while names := values_after(self._store, kind, name, AT_ONCE):
            name = names[-1]
            gone = [each for each in names if self._is_of_nothing(kind, each)]
            for at in range(0, len(gone), _DELETED):
                with self._store.transaction() as transaction:
                    for each in gone[at : at + _DELETED]:
                        if self._is_of_nothing(kind, each):  # they may have spoken since
                            transaction.forget_value(each)
                yield

    def _is_of_nothing(self, kind: str, name: str) -> bool:
        """True if nothing is known of the sender of a value, or its message is kept as an id at most."""
        if kind == COPY:
            return not any(
                name.startswith(f"{COPY}{channel}/") and self._is_kept(channel, name[len(f"{COPY}{channel}/") :])
                for channel in self._store.channels()
            )
        sender_id = _SENDER_IN[kind](name)
        return not self._book.standing(sender_id) and not self._book.signs(sender_id)

    def _is_kept(self, channel: str, message_id: str) -> bool:
        found = ChannelLog(self._store, channel).message(message_id)
        return found is not None and bool(found.raw)
