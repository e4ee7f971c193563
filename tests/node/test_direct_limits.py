"""Limits of what is taken by direct message of people to whom the user never wrote, on a network in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.identity.key_book import KeyStanding
from sdschat.mvds.values import Message
from sdschat.node.events import DirectRefused, DirectSaid, PresenceChanged
from sdschat.node.sync import direct_limits as limits_module
from sdschat.node.sync.extension import sync_extension
from sdschat.sds.events import StateChanged
from sdschat.sds.values import AckState
from tests.node.catching import start, stop
from tests.node.test_direct import direct
from tests.node.test_private_outsiders import used_up
from tests.node.worlds import Member, World, world


async def _meets(member: Member, nick: str) -> None:
    await member.until(PresenceChanged, lambda told: told.nick == nick)


async def _ann_and_eve(w: World) -> tuple[Member, Member]:
    ann, eve = start(w, "ann"), start(w, "eve")
    await _meets(eve, "ann")
    await _meets(ann, "eve")
    return ann, eve


async def _heard(member: Member, text: str) -> None:
    await member.until(DirectSaid, lambda told: told.opened.text == text)


def direct_texts(member: Member) -> list[str]:
    return [row.text for row in direct(member).messages.newest()]


def test_of_whom_the_user_never_wrote_to_no_more_is_taken_than_a_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until an answer: then what was sent meanwhile comes, too."""
    monkeypatch.setattr(limits_module, "BYTES_OF_ONE", 3_000)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, eve = await _ann_and_eve(w)
            for text in ("0" * 1000, "1" * 1000):
                direct(eve).send("ann", text)
                await _heard(ann, text)
            direct(eve).send("ann", "too much")
            refused = await ann.until(DirectRefused)
            assert "never wrote" in refused.why
            direct(eve).send("ann", "far too much")
            await asyncio.sleep(0.7)
            assert len(direct_texts(ann)) == 2
            assert len(ann.of(DirectRefused)) == 1
            direct(ann).send("eve", "slowly")
            await ann.until(DirectSaid, lambda told: told.opened.text == "far too much")
            assert sorted(text[:8] for text in direct_texts(ann)) == [
                "00000000",
                "11111111",
                "far too ",
                "slowly",
                "too much",
            ]

    asyncio.run(story())


def test_of_many_who_were_never_written_to_a_few_are_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "PEERS", 1)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, eve, mal = start(w, "ann"), start(w, "eve"), start(w, "mal")
            for other in (eve, mal):
                await _meets(other, "ann")
            await _meets(ann, "eve")
            await _meets(ann, "mal")
            direct(eve).send("ann", "from eve")
            await ann.until(DirectSaid)
            direct(mal).send("ann", "from mal")
            await ann.until(DirectRefused)
            assert direct_texts(ann) == ["from eve"]
            direct(ann).send("mal", "hello")
            await ann.until(DirectSaid, lambda told: told.opened.text == "from mal")

    asyncio.run(story())


def test_new_keys_do_not_keep_out_whoever_spoke_a_day_ago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "PEERS", 1)

    async def story() -> None:
        async with world(tmp_path) as w:
            bob = start(w, "bob", ago=2 * limits_module.DAY)
            ann = start(w, "ann", ago=2 * limits_module.DAY)
            await _meets(bob, "ann")
            bob.node.send("lobby", "I am bob")
            await ann.until_texts("I am bob")
            for member in (ann, bob):
                await stop(w, member)
            ann, bob, mal = start(w, "ann"), start(w, "bob"), start(w, "mal")
            for other in (bob, mal):
                await _meets(other, "ann")
            await _meets(ann, "bob")
            await _meets(ann, "mal")
            direct(mal).send("ann", "from mal")
            await _heard(ann, "from mal")
            direct(bob).send("ann", "from bob")
            await _heard(ann, "from bob")
            assert not ann.of(DirectRefused)

    asyncio.run(story())


