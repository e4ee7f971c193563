"""A node that lacks something says so soon, again and again: any one packet may be lost."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sds.bloom import compact
from sdschat.sds.config import SPEC
from sdschat.sds.scheduled_sends import Push
from sdschat.sds.steps.due_sends import settle_push
from sdschat.sds.steps.timing import HURRIED_FOR
from tests.sds.group import START, Group, forge

INTERVAL = 20_000
CONFIG = replace(SPEC, sync_interval=INTERVAL, repair_enabled=False, push_enabled=False, lost_after=100 * INTERVAL)


def syncs(group: Group) -> int:
    return len(group["a"].messages("sync"))


def lacking() -> Group:
    """A node a that lacks m1, with its first sync message behind it."""
    group = Group("a", config=CONFIG, settle=2000)
    group.give("a", forge("b", "after-m1", START + 2, "m1"))
    for _ in range(2 * INTERVAL // 1000):  # until a sync message that was due before is out
        group.tick(1000)
    return group


def test_the_next_sync_comes_sooner_whatever_others_say() -> None:
    group = lacking()
    before = syncs(group)
    for place in range(3 * INTERVAL // 1000):
        group.give("a", forge("b", f"m{place + 2}", group.now.wall))
        group.tick(1000)
    assert syncs(group) - before >= 3


def test_not_once_it_has_come() -> None:
    group = lacking()
    group.give("a", forge("b", "m1", START + 1))
    group.tick(INTERVAL)
    before = syncs(group)
    for place in range(4 * INTERVAL // 1000):
        group.give("a", forge("b", f"s{place}", group.now.wall, content=None))
        group.tick(1000)
    assert syncs(group) - before <= 3  # with something lacking it would be five and more


def test_not_for_as_long_as_it_is_missing() -> None:
    group = lacking()
    for _ in range(HURRIED_FOR * INTERVAL // 1000):
        group.tick(1000)
    before = syncs(group)
    for _ in range(10 * INTERVAL // 1000):
        group.tick(1000)
    assert syncs(group) - before <= 15  # half an interval apart it would be 16 to 20


def test_what_a_peer_still_lacks_is_pushed_twice_before_the_pauses_grow() -> None:
    state = Group("a", config=CONFIG)["a"].channel.state
    push = Push("m1", START)
    pauses = []
    for push.pushes in range(1, 8):
        settle_push(state, push)
        pauses.append((push.not_before - state.now.mono) / INTERVAL)
    assert pauses == [0.5, 0.5, 1, 2, 4, 4, 4]


def test_who_lacks_what_a_filter_has_for_longer_than_it_is_on_its_way_says_so_soon() -> None:
    """The filter of b has a message that a never gets, and no range of the log is told."""
    group = Group("a", config=replace(CONFIG, push_enabled=True), settle=2 * INTERVAL)
    before, shape = syncs(group), compact.shape_for(CONFIG.bloom_capacity, CONFIG.bloom_error_rate)
    filled = compact.encode_window(compact.mask("m1", shape.hashes, shape.bits), shape, shape.bits, group.now.wall)
    for _ in range(2):
        group.give("a", forge("b", f"s{group.now.mono}", group.now.wall, content=None, bloom_filter=filled))
        group.tick(CONFIG.push_grace)
    group.tick(CONFIG.push_delay_max)
    assert syncs(group) > before
