"""Packets that the disk has altered come back from the others."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

from sdschat.node.events import MessageDelivered, PacketRestored, TroubleMet
from sdschat.sds.events import StateChanged
from sdschat.sds.ids import content_id
from sdschat.sds.values import AckState, Message
from sdschat.store.store import Store
from sdschat.wire.sds_codec import SdsCodec
from tests.node.worlds import Member, World, world

CODEC = SdsCodec()


def alter(path: Path, message_id: str) -> None:
    """One byte of the packet, as a bad disk would."""
    connection = sqlite3.connect(path)
    changed = connection.execute(
        "UPDATE body SET raw = CAST(substr(raw, 1, 20) || x'00' || substr(raw, 22) AS BLOB) "
        "WHERE place = (SELECT place FROM log WHERE message_id = ?)",
        (message_id,),
    ).rowcount
    connection.commit()
    connection.close()
    assert changed == 1


def raw(path: Path, message_id: str) -> bytes | None:
    with Store.open(path, CODEC) as store:
        assert store.losses == []
        row = store.channel("lobby").history.row(message_id)
        return None if row is None else row.raw


async def said(w: World) -> tuple[Member, Member, Message, Message]:
    """Ann and bob have each other's message, and know it."""
    ann, bob = w.start("ann"), w.start("bob")
    mine = ann.node.send("lobby", "of ann")
    theirs = bob.node.send("lobby", "of bob")
    for member in (ann, bob):
        await member.until_texts("of ann", "of bob")
        await member.until(StateChanged, lambda told: told.state is AckState.ACKED)
    return ann, bob, mine, theirs


def test_our_own_packet_comes_back_from_the_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, mine, _ = await said(w)
            await ann.node.close(0.1)
            alter(w.path("ann"), mine.message_id)
            again = w.start("ann")
            assert "cannot be sent again" in again.of(TroubleMet)[0].detail
            assert (await again.until(PacketRestored)).message_id == mine.message_id
            await again.node.close(0.1)
            await bob.node.close(0.1)
            assert raw(w.path("ann"), mine.message_id) == raw(w.path("bob"), mine.message_id) is not None

    asyncio.run(story())


def test_anothers_message_that_was_taken_out_comes_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, _, theirs = await said(w)
            await ann.node.close(0.1)
            alter(w.path("ann"), theirs.message_id)
            again = w.start("ann")
            told = await again.until(MessageDelivered)
            assert told.said.message.message_id == theirs.message_id
            await again.node.close(0.1)
            await bob.node.close(0.1)
            assert raw(w.path("ann"), theirs.message_id) == raw(w.path("bob"), theirs.message_id) is not None

    asyncio.run(story())


def test_a_packet_that_is_found_altered_later_comes_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, mine, theirs = await said(w)
            for message in (mine, theirs):
                alter(w.path("ann"), message.message_id)
                session = ann.node.sessions["lobby"]
                assert session.channel.state.history.row(message.message_id) is None  # as when somebody asks for it
                session.mark_ready()
                await ann.until(PacketRestored, lambda told, message=message: told.message_id == message.message_id)  # type: ignore[misc]
            for member in (ann, bob):
                await member.node.close(0.1)
            for message in (mine, theirs):
                assert raw(w.path("ann"), message.message_id) == raw(w.path("bob"), message.message_id) is not None

    asyncio.run(story())


def test_another_packet_under_the_same_id_is_not_taken(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, mine, _ = await said(w)
            await bob.node.close(0.1)  # nobody else has it
            await ann.node.close(0.1)
            alter(w.path("ann"), mine.message_id)
            again = w.start("ann")
            forged = CODEC.encode(replace(mine, content=b"other words"))
            assert content_id(b"other words") != mine.message_id
            w.network.pass_on("sds/1/lobby/msg", forged, False)
            cat = w.start("cat")
            cat.node.send("lobby", "said after it")
            await again.until(MessageDelivered)
            assert again.of(PacketRestored) == []
            assert mine.message_id in again.node.sessions["lobby"].channel.state.refetch

    asyncio.run(story())
