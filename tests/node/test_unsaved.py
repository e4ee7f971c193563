"""A node that cannot save: nothing is sent or told of it, time stands still, and nothing is lost once there is room."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.node.channel.author_chains import AuthorChains
from sdschat.node.clock import Clock
from sdschat.node.events import MessageDelivered, PresenceChanged, SavingFailed, SavingResumed
from sdschat.node.pauses import OUTPUT
from sdschat.sds.events import DependenciesLost
from sdschat.sds.values import HistoryEntry, Now
from sdschat.store.errors import DiskFull
from sdschat.store.transaction import Transaction
from tests.node.worlds import Member, World, world

_HOUR = 3_600_000


class Disk:
    """The disk of one member, full while `full` is true. `tried`: how often it was, at that."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.full, self.tried = False, 0
        self._connection: object = None
        write = Transaction.write

        def sometimes(transaction: Transaction, connection: object) -> None:
            if self.full and connection is self._connection:
                self.tried += 1
                raise DiskFull(folder)
            write(transaction, connection)  # type: ignore[arg-type]

        patch.setattr(Transaction, "write", sometimes)

    async def fill(self, member: Member) -> None:
        """Let a message of this member be the first that is not saved."""
        self.full, self._connection = True, member.node.profile.store.connection
        member.node.send("lobby", "patience")
        await member.until(SavingFailed)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    monkeypatch.setattr("sdschat.node.node.RETRY", 0.01)
    return Disk(tmp_path, monkeypatch)


async def _two(w: World) -> tuple[Member, Member]:
    ann, bob = w.start("ann"), w.start("bob")
    await bob.until(PresenceChanged)
    await ann.until(PresenceChanged)
    return ann, bob


def test_nothing_is_sent_or_told_while_it_cannot_be_saved(tmp_path: Path, disk: Disk) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await _two(w)
            await disk.fill(ann)
            assert ann.texts() == bob.texts() == []
            disk.full = False
            await ann.until(SavingResumed)
            await bob.until_texts("patience")
            assert ann.texts() == ["patience"]

    asyncio.run(story())


def test_it_is_told_once_that_nothing_can_be_saved(tmp_path: Path, disk: Disk) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            await disk.fill(ann)
            while disk.tried < 5:
                await asyncio.sleep(0.001)
            disk.full = False
            await ann.until(SavingResumed)
            assert len(ann.of(SavingFailed)) == 1

    asyncio.run(story())


def test_time_stands_still_meanwhile(tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sync messages and repair requests piled up, to be sent together; and what was missing was given up, though the
    answers of others were not read."""
    now = Clock.now

    def later(clock: Clock) -> Now:
        wall, mono = now(clock)
        return Now(wall + _HOUR, mono + _HOUR)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await _two(w)
            session = ann.node.sessions["lobby"]
            await disk.fill(ann)
            session.channel.miss(now(ann.node.clock), HistoryEntry("ab" * 32, None, bob.node.sender_id))
            session.mark_ready()
            await asyncio.sleep(0)
            taken = sum(len(batch.packets) for batch in ann.node.unsaved)
            monkeypatch.setattr(Clock, "now", later)
            session.advance()
            await asyncio.sleep(0)
            assert sum(len(batch.packets) for batch in ann.node.unsaved) == taken
            disk.full = False
            await ann.until(SavingResumed)
            await ann.until(MessageDelivered)
            assert session.channel.state.online
            session.advance()
            ann.node.send("lobby", "later")
            await ann.until_texts("patience", "later")
            assert not ann.of(DependenciesLost)

    asyncio.run(story())


def test_saving_is_tried_again_at_the_end(tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message was lost though there was room again, if the program ended before the next try."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await _two(w)
            monkeypatch.setattr("sdschat.node.node.RETRY", 3600)
            await disk.fill(ann)
            disk.full = False
            await ann.node.close(0.1)
            w.start("ann")
            await bob.until_texts("patience")

    asyncio.run(story())


def test_the_network_is_read_again_when_the_last_reason_not_to_is_over(tmp_path: Path, disk: Disk) -> None:
    """A disk with room again resumed what the reader of the output had paused, and the other way round."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await _two(w)
            await disk.fill(ann)
            ann.node.pauses.begin(OUTPUT)
            disk.full = False
            await bob.until_texts("patience")
            bob.node.send("lobby", "can you read")
            await bob.until_texts("patience", "can you read")
            assert ann.texts() == ["patience"]
            ann.node.pauses.end(OUTPUT)
            await ann.until_texts("patience", "can you read")

    asyncio.run(story())


def test_after_an_error_nothing_more_is_saved_or_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages taken before the error are neither: a later one would name them, and nobody would ever have them."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await _two(w)
            extensions = ann.node.sessions["lobby"].extensions
            with monkeypatch.context() as patch:
                patch.setattr(next(one for one in extensions if isinstance(one, AuthorChains)), "process", None)
                ann.node.send("lobby", "lost")
                while not ann.node.failed.done():
                    await asyncio.sleep(0)
            ann.node.send("lobby", "later")
            bob.node.send("lobby", "last")
            await bob.until_texts("last")
            await ann.node.close(0.1)
            assert w.start("ann").node.sessions["lobby"].channel.state.newest(5) == []
            assert bob.texts() == ["last"]

    asyncio.run(story())
