"""Planted defects in delivery, order and filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.ids import message_id_for
from sdschat.sds.incoming import Gaps
from sdschat.sds.state import ChannelState
from sdschat.sds.steps import deliver, filters, future_dated, receive, repair, send
from sdschat.sds.values import Entry, GapRow, Message
from sdschat.sds.window import RecentWindow
from tests.sim.plant import defect, instead, method


@defect
def children_are_dropped_with_a_lost_parent() -> Iterator[None]:
    old = deliver.give_up

    def give_up(s: ChannelState) -> None:
        due = [key for key in s.requests.missing if (s.requests.lost.get(key) or 0) <= s.now.mono]
        for message_id in due:
            for waiting in list(s.incoming.waiting_for.get(message_id, ())):
                s.incoming.pop(waiting)
        old(s)

    with instead(old, give_up):
        yield


@defect
def held_counts_as_delivered() -> Iterator[None]:
    old = deliver.verify_dependencies

    def verify(s: ChannelState, message: Message, lamport: int) -> Any:
        found = old(s, message, lamport)
        found.buffered.clear()
        return found

    with instead(old, verify):
        yield


@defect
def the_log_is_in_order_of_arrival() -> Iterator[None]:
    def insert(self: RecentWindow, entry: Entry) -> bool:
        self.order.append(entry)
        self.entries[entry.message_id] = entry
        for dependency in entry.dependencies:
            self._heads.pop(dependency, None)
        self._heads[entry.message_id] = entry
        return False

    with method(RecentWindow, "insert", insert):
        yield


@defect
def ties_are_in_order_of_arrival() -> Iterator[None]:
    old = RecentWindow.insert

    def insert(self: RecentWindow, entry: Entry) -> bool:
        late = old(self, entry)
        self.order.remove(entry)
        place = len(self.order)
        while place and self.order[place - 1].lamport > entry.lamport:
            place -= 1
        self.order.insert(place, entry)
        return late

    with method(RecentWindow, "insert", insert):
        yield


@defect
def gaps_are_never_closed() -> Iterator[None]:
    with method(RecentWindow, "awaits", lambda *_: False), method(Gaps, "close", lambda *_: False):
        yield


@defect
def what_left_the_window_is_delivered_again() -> Iterator[None]:
    def holds(self: ChannelState, message_id: str) -> bool:
        return message_id in self.window.entries or message_id in self.incoming.buffered

    with method(ChannelState, "holds", holds):
        yield


@defect
def sync_messages_enter_the_log() -> Iterator[None]:
    old = receive._receive_sync

    def receive_sync(s: ChannelState, message: Message, lamport: int) -> None:
        old(s, message, lamport)
        if not s.holds(message.message_id) and message.sender_id != s.participant_id:
            deliver.deliver_message(s, message, b"", "live", (), s.filter.generation, s.now.wall)

    with instead(old, receive_sync):
        yield


@defect
def sync_messages_enter_the_filter() -> Iterator[None]:
    old = receive._receive_sync

    def receive_sync(s: ChannelState, message: Message, lamport: int) -> None:
        old(s, message, lamport)
        filters.include_received(s, message.message_id, message.lamport_timestamp or 0)

    with instead(old, receive_sync):
        yield


@defect
def a_filter_holds_its_own_message() -> Iterator[None]:
    old = send.send_message

    def send_message(s: ChannelState, content: bytes) -> Message:
        lamport = max(s.now.wall, s.clock.value + 1)
        s.filter.add(message_id_for(s.config.id_rule, s.channel_id, s.participant_id, lamport, content), lamport)
        return old(s, content)

    with instead(old, send_message):
        yield


@defect
def ids_only_heard_of_enter_the_filter() -> Iterator[None]:
    old = repair.note_missing

    def note_missing(s: ChannelState, entry: Any, *rest: Any, **more: Any) -> bool:
        s.filter.add(entry.message_id, 0)
        return old(s, entry, *rest, **more)

    with instead(old, note_missing):
        yield


@defect
def the_filter_claims_more_than_it_covers() -> Iterator[None]:
    old = OwnFilter.roll

    def roll(self: OwnFilter) -> None:
        floor = self.floor
        old(self)
        self.floor = floor

    with method(OwnFilter, "roll", roll):
        yield


@defect
def what_one_goes_without_all_go_without() -> Iterator[None]:
    old = deliver.verify_dependencies

    def verify(s: ChannelState, message: Message, lamport: int) -> Any:
        found = old(s, message, lamport)
        for message_id in found.gap:
            s.gaps.note(GapRow(message_id, "lost", None, s.now.wall, message.sender_id))
        return found

    with instead(old, verify):
        yield


@defect
def deferred_messages_enter_the_filter() -> Iterator[None]:
    old = future_dated.defer

    def defer(s: ChannelState, message: Message, raw: bytes, via: str, lamport: int) -> None:
        old(s, message, raw, via, lamport)
        filters.include_received(s, message.message_id, lamport)

    with instead(old, defer):
        yield


@defect
def what_is_older_than_a_minute_is_no_duplicate() -> Iterator[None]:
    old = ChannelState.holds

    def holds(self: ChannelState, message_id: str) -> bool:
        entry = self.window.entries.get(message_id)
        return old(self, message_id) and (entry is None or self.now.wall - entry.lamport < 60_000)

    with method(ChannelState, "holds", holds):
        yield


@defect
def a_filter_claims_what_was_dropped() -> Iterator[None]:
    def spoil_filter(s: ChannelState) -> None:
        pass

    with instead(filters.spoil_filter, spoil_filter):
        yield
