"""`sdschat inspect` on messages that are not in the log: what they wait for, and who waits for what is missing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sdschat.node.events import ConnectionChanged, MessageDelivered, OverLimit
from sdschat.sds.events import MessageDeferred
from sdschat.sds.values import HistoryEntry, Message
from tests.cli.processes import run
from tests.node.worlds import PATIENCE, world
from tests.wire.samples import CODEC


@pytest.fixture
def there(tmp_path: Path) -> tuple[str, ...]:
    """A home in which ann has two messages that wait for missing ones, and one that is dated ahead."""

    def said(message_id: str, lamport: int, *history: str) -> bytes:
        entries = tuple(HistoryEntry(name) for name in history)
        return CODEC.encode(Message("eve", message_id, "lobby", lamport, entries, None, (), b"text"))

    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann = w.start("ann")
            await ann.until(ConnectionChanged, lambda told: told.state == "connected")
            ann.node.send("lobby", "the first message of a log waits for none")
            await ann.until(MessageDelivered)
            now = ann.node.clock.now().wall
            for packet in (said("w1", now, "ghost"), said("w2", now + 1, "w1"), said("soon", now + 3_600_000, "ghost")):
                w.network.pass_on("sds/1/lobby/msg", packet, False)
            await ann.until(MessageDeferred)

    asyncio.run(story())
    return ("--name", "ann", "--data-dir", str(tmp_path / "data"))


def inspected(tmp_path: Path, there: tuple[str, ...], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(tmp_path, "inspect", "lobby", *words, "--json", *there).stdout)
    return found


def test_a_waiting_message_says_what_it_waits_for(tmp_path: Path, there: tuple[str, ...]) -> None:
    waiting = {row["message_id"]: row for row in inspected(tmp_path, there)["waiting"]}
    assert waiting["w1"]["waits_for"] == [{"message_id": "ghost", "status": "missing"}]
    assert waiting["w2"]["waits_for"] == [{"message_id": "w1", "status": "waiting"}]
    assert waiting["soon"]["until"] is not None
    told = run(tmp_path, "inspect", "lobby", *there).stdout
    assert "waits for ghost (missing)" in told
    assert "waits for w1 (waiting)" in told


def test_a_message_that_waits_can_be_looked_at(tmp_path: Path, there: tuple[str, ...]) -> None:
    found = inspected(tmp_path, there, "w1")
    assert (found["status"], found["packet"]["sender_id"]) == ("waiting", "eve")
    assert inspected(tmp_path, there, "soon")["status"] == "dated ahead"


def test_a_missing_message_says_who_waits_for_it(tmp_path: Path, there: tuple[str, ...]) -> None:
    found = inspected(tmp_path, there, "gho")
    assert (found["status"], found["awaited_by"]) == ("missing", ["w1", "soon"])
    assert found["given_up_at"] > found["since"]


def test_an_id_that_is_nowhere_is_said_to_be_nowhere(tmp_path: Path, there: tuple[str, ...]) -> None:
    done = run(tmp_path, "inspect", "lobby", "w", *there)
    assert (done.returncode, "2 ids begin with 'w': w1, w2" in done.stderr) == (2, True)
    done = run(tmp_path, "inspect", "lobby", "nix", *there)
    assert (done.returncode, "neither in the log nor in the buffers" in done.stderr) == (2, True)


def test_a_claim_of_which_the_id_alone_is_kept_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann, bob = w.start("ann"), w.start("bob")
            for one in (ann, bob):
                await one.until(ConnectionChanged, lambda told: told.state == "connected")
            bob.node.send("lobby", "hello")
            await ann.until(MessageDelivered)
            claim = Message(
                bob.node.sender_id, "claim", "lobby", ann.node.clock.now().wall, (), None, (), b"not by bob"
            )
            w.network.pass_on("sds/1/lobby/msg", CODEC.encode(claim), False)
            log = ann.node.sessions["lobby"].channel.state
            async with asyncio.timeout(PATIENCE):
                while log.delivered("claim") is None:
                    await asyncio.sleep(0.01)

    asyncio.run(story())
    there = ("--name", "ann", "--data-dir", str(tmp_path / "data"))
    assert inspected(tmp_path, there, "claim")["status"] == "in the log, by its id alone"


def test_a_message_of_which_the_id_alone_is_kept_is_in_the_log(tmp_path: Path) -> None:
    async def story() -> str:
        async with world(tmp_path / "data") as w:
            ann = w.start("ann", changes={"trust.messages_per_minute": 1, "trust.messages_at_once": 1})
            bob = w.start("bob")
            for one in (ann, bob):
                await one.until(ConnectionChanged, lambda told: told.state == "connected")
            said = [bob.node.send("lobby", text) for text in ("one", "two")]
            await ann.until(OverLimit)
            return said[1].message_id

    over = asyncio.run(story())
    there = ("--name", "ann", "--data-dir", str(tmp_path / "data"))
    found = inspected(tmp_path, there, over[:12])
    assert (found["status"], found["message_id"]) == ("in the log, by its id alone", over)
