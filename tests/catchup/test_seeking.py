"""Catching up from peers: newest first, then oldest first; from another where one fails; nothing twice."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sdschat.catchup import HIGHEST, LogKey
from sdschat.catchup.fetch_plan import READ_FIRST, FetchPlan
from sdschat.catchup.session import SOURCES
from sdschat.catchup.values import CatchUpState, Need, Stretch
from tests.catchup.compare import some_keys
from tests.catchup.world import Keys, World, brought_together

MINUTE = 60_000


def test_a_newcomer_gets_the_newest_hundred_and_then_the_rest_in_order() -> None:
    keys = some_keys(3000)
    world = World({"ann": keys, "bob": []})
    world.begin("bob")
    world.present("ann", "bob")
    world.run(MINUTE, ["bob"])
    bob = world.peers["bob"]
    assert world.keys("bob") == keys
    assert sorted(bob.order[:READ_FIRST]) == keys[-READ_FIRST:]
    assert bob.order[READ_FIRST:] == keys[:-READ_FIRST]
    assert (bob.twice, bob.exchange.session.state) == (0, CatchUpState.DONE)


def test_two_that_were_apart_bring_each_other_up_to_date() -> None:
    world, later, others = brought_together(2000, 700, 900)
    assert world.keys("ann") == world.keys("bob") == sorted(some_keys(2000) + later + others)
    lacked = 200 * (len(later) + len(others))
    assert sum(peer.sent for peer in world.peers.values()) < 1.3 * lacked


@pytest.mark.parametrize("loss", [0.1, 0.4])
def test_lost_packets_cost_time_and_no_message(loss: float) -> None:
    keys = some_keys(1500)
    world = World({"ann": keys, "bob": keys[::3]}, loss=loss)
    world.begin("bob")
    world.present("ann", "bob")
    world.run(60 * MINUTE, ["bob"])
    assert world.keys("bob") == keys


def test_another_source_goes_on_where_one_fell_silent() -> None:
    keys = some_keys(6000)
    world = World({"ann": keys, "cid": keys, "bob": []})
    world.begin("bob")
    world.present("ann", "bob", "cid")
    while len(world.peers["bob"].order) < 1000:
        world.run(world.mono + 50)
    world.kill(world.peers["bob"].exchange.session.source)
    world.run(10 * MINUTE, ["bob"])
    assert world.keys("bob") == keys
    assert world.peers["bob"].twice == 0


def test_a_source_that_leaves_is_replaced_at_once() -> None:
    keys = some_keys(6000)
    world = World({"ann": keys, "cid": keys, "bob": []})
    world.begin("bob")
    world.present("ann", "bob")
    while len(world.peers["bob"].order) < 500:
        world.run(world.mono + 50)
    world.kill("ann")
    world.present("bob", "cid")
    assert world.peers["bob"].exchange.session.source == "cid"
    world.run(MINUTE, ["bob"])
    assert world.keys("bob") == keys


def test_who_knows_nothing_of_catching_up_is_left_for_somebody_who_does() -> None:
    keys = some_keys(300)
    world = World({"ann": keys, "mute": [], "bob": []})
    world.kill("mute")
    world.begin("bob")
    world.present("mute", "ann", "bob")
    world.run(MINUTE, ["bob"])
    assert world.keys("bob") == keys


def test_a_source_that_sends_what_nobody_asked_for_is_left() -> None:
    keys = some_keys(300)
    world = World({"liar": keys, "ann": keys, "bob": []})
    world.peers["liar"].lies = True
    world.begin("bob", LogKey(1000, ""))
    world.present("liar", "ann", "bob")
    world.run(MINUTE, ["bob"])
    assert world.keys("bob") == keys


LIARS = [f"liar{number}" for number in range(2 * SOURCES)]


def _hidden(keys: Keys) -> World:
    """Return a world in which all who were asked said that bob lacks nothing, and ann was not."""
    world = World({**{liar: [] for liar in LIARS}, "ann": keys, "bob": []})
    for liar in LIARS:
        world.peers[liar].hides = True
    world.begin("bob")
    world.present(*LIARS, "ann", "bob")
    world.run(MINUTE, ["bob"])
    assert (world.keys("bob"), world.peers["bob"].exchange.session.state) == ([], CatchUpState.DONE)
    return world


def test_who_says_to_have_what_others_hid_is_asked_first_the_next_time() -> None:
    keys = some_keys(300)
    world = _hidden(keys)
    world.peers["bob"].exchange.session.nudged("ann", world.mono)
    world.begin("bob")
    assert world.peers["bob"].exchange.session.source == "ann"
    world.run(world.mono + MINUTE, ["bob"])
    assert world.keys("bob") == keys


def test_everybody_who_says_to_have_what_is_lacking_is_asked() -> None:
    keys = some_keys(300)
    world = _hidden(keys)
    for name in (*LIARS, "ann"):
        world.peers["bob"].exchange.session.nudged(name, world.mono)
    world.begin("bob")
    world.run(world.mono + MINUTE, ["bob"])
    assert world.keys("bob") == keys


def test_who_said_to_have_more_and_had_not_is_not_asked_before_others() -> None:
    world = _hidden(some_keys(300))
    seeker = world.peers["bob"].exchange.session
    seeker.nudged(LIARS[-1], world.mono)
    world.begin("bob")
    world.run(world.mono + MINUTE, ["bob"])
    world.begin("bob")
    assert seeker.source == LIARS[0]


def test_what_a_store_gives_as_pages_is_asked_for_apart_from_what_short_ids_tell() -> None:
    needs = FetchPlan()
    whole = [Need(LogKey(low, ""), LogKey(low + 10, ""), 10) for low in (0, 40)]
    told = Need(LogKey(20, ""), LogKey(30, ""), 2, (7, 8))
    needs.replace([*whole, told])
    want = needs.choose(apart=True)
    assert [stretch.low.lamport for stretch in want.stretches] == [0, 40]
    needs.settle(None)
    assert [stretch.shorts for stretch in needs.choose(apart=True).stretches] == [(7, 8)]
    needs.settle(None)
    assert not needs


def test_paused_it_takes_nothing_and_resumed_it_goes_on() -> None:
    keys = some_keys(6000)
    world = World({"ann": keys, "bob": []})
    bob = world.peers["bob"]
    world.begin("bob")
    world.present("ann", "bob")
    while len(bob.order) < 500:
        world.run(world.mono + 50)
    bob.exchange.session.pause()
    bob.exchange.settle(world.now())
    here = len(bob.order)
    world.run(world.mono + MINUTE)
    assert (len(bob.order), bob.exchange.session.state) == (here, CatchUpState.PAUSED)
    assert not world.peers["ann"].exchange.provider.peers
    bob.exchange.session.resume(world.mono)
    bob.exchange.settle(world.now())
    world.run(world.mono + MINUTE, ["bob"])
    assert (world.keys("bob"), bob.twice) == (keys, 0)


def test_only_what_is_wanted_is_fetched() -> None:
    keys = some_keys(1000)
    world = World({"ann": keys, "bob": []})
    world.begin("bob", LogKey(*keys[900]))
    world.present("ann", "bob")
    world.run(MINUTE, ["bob"])
    assert world.keys("bob") == keys[900:]


def test_alone_it_waits_for_somebody() -> None:
    keys = some_keys(50)
    world = World({"ann": keys, "bob": []})
    world.begin("bob")
    world.present("bob")
    world.run(MINUTE)
    assert world.peers["bob"].exchange.session.state is CatchUpState.WAITING
    world.present("ann", "bob")
    world.run(world.mono + MINUTE, ["bob"])
    assert world.keys("bob") == keys


def test_offline_it_asks_for_no_waking_though_a_source_failed_before() -> None:
    world = World({"mute": [], "bob": []})
    world.kill("mute")
    world.begin("bob")
    world.present("mute", "bob")
    world.run(15_000)
    bob = world.peers["bob"]
    assert bob.exchange.session.next_wake() is not None
    bob.exchange.offline()
    assert bob.exchange.session.next_wake() is None


def test_progress_counts_up_to_all() -> None:
    keys = some_keys(2000)
    world = World({"ann": keys, "bob": keys[:500]})
    world.begin("bob")
    world.present("ann", "bob")
    seen = []
    while world.peers["bob"].exchange.session.active:
        world.run(world.mono + 20)
        seen.append(world.peers["bob"].exchange.session.progress())
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert (seen[-1].done, seen[-1].total, seen[-1].source) == (1500, 1500, "ann")


def test_whoever_lacks_something_is_told() -> None:
    keys = some_keys(500)
    world = World({"ann": keys, "bob": keys[:400]})
    world.begin("ann")
    world.present("ann", "bob")
    world.run(MINUTE, ["ann"])
    world.run(world.mono + 100)
    assert world.peers["bob"].exchange.nudges == {"ann": 100}


def joined_one_after_the_other(ann: list[tuple[int, str]], bob: list[tuple[int, str]]) -> World:
    """Ann has been waiting for a minute when bob comes."""
    world = World({"ann": ann, "bob": bob})
    world.begin("ann")
    world.present("ann")
    world.run(MINUTE)
    world.begin("bob")
    world.present("ann", "bob")
    return world


def test_who_was_there_first_lets_the_newcomer_compare_and_only_follows_when_told() -> None:
    keys = some_keys(2000)
    world = joined_one_after_the_other(keys, keys[:1900])
    ann = world.peers["ann"].exchange.session
    assert ann.source == ""
    world.run(2 * MINUTE, ["bob"])
    assert world.keys("bob") == keys
    assert ann.active
    world.run(world.mono + MINUTE, ["ann"])
    assert not ann.active


def test_who_was_there_first_and_lacks_something_gets_it_as_soon_as_the_newcomer_knows() -> None:
    keys = some_keys(2000)
    world = joined_one_after_the_other(keys[:1900], keys)
    world.run(MINUTE + 3000)
    assert world.keys("ann") == keys


def test_who_comes_back_asks_at_once() -> None:
    keys = some_keys(2000)
    world = World({"ann": keys, "bob": keys[:1900]})
    world.begin("bob")
    world.present("bob")
    world.run(MINUTE)
    world.peers["bob"].exchange.offline()
    world.run(2 * MINUTE)
    world.begin("bob")
    world.present("ann", "bob")
    assert world.peers["bob"].exchange.session.source == "ann"


def test_of_two_that_come_at_once_the_one_that_has_less_asks_and_the_other_answers() -> None:
    keys = some_keys(2000)
    world = World({"ann": keys, "bob": keys[:1900:2] + keys[1900:]})
    for name in ("ann", "bob"):
        world.begin(name)
    world.present("ann", "bob")
    ann, bob = (world.peers[name].exchange.session for name in ("ann", "bob"))
    assert (ann.source, bob.source) == ("bob", "ann")
    while not bob.progress().done:
        world.run(world.mono + 1)
    assert (ann.source, bob.source) == ("", "ann")
    assert world.peers["ann"].asked == 1
    world.run(MINUTE, ["ann", "bob"])
    assert world.keys("bob") == keys
    assert (ann.state, world.peers["ann"].asked) == (CatchUpState.DONE, 2)


@pytest.mark.parametrize("seed", range(4))
def test_of_two_that_come_at_once_with_as_many_messages_just_one_leads(seed: int) -> None:
    keys = some_keys(2000)
    world = World({"ann": keys[:-7], "bob": keys[7:]}, seed=seed)
    for name in ("ann", "bob"):
        world.begin(name)
    world.present("ann", "bob")
    peers = world.peers.values()
    while all(peer.exchange.session.source for peer in peers):
        world.run(world.mono + 1)
    assert sorted(peer.asked for peer in peers) == [1, 1]
    assert any(peer.exchange.session.source for peer in peers)
    world.run(MINUTE, ["ann", "bob"])
    assert world.keys("ann") == world.keys("bob") == keys


def test_who_gives_pages_does_not_compare_as_long_as_they_are_fetched() -> None:
    keys = some_keys(30_000)
    world = World({"ann": keys, "bob": keys[:100]}, delay=1000)
    world.begin("ann")
    world.present("ann")
    world.run(MINUTE)
    world.begin("bob")
    world.present("ann", "bob")
    world.run(world.mono + 60 * MINUTE, ["bob"])
    assert world.keys("bob") == keys
    assert world.peers["ann"].asked == 0


def test_what_looked_like_one_message_and_is_more_is_found_by_the_next_comparison() -> None:
    keys = some_keys(3000)
    world = World({"ann": keys[:2000] + keys[2001:], "bob": keys[:2001] + keys[2003:]})
    world.begin("bob")
    world.present("ann", "bob")
    world.run(MINUTE, ["bob"])
    assert world.keys("bob") == keys


def test_what_a_source_dropped_is_not_asked_of_it_again_and_not_counted_as_had() -> None:
    keys = some_keys(3000)
    world = World({"ann": keys, "bob": keys[2000:]})
    seeker = world.peers["bob"].exchange.session
    world.begin("bob")
    world.present("ann", "bob")
    while seeker.progress().state is not CatchUpState.LOADING:
        world.run(world.mono + 1)
    seeker.floor("ann", keys[1500][0])
    seeker.floor("cid", keys[2900][0])  # who is not asked has no say
    world.run(MINUTE, ["bob"])
    assert seeker.state is CatchUpState.DONE
    assert seeker.reach == LogKey(keys[1500][0], "")
    assert world.peers["ann"].asked + world.peers["bob"].asked < 4


def test_of_a_source_that_has_more_than_is_wanted_no_more_is_asked_for() -> None:
    keys = some_keys(3000)
    world = World({"ann": keys, "bob": keys[2000:]})
    seeker = world.peers["bob"].exchange.session
    seeker.begin(LogKey(*keys[1000]), HIGHEST, 0)
    world.present("ann", "bob")
    while seeker.progress().state is not CatchUpState.LOADING:
        world.run(world.mono + 1)
    seeker.floor("ann", keys[500][0])
    world.run(MINUTE, ["bob"])
    assert world.keys("bob") == keys[1000:]
    assert seeker.reach == LogKey(*keys[1000])


def test_another_source_that_has_what_one_dropped_is_asked_for_all_of_it() -> None:
    keys = some_keys(3000)
    world = World({"ann": keys[2500:], "cid": keys, "bob": keys[2900:]})
    seeker = world.peers["bob"].exchange.session
    world.begin("bob")
    world.present("ann", "bob")
    while seeker.progress().state is not CatchUpState.LOADING:
        world.run(world.mono + 1)
    seeker.floor("ann", keys[2500][0])
    world.present("ann", "bob", "cid")
    world.run(MINUTE, ["bob"])
    assert world.keys("bob") == keys
    assert seeker.reach == seeker.low


def test_stretches_that_are_lacking_side_by_side_are_asked_for_as_one() -> None:
    bounds = [LogKey(at, "") for at in range(0, 60, 10)]
    needs = FetchPlan()
    whole = [Need(low, high, 5) for low, high in pairwise(bounds)]
    needs.replace([*whole[:2], whole[2]._replace(shorts=(7,)), *whole[3:]])
    assert needs.choose().stretches == (
        Stretch(bounds[0], bounds[2]),
        Stretch(bounds[2], bounds[3], (7,)),
        Stretch(bounds[3], bounds[5]),
    )
    assert all(needs.covers(LogKey(at, "x")) for at in range(50))
    assert not needs.covers(LogKey(50, "x"))


@pytest.mark.parametrize("seed", [15, 33, 36])
def test_who_lost_an_acknowledgement_is_told_that_nothing_more_is_wanted(seed: int) -> None:
    """Pages are sent again after 6, 12, 24 … seconds, when the other has ended the exchange."""
    world = World({"ann": some_keys(2000), "bob": []}, loss=0.3, seed=seed)
    world.begin("bob")
    world.present("ann", "bob")
    world.run(300_000, ["bob"])
    assert world.keys("bob") == world.keys("ann")
    world.loss = 0.0
    world.run(world.mono + 100_000)
    before = sum(peer.sent for peer in world.peers.values())
    world.run(world.mono + 600_000)
    assert sum(peer.sent for peer in world.peers.values()) == before
    assert world.peers["bob"].ended, "with another seed nothing is sent again that late"


def test_a_source_without_what_its_messages_depend_on_is_named_once_the_oldest_come_first() -> None:
    keys = some_keys(6000)
    world = World({"ann": keys, "bob": []})
    bob = world.peers["bob"]
    bob.absent = 8
    world.begin("bob")
    world.present("ann", "bob")

    def given(page: Keys) -> str:
        return bob.exchange.take_in([bob.pack(key) for key in page], False, world.now(), "store")

    while bob.exchange.session.state is not CatchUpState.LOADING:
        world.run(world.mono + 1)
    assert [given(keys[at : at + 20]) for at in range(5900, 6000, 20)] == [""] * 5, "the newest come first"
    while not bob.exchange.session.ascending:
        world.run(world.mono + 1)
    said = [given(keys[at : at + 100]) for at in range(3000, 3400, 100)]
    assert said == ["", "", "", "its pages lack what the messages in them depend on"]
