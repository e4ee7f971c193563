"""Tests of a channel in which more comes in than can be taken in: who is heard, and what is told."""

from __future__ import annotations

import itertools
import secrets
from pathlib import Path

import pytest

from sdschat.identity.signing import Identity
from sdschat.node.channel import waiting_packets
from sdschat.node.channel.over_limit import PASSED_OVER, flood_of, is_flooding
from sdschat.node.channel.waiting_packets import AT_ONCE, OF_PEOPLE
from sdschat.node.events import ConnectionChanged, MessageDelivered, TroubleMet
from sdschat.sds.values import Message
from sdschat.transport.base import Received, Topics
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import new_key, now, signed_packet
from tests.node.worlds import Member, World, run

CODEC = SdsCodec()
ROOM = 4


class Channel:
    """Packets from the broker for one node. Nothing else happens between two of them."""

    def __init__(self, member: Member) -> None:
        self._session = member.node.sessions["lobby"]
        self._dates = itertools.count(now())

    def hear(self, key: Identity, text: str, names: tuple[str, ...] = ()) -> str:
        """Let a packet arrive, and return its message id."""
        packet = signed_packet(key, "lobby", "somebody", text, next(self._dates), names)
        self.receive(packet)
        return waiting_packets.head_of(packet).message_id

    def hear_junk(self, sender_id: str, message_id: str) -> None:
        """Let a packet arrive that bears these ids, and that nobody signed."""
        self.receive(CODEC.encode(Message(sender_id, message_id, "lobby", next(self._dates), content=b"junk")))

    def receive(self, packet: bytes) -> None:
        self._session._heard(Received(Topics("lobby").msg, packet, False))


@pytest.fixture(autouse=True)
def _small_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_packets, "MOST", ROOM)
    monkeypatch.setattr(waiting_packets, "FEW", 0)


async def known(w: World) -> tuple[Member, Channel, Identity]:
    """Return a node, its channel, and somebody whom it knows."""
    ann, bob = w.start("ann"), new_key()
    await ann.until(ConnectionChanged, lambda body: body.state == "connected")
    channel = Channel(ann)
    channel.hear(bob, "hello")
    await ann.until_texts("hello")
    return ann, channel, bob


@pytest.mark.parametrize("passed_over", [0, 1])
def test_what_a_person_says_waits_for_no_stranger_whom_it_names(tmp_path: Path, passed_over: int) -> None:
    """Bob had time for that packet, and names it. Here it waits for its turn, or had no room. It names another that
    nobody has, so its text is not here; nor does bob wait for it."""

    async def story(w: World) -> None:
        ann, channel, bob = await known(w)
        flood, last = new_key(), new_key()
        for number in range(AT_ONCE + ROOM - 1 + passed_over):
            channel.hear(flood, f"flood {number}", (secrets.token_hex(32),))
        named = channel.hear(flood if passed_over else last, "named", (secrets.token_hex(32),))
        channel.hear(bob, "heard", (named,))
        await ann.until_texts("hello", "heard")
        entry = ann.node.sessions["lobby"].channel.state.delivered(named)
        assert entry is not None
        assert entry.bare

    run(tmp_path, story)


def test_junk_in_the_name_of_somebody_hides_nothing_that_they_lack(tmp_path: Path) -> None:
    """Nobody checks the sender of what was passed over, and what floods name is not shown as missing."""

    async def story(w: World) -> None:
        ann, channel, bob = await known(w)
        for _ in range(AT_ONCE + OF_PEOPLE * ROOM + 1):
            channel.hear_junk(bob.sender_id, secrets.token_hex(32))
        await ann.until(TroubleMet)
        assert not is_flooding(ann.node.sessions["lobby"], bob.sender_id)

    run(tmp_path, story)


def test_junk_with_the_id_of_what_we_asked_for_does_not_take_its_place(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, channel, bob = await known(w)
        said, flood, carol = signed_packet(new_key(), "lobby", "carol", "named", now()), new_key(), new_key()
        wanted = waiting_packets.head_of(said).message_id
        channel.hear(bob, "heard", (wanted,))
        for _ in range(AT_ONCE):
            channel.hear(flood, "flood")
        for _ in range(OF_PEOPLE * ROOM + 1):
            channel.hear_junk(carol.sender_id, wanted)
        channel.receive(said)
        await ann.until(MessageDelivered, lambda told: told.said.opened.text == "named")

    run(tmp_path, story)


def test_who_is_ignored_does_not_come_before_strangers(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, _, bob = await known(w)
        reception = ann.node.sessions["lobby"].reception
        assert reception.comes_first(bob.sender_id)
        ann.node.ignore(bob.sender_id, True)
        assert not reception.comes_first(bob.sender_id)

    run(tmp_path, story)


def test_a_flood_is_told_once_with_its_rate_and_counted(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, channel, bob = await known(w)
        flood = new_key()
        for again in range(2):
            for number in range(AT_ONCE + ROOM + 5):
                channel.hear(flood, f"flood {again} {number}", (secrets.token_hex(32),))
            channel.hear(bob, f"heard {again}")
            await ann.until_texts("hello", *(f"heard {number}" for number in range(again + 1)))
        told = [trouble.detail for trouble in ann.of(TroubleMet)]
        assert told == [PASSED_OVER]
        session = ann.node.sessions["lobby"]
        assert flood_of(session, ann.node.clock.now().mono).senders == 1
        store = ann.node.profile.store
        with store.open_read_only(store.path, ann.node.profile.codec) as reader:
            assert reader.rejections()["lobby"]["over_limit"] >= 10

    run(tmp_path, story)
