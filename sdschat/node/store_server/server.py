"""A Store: the node that is one, with what it does by the clock; and the extension of a channel that hears and answers.

The node itself archives, by being a participant: every packet that it delivers is kept as it came, and questions are
answered from that. Beside sync messages and answers it says nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from sdschat import __version__
from sdschat.identity.signing import Identity
from sdschat.node.channel.extension import ExtensionOutput, OutgoingPacket
from sdschat.node.channel.presence import STORE
from sdschat.node.clock import Clock
from sdschat.node.node import Node
from sdschat.node.retention import PAUSE, STEP, Retention, RetentionLimits
from sdschat.node.store_client.envelope import ANSWER, QUERY, SealedQuery, seal, unseal
from sdschat.node.store_server.answers import Answerer, ArchiveReader
from sdschat.node.store_server.metrics import COUNTS, Counts, MetricsSnapshot
from sdschat.node.store_server.quota import REPLAY_WINDOW, Quota, Replays
from sdschat.sds.state import Ready
from sdschat.sds.values import Append, Now, Refusal
from sdschat.store.archive import LogArchive, archived, database_space
from sdschat.store.errors import DiskFull, StoreError, StoreUnavailable
from sdschat.store.store import Store
from sdschat.wire.store_codec import MAX_QUERY_BYTES, StoreAnswer, StoreQuery, decode_query, encode_answer

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession


WAITING: Final = 1024  # questions of one channel that wait; beyond that the asker goes to another Store
BACKLOG: Final = 64  # packets that wait for a slow connection; more answers would only put off everything else
_SEALED_BYTES: Final = MAX_QUERY_BYTES + 256
_HINTS_EVERY: Final = 1_000

Soon = Callable[[Callable[[], None]], object]


class Shared:
    """Objects that all channels of one Store have in common."""

    def __init__(
        self,
        identity: Identity,
        archive: ArchiveReader,
        floors: Callable[[str], int],
        soon: Soon,
        quota: Quota | None = None,
    ) -> None:
        """`soon` runs something between two steps of the loop, so that answering does not hold up archiving."""
        self.identity = identity
        self.archive = archive
        self.floor = floors
        self.soon = soon
        self.quota = quota or Quota()
        self.replays = Replays()
        self.counts = Counts()


class StoreServer:
    """See `ChannelExtension`."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._waiting: deque[tuple[str, StoreQuery, Now]] = deque()
        self._busy = False
        self._hints_due = False
        self._hints_at = 0

    def attach(self, session: ChannelSession) -> None:
        self._session = session
        self._answers = Answerer(self._shared.identity.sender_id, session.name, self._shared.archive)
        session.presence.role = STORE
        session.handle("store/query", self._heard)

    def connected(self, now: Now) -> None:
        """Do nothing: no answer is owed, and those who asked before ask again."""

    def disconnected(self, now: Now) -> None:
        self._waiting.clear()

    # Questions.

    def _heard(self, frm: str, payload: bytes, now: Now) -> None:
        """Check that it is for us and signed, and only then the asker's share: nobody can use up that of another."""
        counts, me = self._shared.counts, self._shared.identity.sender_id
        letter = unseal(payload, _SEALED_BYTES)
        query = decode_query(letter.sealed.body) if isinstance(letter, SealedQuery) else letter
        if isinstance(letter, Refusal) or isinstance(query, Refusal):
            counts.refuse("unreadable")
            return
        if query.store != me:
            return
        if letter.sender_id != frm or not letter.proven(QUERY, self._session.name, me):
            counts.refuse("forged")
            return
        if not self._shared.quota.may_ask(frm, now.mono):
            counts.refuse("busy")
            return
        if abs(query.sent_time - now.wall) > REPLAY_WINDOW:
            self._refuse(frm, query, "clock")
        elif not self._shared.replays.is_new(frm, query.query_id):
            counts.refuse("replayed")
        elif self._is_full() or not self._shared.quota.may_have(frm, now.mono):
            self._refuse(frm, query, "busy")
        else:
            self._waiting.append((frm, query, now))
            if not self._busy:
                self._busy = True
                self._shared.soon(self._next)

    def _is_full(self) -> bool:
        return len(self._waiting) >= WAITING or self._session.transport.waiting > BACKLOG

    def _refuse(self, requester: str, query: StoreQuery, reason: str) -> None:
        self._shared.counts.refuse(reason)
        self._send(requester, StoreAnswer(query.query_id, refused=reason))

    def _next(self) -> None:
        """Give one answer; the next one when the loop has seen to everything else."""
        if not self._waiting:
            self._busy = False
            return
        requester, query, now = self._waiting.popleft()
        self._shared.soon(self._next)
        started = Clock.stopwatch()
        try:
            answer = self._answers.answer(query, self._shared.floor(self._session.name))
        except StoreError:
            # The next turn of the node meets the same trouble, and says it; whoever asked goes elsewhere.
            self._refuse(requester, query, "busy")
            return
        size = self._send(requester, answer)
        self._shared.quota.given(requester, size, now.mono)
        self._count(query, answer, size, Clock.stopwatch() - started)

    def _send(self, requester: str, answer: StoreAnswer) -> int:
        payload = seal(self._shared.identity, ANSWER, self._session.name, requester, encode_answer(answer))
        self._session.send_packets([OutgoingPacket("store/answer", requester, payload)])
        return len(payload)

    def _count(self, query: StoreQuery, answer: StoreAnswer, size: int, seconds: float) -> None:
        counts = self._shared.counts
        counts.answered["page" if query.range is not None else "hints" if query.confirm else "ids"] += 1
        counts.messages_out += sum(1 for item in answer.items if item.packet)
        counts.bytes_out += size
        counts.unknown += len(answer.unknown)
        counts.timed(seconds)

    # Our own sync messages name what we have, with hints: whoever hears them passes those on.

    def next_wake(self) -> int | None:
        return self._hints_at if self._hints_due else None

    def advance(self, now: Now) -> None:
        """Give the engine hints for the messages of the next causal history: those of earlier turns are committed by
        now."""
        self._hints_due = False
        self._hints_at = now.mono + _HINTS_EVERY
        state = self._session.channel.state
        for entry in state.window.causal_history(state.config.causal_history):
            if entry.message_id not in state.hints:
                hint = self._answers.hint(entry.message_id)
                if hint is not None:
                    self._session.channel.learn_hint(entry.message_id, hint)

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        counts = self._shared.counts
        for write in ready.writes:
            if type(write) is Append:
                counts.archived += 1
                counts.archived_bytes += len(write.row.raw)
                self._hints_due = True
        return ExtensionOutput()


