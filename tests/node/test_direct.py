"""Direct messages between nodes with real stores and keys, on a network in memory."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from sdschat.mvds.values import Payload
from sdschat.node.catchup_facts import DirectRefused, DirectSaid
from sdschat.node.direct import Direct
from sdschat.node.facts import MessageDelivered, PresenceChanged
from sdschat.node.mvds import sync_part
from sdschat.sds.events import Rejected, StateChanged
from sdschat.sds.rows import AckState
from sdschat.wire.catchup_codec import DIRECT, SyncCodec
from tests.node.catching import say, start, stop
from tests.node.worlds import Member, World, world


def direct(member: Member) -> Direct:
    return sync_part(member.node, "lobby").direct


async def _met(*members: Member) -> None:
    for member in members:
        await member.until(PresenceChanged, lambda told: told.online)


async def _acked(member: Member, message_id: str) -> None:
    await member.until(StateChanged, lambda s: s.message_id == message_id and s.state is AckState.ACKED)


def test_a_direct_message_reaches_the_other_and_is_acknowledged(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, cid = start(w, "ann"), start(w, "bob"), start(w, "cid")
            await ann.until(PresenceChanged, lambda told: told.nick == "bob")
            sent = direct(ann).send("bob", "between us")
            told = await bob.until(DirectSaid)
            assert (told.message_id, told.opened.text, told.nick, told.own) == (sent, "between us", "ann", False)
            assert told.opened.verdict.signed
            await _acked(ann, sent)
            states = [one.state for one in ann.of(StateChanged) if one.message_id == sent]
            assert states == [AckState.UNACKED, AckState.ACKED]
            assert not cid.of(DirectSaid)
            assert not bob.of(MessageDelivered)

    asyncio.run(story())


def test_it_waits_for_who_is_away_over_restarts_of_both(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await say(bob, "hello")  # so that ann knows bob's key for good
            await ann.until_texts("hello")
            await stop(w, bob)
            sent = direct(ann).send("bob", "when you are back")
            await ann.until(DirectSaid)
            await stop(w, ann)
            ann = start(w, "ann")
            bob = start(w, "bob")
            assert (await bob.until(DirectSaid)).opened.text == "when you are back"
            await _acked(ann, sent)
            rows = direct(ann).messages.newest(bob.node.sender_id)
            assert [(row.text, row.own, row.state) for row in rows] == [("when you are back", True, 2)]
            await stop(w, bob)
            bob = start(w, "bob")
            assert [row.text for row in direct(bob).messages.newest()] == ["when you are back"]
            assert not bob.of(DirectSaid)

    asyncio.run(story())


def test_answers_come_in_their_order(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            for number in range(20):
                direct(ann).send("bob", f"number {number}")
            await bob.until(DirectSaid, lambda told: told.opened.text == "number 19")
            direct(bob).send("ann", "enough")
            await ann.until(DirectSaid, lambda told: told.opened.text == "enough")
            assert [told.opened.text for told in bob.of(DirectSaid)][:20] == [f"number {n}" for n in range(20)]

    asyncio.run(story())


def test_the_broker_and_the_database_s_protocol_rows_hold_no_readable_text(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            seen: list[bytes] = []
            spy = w.network.transport()
            spy.listen(lambda event: seen.append(getattr(event, "payload", b"")))
            spy.subscribe("#")
            spy.start()
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            await _acked(ann, direct(ann).send("bob", "the key is under the mat"))
            assert seen
            assert not any(b"mat" in payload for payload in seen)
            await spy.close()
            bodies = sqlite3.connect(w.path("ann")).execute("SELECT body FROM mvds_message").fetchall()
            assert bodies
            assert not any(b"mat" in body for (body,) in bodies)

    asyncio.run(story())


def test_somebody_who_is_not_known_is_refused_in_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            with pytest.raises(ValueError, match=r"Nobody called eve is known on this channel\. Here are: bob"):
                direct(ann).send("eve", "hello")
            with pytest.raises(ValueError, match="That is yourself"):
                direct(ann).send(ann.node.sender_id, "hello")
            with pytest.raises(ValueError, match="at most 128 KiB"):
                direct(ann).send("bob", "x" * 200_000)
            with pytest.raises(ValueError, match="needs some text"):
                direct(ann).send("bob", "")
            assert not ann.of(DirectSaid)

    asyncio.run(story())


def test_a_second_one_of_the_same_name_is_not_written_to_by_mistake(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await say(bob, "it is me")
            await ann.until_texts("it is me")
            await stop(w, bob)
            other = await _second_bob(w)
            await ann.until(PresenceChanged, lambda told: told.sender_id == other.node.sender_id)
            with pytest.raises(ValueError, match="More than one participant is called bob"):
                direct(ann).send("bob", "secret")
            direct(ann).send(other.node.sender_id[:12], "to the second one")
            assert (await other.until(DirectSaid)).opened.text == "to the second one"

    asyncio.run(story())


def test_nobody_acknowledges_in_another_s_name(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            bob.node.rooms["lobby"].transport.unsubscribe(f"sds/1/lobby/sync/{bob.node.sender_id}/+")
            sent = direct(ann).send("bob", "did you get this?")
            forger = w.network.transport()
            forger.start()
            forger.publish(
                f"sds/1/lobby/sync/{ann.node.sender_id}/{bob.node.sender_id}",
                SyncCodec().encode_records(Payload(acks=(bytes.fromhex(sent),)), DIRECT),
            )
            assert (await ann.until(DirectRefused)).sender_id == bob.node.sender_id
            assert [row.state for row in direct(ann).messages.newest()] == [0]
            await forger.close()

    asyncio.run(story())


async def _second_bob(w: World) -> Member:
    folder, w.folder = w.folder, w.folder / "elsewhere"
    try:
        return start(w, "bob")
    finally:
        w.folder = folder


def test_what_others_put_on_the_topic_is_refused_and_nothing_else_happens(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, eve = start(w, "ann"), start(w, "bob"), start(w, "eve")
            await bob.until(PresenceChanged, lambda told: told.nick == "eve")
            await eve.until(PresenceChanged, lambda told: told.nick == "bob")
            await eve.until(PresenceChanged, lambda told: told.nick == "ann")
            forger = w.network.transport()
            forger.start()
            as_ann = f"sds/1/lobby/sync/{bob.node.sender_id}/{ann.node.sender_id}"
            seen: list[bytes] = []
            forger.listen(lambda event: seen.append(getattr(event, "payload", b"")))
            forger.subscribe(f"sds/1/lobby/sync/{bob.node.sender_id}/+")
            direct(eve).send("bob", "from eve")
            await bob.until(DirectSaid)
            for payload in [one for one in seen if one]:
                forger.publish(as_ann, payload)
            forger.publish(as_ann, b"\xff\xff rubbish")
            await bob.until(Rejected)
            assert [told.nick for told in bob.of(DirectSaid)] == ["eve"]
            assert {told.sender_id for told in bob.of(DirectRefused)} == {ann.node.sender_id}
            await forger.close()

    asyncio.run(story())
