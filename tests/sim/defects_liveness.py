"""Planted defects after which the group is never done: what all have stays open, or is sent without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sdschat.sds import limits
from sdschat.sds.scheduled_sends import ScheduledSends
from sdschat.sds.state import ChannelState, Peer
from sdschat.sds.steps import acks, deliver, due_sends, outgoing_sweep, range_review, ranges
from tests.sim.plant import defect, instead, method


@defect
def who_joined_later_is_never_answered() -> Iterator[None]:
    """A range that begins below our join horizon is ignored, and nobody asks."""
    old = range_review._review_print

    def review_print(s: ChannelState, peer: Peer, packet_id: str, theirs: Any) -> int:
        return old(s, peer, packet_id, theirs) if s.horizon <= theirs.low else 0

    with instead(old, review_print), instead(ranges.question, lambda s, top: None):
        yield


@defect
def questions_are_not_answered() -> Iterator[None]:
    with instead(ranges.note_question, lambda *_: None):
        yield


@defect
def who_wrote_at_one_date_answers_answers_for_ever() -> Iterator[None]:
    with instead(ranges._by_chance, lambda *_: True):
        yield


@defect
def equal_ranges_acknowledge_nothing() -> Iterator[None]:
    with instead(acks.review_equal_range, lambda *_: None):
        yield


@defect
def own_copies_call_no_answer_off() -> Iterator[None]:
    old = due_sends.call_off_answer

    def call_off_answer(s: ChannelState, message_id: str, why: str) -> None:
        if why == "answered_by_other":
            old(s, message_id, why)

    with instead(old, call_off_answer):
        yield


@defect
def own_copies_call_no_push_off() -> Iterator[None]:
    old = due_sends.call_off_push

    def call_off_push(s: ChannelState, message_id: str, why: str) -> None:
        if why == "heard_again":
            old(s, message_id, why)

    with instead(old, call_off_push):
        yield


@defect
def what_is_pushed_stays_due() -> Iterator[None]:
    old = due_sends.settle_push

    def settle_push(s: ChannelState, push: Any) -> None:
        wanted = next(iter(push.wanted_by), None)
        old(s, push)
        if wanted is not None and push.pushes < 1000:
            s.pushes.schedule(push, s.now.mono + 2 * s.config.sync_interval, wanted)

    with instead(old, settle_push):
        yield


@defect
def what_is_lost_is_asked_for_again() -> Iterator[None]:
    old = deliver.give_up

    def give_up(s: ChannelState) -> None:
        before = dict(s.requests.missing)
        old(s)
        for message_id, missing in before.items():
            if message_id not in s.requests.missing:
                missing.lost_at = s.now.mono + s.config.lost_after
                s.requests.put(missing)
                s.requests.arm(missing, s.now.mono + s.config.t_max, s.now.mono)

    with instead(old, give_up):
        yield


@defect
def memories_of_answers_come_due_again() -> Iterator[None]:
    old = ScheduledSends.remember

    def remember(self: Any, entry: Any, since: int, owner: str | None = None) -> None:
        old(self, entry, since, owner)
        if owner is None and hasattr(entry, "requested_by"):
            self.schedule(entry, since + 600_000, entry.requested_by)

    with method(ScheduledSends, "remember", remember):
        yield


@defect
def beyond_the_sixteenth_nothing_is_sent_again() -> Iterator[None]:
    old = outgoing_sweep.periodic_outgoing_buffer_sweep

    def sweep(s: ChannelState) -> None:
        due = [key for key in s.outgoing.open if (s.outgoing.timers.get(key) or s.now.mono + 1) <= s.now.mono]
        again = sorted(due, key=lambda key: (s.outgoing.open[key].state, s.outgoing.open[key].lamport, key))
        old(s)
        for key in again[limits.RESENDS_PER_SWEEP :]:
            if key in s.outgoing.open and s.outgoing.open[key].sends:
                s.outgoing.timers.discard(key)

    with instead(old, sweep):
        yield


@defect
def messages_that_name_each_other_wait_for_each_other() -> Iterator[None]:
    with instead(deliver.refuse_older_children, lambda *_: None):
        yield
