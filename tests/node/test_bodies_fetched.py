"""Tests of fetching what was kept as ids: the texts come from whoever has them, and take their places."""

from __future__ import annotations

from pathlib import Path

from sdschat.catchup.values import HIGHEST, LOWEST
from sdschat.node.events import BodiesFetched, ConnectionChanged, MessageDelivered, OverLimit, SaidTwoThings
from sdschat.node.sync.extension import sync_extension
from sdschat.store.archive import archived
from tests.node.catching import log_of, start
from tests.node.worlds import Member, World, run

LIMIT = 3
TEXTS = [f"{number}" for number in range(8)]


def start_limited(w: World, name: str, ago: int = 0) -> Member:
    return start(w, name, ago=ago, trust__messages_per_minute=LIMIT, trust__messages_at_once=LIMIT)


async def flooded(w: World, ago: int = 0) -> tuple[Member, Member]:
    """Ann says more than bob keeps of one sender."""
    ann, bob = start(w, "ann", ago=ago), start_limited(w, "bob", ago)
    for member in (ann, bob):
        await member.until(ConnectionChanged, lambda c: c.state == "connected")
    for text in TEXTS:
        ann.node.send("lobby", text)
    await bob.until(OverLimit, lambda told: told.messages == len(TEXTS) - LIMIT)
    assert log_of(bob) == TEXTS[:LIMIT]
    return ann, bob


def show(member: Member, whose: Member) -> int:
    return sync_extension(member.node, "lobby").catchup.show(whose.node.sender_id)


def test_the_texts_come_and_take_their_places(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = await flooded(w)
        store = bob.node.profile.store
        before = store.log("lobby").summary(LOWEST, HIGHEST)
        assert show(bob, ann) == len(TEXTS) - LIMIT
        assert await bob.until(BodiesFetched) == BodiesFetched(len(TEXTS) - LIMIT, 0)
        assert log_of(bob) == log_of(ann) == TEXTS
        assert store.log("lobby").summary(LOWEST, HIGHEST) == before
        assert [(one.messages, one.packets, one.floor.ids) for one in archived(store)] == [(len(TEXTS), len(TEXTS), 0)]
        assert await bob.until(OverLimit, lambda told: told.messages == 0)
        assert not bob.of(SaidTwoThings)
        assert show(bob, ann) == 0
        again = bob.node.send("lobby", "mine")
        assert again.causal_history
        await ann.until(MessageDelivered, lambda told: told.said.opened.text == "mine")

    run(tmp_path, story)


def test_the_database_is_sound_afterwards(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = await flooded(w)
        show(bob, ann)
        await bob.until(BodiesFetched)
        await bob.node.close(0.1)
        w.members.remove(bob)
        again = start_limited(w, "bob")
        assert not again.node.profile.store.losses
        assert log_of(again) == TEXTS
        hits = again.node.profile.store.connection.execute("SELECT count(*) FROM search WHERE search MATCH '7'")
        assert hits.fetchone()[0] == 1

    run(tmp_path, story)


def test_what_nobody_here_has_stays_an_id(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = await flooded(w)
        await ann.node.close(0.1)
        w.members.remove(ann)
        cid = start(w, "cid")
        await cid.until(ConnectionChanged, lambda c: c.state == "connected")
        assert show(bob, ann) == len(TEXTS) - LIMIT
        assert await bob.until(BodiesFetched) == BodiesFetched(0, len(TEXTS) - LIMIT)
        assert log_of(bob) == TEXTS[:LIMIT]

    run(tmp_path, story)
