"""Every bound at one below, at, and one above, through the engine. What is over it hurts its own sender."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds import limits
from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.config import Config
from sdschat.sds.events import Delivered, EphemeralReceived, FilterRolled, GapClosed, PushScheduled
from sdschat.sds.incoming import Gaps
from sdschat.sds.scheduled_sends import Push, PushBuffer
from sdschat.sds.state import Peers
from sdschat.sds.values import GapRow, Message, Reason
from sdschat.sim.generate import limits as small
from tests.sds.group import CODEC, QUIET, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of


def around(limit: int) -> list[tuple[int, int]]:
    """Return pairs: how many come, and how many are taken."""
    return [(limit - 1, limit - 1), (limit, limit), (limit + 1, limit)]


def waiting(sender: str, place: int, parent: str = "nowhere", content: bytes = b"x") -> Message:
    return forge(sender, f"{sender}-{place:05}", START + 1 + place, parent, content=content)


@pytest.mark.parametrize(("coming", "taken"), around(limits.BUFFERED_PER_SENDER))
def test_messages_that_wait_for_one_sender(coming: int, taken: int) -> None:
    group = Group("a")
    for place in range(coming):
        group.give("a", waiting("b", place))
    assert len(group["a"].channel.state.incoming.buffered) == taken
    assert group["a"].refused() == [Reason.BUFFER_QUOTA] * (coming - taken)


def test_a_full_sender_does_not_hinder_another() -> None:
    group = Group("a")
    for place in range(limits.BUFFERED_PER_SENDER + 5):
        group.give("a", waiting("b", place))
    group.give("a", waiting("c", 0))
    assert "c-00000" in group["a"].channel.state.incoming.buffered


def test_a_full_sender_is_still_delivered_what_it_can_be() -> None:
    group = Group("a")
    for place in range(limits.BUFFERED_PER_SENDER):
        group.give("a", waiting("b", place))
    group.give("a", forge("b", "free", START + 1))
    assert "free" in group["a"].log


def sized(sender: str, place: int, size: int) -> Message:
    """A waiting message whose packet has exactly this many bytes."""
    overhead = len(CODEC.encode(waiting(sender, place, content=b"x" * 30_000))) - 30_000
    packet = waiting(sender, place, content=b"x" * (size - overhead))
    assert len(CODEC.encode(packet)) == size
    return packet


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_bytes_that_wait_for_one_sender(extra: int) -> None:
    group = Group("a")
    size = limits.BUFFERED_BYTES_PER_SENDER // 128
    for place in range(127):
        group.give("a", sized("b", place, size))
    final = sized("b", 127, size + extra)
    group.give("a", final)
    assert (final.message_id in group["a"].channel.state.incoming.buffered) is (extra <= 0)


def full_channel() -> Group:
    """A channel whose incoming buffer is full, eight senders having the same share."""
    group = Group("a")
    for sender in "stuvwxyz":
        for place in range(limits.BUFFERED_PER_SENDER):
            group.give("a", waiting(sender, place))
    assert len(group["a"].channel.state.incoming.buffered) == limits.BUFFERED_PER_CHANNEL
    return group


def test_messages_that_wait_in_one_channel() -> None:
    group = full_channel()
    group.give("a", waiting("b", 0))
    held = group["a"].channel.state.incoming.buffered
    assert len(held) == limits.BUFFERED_PER_CHANNEL
    assert "b-00000" in held


def test_in_a_full_channel_the_newest_of_the_heaviest_goes() -> None:
    group = full_channel()
    group.give("a", waiting("b", 0))
    assert "z-00255" not in group["a"].channel.state.incoming.buffered


def test_what_was_dropped_is_in_no_filter_that_is_sent() -> None:
    group = full_channel()
    group.give("a", waiting("b", 0))
    remade = len(group["a"].of(FilterRolled))
    group.crash("a")  # the filter is still to be made anew, which is on disk
    group.send("a", "hello")
    told = read_filter(group["a"].messages()[-1].bloom_filter or b"")
    assert not isinstance(told, str)
    assert [told.holds(message_id) for message_id in ("z-00255", "z-00254")] == [False, True]
    assert len(group["a"].of(FilterRolled)) == remade + 1


def test_dropping_messages_does_not_make_the_filter_anew_each_time() -> None:
    group = full_channel()
    before = len(group["a"].of(FilterRolled))
    for place in range(50):
        group.give("a", waiting("b", place))
    assert len(group["a"].of(FilterRolled)) == before


def test_the_one_that_goes_may_be_the_parent_of_the_one_that_comes() -> None:
    group = full_channel()
    group.give("a", waiting("b", 9000, parent="z-00255"))
    state = group["a"].channel.state
    assert list(state.incoming.buffered["b-09000"].unmet) == ["z-00255"]
    assert "z-00255" in state.requests.missing


def test_room_is_made_for_a_message_or_nothing_changes() -> None:
    # Full by bytes: giving up one small message makes no room for a large one.
    group = Group("a")
    for sender in "stuvwxyz":
        for place in range(limits.BUFFERED_BYTES_PER_CHANNEL // 8 // 60_060):
            group.give("a", waiting(sender, place, content=b"x" * 60_000))
        for place in range(100, 150):
            group.give("a", waiting(sender, place, content=b"x" * 900))
    before = set(group["a"].channel.state.incoming.buffered)
    group.give("a", waiting("b", 0, content=b"x" * 65_000))
    after = set(group["a"].channel.state.incoming.buffered)
    assert "b-00000" in after or after == before


@pytest.mark.parametrize(("coming", "taken"), around(limits.FUTURE_DATED_PER_SENDER))
def test_messages_from_the_future_for_one_sender(coming: int, taken: int) -> None:
    group = Group("a")
    for place in range(coming):
        group.give("a", forge("b", f"m{place}", START + QUIET.max_skew + 1 + place))
    assert len(group["a"].channel.state.incoming.buffered) == taken
    assert group["a"].refused() == [Reason.FUTURE_QUOTA] * (coming - taken)


@pytest.mark.parametrize(("coming", "taken"), around(limits.FUTURE_DATED_PER_CHANNEL))
def test_messages_from_the_future_in_one_channel(coming: int, taken: int) -> None:
    group = Group("a")
    for place in range(coming):
        sender = f"p{place // limits.FUTURE_DATED_PER_SENDER}"
        group.give("a", forge(sender, f"m{place}", START + QUIET.max_skew + 1 + place))
    assert len(group["a"].channel.state.incoming.buffered) == taken


@pytest.mark.parametrize(("coming", "taken"), around(limits.MISSING_PER_SENDER))
def test_missing_ids_named_by_one_sender(coming: int, taken: int) -> None:
    group = Group("a")
    group.give("a", forge("b", "m1", START + 1, *(f"x{place}" for place in range(coming))))
    assert len(group["a"].channel.state.requests.missing) == taken


@pytest.mark.parametrize(("coming", "taken"), around(limits.MISSING_PER_CHANNEL))
def test_missing_ids_in_one_channel(coming: int, taken: int) -> None:
    group = Group("a")
    for place in range(coming):
        sender = f"p{place}"  # one each: a few senders may not take all there is
        group.give("a", forge(sender, f"m{place}", START + 1 + place, f"x{place}"))
    assert len(group["a"].channel.state.requests.missing) == taken


def lose(group: Group, sender: str, names: list[str]) -> None:
    """`sender` names ids that never come, until they are given up."""
    for place in range(0, len(names), limits.MISSING_PER_SENDER):
        parents = names[place : place + limits.MISSING_PER_SENDER]
        group.give("a", forge(sender, f"{sender}-{parents[0]}", group.now.wall, *parents))
        group.tick(QUIET.lost_after)


@pytest.mark.parametrize(("coming", "taken"), around(limits.GAPS_PER_SENDER))
def test_gaps_of_one_sender(coming: int, taken: int) -> None:
    group = Group("a")
    lose(group, "b", [f"x{place}" for place in range(coming)])
    assert len(group["a"].channel.state.gaps) == taken


def test_who_loses_too_much_hurts_the_memory_of_its_own_gaps_alone() -> None:
    gaps = Gaps()
    gaps.note(GapRow("of c", "lost", None, START, "c"))
    for place in range(limits.GAPS_PER_SENDER + 1):
        gaps.note(GapRow(f"x{place}", "lost", None, START, "b"))
    assert "of c" in gaps
    assert ("x0" in gaps, f"x{limits.GAPS_PER_SENDER}" in gaps) == (False, True)


def test_a_channel_full_of_gaps_forgets_the_oldest_of_the_heaviest() -> None:
    gaps = Gaps()
    gaps.note(GapRow("of c", "lost", None, START, "c"))
    for place in range(limits.GAPS_PER_CHANNEL):
        gaps.note(GapRow(f"x{place}", "lost", None, START, f"b{place * 9 // limits.GAPS_PER_CHANNEL}"))
    assert len(gaps) == limits.GAPS_PER_CHANNEL
    assert "of c" in gaps


def test_what_an_old_message_goes_without_is_waited_for_by_others() -> None:
    # Dated before the join horizon, anybody can name what an honest message will name.
    group = Group("a")
    group.give("a", forge("b", "first", START))
    group.give("a", forge("evil", "old", START - QUIET.max_skew - 1, "m1"))
    group.give("a", forge("b", "m2", START + 2, "m1"))
    assert group["a"].delivered() == ["first", "old"]
    group.give("a", forge("b", "m1", START + 1))
    assert [event.gap for event in group["a"].of(Delivered)] == [(), ("m1",), (), ()]


def test_a_gap_is_closed_for_the_message_that_named_it() -> None:
    group = Group("a")
    group.give("a", forge("b", "old", START - QUIET.max_skew - 1, "older"))
    group.give("a", forge("b", "older", START - QUIET.max_skew - 2))
    assert group["a"].of(GapClosed) == [GapClosed("older")]


def test_deferred_messages_leave_the_filter_as_it_was() -> None:
    # In it they would be its newest, and roll the filter over to speak of nothing but the future.
    group = Group("a", config=replace(QUIET, bloom_capacity=16))
    for place in range(limits.FUTURE_DATED_PER_SENDER):
        group.give("a", forge("b", f"m{place}", START + 10 * QUIET.max_skew + place))
    own = group["a"].channel.state.filter
    assert (own.count, own.floor) == (0, START - QUIET.max_skew)


def test_a_deferred_message_is_in_the_filter_once_it_is_due() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m1", group.now.wall + QUIET.max_skew + 5000))
    group.tick(5000)
    assert group["a"].log == ["m1"]
    assert group["a"].channel.state.filter.count == 1


def test_a_full_sender_keeps_what_is_due_first() -> None:
    group = Group("a")
    for place in range(limits.FUTURE_DATED_PER_SENDER):
        group.give("a", forge("b", f"m{place}", START + QUIET.max_skew + 100 + place))
    group.give("a", forge("b", "sooner", START + QUIET.max_skew + 50))
    held = group["a"].channel.state.incoming.buffered
    assert ("sooner" in held, f"m{limits.FUTURE_DATED_PER_SENDER - 1}" in held) == (True, False)


def test_a_full_channel_parks_for_a_newcomer_at_the_expense_of_the_heaviest() -> None:
    group = Group("a")
    for place in range(limits.FUTURE_DATED_PER_CHANNEL):
        sender = f"p{place // limits.FUTURE_DATED_PER_SENDER}"
        group.give("a", forge(sender, f"m{place}", START + QUIET.max_skew + 1 + place))
    group.give("a", forge("c", "mine", START + 100 * QUIET.max_skew))
    held = group["a"].channel.state.incoming.buffered
    assert ("mine" in held, len(held)) == (True, limits.FUTURE_DATED_PER_CHANNEL)


def test_bytes_deferred_for_one_sender() -> None:
    group = Group("a")
    for place in range(10):
        group.give("a", forge("b", f"m{place}", START + 2 * QUIET.max_skew + place, content=b"x" * 60_000))
    assert len(group["a"].channel.state.incoming.buffered) == limits.FUTURE_DATED_BYTES_PER_SENDER // 60_060


def test_who_waits_for_a_deferred_message_that_is_dropped_looks_for_it() -> None:
    group = Group("a", settle=2000)
    far = group.now.wall + QUIET.max_skew
    for place in range(limits.FUTURE_DATED_PER_SENDER):
        group.give("a", forge("b", f"m{place}", far + 100 + place))
    last = f"m{limits.FUTURE_DATED_PER_SENDER - 1}"
    group.give("a", forge("c", "child", far - 1, last))
    group.give("a", forge("b", "sooner", far + 50))
    state = group["a"].channel.state
    assert last in state.requests.requests


def test_nothing_waits_for_a_deferred_message_that_there_is_no_room_to_miss() -> None:
    """Its child would wait until the date of its parent: for years, or for ever."""
    group = Group("a", settle=2000)
    now = group.now.wall
    group.give("a", forge("b", "child", now, *(f"parent {place}" for place in range(30))))
    for place in range(40):
        group.give("a", forge(f"p{place}", f"m{place}", now + 1, *(f"{each} of {place}" for each in range(30))))
    group.give("a", forge("b", "parent 0", now + QUIET.max_skew + 100 * QUIET.lost_after))
    group.tick(2 * QUIET.lost_after)
    assert "child" in group["a"].log


def asked_for(count: int, requesters: int) -> Group:
    """A node that holds `count` messages and is asked for each once, one after the other by so many others."""
    group = Group("a")
    for place in range(count):
        group.give("a", forge("b", f"m{place}", START + 1 + place))
        requester = f"r{place * requesters // count}"
        group.give("a", forge(requester, f"s{place}", START + 1 + place, content=None, requests=(f"m{place}",)))
    return group


@pytest.mark.parametrize(("coming", "taken"), around(limits.ANSWERS_PER_SENDER))
def test_answers_owed_to_one_requester(coming: int, taken: int) -> None:
    assert len(asked_for(coming, 1)["a"].channel.state.answers.entries) == taken


@pytest.mark.parametrize(("coming", "taken"), around(limits.ANSWERS_PER_CHANNEL))
def test_answers_owed_in_one_channel(coming: int, taken: int) -> None:
    assert len(asked_for(coming, coming)["a"].channel.state.answers.entries) == taken


@pytest.mark.parametrize(("coming", "taken"), around(limits.ANSWERS_PER_SENDER))
def test_requests_answered_of_one_packet(coming: int, taken: int) -> None:
    group = Group("a")
    for place in range(coming):
        group.give("a", forge("b", f"m{place}", START + 1))
    wanted = tuple(f"m{place}" for place in range(coming))
    group.give("a", forge("c", "s1", START + 2, content=None, requests=wanted))
    assert len(group["a"].channel.state.answers.entries) == taken


@pytest.mark.parametrize(("coming", "taken"), around(limits.PUSHES_PER_REVIEW))
def test_pushes_from_one_filter(coming: int, taken: int) -> None:
    group = Group("a", config=Config())
    for place in range(coming):
        group.give("a", forge("b", f"m{place}", START + 1))
    group.tick(10_000)
    before = len(group["a"].of(PushScheduled))
    group.give("a", forge("c", "s1", group.now.wall, content=None, bloom_filter=filter_of("other")))
    assert len(group["a"].of(PushScheduled)) - before == taken


@pytest.mark.parametrize(("coming", "taken"), around(limits.MAX_EVIDENCE))
def test_witnesses_remembered_for_one_message(coming: int, taken: int) -> None:
    group = Group("a")
    message = group.send("a", "one")
    for place in range(coming):
        group.give("a", forge(f"p{place}", f"s{place}", START + 5, message.message_id, content=None))
    assert len(group["a"].channel.state.outgoing.settled[message.message_id].evidence) == taken


@pytest.mark.parametrize(("coming", "taken"), around(limits.MAX_PEERS))
def test_participants_remembered(coming: int, taken: int) -> None:
    group = Group("a")
    for place in range(coming):
        group.give("a", forge(f"p{place}", "s", START + 5, content=None))
    assert len(group["a"].channel.state.peers.known) == taken


def test_who_is_silent_for_longest_is_forgotten_first() -> None:
    peers = Peers()
    for at in range(limits.MAX_PEERS):
        peers.heard(f"p{at}", START, 1_000 + at)
    peers.heard("p0", START, 9_000)
    peers.heard("one more", START, 9_001)
    assert peers.known.keys() == {"p0", *(f"p{at}" for at in range(2, limits.MAX_PEERS)), "one more"}


def test_those_who_lack_one_message() -> None:
    pushes, push = PushBuffer(), Push("m", START)
    assert [pushes.want(push, f"p{at}") for at in range(limits.WANTED_BY)] == [True] * limits.WANTED_BY
    assert not pushes.want(push, "one more")
    assert list(push.wanted_by) == [f"p{at}" for at in range(limits.WANTED_BY)]


def test_ephemeral_ids_remembered() -> None:
    group = Group("a")
    for place in (*range(limits.EPHEMERAL_SEEN + 1), 0, limits.EPHEMERAL_SEEN):
        group.give("a", forge("b", f"e{place}", None))
    # The oldest is forgotten and so heard twice, the newest is not.
    heard = [event.message.message_id for event in group["a"].of(EphemeralReceived)]
    assert (heard.count("e0"), heard.count(f"e{limits.EPHEMERAL_SEEN}")) == (2, 1)


def test_bytes_answered_in_a_minute() -> None:
    group = Group("a", settle=2000)
    for place in range(6):
        message = group["a"].channel.send(group.now, b"x" * 20_000 + bytes([65 + place]))
        group.collect("a")
        group.give("a", forge("c", f"s{place}", START + 9, content=None, requests=(message.message_id,)))
        # Acknowledged, so that no resend takes the place of an answer.
        group.give("a", forge("d", f"ack{place}", group.now.wall + 99, message.message_id, content=None))
    group.tick(100)
    # The last one may exceed the budget, so that a large answer is not kept waiting by small ones.
    assert len(group["a"].messages("answer")) == limits.ANSWER_BYTES_PER_MINUTE // 20_000 + 1
    group.tick(90_000)
    assert len(group["a"].messages("answer")) == 6


def test_who_asks_for_little_does_not_wait_for_who_asks_for_much() -> None:
    group = Group("a", settle=2000)
    ids = [group.send("a", chr(65 + place) * 30_000).message_id for place in range(9)]
    for place, wanted in enumerate(ids):
        asking = "d" if place == 8 else "c"
        group.give("a", forge(asking, f"s{place}", group.now.wall, content=None, requests=(wanted,)))
    group.tick(100)
    answered = [message.message_id for message in group["a"].messages("answer")]
    assert answered[0] == ids[8]
    assert len(answered) < len(ids)


def test_first_resends_in_one_sweep() -> None:
    group = Group("a", settle=2000)
    for place in range(limits.RESENDS_PER_SWEEP + 1):
        group.send("a", f"message {place}")
    group.offline("a")
    group.tick(3_600_000)
    group.online("a")
    assert len(group["a"].messages("resend")) == limits.RESENDS_PER_SWEEP
    group.tick(QUIET.sweep_interval)
    assert len(group["a"].messages("resend")) == limits.RESENDS_PER_SWEEP + 1


def test_what_was_written_offline_goes_out_in_parts_and_in_order() -> None:
    group = Group("a", settle=2000)
    group.offline("a")
    written = [group.send("a", f"{number}").message_id for number in range(10)]
    with small((("SENDS_PER_SWEEP", 4),)):
        sent = []
        group.online("a")
        for _ in range(3):
            sent.append([message.message_id for message in group["a"].messages("message")])
            group.tick(group.config.sweep_interval)
    assert sent == [written[:4], written[:8], written]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_written_while_older_messages_wait_to_go_out_goes_after_them(restarted: bool) -> None:
    """It names them, so that others could not show it before; many of such messages were refused."""
    group = Group("a", settle=2000)
    group.offline("a")
    written = [group.send("a", f"{number}").message_id for number in range(6)]
    with small((("SENDS_PER_SWEEP", 4),)):
        group.online("a")
        if restarted:
            group.crash("a")
        written += [group.send("a", f"new {number}").message_id for number in range(4)]
        for _ in range(3):
            group.tick(group.config.sweep_interval)
    written.append(group.send("a", "at once").message_id)
    assert [message.message_id for message in group["a"].messages("message")] == written
