"""Catching up from Store nodes: pages of the log, and a peer in place of a Store that is gone or lies."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.catchup import HIGHEST, LOWEST
from sdschat.node.events import CatchingUp, MessageDelivered, PresenceChanged
from sdschat.node.store_client.events import StoreAnswered
from sdschat.sds.events import DependenciesLost
from sdschat.store.retention import drop_oldest
from sdschat.store.store import Store
from tests.node.catching import CODEC, DAY, caught_up, log_of, say, start, stop
from tests.node.worlds import Member, World, world

TEXTS = [f"number {number}" for number in range(300)]


async def _archived(w: World) -> tuple[Member, Member]:
    """A participant and a Store that have the same history, of a day ago."""
    ann, store = start(w, "ann", ago=DAY), start(w, "store", ago=DAY, store=True)
    await say(ann, *TEXTS)
    await store.until_texts(*TEXTS)
    await stop(w, ann)
    await stop(w, store)
    return start(w, "ann"), start(w, "store", store=True)


def test_the_history_comes_as_pages_from_a_store(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            _, store = await _archived(w)
            bob = start(w, "bob", alone=True)
            await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert {told.via for told in bob.of(MessageDelivered)} == {"store"}
            assert bob.texts()[100:] == TEXTS[:200]
            assert {told.store_id for told in bob.of(StoreAnswered)} == {store.node.sender_id}

    asyncio.run(story())


def test_a_store_killed_in_the_middle_is_replaced_by_a_peer_and_nothing_comes_twice(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            _, store = await _archived(w)
            bob = start(w, "bob", alone=True)
            await bob.until(MessageDelivered, lambda told: told.via == "store")
            store.node.sessions["lobby"].transport.drop()  # type: ignore[attr-defined]
            await bob.until(PresenceChanged, lambda told: told.sender_id == store.node.sender_id and not told.online)
            done = await caught_up(bob)
            assert done.source != store.node.sender_id
            assert log_of(bob) == TEXTS
            assert sorted(bob.texts()) == sorted(TEXTS)
            assert {told.via for told in bob.of(MessageDelivered)} == {"store", "sync"}

    asyncio.run(story())


def test_what_lacks_here_and_there_is_fetched_from_a_store_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            await _archived(w)
            bob = start(w, "bob", alone=True)
            await caught_up(bob)
            await stop(w, bob)
            gone = TEXTS[77::100]
            bob = start(w, "bob", alone=True)
            _forget(bob, gone)
            await stop(w, bob)
            bob = start(w, "bob", alone=True)
            told = await bob.until(CatchingUp, lambda told: told.state == "done")
            assert (told.done, log_of(bob)) == (len(gone), TEXTS)

    asyncio.run(story())


def test_what_a_store_dropped_is_neither_asked_for_again_nor_lost(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, store = await _archived(w)
            await stop(w, ann)
            await stop(w, store)
            with Store.open(w.path("store"), CODEC) as archive:
                dated = archive.log("lobby").keys(LOWEST, HIGHEST, 1000)
                floor = dated[120][0]
                drop_oldest(archive, "lobby", floor, 1000, 0)
            start(w, "store", store=True)
            bob = start(w, "bob", alone=True)
            await caught_up(bob)
            state = bob.node.sessions["lobby"].channel.state
            assert log_of(bob) == TEXTS[len(TEXTS) - len(dated) + 120 :]
            assert (state.horizon, len(state.requests.missing)) == (floor, 0)
            assert not bob.of(DependenciesLost)

    asyncio.run(story())


def _forget(member: Member, texts: list[str]) -> None:
    """As if a disk had lost these: the log is mended with the next opening."""
    connection = member.node.profile.store.connection
    for text in texts:
        connection.execute("DELETE FROM body WHERE place = (SELECT place FROM text WHERE text = ?)", (text,))
