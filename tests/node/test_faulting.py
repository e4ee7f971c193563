"""Faults that are switched on and off while a node runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sdschat.node.channel.presence import DOUBT
from sdschat.node.events import ConnectionChanged, MessageDelivered, PresenceChanged
from sdschat.node.tools.fault_injection import Injection
from sdschat.sds.events import DependenciesMissing, SyncReceived
from sdschat.transport.memory import MemoryTransport
from tests.node.worlds import Member, World, world


async def pair(w: World) -> tuple[Member, Member]:
    ann, bob = w.start("ann"), w.start("bob")
    for member in (ann, bob):
        await member.until(PresenceChanged)
    return ann, bob


def test_a_channel_without_faults_has_no_layer_for_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, _ = await pair(w)
            faults = Injection(ann.node, "lobby")
            faults.off()
            assert faults.describe() == ""
            assert faults.carried() == {}
            assert isinstance(ann.node.sessions["lobby"].transport, MemoryTransport)

    asyncio.run(story())


def test_loss_in_one_direction_leaves_the_other_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            faults = Injection(bob.node, "lobby")
            faults.share("loss", 1.0, "in")
            bob.node.send("lobby", "heard")
            ann.node.send("lobby", "lost")
            await ann.until_texts("heard", "lost")
            assert faults.describe() == "loss 100% in"
            assert bob.texts() == ["heard"]
            assert faults.carried()["in"].lost > 0
            assert faults.carried()["out"].lost == 0
            faults.off()
            await bob.until_texts("heard", "lost")
            assert faults.describe() == ""

    asyncio.run(story())


def test_faults_of_both_directions_are_told_apart(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, _ = await pair(w)
            faults = Injection(ann.node, "lobby")
            faults.share("loss", 0.3, "in")
            faults.delay(200)
            assert faults.describe() == "loss 30%, delay 200 ms in, delay 200 ms out"
            faults.share("loss", 0.3)
            assert faults.describe() == "loss 30%, delay 200 ms in/out"

    asyncio.run(story())


def test_offline_is_told_as_a_connection_lost_and_found_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            faults = Injection(ann.node, "lobby")
            faults.offline(True)
            lost = await ann.until(ConnectionChanged, lambda c: c.state == "disconnected")
            assert lost.why == "offline"
            ann.node.send("lobby", "while away")
            bob.node.send("lobby", "unheard")
            await bob.until_texts("unheard")
            faults.offline(False)
            await bob.until_texts("unheard", "while away")
            await ann.until_texts("while away", "unheard")
            assert faults.describe() == ""

    asyncio.run(story())


def test_who_was_here_is_here_after_a_time_offline(tmp_path: Path) -> None:
    """For up to 45 seconds nobody was: the broker had told of them while nothing was heard."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            faults = Injection(ann.node, "lobby")
            faults.offline(True)
            await ann.until(ConnectionChanged, lambda c: c.state == "disconnected")
            faults.offline(False)
            presence = ann.node.sessions["lobby"].presence
            async with asyncio.timeout(20):
                while ann.of(ConnectionChanged)[-1].state != "connected" or presence._doubted:
                    await asyncio.sleep(0.01)
            assert bob.node.sender_id in presence.online

    asyncio.run(story())


def test_who_speaks_by_a_new_connection_is_here_though_their_presence_was_lost(tmp_path: Path) -> None:
    """They were not here for up to 45 seconds, while they talked."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            session, began = ann.node.sessions["lobby"], ann.node.clock.now()
            bob.node.send("lobby", "here I am")
            await ann.until_texts("here I am")
            for connected_at, here in ((began.wall, True), (began.wall + 60_000, False)):
                session.reception.connected_at = connected_at
                session.presence.doubt(began.mono - DOUBT)
                session.advance()
                assert (bob.node.sender_id in session.presence.online) == here

    asyncio.run(story())


def test_a_partition_loses_what_one_participant_wrote_whoever_passes_it_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            eve = w.start("eve")
            await eve.until(PresenceChanged)
            faults = Injection(ann.node, "lobby")
            faults.partition(bob.node.sender_id, "bob")
            assert faults.describe() == "without bob"
            assert dict(faults.cut) == {bob.node.sender_id: "bob"}
            written = bob.node.send("lobby", "by bob")
            await eve.until_texts("by bob")
            eve.node.send("lobby", "by eve")
            missing = await ann.until(DependenciesMissing)
            assert missing.dependencies == (written.message_id,)
            assert "by bob" not in ann.texts()
            faults.partition(bob.node.sender_id, "bob", cut=False)
            await ann.until_texts("by bob", "by eve")
            assert faults.describe() == ""

    asyncio.run(story())


def test_a_skewed_clock_dates_messages_and_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            faults = Injection(ann.node, "lobby")
            faults.skew(90_000)
            assert faults.describe() == "clock +90 s"
            ann.node.send("lobby", "from the future")
            told = await bob.until(MessageDelivered)
            event = next(event for event in bob.facts if event.body is told)
            assert (told.said.message.lamport_timestamp or 0) - event.time > 80_000
            faults.off()
            assert faults.describe() == ""
            assert ann.node.clock.skew == 0

    asyncio.run(story())


def test_a_packet_under_way_keeps_its_order_when_faults_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            faults = Injection(ann.node, "lobby")
            faults.delay(100, "out")
            ann.node.send("lobby", "first")
            await ann.until(MessageDelivered)
            faults.off()
            ann.node.send("lobby", "second")
            await bob.until_texts("first", "second")
            assert bob.texts() == ["first", "second"]

    asyncio.run(story())


@pytest.mark.parametrize(
    "wrong",
    [lambda f: f.share("loss", 1.5), lambda f: f.delay(-1), lambda f: f.skew(10**9)],
    ids=["share", "delay", "skew"],
)
def test_what_cannot_be_is_refused_and_changes_nothing(tmp_path: Path, wrong: Callable[[Injection], None]) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = await pair(w)
            faults = Injection(ann.node, "lobby")
            with pytest.raises(ValueError, match=r"must be|at most"):
                wrong(faults)
            assert faults.describe() == ""
            bob.node.send("lobby", "heard")
            await ann.until_texts("heard")
            await ann.until(SyncReceived)

    asyncio.run(story())
