"""The audit of nodes that heard packets of programs that sign nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.events import ConnectionChanged, MessageDelivered
from sdschat.sds.values import Message
from tests.audit.test_audit_command import ask
from tests.node.worlds import PATIENCE, world
from tests.wire.samples import CODEC


def test_a_claim_in_the_name_of_a_signer_is_kept_as_an_id_and_is_no_altered_row(tmp_path: Path) -> None:
    async def story() -> Path:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            for one in (ann, bob):
                await one.until(ConnectionChanged, lambda told: told.state == "connected")
            ann.node.send("lobby", "hello")
            await bob.until(MessageDelivered)
            now = bob.node.clock.now().wall
            claim = Message(ann.node.sender_id, "z11", "lobby", now, (), None, (), b"not by ann")
            w.network.pass_on("sds/1/lobby/msg", CODEC.encode(claim), False)
            log = bob.node.sessions["lobby"].channel.state
            async with asyncio.timeout(PATIENCE):
                while log.delivered("z11") is None:
                    await asyncio.sleep(0.01)
            return w.path("bob")

    found = ask(asyncio.run(story()))
    assert "no fault" in found.stdout, found.stdout
    assert found.return_value == 0
