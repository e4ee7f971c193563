"""Tests of the turns of a node: input taken per turn, and free time of the loop in between, for a user who types."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sdschat.node import turn_scheduler
from sdschat.node.channel import commit
from sdschat.node.events import ConnectionChanged, MessageDelivered, NodeEvent
from sdschat.sds.values import Now
from tests.node.worlds import Member, World, world

FEW = 16  # packets that the network hands over before the loop may do something else


async def packets_of_bob(w: World, count: int) -> list[bytes]:
    """Return the packets that bob sends while nobody listens."""
    sent: list[bytes] = []
    bob = w.start("bob")
    bob.node.sessions["lobby"].watchers.append(lambda _via, packet, message: sent.append(packet))
    for number in range(count):
        bob.node.send("lobby", f"number {number}")
    await bob.until_texts(*(f"number {number}" for number in range(count)))
    await bob.node.close(0.1)
    return sent[:count]


async def alone(w: World, monkeypatch: pytest.MonkeyPatch) -> Member:
    """Somebody to whom nothing happens by itself."""
    ann = w.start("ann")
    await ann.until(ConnectionChanged, lambda body: body.state == "connected")
    await step()
    if ann.node._alarm is not None:
        ann.node._alarm.cancel()
    monkeypatch.setattr(ann.node, "_set_alarm", lambda: None)
    return ann


async def step() -> None:
    """One turn of the loop, with whatever is due in it."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_of_a_flood_a_turn_takes_no_more_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it would be put off otherwise: the number that waits ends that."""
    monkeypatch.setattr(turn_scheduler, "PAUSE", 3600.0)
    monkeypatch.setattr(turn_scheduler, "LONGEST", 3600.0)

    async def story() -> None:
        async with world(tmp_path) as w:
            packets = await packets_of_bob(w, 20 * FEW)
            ann = await alone(w, monkeypatch)
            ann.node.scheduler.most = turn_scheduler.AT_KEYS
            session, taken = ann.node.sessions["lobby"], []
            for at in range(0, len(packets), FEW):
                before = len(ann.of(MessageDelivered))
                for packet in packets[at : at + FEW]:
                    session.receive(packet, "live")
                await step()
                taken.append(len(ann.of(MessageDelivered)) - before)
            assert max(taken) <= turn_scheduler.AT_KEYS
            assert sum(taken) >= len(packets) - turn_scheduler.AT_KEYS

    asyncio.run(story())


def test_after_a_turn_the_loop_is_free_for_as_long_as_it_was_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            first, second, third = await packets_of_bob(w, 3)
            ann = await alone(w, monkeypatch)
            clock = SlowDisk(monkeypatch, 0.02)
            hand_over(ann, first)
            await step()
            assert len(ann.of(MessageDelivered)) == 1, "the first is not put off"
            hand_over(ann, second)
            clock.now += 0.019
            await step()
            assert len(ann.of(MessageDelivered)) == 1
            hand_over(ann, third)
            clock.now += 0.002
            await step()
            assert len(ann.of(MessageDelivered)) == 3
            assert clock.savings == 2, "what waited is saved at once"

    asyncio.run(story())


def test_after_a_turn_that_saved_many_the_loop_is_free_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost of a transaction is shared by all that come meanwhile."""

    async def story() -> None:
        async with world(tmp_path) as w:
            packets = await packets_of_bob(w, turn_scheduler.BUSY + 2)
            ann = await alone(w, monkeypatch)
            clock = SlowDisk(monkeypatch, 0.01)
            for packet in packets[:-2]:
                hand_over(ann, packet)
            await step()
            assert len(ann.of(MessageDelivered)) == turn_scheduler.BUSY
            hand_over(ann, packets[-2])
            clock.now += turn_scheduler.LONGER * 0.01 - 0.001
            await step()
            hand_over(ann, packets[-1])
            assert clock.savings == 1
            clock.now += 0.002
            await step()
            assert len(ann.of(MessageDelivered)) == len(packets)
            assert clock.savings == 2

    asyncio.run(story())


def test_a_key_comes_before_what_is_to_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            first, second, third = await packets_of_bob(w, 3)
            ann = await alone(w, monkeypatch)
            clock = SlowDisk(monkeypatch, 0.01)
            ann.node.scheduler.favour_input()
            hand_over(ann, first)
            await step()
            assert len(ann.of(MessageDelivered)) == 1, "nothing was saved for long: there is nothing to wait for"
            hand_over(ann, second)
            ann.node.scheduler.favour_input()
            clock.now += turn_scheduler.KEY - 0.001
            await step()
            assert len(ann.of(MessageDelivered)) == 1
            hand_over(ann, third)
            ann.node.scheduler.favour_input()
            clock.now += turn_scheduler.LONGEST - turn_scheduler.KEY + 0.002
            await step()
            assert len(ann.of(MessageDelivered)) == 3, "however much is typed, it is saved"

    asyncio.run(story())


def hand_over(member: Member, packet: bytes) -> None:
    member.node.sessions["lobby"].receive(packet, "live")


class SlowDisk:
    """Stops the clock of the loop, which only saving moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self.now = loop.time() + 60.0  # what was due before is over
        self.savings = 0
        save: Callable[..., None] = commit.commit

        def slowly(*arguments: object) -> None:
            save(*arguments)
            self.savings += 1
            self.now += seconds

        monkeypatch.setattr(commit, "commit", slowly)
        monkeypatch.setattr(loop, "time", lambda: self.now)


def test_the_events_of_a_turn_have_one_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of one moment are shown as one step: what ended a request, and what came by it."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = await alone(w, monkeypatch)
            walls = itertools.count(ann.node.clock.now().wall)  # a millisecond passes between any two looks
            monkeypatch.setattr(
                type(ann.node.clock), "now", lambda clock: Now(next(walls), time.monotonic_ns() // 10**6)
            )
            seen: list[NodeEvent] = []
            ann.node.listen(seen.append)
            for number in range(3):
                ann.node.send("lobby", f"number {number}")
            await ann.until_texts(*(f"number {number}" for number in range(3)))
            assert len({event.time for event in seen if isinstance(event.body, MessageDelivered)}) == 1

    asyncio.run(story())
