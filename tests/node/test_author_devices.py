"""Tests of devices that somebody invents: few rows of them are kept, and honest authors lose nothing by it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.identity import key_book, key_rows
from sdschat.identity.key_book import KeyBook, KeyStanding
from sdschat.identity.signing import Identity
from sdschat.node import silent_senders
from sdschat.node.channel import author_chains, author_devices
from sdschat.node.channel.author_chains import CHAINS, author_of
from sdschat.node.channel.author_devices import MOST_DEVICES, AuthorDevices
from sdschat.node.channel.session import ChannelSession
from sdschat.node.events import AuthorGapFound, ConnectionChanged, SaidTwoThings
from sdschat.node.silent_senders import ForgottenValues
from sdschat.sds.events import RepairWanted
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.test_author_chains import opened
from tests.node.worlds import PATIENCE, Member, World, run

CODEC = SdsCodec()
BOB, MALLORY = Identity(b"b" * 32), Identity(b"m" * 32)


def say(room: ChannelSession, key: Identity, device: int, number: int, text: str = "") -> None:
    lamport, previous = room.channel.state.clock.value + 1, "" if number == 1 else "f" * 64
    text = text or f"{device} {number}"
    place = {"device": device.to_bytes(8), "sequence": number, "previous": previous}
    room.receive(CODEC.encode(signed_message(key, "lobby", text, lamport, **place)), "live")  # type: ignore[arg-type]


def rows(member: Member, key: Identity) -> set[int]:
    """Return the devices of a key that are kept."""
    found = member.node.profile.store.values(CHAINS)
    return {int(name.rpartition("/")[2], 16) for name in found if author_of(name) == key.sender_id}


def test_of_devices_without_end_a_few_are_kept_and_the_one_that_said_most_is_among_them(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        for number in (1, 2, 3):
            say(room, MALLORY, 0, number)
        say(room, BOB, 7, 1, "bob is here")
        for device in range(1, 4 * MOST_DEVICES):
            say(room, MALLORY, device, 1)
        say(room, MALLORY, 0, 2, "something else")
        assert await ann.until(SaidTwoThings, lambda said: said.number == 2)
        assert len(rows(ann, MALLORY)) == MOST_DEVICES
        assert {0, 4 * MOST_DEVICES - 1} <= rows(ann, MALLORY)
        assert rows(ann, BOB) == {7}
        await ann.node.close(0.1)
        again = w.start("ann")
        await again.until(ConnectionChanged, lambda c: c.state == "connected")
        say(again.node.sessions["lobby"], MALLORY, 99, 1, "after the restart")
        await again.until_texts("after the restart")
        assert len(rows(again, MALLORY)) == MOST_DEVICES
        assert {0, 99} <= rows(again, MALLORY)

    run(tmp_path, story)


def test_gaps_that_somebody_invents_do_not_hide_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(author_chains, "_PATIENCE", 200)
    monkeypatch.setattr(author_chains, "_MOST_DOUBTS", 8)
    monkeypatch.setattr(author_chains, "_MOST_TOLD", 8)

    async def story(w: World) -> None:
        ann, room = await opened(w)
        for number in range(1, 40, 2):
            say(room, MALLORY, 0, number)
        say(room, BOB, 7, 1)
        say(room, BOB, 7, 3)
        gap = await ann.until(AuthorGapFound, lambda found: found.sender_id == BOB.sender_id)
        assert (gap.low, gap.high) == (2, 2)
        assert 0 < len([found for found in ann.of(AuthorGapFound) if found.sender_id != BOB.sender_id]) <= 8

    run(tmp_path, story)


def test_numbers_of_a_stranger_who_waits_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(author_chains, "_PATIENCE", 50)
    monkeypatch.setattr(key_book, "PEOPLE_A_MINUTE", 1)

    async def story(w: World) -> None:
        ann, room = await opened(w)
        say(room, BOB, 7, 1)
        say(room, MALLORY, 0, 1)
        say(room, MALLORY, 0, 1, "or not")
        say(room, MALLORY, 0, 3)
        say(room, BOB, 7, 3)
        await ann.until(AuthorGapFound)
        await ann.until(RepairWanted)
        assert [found.sender_id for found in ann.of(AuthorGapFound)] == [BOB.sender_id]
        assert not ann.of(SaidTwoThings)
        ann.node.open_strangers([MALLORY.sender_id])
        say(room, MALLORY, 0, 1, "or what")
        assert (await ann.until(SaidTwoThings)).sender_id == MALLORY.sender_id
        assert (await ann.until(AuthorGapFound, lambda found: found.sender_id == MALLORY.sender_id)).low == 2

    run(tmp_path, story)


@pytest.mark.parametrize("page", [1, 5_000])
def test_numbers_go_with_the_key_and_not_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    monkeypatch.setattr(key_book, "PEOPLE_A_MINUTE", 1)
    monkeypatch.setattr(key_book, "MAX_STRANGERS", 2)
    monkeypatch.setattr(silent_senders, "AT_ONCE", page)
    strangers = [Identity(bytes([number]) * 32) for number in range(5)]

    async def story(w: World) -> None:
        ann, room = await opened(w)
        say(room, BOB, 7, 1)
        for key in strangers:
            say(room, key, 0, 1)
        async with asyncio.timeout(PATIENCE):
            while not rows(ann, strangers[-1]):
                await asyncio.sleep(0.01)
        for _ in ForgottenValues(ann.node, ann.node.profile.store).tidy():
            pass
        assert [rows(ann, key) for key in strangers] == [set(), set(), set(), {0}, {0}]
        assert rows(ann, BOB) == {7}

    run(tmp_path, story)


def test_devices_of_strangers_and_of_the_newest_keys_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(author_devices, "MOST_FURTHER", 8)
    book = KeyBook()
    book.set_standing("friend", KeyStanding.PERSON, 50)
    for sender_id, since in (("old", 10), ("new", 20)):
        book._take(key_rows.StandingRow(sender_id, KeyStanding.PERSON, since))
    book._take(key_rows.StandingRow("stranger", KeyStanding.WAITING, 5))
    devices = AuthorDevices(book)
    for sender_id in ("friend", "old", "new", "stranger"):
        devices.add(sender_id, {f"{sender_id} {number}": 3 - number for number in range(3)})
    assert devices.take_surplus("friend") == []
    devices.add("new", {"new 3": 1})
    assert devices.take_surplus("new") == ["stranger 1", "stranger 0"]
    devices.add("friend", {"friend 3": 1})
    devices.add("friend", {"friend 4": 1})
    assert devices.take_surplus("friend") == ["new 2", "new 1"]
    assert not devices.has_several("stranger")
    assert devices.has_several("new")
