"""The world with catching up in it: every node also compares its log with others and fetches what it lacks, by the
production code of `sdschat.catchup` and MVDS, over the same bad network."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any, Final

from sdschat.catchup.values import CatchUpState
from sdschat.sds.channel import Channel
from sdschat.sds.events import Delivered, DuplicateReceived, Event, PushScheduled, RepairCancelled, RepairScheduled
from sdschat.sds.state import Ready
from sdschat.sds.values import ChannelRow, Now, Put, Write
from sdschat.sim.actions import act
from sdschat.sim.check_events import check_events
from sdschat.sim.check_state import check_sizes, check_writes
from sdschat.sim.companion import Companion, Disk, Parcel, odd_question
from sdschat.sim.node import SimNode
from sdschat.sim.oracle import NodeRecord
from sdschat.sim.scenario import Action, Violation
from sdschat.sim.world import ARRIVAL, WAKE, World

_AT_REST: Final = 3_600_000  # a Store that had not got something is asked for it again, ever more rarely


def _lowest(writes: list[Write], horizon: int) -> int:
    """Return the join horizon after these writes."""
    rows = (write.row for write in writes if isinstance(write, Put))
    return min((row.horizon for row in rows if isinstance(row, ChannelRow)), default=horizon)


class HistoryWorld(World):
    """`companions` by the index of their node, for as long as its process lives."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.companions: dict[int, Companion] = {}
        self.fetched = 0
        self.parcels: Counter[str] = Counter()  # sent, by what they are
        for node in self.nodes:
            node.store = self.disk()

    def disk(self) -> Disk:
        return Disk()

    def companion(self, node: SimNode, now: Now) -> Companion:
        return Companion(self, node, now)

    def act(self, action: Action) -> None:
        if action.verb == "gone for long":
            node = self.nodes[action.node]
            node.kill()
            node.gone = True
            return
        act(self, action)
        if action.verb == "garbage":
            here = [companion for companion in self.companions.values() if companion.node.online]
            for one, other in itertools.pairwise(here):
                self._post(one.node, odd_question(one.name, other.name, action.number))

    def came_back(self) -> int:
        """Note that the faults are over, and everyone is there. Return for how many milliseconds yet something is done
        to them."""
        return 0

    def sender_at(self, address: str) -> str:
        """Return the participant that others reach there."""
        return address

    def check(self) -> None:
        """Check what more is to hold once everything has converged."""

    def check_rest(self) -> None:
        """Check H4: in bounded time nobody compares, fetches, asks a Store or answers any more."""
        interval = self.scenario.config.sync_interval
        until = self.time + _AT_REST + 20 * interval
        while True:
            before = self.parcels.copy()
            self.run(self.time + 3 * interval, self.act)
            sent = self.parcels - before
            if not sent:
                return
            if self.time >= until:
                what = ", ".join(f"{count} on {name}" for name, count in sorted(sent.items()))
                raise Violation("H4", f"in three quiet sync intervals: {what}")

    def owed_from(self, node: SimNode) -> int:
        """Return the date from which on the node is owed everything."""
        return 0

    def boot(self, node: SimNode) -> None:
        self.companions.pop(node.index, None)
        super().boot(node)
        self.companions[node.index] = self.companion(node, node.now(self.time))
        self.people_changed()
        if node.channel is not None:
            self._set_wake(node, node.channel)

    def people_changed(self) -> None:
        """Tell each companion who is here: a broker tells, as soon as somebody comes or goes."""
        here = [node for node in self.nodes if node.channel is not None and node.online and not node.gone]
        for node in self.nodes:
            companion = self.companions.get(node.index)
            if companion is None or node.channel is None:
                continue
            if not node.online:
                companion.offline(node.now(self.time))
            else:
                companion.present([other for other in here if other is not node], node.now(self.time))
            self._set_wake(node, node.channel)

    def flush(self, node: SimNode) -> None:
        companion, channel = self.companions.get(node.index), node.channel
        if companion is None or channel is None:
            super().flush(node)
            return
        ready = channel.take()
        parcels = companion.process(ready, node.now(self.time))
        if companion.complete and node.armed != "before-writes":
            record = self.oracle.records[node.index]
            lowest = _lowest(ready.writes, record.horizon)
            if lowest == companion.reach < record.horizon:  # which is the one way in which it may move
                record.horizon = lowest
        if node.armed and self._dies(node, ready):
            del self.companions[node.index]
            self.people_changed()
            return
        if ready.writes:
            check_writes(self.oracle, self.oracle.records[node.index], ready.writes)
        node.store.apply(ready.writes)
        if ready.writes or ready.packets or ready.events:
            self._engine_did(node, companion, ready)
        for parcel in parcels:
            self._post(node, parcel)
        companion.saved()
        self._set_wake(node, channel)

    def _engine_did(self, node: SimNode, companion: Companion, ready: Ready) -> None:
        record = self.oracle.records[node.index]
        for packet in ready.packets:
            self._publish(node, packet)
        record.settle()
        self._check_events(record, companion, ready.events)
        self.trace.step(self.time, node.index, ready)
        check_sizes(record)

    def _check_events(self, record: NodeRecord, companion: Companion, events: list[Event]) -> None:
        """Check events. A message that came as history is told at once, with the parents that are not here yet as its
        gap: for that moment it counts as older than joining."""
        put_off, record.put_off = record.put_off, {}  # to be looked at when all events are
        # A parcel holds several packets: after a duplicate may come the filter of somebody who lacks the message.
        wanted = {event.message_id for event in events if isinstance(event, PushScheduled | RepairScheduled)}
        for event in events:
            if isinstance(event, DuplicateReceived) and event.message_id in wanted:
                continue
            history = isinstance(event, Delivered) and event.message.message_id in companion.came
            horizon = record.horizon
            if isinstance(event, Delivered) and history:
                companion.came.discard(event.message.message_id)
                self.fetched += 1
                record.horizon = 1 << 62
            elif isinstance(event, RepairCancelled):
                put_off.pop(event.message_id, None)
            check_events(self.oracle, record, [event])
            record.horizon = horizon
        record.put_off = put_off
        check_events(self.oracle, record, [])

    def receivers(self, parcel: Parcel) -> list[int]:
        return [self.oracle.index[parcel.to]]

    def _post(self, node: SimNode, parcel: Parcel) -> None:
        if not node.online:
            return
        self.trace.sent(self.time, node.index, parcel.packet)
        self.parcels[parcel.what] += 1
        for receiver in self.receivers(parcel):
            what = f"{node.index} to {receiver}"
            count = self._counts.get(what, 0)
            self._counts[what] = count + 1
            for delay in self.network.fates(self.network.packet(node.index, what, count), node.index, receiver):
                self.schedule(self.time + delay, ARRIVAL, receiver, parcel)

    def _arrive(self, node: SimNode, arrival: Any) -> None:
        if not isinstance(arrival, Parcel):
            super()._arrive(node, arrival)
            return
        companion = self.companions.get(node.index)
        if companion is None or node.channel is None or not node.online:
            return
        now = node.now(self.time)
        companion.hear(arrival, now)
        self._step(node, companion, now)

    def _step(self, node: SimNode, companion: Companion, now: Now) -> None:
        """End the step of a companion, after anything that happened to it."""
        channel = node.channel
        assert channel is not None
        if companion.catch_up.state is CatchUpState.DONE and companion.catch_up.begun:
            companion.end(now)
            if not companion.complete:
                companion.complete = True
                companion.reach = max(companion.low, companion.catch_up.reach.lamport)
                channel.lower_horizon(now, companion.reach)
        self.flush(node)

    # Time.

    def _set_wake(self, node: SimNode, channel: Channel) -> None:
        super()._set_wake(node, channel)
        companion = self.companions.get(node.index)
        if companion is None:
            return
        due = companion.next_wake()
        if due is not None:
            at = max(due - node.mono_base, self.time)
            if node.wake_at is None or at < node.wake_at:
                node.wake_at = at
                self.schedule(at, WAKE, node.index, None)

    def _wake(self, node: SimNode) -> None:
        companion = self.companions.get(node.index)
        if companion is None or node.channel is None or node.wake_at != self.time:
            super()._wake(node)
            return
        now = node.now(self.time)
        when = companion.next_wake()
        if when is not None and when <= now.mono:
            companion.advance(now)
            self._step(node, companion, now)
        if node.channel is not None:
            node.wake_at = self.time
            super()._wake(node)
