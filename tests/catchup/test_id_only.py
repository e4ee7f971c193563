"""Tests of ids without messages: whoever did not hear them gets them, and the message from whoever has it."""

from __future__ import annotations

from random import Random

import pytest

from sdschat.catchup import HIGHEST, LOWEST, LogKey
from sdschat.catchup import id_only as told_module
from sdschat.catchup.id_only import MOST, IdOnlyLimit, IdOnlyMessages
from sdschat.catchup.values import CatchUpState, IdOnly
from sdschat.sim.companion import MemoryLog
from tests.catchup.world import Keys, World

MINUTE = 60_000


def hashed_keys(count: int, seed: int = 1) -> Keys:
    draw = Random(seed)
    return sorted((10**12 + draw.randrange(10**9), f"{draw.getrandbits(256):064x}") for _ in range(count))


def catch_up(world: World, name: str, *present: str) -> None:
    world.begin(name)
    world.present(*present)
    world.run(world.mono + 10 * MINUTE, [name])
    world.peers[name].put_told()
    assert world.peers[name].exchange.session.state is CatchUpState.DONE


@pytest.mark.parametrize(("loss", "questions"), [(0.0, 2), (0.2, 8)])
def test_who_was_away_in_a_flood_ends_with_an_equal_set(loss: float, questions: int) -> None:
    keys = hashed_keys(4000)
    world = World({"ann": keys, "cid": keys, "bob": keys[:500]}, loss=loss)
    for name in ("ann", "cid"):
        world.peers[name].bare.update(keys[600:3600])
    catch_up(world, "bob", "ann", "bob", "cid")
    bob = world.peers["bob"]
    assert world.keys("bob") == keys
    assert bob.bare == set(keys[600:3600])
    assert set(bob.order) == {*keys[500:600], *keys[3600:]}
    bob.asked = 0
    catch_up(world, "bob", "ann", "bob", "cid")
    assert bob.asked <= questions, "equal logs cost a question for each source, and those that are lost"


def test_the_message_is_taken_from_whoever_has_it() -> None:
    keys = hashed_keys(900)
    world = World({"ann": keys, "cid": keys, "bob": []})
    world.peers["ann"].bare.update(keys)
    world.peers["cid"].bare.update(keys[::3])
    catch_up(world, "bob", "ann", "bob", "cid")
    assert world.keys("bob") == keys
    assert world.peers["bob"].bare == set(keys[::3])


def test_a_log_is_cut_where_its_own_messages_are() -> None:
    keys, told = hashed_keys(900), IdOnlyMessages()
    told.add("ann", (IdOnly(LogKey(*key), "ann") for key in hashed_keys(90, seed=2)))
    log = MemoryLog(keys)
    assert told.over(log, "ann").cut(LOWEST, HIGHEST, 8) == log.cut(LOWEST, HIGHEST, 8) != []


def test_invented_ids_are_bounded() -> None:
    told = IdOnlyMessages()
    told.add("eve", (IdOnly(LogKey(*key), "eve") for key in hashed_keys(MOST + 5)))
    assert len(told.take()) == MOST
    assert not told.take()


def test_of_two_dates_the_first_told_stands_and_a_message_stands_above_both() -> None:
    told = IdOnlyMessages()
    told.add("ann", [IdOnly(LogKey(5, "aa"), "x"), IdOnly(LogKey(6, "bb"), "x")])
    told.add("eve", [IdOnly(LogKey(4, "aa"), "y"), IdOnly(LogKey(7, "cc"), "y")])
    told.came([LogKey(6, "bb")])
    assert told.take() == [IdOnly(LogKey(5, "aa"), "x"), IdOnly(LogKey(7, "cc"), "y")]


def test_ids_that_nobody_asked_for_end_the_dealings_with_their_teller() -> None:
    keys = hashed_keys(300)
    world = World({"ann": keys, "bob": keys[:100]})
    world.begin("bob")
    world.present("ann", "bob")
    session = world.peers["bob"].exchange.session
    while session.state is not CatchUpState.LOADING:
        world.run(world.mono + 5)
    strange = IdOnly(LogKey(1, "f" * 64), "eve")
    world.peers["bob"].exchange.take_in((), False, world.now(), "sync", (strange,))
    assert session.source == ""
    assert strange not in session.take_told()


def test_with_what_a_source_told_a_log_answers_as_one_that_has_it() -> None:
    keys = hashed_keys(400)
    told, rest = keys[50:350:3], [key for key in keys if key not in keys[50:350:3]]
    ids = IdOnlyMessages()
    ids.add("ann", (IdOnly(LogKey(*key), "x") for key in told))
    log, whole = ids.over(MemoryLog(rest), "ann"), MemoryLog(keys)
    for low, high in ((LOWEST, HIGHEST), (LogKey(*keys[40]), LogKey(*keys[300]))):
        assert log.summary(low, high) == whole.summary(low, high)
        for limit in (-1, 0, 50, 10**6):
            assert list(log.keys(low, high, limit)) == list(whole.keys(low, high, limit))
    assert ids.over(whole, "another") is whole


def test_in_a_day_no_more_ids_go_into_a_log_than_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_module, "A_DAY", 5)
    limit, ids = IdOnlyLimit(), [IdOnly(LogKey(*key), "ann") for key in hashed_keys(4)]
    day = 24 * 60 * MINUTE
    assert limit.within(ids, 1) == ids
    assert limit.within(ids, 2) == ids[:1]
    assert limit.within(ids, day - 1) == []
    assert limit.within(ids, day) == ids