def test_a_few_forgeries_are_told_in_a_minute() -> None:
    notices = limits_module.ForgeryNotices()
    assert sum(notices.is_due(100) for _ in range(1_000)) == limits_module.FORGERIES
    assert notices.is_due(60_100)


def test_nothing_is_taken_of_who_is_ignored(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, eve = await _ann_and_eve(w)
            ann.node.ignore(eve.node.sender_id, True)
            direct(eve).send("ann", "look at me")
            await asyncio.sleep(0.7)
            assert ann.of(DirectSaid) == []
            assert direct_texts(ann) == []
            ann.node.ignore(eve.node.sender_id, False)
            await ann.until(DirectSaid)

    asyncio.run(story())


def test_what_somebody_writes_who_is_muted_is_kept_and_not_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, eve = await _ann_and_eve(w)
            ann.node.mute(eve.node.sender_id, True)
            sent = direct(eve).send("ann", "look at me")
            await eve.until(StateChanged, lambda told: told.message_id == sent and told.state is AckState.ACKED)
            assert ann.of(DirectSaid) == []
            assert direct_texts(ann) == ["look at me"]

    asyncio.run(story())


def test_the_limits_are_not_for_whom_the_user_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "PEERS", 0)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, eve = await _ann_and_eve(w)
            ann.node.gate.book.set_standing(eve.node.sender_id, KeyStanding.VERIFIED, 0)
            direct(eve).send("ann", "you know me")
            await _heard(ann, "you know me")

    asyncio.run(story())


def test_the_limits_are_not_for_members_of_a_private_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "PEERS", 0)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, _ = await used_up(w)
            (name,) = bob.node.sessions
            sync_extension(bob.node, name).direct.send(ann.node.sender_id, "we are members")
            await _heard(ann, "we are members")

    asyncio.run(story())


def test_one_writes_to_whom_one_wrote_before_though_both_were_away(tmp_path: Path) -> None:
    """Bob said nothing but that he is here, so no message of his has his key."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _meets(ann, "bob")
            direct(ann).send("bob", "hello")
            await ann.until(DirectSaid)
            for member in (bob, ann):
                await stop(w, member)
            ann = start(w, "ann")
            assert direct(ann).send("bob", "again")

    asyncio.run(story())


def test_limits_of_direct_messages_are_for_a_day() -> None:
    limits, message = limits_module.DirectLimits(), Message(bytes(32), 1, bytes(limits_module.BYTES_OF_ONE))
    for number in range(16):
        assert limits.exceeded(str(number), 0) == ""
        limits.count(str(number), [message])
    assert "they sent too much" in limits.exceeded("0", 1)
    assert limits.first("0")
    assert not limits.first("0")
    assert "have sent too much" in limits.exceeded("another", 1)
    assert limits.exceeded("0", limits_module.DAY) == ""
    assert limits.exceeded("another", limits_module.DAY) == ""


def test_beyond_a_number_of_people_those_who_wrote_before_are_heard_and_the_others_told_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits_module, "PEERS", 2)
    limits = limits_module.DirectLimits()
    assert [limits.exceeded(peer, 0) for peer in ("ann", "bob")] == ["", ""]
    assert "2 people" in limits.exceeded("cas", 0)
    assert limits.exceeded("bob", 0) == ""
    assert [limits.first(peer) for peer in ("cas", "dan", "ann")] == [True, False, True]
    assert limits.exceeded("cas", limits_module.DAY) == limits.exceeded("ann", limits_module.DAY) == ""
    assert "2 people" in limits.exceeded("bob", limits_module.DAY)
    assert [limits.first(peer) for peer in ("bob", "ann")] == [True, True], "it is another day"


def test_messages_without_a_text_take_room_too() -> None:
    limits, empty = limits_module.DirectLimits(), Message(bytes(32), 1, b"")
    assert limits.exceeded("ann", 0) == ""
    limits.count("ann", [empty] * (limits_module.BYTES_OF_ONE // 1024))
    assert "too much" in limits.exceeded("ann", 0)
