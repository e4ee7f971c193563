"""Refused packets are counted by reason, and can be seen."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sdschat.node.events import ConnectionChanged, MessageDelivered
from tests.cli.processes import run
from tests.node.worlds import world
from tests.wire.samples import field

TOPIC = "sds/1/lobby/msg"


@pytest.fixture
def there(tmp_path: Path) -> tuple[str, ...]:
    """A home in which ann has received rubbish twice, and once a packet of another channel."""

    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann = w.start("ann")
            await ann.until(ConnectionChanged, lambda told: told.state == "connected")
            other = field(1, "s") + field(2, "m") + field(3, "hall") + field(10, 7) + field(20, b"x")
            for packet in (b"\xff", b"rubbish", other):
                w.network.pass_on(TOPIC, packet, False)
            ann.node.send("lobby", "after all that")
            await ann.until(MessageDelivered)

    asyncio.run(story())
    return ("--name", "ann", "--data-dir", str(tmp_path / "data"))


def test_inspect_and_doctor_tell_them(tmp_path: Path, there: tuple[str, ...]) -> None:
    shown = json.loads(run(tmp_path, "inspect", "lobby", "--json", *there).stdout)
    assert shown["rejected"] == {"unreadable": 2, "other_channel": 1}
    done = run(tmp_path, "doctor", *there, "--broker", "mqtt://127.0.0.1:1")
    line = next(line for line in done.stdout.splitlines() if "refused" in line and "lobby" in line)
    assert "2 unreadable" in line
    assert "1 other_channel" in line
