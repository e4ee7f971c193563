"""Tests of a node on a network in memory, with a real store and real keys."""

from __future__ import annotations

import asyncio
import gc
import os
import weakref
from pathlib import Path

import pytest

from sdschat.identity.content import Verdict
from sdschat.identity.key_book import KeyMet, NickClaimed
from sdschat.identity.keyfile import load_or_create
from sdschat.node.channel.proofs import HeardPacket
from sdschat.node.channel.reception import PacketReception
from sdschat.node.events import (
    ConnectionChanged,
    EphemeralSaid,
    IdentityUsedElsewhere,
    Joined,
    MessageDelivered,
    NodeEvent,
    PresenceChanged,
    TroubleMet,
)
from sdschat.node.members import opening
from sdschat.node.node import Node
from sdschat.node.settings import Value
from sdschat.node.sync import extension
from sdschat.sds.events import Rejected, StateChanged
from sdschat.sds.ids import content_id
from sdschat.sds.values import AckState, Message, Reason
from sdschat.store.errors import ProfileInUse
from sdschat.store.reader import Reader
from sdschat.transport.base import Crashed
from sdschat.transport.memory import MemoryTransport
from sdschat.wire.chat_codec import decode_envelope
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.worlds import Member, world

CODEC = SdsCodec()


def test_two_talk_and_acknowledge(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            sent = ann.node.send("lobby", "hello")
            told = await bob.until(MessageDelivered)
            assert told.said.opened.text == "hello"
            assert told.said.nick == "ann"
            assert (await bob.until(KeyMet)).nick == "ann"
            await ann.until(StateChanged, lambda s: s.message_id == sent.message_id and s.state is AckState.ACKED)

    asyncio.run(story())


def test_what_is_told_is_on_disk(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            on_disk: list[bool] = []

            def look(event: NodeEvent) -> None:
                if isinstance(event.body, MessageDelivered):
                    with Reader.open(w.path("bob"), CODEC) as reader:
                        found = reader.message("lobby", event.body.said.message.message_id)
                        on_disk.append(found is not None and found.message.text == event.body.said.opened.text)

            bob.node.listen(look)
            for number in range(5):
                ann.node.send("lobby", f"number {number}")
            await bob.until_texts(*(f"number {number}" for number in range(5)))
            assert on_disk == [True] * 5

    asyncio.run(story())


def test_several_channels_do_not_mix(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann", "lobby", "attic"), w.start("bob", "lobby", "attic")
            ann.node.send("lobby", "below")
            ann.node.send("attic", "above")
            await bob.until_texts("below", "above")
            where = {
                event.channel: event.body.said.opened.text
                for event in bob.facts
                if isinstance(event.body, MessageDelivered)
            }
            assert where == {"lobby": "below", "attic": "above"}

    asyncio.run(story())


def test_a_node_goes_on_where_it_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            ann.node.send("lobby", "nobody is here yet")
            await ann.until(MessageDelivered)
            await ann.node.close(0.1)
            again, bob = w.start("ann"), w.start("bob")
            assert (await again.until(Joined)).known == 1
            await bob.until_texts("nobody is here yet")
            assert again.node.sender_id == ann.node.sender_id
            assert again.texts() == []

    asyncio.run(story())


def test_a_channel_that_is_being_left_is_not_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session that was about to end was returned for a new one."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, closes = w.start("ann"), asyncio.Event()
            transport = ann.node.sessions["lobby"].transport
            close = transport.close

            async def slow(grace: float) -> None:
                await closes.wait()
                await close(grace)

            monkeypatch.setattr(transport, "close", slow)
            leaving = asyncio.ensure_future(ann.node.part("lobby"))
            await asyncio.sleep(0)
            with pytest.raises(ValueError, match="lobby is being left"):
                ann.node.join("lobby")
            closes.set()
            await leaving
            assert ann.node.join("lobby") is ann.node.sessions["lobby"]

    asyncio.run(story())


def test_nothing_is_kept_of_a_channel_that_was_left(tmp_path: Path) -> None:
    """A Store that goes on to other channels kept the state of each one that it had been in."""

    def install(node: Node) -> None:
        extension.install(node)
        opening.install(node)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann", before=install)
            session = weakref.ref(ann.node.sessions["lobby"])
            await ann.node.part("lobby")
            await asyncio.sleep(0.05)
            gc.collect()
            assert session() is None, gc.get_referrers(session())

    asyncio.run(story())


def test_presence_comes_and_goes(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            here = await ann.until(PresenceChanged, lambda p: p.online)
            assert here == (bob.node.sender_id, "bob", True)
            await bob.node.close(0.1)
            gone = await ann.until(PresenceChanged, lambda p: not p.online)
            assert gone == (bob.node.sender_id, "bob", False)

    asyncio.run(story())


def test_a_lost_connection_is_told_and_what_was_said_meanwhile_arrives(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            await bob.until(PresenceChanged)
            transport = ann.node.sessions["lobby"].transport
            assert isinstance(transport, MemoryTransport)
            transport.drop()
            lost = await ann.until(ConnectionChanged, lambda c: c.state == "disconnected")
            assert lost.ever
            ann.node.send("lobby", "said offline")
            bob.node.send("lobby", "said without ann")
            await bob.until_texts("said without ann")
            transport.reconnect()
            await bob.until_texts("said without ann", "said offline")
            await ann.until_texts("said without ann", "said offline")

    asyncio.run(story())


def test_faults_delay_and_lose_but_nothing_is_missing_in_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            faults: dict[str, Value] = {"fault.loss": 0.3, "fault.duplicate": 0.2, "fault.delay": 5}
            members = [w.start(name, changes=faults) for name in ("ann", "bob", "eve")]
            for number in range(4):
                for member in members:
                    member.node.send("lobby", f"{member.node.nick} {number}")
            every = [f"{name} {number}" for name in ("ann", "bob", "eve") for number in range(4)]
            for member in members:
                await member.until_texts(*every)
            assert "faults" in members[0].of(ConnectionChanged)[0].address

    asyncio.run(story())


def test_ephemeral_messages_are_read_and_not_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            await ann.until(PresenceChanged)
            ann.node.send("lobby", "psst", ephemeral=True)
            told = await bob.until(EphemeralSaid)
            assert (told.said.opened.text, told.said.nick) == ("psst", "ann")
            assert bob.texts() == []

    asyncio.run(story())


def test_a_nick_that_was_another_keys_before(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            ann.node.send("lobby", "it is me")
            await bob.until(MessageDelivered)
            other = w.start("Ann", profile="other")
            other.node.send("lobby", "no, me")
            claimed = await bob.until(NickClaimed)
            assert (claimed.sender_id, claimed.held_by) == (other.node.sender_id, ann.node.sender_id)

    asyncio.run(story())


def test_who_was_here_first_is_not_the_one_who_claims_a_nick_because_the_other_one_wrote_first(tmp_path: Path) -> None:
    """The warning named the one who was here as the one who took the nick."""

    async def story() -> None:
        async with world(tmp_path) as w:
            bob, ann = w.start("bob"), w.start("ann")
            await bob.until(PresenceChanged, lambda told: told.sender_id == ann.node.sender_id)
            other = w.start("Ann", profile="other")
            other.node.send("lobby", "it is me")
            for each in (bob, ann):
                claimed = await each.until(NickClaimed)
                assert (claimed.sender_id, claimed.held_by) == (other.node.sender_id, ann.node.sender_id)
            ann.node.send("lobby", "no, me")
            await bob.until_texts("it is me", "no, me")
            assert len(bob.of(NickClaimed)) == 1
            third = w.start("ann", profile="third")
            third.node.send("lobby", "or me?")
            claimed = await bob.until(NickClaimed, lambda told: told.sender_id == third.node.sender_id)
            assert claimed.held_by == ann.node.sender_id

    asyncio.run(story())


def test_only_our_own_signature_says_that_our_key_is_used_elsewhere(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            await ann.until(ConnectionChanged, lambda c: c.state == "connected")
            identity = load_or_create(w.path("ann").parent)
            lamport = ann.node.sessions["lobby"].channel.state.clock.value
            content = b"only claimed"
            claimed = Message(identity.sender_id, content_id(content), "lobby", lamport, (), None, (), content)
            sealed = signed_message(identity, "lobby", "not me", lamport)
            for message in (claimed, sealed):
                w.network.pass_on("sds/1/lobby/msg", CODEC.encode(message), False)
            stolen = await ann.until(IdentityUsedElsewhere)
            assert stolen.message_id == sealed.message_id
            assert len(ann.of(IdentityUsedElsewhere)) == 1
            assert [event.reason for event in ann.of(Rejected)] == [Reason.OWN_ID_UNKNOWN]

    asyncio.run(story())


def test_rubbish_is_counted_and_changes_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            await bob.until(PresenceChanged)
            for rubbish in (b"", b"\xff", os.urandom(300)):
                w.network.pass_on("sds/1/lobby/msg", rubbish, False)
                w.network.pass_on(f"sds/1/lobby/who/{bob.node.sender_id}", rubbish or b"\x00", False)
            ann.node.send("lobby", "still fine")
            await bob.until_texts("still fine")
            with Reader.open(w.path("bob"), CODEC) as reader:
                assert sum(reader.rejections("lobby")["lobby"].values()) == 3

    asyncio.run(story())


def test_an_ephemeral_message_has_no_place(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            await bob.until(PresenceChanged)
            ann.node.send("lobby", "gone soon", ephemeral=True)
            heard = await bob.until(EphemeralSaid)
            assert heard.said.opened.verdict in (Verdict.NEW, Verdict.KNOWN)
            sent = ann.node.send("lobby", "stays")
            place = (decode_envelope(sent.content or b"") or pytest.fail("no envelope")).place
            assert place is not None
            assert place.sequence == 1

    asyncio.run(story())


def test_our_numbers_go_on_over_a_restart_and_belong_to_a_channel(tmp_path: Path) -> None:
    def said(member: Member, channel: str) -> tuple[bytes, int, str]:
        sent = member.node.send(channel, "a line")
        envelope = decode_envelope(sent.content or b"")
        assert envelope is not None
        assert envelope.place is not None
        before.setdefault(channel, []).append(sent.message_id)
        return envelope.place.device, envelope.place.sequence, envelope.place.previous.hex()

    before: dict[str, list[str]] = {}

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann", "lobby", "attic")
            device, *first = said(ann, "lobby")
            assert first == [1, ""]
            assert said(ann, "lobby") == (device, 2, before["lobby"][0])
            assert said(ann, "attic") == (device, 1, "")
            await ann.node.close(0.1)
            again = w.start("ann", "lobby", "attic")
            assert said(again, "lobby") == (device, 3, before["lobby"][1])

    asyncio.run(story())


def test_what_is_not_of_our_make_may_have_any_id(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            await ann.until(ConnectionChanged, lambda c: c.state == "connected")
            clock = ann.node.sessions["lobby"].channel.state.clock.value
            message = Message("someone", "m1", "lobby", clock + 1, content=b"plain")
            w.network.pass_on("sds/1/lobby/msg", CODEC.encode(message), False)
            await ann.until_texts("plain")

    asyncio.run(story())


def test_a_consumer_that_raises_stops_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")

            def broken(event: NodeEvent) -> None:
                if isinstance(event.body, MessageDelivered):
                    raise RuntimeError("a consumer's own affair")

            ann.node.listen(broken)
            bob = w.start("bob")
            bob.node.send("lobby", "one")
            bob.node.send("lobby", "two")
            await ann.until_texts("one", "two")
            assert "own affair" in (await ann.until(TroubleMet)).detail

    asyncio.run(story())


def test_other_programs_read_bare_text(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann", changes={"content.format": "text"}), w.start("bob")
            assert ann.node.send("lobby", "plain").content == b"plain"
            told = await bob.until(MessageDelivered)
            assert (told.said.opened.text, told.said.opened.verdict, told.said.nick) == ("plain", "unsigned", "")

    asyncio.run(story())


def test_a_profile_belongs_to_one_node(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            w.start("ann")
            with pytest.raises(ProfileInUse):
                w.start("ann")

    asyncio.run(story())


def test_a_transport_that_cannot_go_on_ends_the_node(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            node = w.start("ann").node
            node.sessions["lobby"]._heard(Crashed(ValueError("planted")))
            with pytest.raises(ValueError, match="planted"):
                await node.failed

    asyncio.run(story())


def test_own_packets_that_the_broker_sends_back_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, bytes]] = []
    whole = PacketReception.read

    def noted(self: PacketReception, packet: bytes) -> HeardPacket:
        read.append((self._channel.state.participant_id, packet))
        return whole(self, packet)

    monkeypatch.setattr(PacketReception, "read", noted)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            ann.node.send("lobby", "hello")
            await bob.until_texts("hello")
            await ann.until(StateChanged, lambda state: state.state is AckState.ACKED)
            assert {sender for sender, packet in read if b"hello" in packet} == {bob.node.sender_id}

    asyncio.run(story())
