"""Anti-entropy: what a peer's filter lacks is sent again, once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sdschat.sds import limits
from sdschat.sds.bloom import waku
from sdschat.sds.config import Config
from sdschat.sds.events import PushCancelled, PushScheduled
from sdschat.sds.scheduled_sends import Push, PushBuffer
from sdschat.sim.generate import limits as bounds
from tests.sds.group import CODEC, QUIET, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

PUSHING = replace(QUIET, push_enabled=True, push_delay_max=6000)


def holding(*ids: str, config: Config = PUSHING) -> Group:
    """A node a that has held these messages of b for ten seconds."""
    group = Group("a", config=config)
    for message_id in ids:
        group.give("a", forge("b", message_id, START + 1))
    group.tick(10_000)
    return group


def shows(group: Group, sender: str, *ids: str, lamport: int | None = None) -> None:
    """`sender` sends a sync message whose filter holds these ids."""
    when = group.now.wall if lamport is None else lamport
    group.give("a", forge(sender, f"s{when}", when, content=None, bloom_filter=filter_of(*ids)))


def pushed(group: Group) -> list[str]:
    return [packet.message_id for packet in group["a"].sent if packet.kind == "push"]


def test_what_a_filter_lacks_is_sent_again() -> None:
    group = holding("m1", "m2")
    shows(group, "c", "m2")
    group.tick(7000)
    assert pushed(group) == ["m1"]


def test_it_is_sent_with_its_original_bytes() -> None:
    group = holding("m1")
    shows(group, "c")
    group.tick(7000)
    assert group["a"].messages("push") == [forge("b", "m1", START + 1)]


def test_the_delay_lies_between_its_bounds() -> None:
    group = holding("m1")
    shows(group, "c")
    due = group["a"].of(PushScheduled)[0].due - group.now.wall
    assert PUSHING.push_delay_min <= due <= PUSHING.push_delay_max * 17 // 16


def test_own_messages_are_sent_after_the_shortest_delay() -> None:
    group = Group("a", config=PUSHING)
    group.send("a", "mine")
    group.tick(10_000)
    shows(group, "c")
    assert group["a"].of(PushScheduled)[0].due == group.now.wall + PUSHING.push_delay_min


def test_another_s_rebroadcast_calls_it_off() -> None:
    group = holding("m1")
    shows(group, "c")
    group.give("a", forge("b", "m1", START + 1))
    group.tick(7000)
    assert pushed(group) == []
    assert group["a"].of(PushCancelled) == [PushCancelled("m1", "heard_again")]


def test_the_peer_s_next_filter_calls_it_off() -> None:
    late = replace(PUSHING, push_delay_min=20_000, push_delay_max=20_000)
    group = holding("m1", config=late)
    shows(group, "c")
    group.tick(PUSHING.push_grace)
    shows(group, "c", "m1")
    group.tick(30_000)
    assert pushed(group) == []
    assert group["a"].of(PushCancelled) == [PushCancelled("m1", "peer_has_it")]


def test_it_is_not_called_off_while_another_peer_lacks_it() -> None:
    late = replace(PUSHING, push_delay_min=20_000, push_delay_max=20_000)
    group = holding("m1", config=late)
    shows(group, "c")
    shows(group, "d")
    group.tick(PUSHING.push_grace)
    shows(group, "c", "m1")
    group.tick(30_000)
    assert pushed(group) == ["m1"]


def test_what_is_still_on_its_way_is_not_lacking() -> None:
    group = Group("a", config=PUSHING, settle=10_000)
    group.give("a", forge("b", "m1", group.now.wall))
    group.tick(PUSHING.push_grace - 1)
    shows(group, "c")
    assert group["a"].of(PushScheduled) == []


def test_an_author_is_not_pushed_its_own_message() -> None:
    group = holding("m1")
    shows(group, "b")
    assert group["a"].of(PushScheduled) == []


def test_an_old_filter_says_nothing_of_what_its_sender_lacks_now() -> None:
    group = holding("m1")
    shows(group, "c", "m1")
    group.tick(10_000)
    shows(group, "c", lamport=START + 9000)
    assert group["a"].of(PushScheduled) == []


def test_a_full_filter_lacks_nothing() -> None:
    group = holding("m1")
    others = tuple(f"other-{place}" for place in range(400))
    shows(group, "c", *others)
    assert group["a"].of(PushScheduled) == []


def test_a_message_is_not_pushed_again_at_once() -> None:
    group = holding("m1", config=replace(PUSHING, sync_interval=60_000))
    shows(group, "c")
    group.tick(10_000)
    shows(group, "d")
    group.tick(10_000)
    assert pushed(group) == ["m1"]


def test_after_the_back_off_it_is() -> None:
    group = holding("m1", config=replace(PUSHING, sync_interval=60_000))
    shows(group, "c")
    group.tick(70_000)
    shows(group, "c")
    group.tick(10_000)
    assert pushed(group) == ["m1", "m1"]


def test_without_the_setting_nothing_is_pushed() -> None:
    group = holding("m1", config=QUIET)
    shows(group, "c")
    group.tick(60_000)
    assert pushed(group) == []


def waiting(*places: int) -> Group:
    """A node a that has waited for ten seconds for what these messages depend on."""
    group = Group("a", config=PUSHING)
    group.give("a", forge("c", "first", START))  # nothing is waited for by the first of a log
    for place in places:
        group.give("a", forge("b", f"m{place}", START + place, "m1"))
    group.tick(10_000)
    assert group["a"].log == ["first"]
    return group


def test_a_message_that_waits_is_pushed_too() -> None:
    group = waiting(2)
    shows(group, "c", "first")
    group.tick(7000)
    assert pushed(group) == ["m2"]


def test_of_those_that_wait_the_one_that_a_peer_lacks_is_pushed() -> None:
    group = waiting(2, 3, 4)
    shows(group, "c", "first", "m2", "m4")
    group.tick(7000)
    assert pushed(group) == ["m3"]


def many(count: int) -> Group:
    """A node a that holds so many messages of b, in reviews of `PUSHES_PER_REVIEW` each."""
    return holding(*(f"m{place:04}" for place in range(count)), config=SLOW)


SLOW = replace(PUSHING, push_delay_min=600_000, push_delay_max=600_000)


def lacks_all(group: Group, sender: str, reviews: int) -> None:
    for _ in range(reviews):
        shows(group, sender)
        group.tick(PUSHING.push_grace)


def test_one_peer_that_lacks_everything_leaves_room_for_others() -> None:
    group = many(limits.PUSHES_PER_SENDER + 10)
    lacks_all(group, "c", limits.PUSHES_PER_SENDER // limits.PUSHES_PER_REVIEW + 2)
    pushes = group["a"].channel.state.pushes
    assert pushes.share("c") == limits.PUSHES_PER_SENDER
    lacks_all(group, "d", limits.PUSHES_PER_SENDER // limits.PUSHES_PER_REVIEW + 2)
    assert pushes.share("d") == 10


def test_who_lacks_one_message_is_remembered_up_to_a_bound() -> None:
    group = holding("m1", config=SLOW)
    for place in range(limits.WANTED_BY + 1):
        shows(group, f"p{place}")
    assert len(group["a"].channel.state.pushes.entries["m1"].wanted_by) == limits.WANTED_BY


def test_the_next_who_lacks_it_pays_when_the_first_has_it() -> None:
    group = holding("m1", config=SLOW)
    shows(group, "c")
    shows(group, "d")
    group.tick(PUSHING.push_grace)
    shows(group, "c", "m1")
    pushes = group["a"].channel.state.pushes
    assert (pushes.share("c"), pushes.share("d")) == (0, 1)


def test_a_full_buffer_forgets_the_longest_rest() -> None:
    buffer = PushBuffer()
    for place in range(limits.PUSHES_PER_CHANNEL):
        push = Push(f"m{place}", START)
        buffer.schedule(push, 5, f"p{place // limits.PUSHES_PER_SENDER}")
        if place % 2:
            buffer.settle(push, 10_000 - place)
    assert buffer.has_room("z", "new")
    assert f"m{limits.PUSHES_PER_CHANNEL - 1}" not in buffer.entries
    assert len(buffer.entries) == limits.PUSHES_PER_CHANNEL - 1


def test_what_a_peer_would_only_park_is_not_pushed_to_it() -> None:
    # The date of a peer's packet tells how far its clock is at most.
    group = Group("a", config=PUSHING, settle=10_000)
    group.give("a", forge("b", "m1", group.now.wall + 1000))
    group.tick(10_000)
    shows(group, "c", lamport=group.now.wall - 10_000 - PUSHING.max_skew)
    assert group["a"].of(PushScheduled) == []
    group.tick(10_000)
    shows(group, "c", lamport=group.now.wall - PUSHING.max_skew)
    assert len(group["a"].of(PushScheduled)) == 1


def test_what_comes_again_counts_as_fresh_from_then_and_keeps_nothing_else_so() -> None:
    group = Group("a", config=PUSHING, settle=10_000)
    state = group["a"].channel.state
    for message_id in ("m1", "m2", "m1"):
        state.now = group.now
        state.note_arrival(message_id)
        group.tick(PUSHING.push_grace - 1)
    state.now = group.now
    state.trim_arrivals()
    assert list(state.recent_arrivals) == ["m1"]


def to_a_foreign_filter_from_before_joining(via_history: bool) -> list[str]:
    """Return what a, of the format waku, pushes to c of what is dated before it joined, by its own clock."""
    group = Group("a", config=replace(PUSHING, bloom_layout="waku"))
    slow = forge("b", "slow", START - PUSHING.max_skew - 1)
    if via_history:
        group["a"].channel.receive_history(group.now, slow, CODEC.encode(slow), "store")
    else:
        group.give("a", slow)
    group.tick(10_000)
    group.give("a", forge("c", "s1", group.now.wall, content=None, bloom_filter=bytes(waku.BYTES)))
    group.tick(7000)
    return pushed(group)


def test_a_foreign_filter_is_given_what_came_live_however_slow_its_author_s_clock() -> None:
    assert to_a_foreign_filter_from_before_joining(via_history=False) == ["slow"]


def test_a_foreign_filter_is_not_given_history_from_before_joining() -> None:
    assert to_a_foreign_filter_from_before_joining(via_history=True) == []


def test_a_foreign_filter_is_held_against_a_long_log_part_by_part() -> None:
    """It does not say since when it is complete; all that came since we met its sender is gone through."""
    empty = bytes(waku.BYTES)
    with bounds((("RECENT_WINDOW", 8), ("RANGE_LIMIT", 8))):
        group = Group("a", config=replace(PUSHING, bloom_layout="waku"))
        group.give("a", forge("c", "met", START, content=None, bloom_filter=empty))
        for place in range(24):
            group.give("a", forge("b", f"m{place}", START + 1 + place))
        for number in range(8):
            group.tick(10_000)
            group.give("a", forge("c", f"s{number}", group.now.wall, content=None, bloom_filter=empty))
        group.tick(10_000)
        assert {*pushed(group)} == {f"m{place}" for place in range(24)}


def test_a_foreign_filter_that_goes_on_lacking_it_is_given_a_long_log_once_more() -> None:
    empty = bytes(waku.BYTES)
    with bounds((("RECENT_WINDOW", 8), ("RANGE_LIMIT", 8))):
        group = Group("a", config=replace(PUSHING, bloom_layout="waku", sync_interval=60_000))
        group.give("a", forge("c", "met", START, content=None, bloom_filter=empty))
        for place in range(24):
            group.give("a", forge("b", f"m{place}", START + 1 + place))
        for number in range(40):
            group.tick(10_000)
            group.give("a", forge("c", f"s{number}", group.now.wall, content=None, bloom_filter=empty))
        group.tick(10_000)
        counted = Counter(pushed(group))
        assert {counted[f"m{place}"] for place in range(24)} <= {5, 6}, counted
