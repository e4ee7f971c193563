"""Tests of the size of an ordinary node's database: texts of others go first, their ids and everything own stay."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from sdschat.identity.key_book import KeyStanding
from sdschat.node import retention
from sdschat.node.events import Joined, TroubleMet
from sdschat.node.retention import EVERY, EVERY_WHEN_FULL, Retention, keep_within_limits
from sdschat.sds.values import WITHOUT_A_BODY, Append, Entry, LogRow, Write
from sdschat.store.dropped_packets import BYTES_EACH
from sdschat.store.journal import JournalRow
from sdschat.store.retention import space
from tests.node.worlds import PATIENCE, Member, world

_LONG = "x" * 4_000
_MANY = 120
_CAP = 700_000
_FLOODED = 6 * 2**20


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
            for member in (ann, bob):
                await member.until_texts(f"mine {_LONG}", *texts)
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


def test_the_user_is_told_once_that_the_size_is_nearly_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAUSE", 0.0)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            ann.node.send("lobby", "hello")
            limits = keep_within_limits(ann.node, ann.node.profile.store, 1)
            looks = 0

            def pause() -> float:
                nonlocal looks
                looks += 1
                return 0.0

            monkeypatch.setattr(limits, "pause", pause)
            keeping = asyncio.ensure_future(limits.keep())
            async with asyncio.timeout(PATIENCE):
                while looks < 3:
                    await asyncio.sleep(0)
            keeping.cancel()
            assert ["store.max_size" in told.detail for told in ann.of(TroubleMet)] == [True]

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


def test_packets_go_while_a_flood_writes_more_events_than_have_room(tmp_path: Path) -> None:
    """Each look removed the events that had come since the last one, and nothing else: the database grew to three times
    its size."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            texts = [f"{number} {_LONG}" for number in range(_MANY)]
            for text in texts:
                bob.node.send("lobby", text)
            await ann.until_texts(*texts)
            store = ann.node.profile.store
            limits, before = keep_within_limits(ann.node, store, 2**20), packets(ann, own=False)
            rows = [JournalRow("flooded", "lobby", number, number) for number in range(50)]

            def happen(events: list[JournalRow]) -> None:
                with store.transaction() as transaction:
                    transaction.journal(events)

            happen(rows * 10)
            for _ in zip(limits.tidy(), range(30), strict=False):
                happen(rows)
            assert packets(ann, own=False) < before

    asyncio.run(story())


def flooded(member: Member, senders: int) -> None:
    """Put ids into the log without their messages, each of another sender that was invented."""
    now = member.node.clock.now().wall
    writes: list[Write] = []
    with member.node.profile.store.transaction() as transaction:
        for number in range(senders):
            sender_id = sha256(b"sender %d" % number).hexdigest()[:32]
            entry = Entry(now - senders + number, sha256(b"id %d" % number).hexdigest(), sender_id, (), WITHOUT_A_BODY)
            writes.append(Append(LogRow(entry, b"", False, "live", now)))
            transaction.put_standing(sender_id, int(KeyStanding.WAITING | KeyStanding.UNSIGNED), now)
        transaction.apply("lobby", writes)


def test_all_files_of_the_database_are_within_the_size_also_under_invented_senders(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            await ann.until(Joined)
            limits = keep_within_limits(ann.node, ann.node.profile.store, _FLOODED)
            ann.node.send("lobby", "mine")
            await ann.until_texts("mine")
            flooded(ann, 25_000)
            before = files(ann)
            for _ in range(60):
                tidy(limits)
            assert before > _FLOODED
            assert files(ann) <= _FLOODED
            assert packets(ann, own=True) == 1
            ids = ann.node.profile.store.connection.execute("SELECT count(*) FROM past").fetchone()[0]
            assert ids * BYTES_EACH > _FLOODED // 16

    asyncio.run(story())


def files(member: Member) -> int:
    """Return the bytes of all files of the database."""
    folder = member.node.profile.store.path.parent
    return sum(path.stat().st_size for path in folder.glob("sdschat.db*"))


def test_a_few_large_packets_are_within_the_size_too(tmp_path: Path) -> None:
    """A quarter of the size in bytes stays in any case, not a number of small packets."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            cap = 2 * 2**20
            limits = keep_within_limits(ann.node, ann.node.profile.store, cap)
            texts = [f"{number} {sha256(b'%d' % number).hexdigest() * 400}" for number in range(60)]
            for text in texts:
                bob.node.send("lobby", text)
            await ann.until_texts(*texts)
            tidy(limits)
            assert 0 < packets(ann, own=False) < 60
            assert space(ann.node.profile.store.connection).used <= cap

    asyncio.run(story())
