"""A channel on which nim-sds is spoken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from sdschat.node.events import ConnectionChanged, MessageDelivered
from sdschat.node.settings import SettingError, Value
from sdschat.sds.events import Rejected, RepairRequested, StateChanged
from sdschat.sds.values import AckState, HistoryEntry, Message, Reason
from sdschat.store.reader import Reader
from sdschat.wire.nim_codec import EitherCodec, NimCodec
from tests.node.worlds import world
from tests.wire.samples import digest, field
from tests.wire.test_nim_codec import numbers

NIM: Mapping[str, Value] = {"sds.wire": "nim"}
TOPIC = "sds/1/lobby/msg"


def test_two_of_us_talk_and_acknowledge_in_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann", changes=NIM), w.start("bob", changes=NIM)
            sent = ann.node.send("lobby", "hello")
            told = await bob.until(MessageDelivered)
            assert (told.said.opened.text, told.said.nick) == ("hello", "ann")
            await ann.until(StateChanged, lambda s: s.message_id == sent.message_id and s.state is AckState.ACKED)

    asyncio.run(story())


def test_a_message_of_nim_sds_is_shown_and_what_it_lacks_is_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann", changes=NIM)
            heard: list[bytes] = []
            watcher = w.network.transport()
            watcher.listen(lambda event: heard.append(getattr(event, "payload", b"")))
            watcher.subscribe(TOPIC)
            watcher.start()
            await ann.until(ConnectionChanged, lambda c: c.state == "connected")
            lamport = ann.node.clock.now().wall
            parent = field(3, field(1, digest("lost")) + field(3, "nim"))
            packet = field(1, digest("child")) + field(2, lamport) + parent + field(4, "lobby") + field(5, b"from nim")
            w.network.pass_on(TOPIC, packet + field(7, "nim"), False)
            asked = await ann.until(RepairRequested)
            assert asked.message_ids == (digest("lost"),)
            while not any(13 in numbers(each) for each in heard):
                await asyncio.sleep(0.01)
            found = next(numbers(each)[13][0] for each in heard if 13 in numbers(each))
            assert numbers(found)[1] == [digest("lost").encode()]
            first = field(1, digest("lost")) + field(2, lamport - 1) + field(4, "lobby") + field(5, b"was lost")
            w.network.pass_on(TOPIC, first + field(7, "nim"), False)
            await ann.until_texts("was lost", "from nim")

    asyncio.run(story())


def test_a_mention_by_nim_sds_acknowledges(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann", changes={**NIM, "trust.unsigned": "count"})
            await ann.until(ConnectionChanged, lambda c: c.state == "connected")
            sent = ann.node.send("lobby", "hello nim")
            await ann.until(MessageDelivered)
            lamport = (sent.lamport_timestamp or 0) + 1
            mention = (HistoryEntry(sent.message_id),)
            reply = Message("nim", digest("reply"), "lobby", lamport, mention, None, (), b"hello chat")
            w.network.pass_on(TOPIC, NimCodec().encode(reply), False)
            told = await ann.until(StateChanged, lambda s: s.state is AckState.ACKED)
            assert (told.message_id, told.by) == (sent.message_id, ("nim",))

    asyncio.run(story())


def test_who_speaks_as_the_specification_says_is_refused_with_the_reason(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann", changes=NIM), w.start("bob")
            await ann.until(ConnectionChanged, lambda c: c.state == "connected")
            await bob.until(ConnectionChanged, lambda c: c.state == "connected")
            ann.node.send("lobby", "in nim")
            bob.node.send("lobby", "as it is written")
            assert (await ann.until(Rejected)).reason is Reason.FOREIGN_DIALECT
            assert (await bob.until(Rejected)).reason is Reason.FOREIGN_DIALECT
            assert (ann.texts(), bob.texts()) == (["in nim"], ["as it is written"])

    asyncio.run(story())


def test_a_channel_keeps_its_dialect(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            first = w.start("ann", "lobby", changes=NIM)
            sent = first.node.send("lobby", "said in nim")
            await first.until(MessageDelivered)
            await first.node.close(0.1)
            again = w.start("ann", "lobby", "hall")
            assert {name: session.dialect for name, session in again.node.sessions.items()} == {
                "lobby": "nim",
                "hall": "spec",
            }
            again.node.send("hall", "said in words")
            await again.until(MessageDelivered)
            await again.node.close(0.1)
            with pytest.raises(SettingError, match=r"hall was used with sds\.wire=spec"):
                w.start("ann", "hall", changes=NIM)
            with Reader.open(w.path("ann"), EitherCodec()) as reader:
                detail = reader.message("lobby", sent.message_id)
                assert detail is not None
                assert detail.message.text == "said in nim"

    asyncio.run(story())
