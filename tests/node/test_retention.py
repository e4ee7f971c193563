"""Tests of the size of an ordinary node's database: texts of others go first, their ids and everything own stay."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.events import TroubleMet
from sdschat.node.retention import EVERY, EVERY_WHEN_FULL, Retention, keep_within_limits
from tests.node.worlds import Member, world

_LONG = "x" * 4_000
_MANY = 120
_CAP = 700_000


def packets(member: Member, own: bool) -> int:
    """Return the number of messages whose packets are kept."""
    sql = "SELECT count(*) FROM log JOIN body USING (place) WHERE own = ?"
    return int(member.node.profile.store.connection.execute(sql, (int(own),)).fetchone()[0])


def test_beyond_the_size_others_texts_go_and_ids_and_everything_own_stay(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            limits = keep_within_limits(ann.node, ann.node.profile.store, _CAP)
            texts = [f"{number} {_LONG}" for number in range(_MANY)]
            ann.node.send("lobby", f"mine {_LONG}")
            for text in texts:
                bob.node.send("lobby", text)
            await ann.until_texts(f"mine {_LONG}", *texts)
            tidy(limits)
            assert packets(ann, own=True) == 1
            assert 0 < packets(ann, own=False) < _MANY
            fingerprints = {
                member.node.profile.store.connection.execute("SELECT messages, fingerprint FROM channel").fetchone()
                for member in (ann, bob)
            }
            assert len(fingerprints) == 1
            assert packets(bob, own=True) == _MANY

    asyncio.run(story())


def test_the_user_is_told_once_that_the_size_is_nearly_reached(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            ann.node.send("lobby", "hello")
            limits = keep_within_limits(ann.node, ann.node.profile.store, 1)
            for _ in range(2):
                keeping = asyncio.ensure_future(limits.keep())
                found = await ann.until(TroubleMet)
                keeping.cancel()
            assert "store.max_size" in found.detail
            assert len(ann.of(TroubleMet)) == 1

    asyncio.run(story())


def tidy(limits: Retention) -> None:
    for _ in limits.tidy():
        pass


def test_it_looks_more_often_where_little_room_is_left(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            ann.node.send("lobby", "hello")
            store = ann.node.profile.store
            pauses = [keep_within_limits(ann.node, store, size).pause() for size in (0, 2**31, _CAP)]
            assert pauses == [EVERY, EVERY, EVERY_WHEN_FULL]

    asyncio.run(story())
