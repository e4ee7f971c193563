"""Strangers in `log`: what they say is left out, and a line on standard error says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.identity.key_book import PEOPLE_A_MINUTE
from tests.cli.processes import run
from tests.node.test_strangers import MORE, crowded
from tests.node.worlds import world


def test_log_leaves_out_who_waits_and_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path / "data" / "sdschat") as w:
            await crowded(w)

    asyncio.run(story())
    done = run(tmp_path, "log", "lobby", "--name", "ann")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == PEOPLE_A_MINUTE
    assert f"{MORE} senders more, with {MORE} messages, not shown" in done.stderr
