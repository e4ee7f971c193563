"""The view of one packet, and the list of those that came and went."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.sds.values import Message
from sdschat.tui.lens.view_input import plain
from sdschat.wire.sds_codec import SdsCodec
from tests.tui.lens.looking import ROOM, looking


def test_packet_takes_the_message_apart(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            theirs = look.say("bob", "look at me")
            await look.own.until_texts("look at me")
            raw = look.eye._view.channel(ROOM).raw(theirs)
            assert raw is not None
            message = SdsCodec().decode(raw)
            assert isinstance(message, Message)
            shown = look.text("packet", theirs, width=120)
            assert f"{len(raw)} bytes, spec" in shown
            assert "breaks no rule" in shown
            assert str(message.lamport_timestamp) in shown
            assert message.message_id in shown
            assert "look at me" in shown
            assert "signature" in shown
            digits = [row[5:53].replace(" ", "") for row in shown.splitlines() if row[4:5] == " " and row[:4].isalnum()]
            assert raw[:16].hex() in "".join(digits)

    asyncio.run(story())


def test_packet_lists_what_came_and_went_and_opens_one_by_number(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            look.say("bob", "hello")
            look.say("ann", "hi")
            shown = await look.until("packet", "content by bob", "  message")
            row = next(line for line in shown.splitlines() if "content by bob" in line)
            number = row.split()[0]
            opened = look.text("packet", argument=number)
            assert f"packet {number}, in, live" in opened
            assert "lamport_timestamp" in opened

    asyncio.run(story())


def test_a_packet_that_breaks_the_rules_is_said_to(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path) as look:
            bad = SdsCodec().encode(Message("stranger", "sync-1", ROOM, 5))
            look.own.node.sessions[ROOM].receive(bad, "live")
            shown = await look.until("packet", "sync by")
            number = next(line for line in shown.splitlines() if "sync by" in line).split()[0]
            opened = look.text("packet", argument=number)
            assert "breaks S-010" in opened
            assert "breaks S-051" in opened
            await look.until("peers", "breaks S-010 1x")

    asyncio.run(story())


def test_a_list_without_packets_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path) as look:
            assert "none came or went since the Lens was opened" in look.text("packet")

    asyncio.run(story())


@pytest.mark.parametrize(("view", "wanted"), [("packet", "content by bob"), ("events", "sync received from bob")])
def test_who_sent_it_stands_in_their_colour(tmp_path: Path, view: str, wanted: str) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            look.say("bob", "hello")
            await look.until(view, wanted)
            lines = look.eye.lines(view, ROOM, None, "", 70)
            row = next(row for row in lines if plain(row).endswith(wanted))
            assert row[-1] == ("bob", f"nick:{look['bob'].node.sender_id}")

    asyncio.run(story())
