"""Facts that the numbers of messages show: unnamed gaps, two things under one number, a profile that is a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sdschat.identity.signing import Identity
from sdschat.node.channel import author_chains
from sdschat.node.channel.author_chains import AuthorChains
from sdschat.node.channel.session import ChannelSession
from sdschat.node.events import (
    AuthorGapClosed,
    AuthorGapFound,
    ConnectionChanged,
    DeviceRenewed,
    IdentityUsedElsewhere,
    SaidTwoThings,
)
from sdschat.node.view.conversations import Conversations
from sdschat.sds.events import RepairWanted
from sdschat.sds.values import Message
from sdschat.wire.chat_codec import Place
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.catching import stop
from tests.node.worlds import Member, World, run

CODEC = SdsCodec()
CAROL = Identity(b"c" * 32)


async def opened(w: World) -> tuple[Member, ChannelSession]:
    ann = w.start("ann")
    await ann.until(ConnectionChanged, lambda c: c.state == "connected")
    return ann, ann.node.sessions["lobby"]


def chain(room: ChannelSession, *texts: str) -> list[Message]:
    """Return messages of carol's, each after the one before it by its number, and by nothing else."""
    made: list[Message] = []
    for number, text in enumerate(texts, 1):
        lamport, previous = room.channel.state.clock.value + number, made[-1].message_id if made else ""
        made.append(signed_message(CAROL, "lobby", text, lamport, nick="carol", sequence=number, previous=previous))
    return made


def test_a_missing_number_is_told_asked_for_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(author_chains, "_PATIENCE", 50)

    async def story(w: World) -> None:
        ann, room = await opened(w)
        one, two, three = chain(room, "one", "two", "three")
        for message in (one, three):
            room.receive(CODEC.encode(message), "live")
        assert await ann.until(AuthorGapFound) == AuthorGapFound(CAROL.sender_id, 2, 2, two.message_id)
        await ann.until(RepairWanted, lambda wanted: wanted.message_id == two.message_id)
        room.receive(CODEC.encode(two), "live")
        assert await ann.until(AuthorGapClosed) == AuthorGapClosed(CAROL.sender_id, 2)
        assert len(ann.of(AuthorGapFound)) == 1

    run(tmp_path, story)


def test_a_number_that_was_missing_before_a_restart_is_looked_for_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        one, two, three = chain(room, "one", "two", "three")
        for message in (one, three):
            room.receive(CODEC.encode(message), "live")
        await ann.until_texts("one", "three")
        await stop(w, ann)
        assert ann.of(AuthorGapFound) == []
        monkeypatch.setattr(author_chains, "_PATIENCE", 50)
        again, _ = await opened(w)
        assert await again.until(AuthorGapFound) == AuthorGapFound(CAROL.sender_id, 2, 2, two.message_id)
        await again.until(RepairWanted, lambda wanted: wanted.message_id == two.message_id)

    run(tmp_path, story)


def test_a_history_that_is_just_coming_is_not_told_as_missing(tmp_path: Path) -> None:
    """While a long history came, a line named each thousand that was not there yet as missing."""

    async def story(w: World) -> None:
        ann, room = await opened(w)
        chains = next(one for one in room.extensions if isinstance(one, AuthorChains))
        first, *history, newest = chain(room, *(str(number) for number in range(9)))
        for message in (first, newest):
            room.receive(CODEC.encode(message), "live")
        await ann.until_texts("0", "8")
        now = room.channel.state.now
        for count, message in enumerate(history[:-2], 1):
            room.receive(CODEC.encode(message), "catch_up")
            await ann.until_texts(*(str(number) for number in range(count + 1)), "8")
            now = now._replace(mono=now.mono + 20_000)
            chains.advance(now)
            assert not chains._events
        chains.advance(now._replace(mono=now.mono + 10_000))
        assert chains._events == [AuthorGapFound(CAROL.sender_id, 7, 8, history[-1].message_id)]

    run(tmp_path, story)


def test_two_messages_of_one_number_are_kept_and_shown_as_such(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        (one,), (other,) = chain(room, "yes"), chain(room, "no")
        for message in (one, other, one):
            room.receive(CODEC.encode(message), "live")
        await ann.until_texts("yes", "no")
        assert ann.of(SaidTwoThings) == [SaidTwoThings(CAROL.sender_id, 1, other.message_id)]
        view = Conversations(ann.node)
        assert [shown.twice for shown in view.channel("lobby").messages()] == [True, True]
        view.close()

    run(tmp_path, story)


def test_another_device_with_our_key_is_told_once(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, _ = await opened(w)
        gate = ann.node.gate
        places = [Place(device, number, b"", 1, b"", b"") for device in (b"elsewher", b"a third1") for number in (1, 2)]
        told = [gate.meets_itself(f"message {number}", place) for number, place in enumerate(places)]
        assert told == [(IdentityUsedElsewhere("message 0"),), (), (IdentityUsedElsewhere("message 2"),), ()]

    run(tmp_path, story)


def test_a_restored_profile_goes_on_as_a_new_device_and_has_what_it_wrote(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = w.start("ann"), w.start("bob")
        ann.node.send("lobby", "before the backup")
        await bob.until_texts("before the backup")
        await ann.node.close(0.1)
        folder = w.path("ann").parent
        shutil.copytree(folder, tmp_path / "backup")
        again = w.start("ann")
        again.node.send("lobby", "after the backup")
        await bob.until_texts("before the backup", "after the backup")
        await again.node.close(0.1)
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "backup", folder)
        restored = w.start("ann")
        old = restored.node.gate.chains.device
        await restored.until(DeviceRenewed)
        assert restored.node.gate.chains.device != old
        await restored.until_texts("after the backup")
        assert not restored.of(IdentityUsedElsewhere)
        restored.node.send("lobby", "and on")
        await bob.until_texts("before the backup", "after the backup", "and on")
        assert not bob.of(SaidTwoThings)

    run(tmp_path, story)
