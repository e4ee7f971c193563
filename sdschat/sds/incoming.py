"""The incoming buffer: messages that are here but not in the log (spec: Participant state, Receive Message); and gaps.

A dependency is in one of three states: unknown (nowhere here), buffered (here, itself waiting), delivered (in the log).
Only *delivered* meets a dependency; only *unknown* is asked for.

Gaps are dependencies that were waited for in vain. Whoever names one next does not wait for it either. Only what was
waited for in full is one: what one message goes without for its own reasons (it is older than our joining, or its
sender names too much) must not make the messages of others go without it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from sdschat.sds.limits import (
    BUFFERED_BYTES_PER_CHANNEL,
    BUFFERED_BYTES_PER_SENDER,
    BUFFERED_PER_CHANNEL,
    BUFFERED_PER_SENDER,
    FUTURE_DATED_BYTES_PER_CHANNEL,
    FUTURE_DATED_BYTES_PER_SENDER,
    FUTURE_DATED_PER_CHANNEL,
    FUTURE_DATED_PER_SENDER,
    GAPS_PER_CHANNEL,
    GAPS_PER_SENDER,
)
from sdschat.sds.timers import Deadlines
from sdschat.sds.values import UNPROVEN, GapRow, IncomingRow, Message


@dataclass(slots=True, eq=False)
class BufferedMessage:
    """A message that waits: for dependencies, or, where `release_at` is set, for its own date."""

    message: Message
    # Its packet as it came.
    raw: bytes
    # The way by which it came: live, repair, sync or store.
    source: str
    # Epoch milliseconds.
    received_at: int
    # Generation of our filter that its id went into.
    generation: int = field(default=0, init=False)
    # Epoch milliseconds at which its date has come. 0: it waits for dependencies.
    release_at: int = field(default=0, init=False)
    # False: it waits for its date, and nobody signed it, so what it names may never have been.
    proven: bool = field(default=True, init=False)
    # Ids of dependencies that are not delivered. Empty only for a message that waits for its date.
    unmet: dict[str, None] = field(default_factory=dict, init=False)
    # Ids of dependencies that it no longer waits for.
    gap: list[str] = field(default_factory=list, init=False)

    @property
    def lamport(self) -> int:
        lamport = self.message.lamport_timestamp
        assert lamport is not None, "only messages of the log are ever buffered"
        return lamport

    def row(self) -> IncomingRow:
        gap = tuple(self.gap)
        generation = self.generation if self.proven else UNPROVEN
        return IncomingRow(self.message, self.raw, self.source, generation, self.received_at, self.release_at, gap)


@dataclass(slots=True, eq=False)
class _Use:
    """Share of one sender in the buffer. No number is below 0."""

    # Messages that wait for dependencies, and the bytes of their packets.
    buffered: int = 0
    bytes: int = 0
    # Messages that wait for their date, and the bytes of their packets.
    future_dated: int = 0
    future_dated_bytes: int = 0


_NOTHING = _Use()


@dataclass(slots=True, eq=False)
class IncomingBuffer:
    """Messages that wait, and for each dependency the messages that wait for it."""

    # By message id.
    buffered: dict[str, BufferedMessage] = field(default_factory=dict, init=False)
    # (Lamport, id) of all in `buffered`, in ascending order: as they would stand in the log.
    _order: list[tuple[int, str]] = field(default_factory=list, init=False)
    # By dependency: ids of the messages that have it in `unmet`. No entry is empty.
    waiting_for: dict[str, dict[str, None]] = field(default_factory=dict, init=False)
    # `release_at` of those that wait for their date: on the wall clock, so a clock that is put right moves them.
    future_dated: Deadlines = field(default_factory=Deadlines, init=False)
    # Ids of messages in `buffered` that came as history as well. Not kept over a restart.
    given: dict[str, None] = field(default_factory=dict, init=False)
    # Ids whose row on disk is out of date.
    changed: dict[str, None] = field(default_factory=dict, init=False)
    # By sender, of those who have something here.
    _use: dict[str, _Use] = field(default_factory=dict, init=False)
    # Sum of `_use`.
    _total: _Use = field(default_factory=_Use, init=False)

    def may_defer(self, message: Message, size: int, without: BufferedMessage | None = None) -> bool:
        """True if this sender may have one more message waiting here for its date, once `without` is gone."""
        every = self._total
        gone, gone_size = (0, 0) if without is None else (1, len(without.raw))
        if (
            every.future_dated - gone >= FUTURE_DATED_PER_CHANNEL
            or every.future_dated_bytes - gone_size + size > FUTURE_DATED_BYTES_PER_CHANNEL
        ):
            return False
        if without is not None and without.message.sender_id != message.sender_id:
            gone, gone_size = 0, 0
        own = self._use.get(message.sender_id, _NOTHING)
        return (
            own.future_dated - gone < FUTURE_DATED_PER_SENDER
            and own.future_dated_bytes - gone_size + size <= FUTURE_DATED_BYTES_PER_SENDER
        )

    def farthest_deferred(self, message: Message, size: int) -> str | None:
        """Return the message to give up to defer this one, or None. If its sender has used up its share: the sender's
        farthest, if that is due after this one. If the channel is full: the farthest of the sender that has most, if
        that is more than this sender has."""
        use = self._use
        own = use.get(message.sender_id, _NOTHING)
        heavy = message.sender_id
        at_least = (message.lamport_timestamp or 0, message.message_id)
        if (
            own.future_dated < FUTURE_DATED_PER_SENDER
            and own.future_dated_bytes + size <= FUTURE_DATED_BYTES_PER_SENDER
        ):
            heavy = max(use, key=lambda sender: (use[sender].future_dated, use[sender].future_dated_bytes, sender))
            if use[heavy].future_dated > own.future_dated + 1:
                at_least = (0, "")
            else:
                heavy = message.sender_id
        theirs = [
            (buffered.lamport, message_id)
            for message_id, buffered in self.buffered.items()
            if buffered.release_at and buffered.message.sender_id == heavy
        ]
        farthest = max(theirs, default=at_least)
        return farthest[1] if farthest > at_least else None

    def to_give_up(self, message: Message, size: int) -> list[str] | None:
        """Return those that have to go so that this message may wait here; None: it has to go itself.

        These are the newest of its sender, as many as it takes, if they are newer than it: older ones are nearer to
        the log, and refusing them for the sake of what waits for them would be a deadlock. Or, if the channel is full,
        the newest of who holds most."""
        if self._has_room(message, size, ()):
            return []
        than = (message.lamport_timestamp or 0, message.message_id)
        gone: list[BufferedMessage] = []
        for newest in self._newest_first(message.sender_id):
            if newest <= than:
                break
            gone.append(self.buffered[newest[1]])
            if self._has_room(message, size, gone):
                return [buffered.message.message_id for buffered in gone]
        heaviest = self._newest_of_heaviest(message.sender_id)
        if heaviest is None or not self._has_room(message, size, (self.buffered[heaviest],)):
            return None
        return [heaviest]

    def _has_room(self, message: Message, size: int, without: Sequence[BufferedMessage]) -> bool:
        """True if this sender may have one more message waiting here, once those of one sender are gone."""
        own, every = self._use.get(message.sender_id, _NOTHING), self._total
        gone, gone_size = len(without), sum(len(buffered.raw) for buffered in without)
        if every.buffered - gone >= BUFFERED_PER_CHANNEL or every.bytes - gone_size + size > BUFFERED_BYTES_PER_CHANNEL:
            return False
        if without and without[0].message.sender_id != message.sender_id:
            gone, gone_size = 0, 0
        return own.buffered - gone < BUFFERED_PER_SENDER and own.bytes - gone_size + size <= BUFFERED_BYTES_PER_SENDER

    def _newest_of_heaviest(self, sender_id: str) -> str | None:
        use = self._use
        heavy = max(use, key=lambda sender: (use[sender].buffered, use[sender].bytes, sender), default=None)
        mine = use[sender_id].buffered if sender_id in use else 0
        if heavy is None or use[heavy].buffered <= mine + 1:
            return None
        return next(self._newest_first(heavy))[1]

    def _newest_first(self, sender_id: str) -> Iterator[tuple[int, str]]:
        """Yield what this sender has waiting for dependencies, as (Lamport, id)."""
        for item in reversed(self._order):
            buffered = self.buffered[item[1]]
            if buffered.message.sender_id == sender_id and not buffered.release_at:
                yield item

    def in_order(self) -> list[BufferedMessage]:
        """Return all that is buffered, as it would stand in the log."""
        return [self.buffered[message_id] for _, message_id in self._order]

    def newest_waiting(self, most: int) -> list[tuple[int, str]]:
        """Return the newest of what waits for dependencies, newest first, as (Lamport, id)."""
        found: list[tuple[int, str]] = []
        for item in reversed(self._order):
            if len(found) >= most:
                break
            if not self.buffered[item[1]].release_at:
                found.append(item)
        return found

    def put(self, buffered: BufferedMessage) -> None:
        message = buffered.message
        message_id = message.message_id
        assert message_id not in self.buffered
        self.buffered[message_id] = buffered
        insort(self._order, (buffered.lamport, message_id))
        self.changed[message_id] = None
        for dependency in buffered.unmet:
            self.waiting_for.setdefault(dependency, {})[message_id] = None
        self._count(buffered, 1)

    def pop(self, message_id: str) -> BufferedMessage | None:
        buffered = self.buffered.pop(message_id, None)
        if buffered is None:
            return None
        del self._order[bisect_left(self._order, (buffered.lamport, message_id))]
        self.changed[message_id] = None
        self.given.pop(message_id, None)
        self.future_dated.discard(message_id)
        for dependency in buffered.unmet:
            self._forget_waiting(dependency, message_id)
        self._count(buffered, -1)
        return buffered

    def meet(self, dependency: str, gap: bool) -> list[BufferedMessage]:
        """Note that a dependency is delivered, or given up (`gap`). Return the messages that waited for nothing else,
        in log order."""
        ready: list[BufferedMessage] = []
        for message_id in self.waiting_for.pop(dependency, ()):
            buffered = self.buffered[message_id]
            buffered.unmet.pop(dependency, None)
            if gap:
                buffered.gap.append(dependency)
                self.changed[message_id] = None
            if not buffered.unmet:
                ready.append(buffered)
        ready.sort(key=lambda buffered: (buffered.lamport, buffered.message.message_id))
        return ready

    def waiting_of(self, sender_id: str) -> list[BufferedMessage]:
        """Return the messages of this sender that wait for dependencies, newest first."""
        return [self.buffered[message_id] for _, message_id in self._newest_first(sender_id)]

    def waiting_given(self) -> list[BufferedMessage]:
        """Return the messages that wait for dependencies and came as history as well, and forget that they came so."""
        given, self.given = self.given, {}
        return [self.buffered[message_id] for message_id in given if not self.buffered[message_id].release_at]

    def stop_waiting(self, these: Sequence[BufferedMessage], unknown: Container[str]) -> list[BufferedMessage]:
        """Have these messages wait for none of these dependencies. Return what waits for nothing else."""
        ready: list[BufferedMessage] = []
        for buffered in these:
            for entry in buffered.message.causal_history:  # in this order also after a restart
                dependency = entry.message_id
                if dependency in buffered.unmet and dependency in unknown:
                    del buffered.unmet[dependency]
                    self._forget_waiting(dependency, buffered.message.message_id)
                    buffered.gap.append(dependency)
                    self.changed[buffered.message.message_id] = None
            if not buffered.unmet:
                ready.append(buffered)
        return ready

    def _forget_waiting(self, dependency: str, message_id: str) -> None:
        waiting = self.waiting_for.get(dependency)
        if waiting is not None:
            waiting.pop(message_id, None)
            if not waiting:
                del self.waiting_for[dependency]

    def _count(self, buffered: BufferedMessage, by: int) -> None:
        sender_id = buffered.message.sender_id
        own = self._use.get(sender_id)
        if own is None:
            own = self._use[sender_id] = _Use()
        for use in (own, self._total):
            if buffered.release_at:
                use.future_dated += by
                use.future_dated_bytes += by * len(buffered.raw)
            else:
                use.buffered += by
                use.bytes += by * len(buffered.raw)
        if not own.buffered and not own.future_dated:
            del self._use[sender_id]


class Gaps(dict[str, GapRow]):
    """Rows by the id that is lost. Who has too many named loses his own oldest."""

    def __init__(self, rows: tuple[GapRow, ...] = ()) -> None:
        super().__init__()
        # Ids whose row on disk is out of date.
        self.changed: dict[str, None] = {}
        # By participant: ids of the rows that are charged to it, the oldest first. At most `GAPS_PER_SENDER` each and
        # `GAPS_PER_CHANNEL` in all; no participant has an empty share.
        self._shares: dict[str, dict[str, None]] = {}
        for row in rows:
            self._put(row)

    def note(self, row: GapRow) -> None:
        if row.message_id in self:
            return
        share = self._shares.get(row.charged_to, {})
        if len(share) >= GAPS_PER_SENDER:
            self.close(next(iter(share)))
        elif len(self) >= GAPS_PER_CHANNEL:
            heaviest = max(self._shares, key=lambda sender: (len(self._shares[sender]), sender))
            self.close(next(iter(self._shares[heaviest])))
        self._put(row)
        self.changed[row.message_id] = None

    def count_charged_to(self, sender_id: str) -> int:
        return len(self._shares.get(sender_id, ()))

    def close(self, message_id: str) -> bool:
        """Remove a gap, because its message came or is forgotten. Return False where there was none."""
        row = self.pop(message_id, None)
        if row is None:
            return False
        share = self._shares[row.charged_to]
        del share[message_id]
        if not share:
            del self._shares[row.charged_to]
        self.changed[message_id] = None
        return True

    def _put(self, row: GapRow) -> None:
        self[row.message_id] = row
        self._shares.setdefault(row.charged_to, {})[row.message_id] = None
