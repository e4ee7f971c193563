"""The incoming buffer: messages that are here but not in the log (spec: Participant state, Receive Message).

A dependency is in one of three states: unknown (nowhere here), held (here, but itself waiting), delivered (in the
log). Only *delivered* meets a dependency; only *unknown* is asked for.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from sdschat.sds.limits import (
    BUFFERED_BYTES_PER_CHANNEL,
    BUFFERED_BYTES_PER_SENDER,
    BUFFERED_PER_CHANNEL,
    BUFFERED_PER_SENDER,
    FUTURE_DATED_BYTES_PER_CHANNEL,
    FUTURE_DATED_BYTES_PER_SENDER,
    FUTURE_DATED_PER_CHANNEL,
    FUTURE_DATED_PER_SENDER,
)
from sdschat.sds.rows import HeldRow
from sdschat.sds.timers import Deadlines
from sdschat.sds.values import Message


class BufferedMessage:
    """A message that waits: for dependencies, or, where `release_at` is set, for its own date."""

    __slots__ = ("gap", "generation", "message", "raw", "received_at", "release_at", "source", "unmet")

    def __init__(self, message: Message, raw: bytes, source: str, received_at: int) -> None:
        self.message = message
        self.raw = raw
        self.source = source
        self.received_at = received_at
        self.generation = 0
        self.release_at = 0
        self.unmet: dict[str, None] = {}
        self.gap: list[str] = []

    @property
    def lamport(self) -> int:
        lamport = self.message.lamport_timestamp
        assert lamport is not None, "only messages of the log are ever held"
        return lamport

    def row(self) -> HeldRow:
        gap = tuple(self.gap)
        return HeldRow(self.message, self.raw, self.source, self.generation, self.received_at, self.release_at, gap)


class _Use:
    """Share of one sender in the buffer."""

    __slots__ = ("buffered", "bytes", "future_dated", "future_dated_bytes")

    def __init__(self) -> None:
        self.buffered = 0
        self.bytes = 0
        self.future_dated = 0
        self.future_dated_bytes = 0


_NOTHING = _Use()


class IncomingBuffer:
    """Held messages, and for each dependency who waits for it."""

    __slots__ = ("_order", "_total", "_use", "buffered", "changed", "future_dated", "waiting_for")

    def __init__(self) -> None:
        self.buffered: dict[str, BufferedMessage] = {}
        self._order: list[tuple[int, str]] = []  # everything held, as it would stand in the log
        self.waiting_for: dict[str, dict[str, None]] = {}
        self.future_dated = Deadlines()  # dates, on the wall clock: one that is put right brings them near, or far
        self.changed: dict[str, None] = {}
        self._use: dict[str, _Use] = {}
        self._total = _Use()

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
        """Return the message to give up to park this one, or None. If its sender has used up its share: the sender's
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

    def has_room(self, message: Message, size: int, without: BufferedMessage | None = None) -> bool:
        """True if this sender may have one more message waiting here, once `without` is gone."""
        own = self._use.get(message.sender_id, _NOTHING)
        every = self._total
        gone, gone_size = (0, 0) if without is None else (1, len(without.raw))
        if every.buffered - gone >= BUFFERED_PER_CHANNEL or every.bytes - gone_size + size > BUFFERED_BYTES_PER_CHANNEL:
            return False
        if without is not None and without.message.sender_id != message.sender_id:
            gone, gone_size = 0, 0
        return own.buffered - gone < BUFFERED_PER_SENDER and own.bytes - gone_size + size <= BUFFERED_BYTES_PER_SENDER

    def heaviest_other(self, sender_id: str) -> str | None:
        """When the channel is full: the message to give up for one of `sender_id`, the newest of who holds most."""
        use = self._use
        heavy = max(use, key=lambda sender: (use[sender].buffered, use[sender].bytes, sender), default=None)
        mine = use[sender_id].buffered if sender_id in use else 0
        if heavy is None or use[heavy].buffered <= mine + 1:
            return None
        newest = max(
            (buffered.lamport, message_id)
            for message_id, buffered in self.buffered.items()
            if buffered.message.sender_id == heavy and not buffered.release_at
        )
        return newest[1]

    def newest_of(self, sender_id: str, than: Message) -> str | None:
        """The newest that this sender has waiting here, if it is newer than `than`: older ones are nearer to the log,
        and refusing them for the sake of what waits for them would be a deadlock."""
        own = self._use.get(sender_id)
        if own is None or not own.buffered:
            return None
        newest = max(
            (buffered.lamport, message_id)
            for message_id, buffered in self.buffered.items()
            if buffered.message.sender_id == sender_id and not buffered.release_at
        )
        return newest[1] if newest > (than.lamport_timestamp or 0, than.message_id) else None

    def in_order(self) -> list[BufferedMessage]:
        """All that is held, as it would stand in the log."""
        return [self.buffered[message_id] for _, message_id in self._order]

    def newest_waiting(self, most: int) -> list[tuple[int, str]]:
        """The newest of what waits for dependencies, newest first, as (Lamport, id)."""
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

    def take(self, message_id: str) -> BufferedMessage | None:
        buffered = self.buffered.pop(message_id, None)
        if buffered is None:
            return None
        del self._order[bisect_left(self._order, (buffered.lamport, message_id))]
        self.changed[message_id] = None
        self.future_dated.discard(message_id)
        for dependency in buffered.unmet:
            waiting = self.waiting_for.get(dependency)
            if waiting is not None:
                waiting.pop(message_id, None)
                if not waiting:
                    del self.waiting_for[dependency]
        self._count(buffered, -1)
        return buffered

    def meet(self, dependency: str, gap: bool) -> list[BufferedMessage]:
        """A dependency is delivered, or given up: whoever waited for nothing else, in log order."""
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
