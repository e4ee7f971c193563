"""Tests of ids that nodes pass on because they keep no more: equal logs as sets, and the texts where they are had."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.catchup import id_only
from sdschat.catchup.values import HIGHEST, LOWEST
from sdschat.node.channel.over_limit import Flood, flood_of
from sdschat.node.events import ConnectionChanged, OverLimit
from sdschat.node.retention import Retention, RetentionLimits
from sdschat.node.sync import history_sync
from sdschat.node.sync.extension import sync_extension
from sdschat.sds.limits import IDS_KEPT
from sdschat.sds.values import TOLD
from sdschat.store.retention_floor import floor_of
from tests.node.catching import DAY, log_of, start, stop
from tests.node.test_bodies_fetched import LIMIT, TEXTS, flooded
from tests.node.worlds import Member, World, run


def keys(member: Member) -> list[tuple[int, str]]:
    return list(member.node.profile.store.log("lobby").keys(LOWEST, HIGHEST, -1))


def test_who_was_away_has_an_equal_set_and_gets_the_texts_when_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_sync, "TOLD_AT_ONCE", 2)

    async def story(w: World) -> None:
        ann, bob = await flooded(w)
        await stop(w, ann)
        dan = start(w, "dan")
        over = await dan.until(OverLimit, lambda over: over.messages == len(TEXTS) - LIMIT)
        assert over.sender_id == ann.node.sender_id
        assert keys(dan) == keys(bob)
        assert log_of(dan) == TEXTS[:LIMIT]
        session = dan.node.sessions["lobby"]
        assert flood_of(session, dan.node.clock.now().mono) == Flood(0, 0)
        back = start(w, "ann")
        await back.until(ConnectionChanged, lambda c: c.state == "connected")
        assert sync_extension(dan.node, "lobby").catchup.show(ann.node.sender_id) <= len(TEXTS) - LIMIT
        async with asyncio.timeout(10):
            while log_of(dan) != TEXTS:
                await asyncio.sleep(0.05)
        assert keys(dan) == keys(bob)

    run(tmp_path, story)


def test_whoever_tells_ids_without_end_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who tells as many as one may is asked again, for there may be more."""
    monkeypatch.setattr(history_sync, "MOST", 1)
    monkeypatch.setattr(id_only, "A_DAY", 1)

    async def story(w: World) -> None:
        ann, _ = await flooded(w)
        await stop(w, ann)
        dan = start(w, "dan")
        await dan.until(OverLimit)
        await asyncio.sleep(1.0)
        assert len(keys(dan)) == LIMIT + 1
        assert log_of(dan) == TEXTS[:LIMIT]

    run(tmp_path, story)


def test_what_was_told_is_known_as_such_after_a_restart_too(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = await flooded(w)
        await stop(w, ann)
        dan = start(w, "dan")
        await dan.until(OverLimit)
        before = keys(dan)
        await stop(w, dan)
        dan = start(w, "dan")
        assert not dan.node.profile.store.losses
        assert keys(dan) == before == keys(bob)
        state = dan.node.sessions["lobby"].channel.state
        found = [state.delivered(message_id) for _, message_id in before]
        assert sum(entry is not None and entry.generation == TOLD for entry in found) == len(TEXTS) - LIMIT

    run(tmp_path, story)


def test_after_thirty_days_ids_go_and_texts_stay(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = await flooded(w, ago=IDS_KEPT + DAY)
        await stop(w, ann)
        await stop(w, bob)
        again = start(w, "bob")
        store = again.node.profile.store
        ids = [entry for entry in keys(again) if again.node.sessions["lobby"].channel.state.packet_of(entry[1]) is None]
        assert len(ids) == len(TEXTS) - LIMIT
        steps = list(Retention(again.node, store, RetentionLimits()).tidy())
        assert steps
        assert len(keys(again)) == LIMIT
        assert log_of(again) == TEXTS[:LIMIT]
        assert floor_of(store, "lobby").ids == 0
        for _ in Retention(again.node, store, RetentionLimits()).tidy():
            pass
        assert (len(keys(again)), log_of(again)) == (LIMIT, TEXTS[:LIMIT])
        await stop(w, again)
        assert not start(w, "bob").node.profile.store.losses

    run(tmp_path, story)


def test_ids_that_go_take_no_older_history_with_them(tmp_path: Path) -> None:
    """A flood, or one id that a source invents, must not end what is compared."""

    async def story(w: World) -> None:
        long_ago = IDS_KEPT + 9 * DAY
        eve, fay = start(w, "eve", ago=long_ago), start(w, "fay", ago=long_ago)
        await fay.until(ConnectionChanged, lambda c: c.state == "connected")
        eve.node.send("lobby", "ancient")
        await fay.until_texts("ancient")
        await stop(w, eve)
        await stop(w, fay)
        ann, bob = await flooded(w, ago=IDS_KEPT + DAY)
        await stop(w, ann)
        await stop(w, bob)
        bob = start(w, "bob")
        for _ in Retention(bob.node, bob.node.profile.store, RetentionLimits()).tidy():
            pass
        assert log_of(bob) == TEXTS[:LIMIT]
        await asyncio.sleep(0.3)
        await stop(w, bob)
        bob = start(w, "bob", alone=True)
        start(w, "fay")
        async with asyncio.timeout(10):
            while log_of(bob) != ["ancient", *TEXTS[:LIMIT]]:
                await asyncio.sleep(0.05)

    run(tmp_path, story)


def test_ids_of_long_ago_are_not_taken(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = await flooded(w, ago=IDS_KEPT + DAY)
        before = keys(bob)
        await stop(w, ann)
        await stop(w, bob)
        bob, dan = start(w, "bob"), start(w, "dan")
        async with asyncio.timeout(10):
            while log_of(dan) != TEXTS[:LIMIT]:
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.0)
        assert len(keys(dan)) == LIMIT
        assert keys(bob) == before

    run(tmp_path, story)
