"""Tests of rows of senders: they go once no message of the sender is left, and not before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.identity import key_book as book_module
from sdschat.identity.key_book import KeyStanding
from sdschat.node import silent_senders as senders_module
from sdschat.node.channel.session import ChannelSession
from sdschat.node.clock import Clock
from sdschat.node.events import ConnectionChanged, OverLimit
from sdschat.node.retention import Retention, RetentionLimits
from sdschat.node.silent_senders import SilentSenders
from sdschat.sds.limits import IDS_KEPT
from sdschat.sds.values import Message
from sdschat.store import senders as rows_module
from sdschat.wire.sds_codec import SdsCodec
from tests.node.worlds import PATIENCE, Member, World, run

CODEC = SdsCodec()
NAMES = [f"{number:032x}" for number in range(1, 7)]
DAY = 24 * 3_600_000


async def opened(w: World, **changes: int | str) -> tuple[Member, ChannelSession]:
    ann = w.start("ann", changes={name.replace("_", ".", 1): value for name, value in changes.items()})
    await ann.until(ConnectionChanged, lambda c: c.state == "connected")
    return ann, ann.node.sessions["lobby"]


def say(room: ChannelSession, name: str, *, logged: bool = True) -> None:
    """Say something as another make does, which signs nothing. `logged`: with a place in the log."""
    text, at = f"I am {name}".encode(), Clock().now().wall
    message = Message(name, name * 2, "lobby", at if logged else None, (), content=text)
    room.receive(CODEC.encode(message), "live")


async def known(ann: Member, names: list[str]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not set(names) <= set(standings(ann)):
            await asyncio.sleep(0.01)


def standings(member: Member) -> dict[str, int]:
    return {sender_id: standing for sender_id, standing, _ in member.node.profile.store.standings()}


def senders_of_ids(member: Member) -> int:
    return int(member.node.profile.store.connection.execute("SELECT count(*) FROM past_sender").fetchone()[0])


def tidy(member: Member) -> None:
    """Look until a round is over."""
    senders = SilentSenders(member.node, member.node.profile.store)
    for _ in range(100):
        for _ in senders.tidy():
            pass


@pytest.mark.parametrize(("page", "deleted"), [(1, 100), (5_000, 100), (5_000, 1)])
def test_names_of_whom_no_message_is_left_leave_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int, deleted: int
) -> None:
    monkeypatch.setattr(rows_module, "PAGE", page)
    monkeypatch.setattr(senders_module, "_DELETED", deleted)
    monkeypatch.setattr(senders_module, "AT_ONCE", page)

    async def story(w: World) -> None:
        ann, room = await opened(w)
        for name in NAMES:
            say(room, name, logged=name in NAMES[:2])
        await known(ann, NAMES)
        ann.node.mute(NAMES[-1], True)
        tidy(ann)
        assert set(standings(ann)) & set(NAMES) == {*NAMES[:2], NAMES[-1]}
        book = ann.node.gate.book
        assert not any(book.standing(name) for name in NAMES[2:-1])
        say(room, NAMES[2])
        await known(ann, NAMES[2:3])  # it is met anew

    run(tmp_path, story)


def test_who_is_not_known_apart_keeps_a_row_as_long_as_a_message_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "PEOPLE_A_MINUTE", 0)
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 1)

    async def story(w: World) -> None:
        ann, room = await opened(w, trust_strangers_share="none")
        for name in NAMES:
            say(room, name, logged=name in NAMES[:2])
        await known(ann, NAMES)
        tidy(ann)
        kept = {name: standing for name, standing in standings(ann).items() if name in NAMES}
        waiting = KeyStanding.WAITING | KeyStanding.UNSIGNED
        assert kept == dict.fromkeys([*NAMES[:2], NAMES[-1]], waiting)  # the last one is known apart

    run(tmp_path, story)


def test_senders_of_ids_that_are_forgotten_leave_no_row(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w, trust_messages_at_once=1, trust_messages_per_minute=1)
        for name in NAMES:
            say(room, name)
        await ann.until(OverLimit)
        await known(ann, NAMES[:1])
        async with asyncio.timeout(PATIENCE):
            while not senders_of_ids(ann):
                await asyncio.sleep(0.01)
        before = senders_of_ids(ann)
        tidy(ann)
        assert senders_of_ids(ann) == before
        later = Clock()
        later.skew = IDS_KEPT + DAY
        for _ in Retention(ann.node, ann.node.profile.store, RetentionLimits(), later).tidy():
            pass
        assert senders_of_ids(ann) == 0
        assert NAMES[0] in standings(ann)

    run(tmp_path, story)
