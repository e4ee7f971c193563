"""Audits of private channels: lines about members are words of each node, and what an outsider wrote is not shown."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path

from sdschat.audit.compare import compare, read_fast
from sdschat.audit.node_evidence import with_nonmembers
from sdschat.audit.schemas import Message
from sdschat.audit.sources.databases import Reading, read_database
from sdschat.audit.sources.packets import Memory
from sdschat.audit.verdict import DEFAULT
from sdschat.cli.audit import rosters
from sdschat.node.events import MessageWithheld
from tests.audit.test_audit_command import ask
from tests.node.privately import private, say, three, until_said
from tests.node.worlds import world
from tests.transport.worlds import run

_NAMES = ("ann", "bob", "carol")


def test_lines_about_members_and_withheld_texts_are_no_altered_rows(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            cut = here.network.clients[0]
            cut.drop()
            private(ann).remove(carol.node.sender_id)
            await asyncio.sleep(0.1)
            say(carol, "written by no member")
            await until_said(bob, "written by no member")
            cut.reconnect()
            for each in (ann, bob):
                await each.until(MessageWithheld)
            await asyncio.sleep(0.3)

    run(scenario)
    files = [next(path for path in tmp_path.rglob("*.db") if f"/{name}/" in str(path)) for name in ("ann", "bob")]
    found = ask(*files)
    assert found.return_value == 0, found.stdout
    assert "everybody has everything" in found.stdout
    for path in files:
        reading = Reading("", path, 0, Memory(sized=True))
        assert [*read_fast([reading])] != [None], "it is not read by the column"
        rows = [row for row in read_database(reading) if isinstance(row, Message)]
        assert [row.damage for row in rows] == [None] * len(rows)
        assert "written by no member" not in [row.text for row in rows]


def test_who_was_removed_lacks_nothing_that_was_said_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            private(ann).remove(carol.node.sender_id)
            await asyncio.sleep(0.3)
            say(ann, "without carol")
            await until_said(bob, "without carol")

    run(scenario)
    files = {name: next(path for path in tmp_path.rglob("*.db") if f"/{name}/" in str(path)) for name in _NAMES}
    later = int(time.time() * 1000)
    found = compare(
        [*files.values()], later, DEFAULT._replace(settle=0), partial(with_nonmembers, found=rosters(files.values()))
    ).audit
    assert found.agreed, found.missing
    told = {(row.node[:4], row.detail) for row in found.missing}
    assert any("no member then" in detail for _, detail in told), told
