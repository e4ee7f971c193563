"""Members' channels on nodes: what is refused, what changes nothing, and who goes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.identity import key_book
from sdschat.identity.key_book import PEOPLE_A_MINUTE
from sdschat.identity.members import read_announcement, seal_packet
from sdschat.identity.signing import Identity
from sdschat.node.channel.extension import OutgoingPacket
from sdschat.node.events import (
    CheckpointPassed,
    DataSetFound,
    DeliveryChanged,
    KindRefused,
    Knocked,
    MemberStatusChanged,
    PostSaid,
    PresenceChanged,
    TimberRejected,
)
from sdschat.node.members.opening import install
from sdschat.node.members.saved import create_members, pin
from sdschat.node.node import Node
from sdschat.store.store import Store
from sdschat.timber.config import Config
from sdschat.transport.base import Topics
from sdschat.transport.memory import MemoryTransport
from sdschat.wire.sds_codec import SdsCodec
from tests.node.test_members import SHORT, _channel, _let_in, _start, _texts
from tests.node.worlds import PATIENCE, Member, World, world

OTHER = "ab" * 32
TOPICS = Topics("garden")


def test_an_open_channel_with_a_history_never_becomes_one_of_members(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            bob = place.start("bob", "garden", changes=SHORT, before=install)
            bob.node.say("garden", "said before")
            _start(place, "ann")
            refused = await bob.until(KindRefused)
            assert "the kind never changes" in refused.detail
            assert bob.node.sessions["garden"].members is None
            with pytest.raises(ValueError, match=r"garden is an open channel here, with a history"):
                pin(bob.node.profile.store, "garden", OTHER)

    asyncio.run(story())


def test_only_the_data_set_that_a_channel_is_pinned_to_counts(tmp_path: Path) -> None:
    def pinned(node: Node) -> None:
        install(node)
        pin(node.profile.store, "garden", OTHER)

    async def story() -> None:
        async with world(tmp_path) as place:
            ann = _start(place, "ann")
            bob = place.start("bob", "garden", changes=SHORT, before=pinned)
            assert (await bob.until(KindRefused)).detail == f"another data set is announced here; ours is {OTHER}"
            assert _channel(bob).data_set == OTHER
            with pytest.raises(ValueError, match=rf"garden is the data set {OTHER} here, not "):
                pin(bob.node.profile.store, "garden", _channel(ann).data_set)

    asyncio.run(story())


def test_who_was_led_to_a_false_data_set_does_not_announce_it_against_a_member(tmp_path: Path) -> None:
    """Its maker was gone, and each newcomer who knocked there went on announcing it."""
    with Store.open(tmp_path / "mallory" / "sdschat.db", SdsCodec()) as store:
        false = create_members(store, Identity(b"m" * 32), "garden", Config())

    async def story() -> None:
        async with world(tmp_path) as here:
            topic, retained = TOPICS.announcement, here.network.retained
            here.network.pass_on(topic, false.announcement, True)
            bob = _start(here, "bob")
            await bob.until(DataSetFound)
            assert _channel(bob)._announced.due is None, "it was just heard"
            ann = _start(here, "ann")
            await bob.until(KindRefused)
            assert _channel(bob)._announced.due is None, "it leaves the other one standing"
            async with asyncio.timeout(PATIENCE):
                while _channel(ann)._announced.due is not None:
                    await asyncio.sleep(0.05)
            found = read_announcement(retained[topic], "garden")
            assert found is not None
            assert found.data_set.hex() == _channel(ann).data_set

    asyncio.run(story())


def test_whoever_leaves_writes_nothing_more_and_others_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            await _let_in(ann, bob)
            _channel(bob).leave()
            for say in (lambda: bob.node.say("garden", "too late"), _channel(bob).leave):
                with pytest.raises(ValueError, match="you have left garden: what you write is neither kept nor sent"):
                    say()
            gone = bob.node.sender_id
            await ann.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (gone, "left"))
            said = ann.node.say("garden", "alone")
            await ann.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (said, "settled"))
            assert _texts(ann) == ["alone"]

    asyncio.run(story())


def test_whoever_left_keeps_no_line_and_writes_again_once_let_in(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            await _let_in(ann, bob)
            first = bob.node.say("garden", "hello")
            await bob.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (first, "settled"))
            _channel(bob).leave()
            gone = bob.node.sender_id
            for one in (ann, bob):
                await one.until(MemberStatusChanged, lambda told: (told.sender_id, told.status) == (gone, "left"))
            await bob.node.close(0.1)
            bob = _start(place, "bob")
            told = await bob.until(MemberStatusChanged)
            assert (told.sender_id, told.status) == (gone, "left"), "told at the start"
            with pytest.raises(ValueError, match="A member can let you in again, with /invite bob"):
                bob.node.say("garden", "hello?")
            with pytest.raises(ValueError, match="you have left"):
                _channel(bob).edit(first, "hello again")
            assert not _channel(bob).engine.drafts()
            assert not _channel(bob).engine.open_events()
            await ann.until(PresenceChanged, lambda one: one.sender_id == gone and one.online)
            _channel(ann).invite("bob")
            await bob.until(MemberStatusChanged, lambda told: (told.sender_id, told.status) == (gone, "member"))
            again = bob.node.say("garden", "here again")
            await bob.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (again, "settled"))
            assert _texts(ann) == ["hello", "here again"]

    asyncio.run(story())


def test_packets_that_are_broken_or_of_another_data_set_change_nothing_and_are_told(tmp_path: Path) -> None:
    def send(frm: Member, to: Member, payload: bytes) -> None:
        frm.node.sessions["garden"].send_packets([OutgoingPacket("timber", to.node.sender_id, payload)])

    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            await _let_in(ann, bob)
            engine = _channel(ann).engine
            await ann.until(CheckpointPassed)  # of the admission
            before = [one.member for one in engine.members()], engine.open_events(), _texts(ann)
            send(bob, ann, b"\xff\xff not a packet")
            await ann.until(TimberRejected, lambda one: one.detail == "it is no packet")
            foreign = seal_packet(bob.node.gate.identity, "garden", bytes.fromhex(OTHER), "bob", b"")
            send(bob, ann, foreign)
            await ann.until(TimberRejected, lambda one: one.detail.endswith("or not for this data set"))
            stolen = seal_packet(ann.node.gate.identity, "garden", bytes.fromhex(_channel(ann).data_set), "ann", b"")
            send(bob, ann, stolen)
            await ann.until(TimberRejected, lambda one: one.detail == "it was signed by another than its topic says")
            nonsense = seal_packet(bob.node.gate.identity, "garden", _channel(ann).engine.data_set, "bob", b"\x07\x01")
            send(bob, ann, nonsense)
            await ann.until(TimberRejected, lambda one: one.reason == "unreadable")
            assert {one.sender_id for one in ann.of(TimberRejected)} == {bob.node.sender_id}
            assert ([one.member for one in engine.members()], engine.open_events(), _texts(ann)) == before
            said = bob.node.say("garden", "still heard")
            await ann.until(PostSaid, lambda one: one.post.message_id == said)

    asyncio.run(story())


def _crowd(place: World, count: int) -> tuple[list[Identity], MemoryTransport]:
    """Return keys of somebody outside, and a connection of theirs."""
    outside = place.network.transport()
    assert isinstance(outside, MemoryTransport)
    outside.start()
    return [Identity(number.to_bytes(32)) for number in range(1, count + 1)], outside


def test_of_many_who_knock_at_once_a_few_are_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann = _start(place, "ann")
            keys, outside = _crowd(place, PEOPLE_A_MINUTE + 10)
            for key in keys:
                knock = seal_packet(key, "garden", _channel(ann).engine.data_set, "let me in", b"")
                outside.publish(TOPICS.timber(ann.node.sender_id, key.sender_id), knock)
            bob = _start(place, "bob")
            await bob.until(DataSetFound)
            await asyncio.sleep(0.5)
            assert len(ann.of(Knocked)) == PEOPLE_A_MINUTE
            _channel(ann).invite(bob.node.sender_id)
            await bob.until(MemberStatusChanged, lambda one: one.status == "member")

    asyncio.run(story())


def test_keys_that_are_no_strangers_any_more_knock_no_more_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who has twenty keys shown in each minute uses all of them at once."""
    monkeypatch.setattr(key_book, "PEOPLE_A_MINUTE", 1_000)

    async def story() -> None:
        async with world(tmp_path) as place:
            ann = _start(place, "ann")
            keys, outside = _crowd(place, 70)  # more than are remembered
            data_set = _channel(ann).engine.data_set
            for nick in ("let me in", "and again"):
                for key in keys:
                    knock = seal_packet(key, "garden", data_set, nick, b"")
                    outside.publish(TOPICS.timber(ann.node.sender_id, key.sender_id), knock)
                await asyncio.sleep(0.5)
            assert len(ann.of(Knocked)) == PEOPLE_A_MINUTE

    asyncio.run(story())


def test_announcements_of_anybody_are_told_once_a_minute(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            bob = place.start("bob", "garden", changes=SHORT, before=install)
            bob.node.say("garden", "said before")
            keys, outside = _crowd(place, 5)
            for key in keys:
                with Store.open(tmp_path / key.sender_id / "sdschat.db", SdsCodec()) as store:
                    made = create_members(store, key, "garden", bob.node.settings.timber)
                outside.publish(TOPICS.announcement, made.announcement)
            await bob.until(KindRefused)
            await asyncio.sleep(0.2)
            assert len(bob.of(KindRefused)) == 1

    asyncio.run(story())
