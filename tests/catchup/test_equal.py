"""Proof by comparison: a peer whose log equals ours in a stretch has our messages there."""

from __future__ import annotations

from sdschat.catchup import HIGHEST, LogKey
from sdschat.catchup.equal_ranges import EqualRanges, own_messages_in
from sdschat.sim.companion import MemoryLog
from tests.catchup.compare import some_keys
from tests.catchup.world import Keys, World, brought_together

MINUTE = 60_000


def proven(world: World, name: str, own: Keys) -> set[str]:
    return {message_id for _, ids in world.peers[name].exchange.proven(lambda: own) for message_id in ids}


def test_both_know_that_the_other_has_what_they_wrote_while_they_were_apart() -> None:
    world, later, others = brought_together(500, 300, 400)
    assert world.keys("ann") == world.keys("bob")
    assert proven(world, "ann", later) == {key[1] for key in later}
    assert proven(world, "bob", others) == {key[1] for key in others}


def test_of_one_who_lacks_messages_it_is_only_proven_what_it_has() -> None:
    keys = some_keys(3000)
    world = World({"ann": keys, "bob": keys[:1000] + keys[1100:]})
    world.begin("ann")
    world.present("ann", "bob")
    world.run(MINUTE, ["ann"])
    found = proven(world, "ann", keys)
    assert not found & {key[1] for key in keys[1000:1100]}
    assert len(found) > 2000


def test_what_the_log_has_not_got_yet_was_not_compared() -> None:
    log = MemoryLog([(1, "saved")])
    stretch = EqualRanges("bob", 1, LogKey(0, ""), HIGHEST)
    assert list(own_messages_in([stretch], [(1, "saved"), (2, "not yet")], log)) == [(stretch, ["saved"])]


def test_the_end_of_a_stretch_is_not_in_it() -> None:
    log = MemoryLog([(1, "a"), (2, "b")])
    stretch = EqualRanges("bob", 1, LogKey(1, "a"), LogKey(2, "b"))
    assert list(own_messages_in([stretch], [(1, "a"), (2, "b")], log)) == [(stretch, ["a"])]