_STEPS_UNTOLD: Final = 100


class StoreNode(Retention):
    """Everything that is a Store's own about a node. Make it before the first channel is joined."""

    def __init__(
        self,
        node: Node,
        store: Store,
        limits: RetentionLimits,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` tells the operator something."""
        super().__init__(node, store, limits, warn=warn)
        self._started = self._clock.now().wall
        self.shared = Shared(
            node.gate.identity,
            LogArchive(store),
            lambda name: self.floor(name).lamport,
            asyncio.get_running_loop().call_soon,
        )
        node.extend(lambda session: StoreServer(self.shared))

    @property
    def counts(self) -> Counts:
        return self.shared.counts

    def _saved(self) -> Counts:
        """Return the counts without messages that are not on disk yet, as while it is full."""
        writes = (write for batch in self.node.unsaved for write in batch.writes)
        waiting = [len(write.row.raw) for write in writes if type(write) is Append]
        counts = self.counts
        return replace(
            counts, archived=counts.archived - len(waiting), archived_bytes=counts.archived_bytes - sum(waiting)
        )

    def snapshot(self) -> MetricsSnapshot:
        """Return the contents and the activity of this Store at this moment."""
        connected = {name: session.transport.connected for name, session in self.node.sessions.items()}
        channels, room = archived(self._store), database_space(self._store)
        return MetricsSnapshot(
            __version__,
            self._started / 1000,
            self._saved(),
            channels,
            connected,
            room,
            self.limits.size,
            saving=not self.node.cannot_save,
        )

    def save_counts(self) -> None:
        """Save the counts for `sdschat store status`, which is another process."""
        counts = {
            **asdict(self._saved()),
            "started": self._started,
            "saved": self._clock.now().wall,
            "pid": os.getpid(),
        }
        counts["max_size"] = self.limits.size
        with self._store.transaction() as transaction:
            transaction.set_value(COUNTS, json.dumps(counts).encode())

    async def keep(self) -> None:
        """Drop what is too old or too much, and give its room back, in steps too short to be felt. Until cancelled."""
        while True:
            with contextlib.suppress(DiskFull, StoreUnavailable):
                self.save_counts()
                for step, _ in enumerate(self.tidy(), start=1):
                    await asyncio.sleep(PAUSE)
                    if not step % _STEPS_UNTOLD:  # there may be hours of it, and all the while it is asked how it is
                        self.save_counts()
                self.save_counts()
            await asyncio.sleep(self.pause())

    def _drop(self, channel: str, before: int, most: int = STEP) -> bool:
        before_it = self.floor(channel).packets
        more = super()._drop(channel, before, most)
        self.counts.dropped_packets += self.floor(channel).packets - before_it
        return more
