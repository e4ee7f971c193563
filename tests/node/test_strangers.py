"""Tests of strangers: of many new keys a few are shown as people, the others wait until they are opened or answered."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from sdschat.identity import key_book as book_module
from sdschat.identity.key_book import PEOPLE_A_MINUTE, KeyMet, KeyStanding, NickClaimed
from sdschat.identity.signing import Identity
from sdschat.node import stranger_bodies as bodies_module
from sdschat.node.channel import strangers_share as accounts_module
from sdschat.node.channel.session import ChannelSession
from sdschat.node.channel.strangers import strangers_of
from sdschat.node.clock import Clock
from sdschat.node.events import ConnectionChanged, MessageDelivered, StrangersChanged
from sdschat.node.stranger_bodies import StrangerBodies
from sdschat.sds.values import Message
from sdschat.store.errors import DiskFull
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.worlds import PATIENCE, Member, World, run

CODEC = SdsCodec()
MORE = 5
CROWD = [Identity(bytes([number]) * 32) for number in range(1, PEOPLE_A_MINUTE + MORE + 1)]
LATE = CROWD[PEOPLE_A_MINUTE:]
CROWDING = [Identity(bytes([number]) * 32) for number in range(100, 100 + PEOPLE_A_MINUTE)]


async def opened(w: World, share: int | str = 1 << 20) -> tuple[Member, ChannelSession]:
    ann = w.start("ann", changes={"trust.strangers_share": share})
    await ann.until(ConnectionChanged, lambda c: c.state == "connected")
    return ann, ann.node.sessions["lobby"]


def nick_of(key: Identity) -> str:
    return f"nick{CROWD.index(key)}"


def say(room: ChannelSession, key: Identity, text: str, after: str = "", nick: str = "") -> Message:
    """Say something with this key. `after`: the id of its message before."""
    number, now = 2 if after else 1, Clock().now().wall
    message = signed_message(key, "lobby", text, now, nick=nick or nick_of(key), sequence=number, previous=after)
    room.receive(CODEC.encode(message), "live")
    return message


async def crowded(w: World, share: int | str = 1 << 20) -> tuple[Member, ChannelSession, dict[Identity, str]]:
    """Return ann in a channel where more keys spoke at once than are shown, and the ids of their messages."""
    ann, room = await opened(w, share)
    said = {key: say(room, key, f"I am {nick_of(key)}").message_id for key in CROWD}
    await ann.until(StrangersChanged, lambda told: told.keys == MORE)
    return ann, room, said


def test_who_waits_still_waits_where_the_word_of_the_user_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(transaction: Transaction, connection: sqlite3.Connection) -> NoReturn:
        raise DiskFull(tmp_path)

    async def story(w: World) -> None:
        ann, _, _ = await crowded(w)
        late = LATE[0].sender_id
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "write", full)
            with pytest.raises(DiskFull):
                ann.node.mute(late, True)
        assert ann.node.gate.book.standing(late) == KeyStanding.WAITING

    run(tmp_path, story)


def test_an_account_of_which_nothing_is_left_takes_no_share(tmp_path: Path) -> None:
    with Store.open(tmp_path / "sdschat.db", CODEC) as store:
        share = accounts_module.StrangersShare(1000, ())
        accounts = accounts_module.StrangerAccounts(store, "lobby", share)
        accounts.hear("eve", 900, 1, again=False)
        assert share.excess > 0
        assert accounts.empty(["eve", "nobody"]) == ["eve"]
        assert accounts.known["eve"].size == 0
        assert (share.excess, share.fills) == (0, False)


def test_of_many_new_keys_twenty_are_people_and_the_others_wait(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room, messages = await crowded(w)
        assert len(ann.texts()) == len(ann.shown()) == PEOPLE_A_MINUTE
        assert len(ann.of(KeyMet)) == PEOPLE_A_MINUTE
        assert {one.sender_id for one in strangers_of(room)} == {key.sender_id for key in LATE}
        assert {(one.messages, one.nick) for one in strangers_of(room)} == {(1, nick_of(key)) for key in LATE}
        held = [room.channel.state.packet_of(message_id) for message_id in messages.values()]
        assert None not in held  # the log has what everybody has

    run(tmp_path, story)


def test_who_is_opened_is_shown_with_all_they_said(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room, messages = await crowded(w)
        chosen = LATE[0]
        ann.node.open_strangers([chosen.sender_id])
        told = await ann.until(StrangersChanged, lambda told: bool(told.opened))
        assert (told.keys, told.opened) == (MORE - 1, (chosen.sender_id,))
        assert KeyMet(chosen.sender_id, nick_of(chosen)) in ann.of(KeyMet)
        assert f"I am {nick_of(chosen)}" in ann.shown()
        say(room, chosen, "thank you", after=messages[chosen])
        await ann.until(MessageDelivered, lambda told: told.said.opened.text == "thank you")

    run(tmp_path, story)


def test_an_answer_opens_and_so_does_every_other_word_of_the_user(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, _, messages = await crowded(w)
        ann.node.send("lobby", "welcome", reply_to=messages[LATE[0]])
        told = await ann.until(StrangersChanged, lambda told: bool(told.opened))
        assert told.opened == (LATE[0].sender_id,)
        ann.node.mute(LATE[1].sender_id, True)
        await ann.until(StrangersChanged, lambda told: told.keys == MORE - 2)
        assert ann.node.gate.book.standing(LATE[1].sender_id) & KeyStanding.MUTED

    run(tmp_path, story)


def test_who_waits_waits_after_a_restart_too_and_can_be_opened_then(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room, messages = await crowded(w)
        say(room, LATE[0], "hello?", after=messages[LATE[0]])
        await ann.until(StrangersChanged, lambda told: told.messages == MORE + 1)
        before = strangers_of(room)
        await ann.node.close(0.1)
        again = w.start("ann")
        told = await again.until(StrangersChanged)
        assert (told.keys, told.messages) == (MORE, MORE + 1)
        room = again.node.sessions["lobby"]
        assert strangers_of(room) == before
        assert len(again.shown()) == again.node.profile.store.unread("lobby") == PEOPLE_A_MINUTE
        again.node.open_strangers(one.sender_id for one in before)
        await again.until(StrangersChanged, lambda told: told.keys == 0)
        assert len(again.shown()) == len(CROWD) + 1
        assert again.node.profile.store.values("stranger/") == {}

    run(tmp_path, story)


def test_a_nick_that_a_stranger_claims_is_told_once_they_are_shown(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        for key in CROWD[:-1]:
            say(room, key, "hi")
        say(room, LATE[-1], "send me money", nick=nick_of(CROWD[0]))
        await ann.until(StrangersChanged, lambda told: told.keys == MORE)
        assert ann.of(NickClaimed) == []
        ann.node.open_strangers([LATE[-1].sender_id])
        claim = await ann.until(NickClaimed)
        assert (claim.sender_id, claim.held_by) == (LATE[-1].sender_id, CROWD[0].sender_id)

    run(tmp_path, story)


@pytest.mark.parametrize("source", ["sync", "store"])
def test_history_of_many_authors_hides_nobody_whose_messages_are_apart(tmp_path: Path, source: str) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        for number, key in enumerate(CROWD):
            message = signed_message(key, "lobby", "old", 1_000_000 + 60_000 * number, nick=nick_of(key))
            room.receive(CODEC.encode(message), source)
        await ann.until_texts(*["old"] * len(CROWD))
        assert strangers_of(room) == []

    run(tmp_path, story)


async def kept(member: Member, message: Message) -> bool:
    """Return True if a message is in the log in full, once it is in the log."""
    state = member.node.sessions["lobby"].channel.state
    async with asyncio.timeout(PATIENCE):
        while state.delivered(message.message_id) is None:
            await asyncio.sleep(0.01)
    return state.packet_of(message.message_id) is not None


def test_beyond_the_share_of_all_strangers_only_ids_are_kept_until_they_are_opened(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room, messages = await crowded(w, 100)
        person, first, second = CROWD[0], LATE[0], LATE[1]
        assert not await kept(ann, say(room, first, "more", after=messages[first]))
        assert await kept(ann, say(room, person, "more", after=messages[person]))
        unknown = Identity(b"u" * 32)
        assert not await kept(ann, say(room, unknown, "hi", nick="unknown"))
        await ann.node.close(0.1)
        ann = w.start("ann", changes={"trust.strangers_share": 100})
        await ann.until(ConnectionChanged, lambda c: c.state == "connected")
        room = ann.node.sessions["lobby"]
        for number, key in enumerate(CROWDING):
            say(room, key, "hi", nick=f"crowding{number}")
        await ann.until(KeyMet, lambda met: met.nick == f"crowding{PEOPLE_A_MINUTE - 1}")
        assert not await kept(ann, say(room, second, "more", after=messages[second]))
        ann.node.open_strangers(one.sender_id for one in strangers_of(room))
        await ann.until(StrangersChanged, lambda told: told.keys == 0)
        assert await kept(ann, say(room, Identity(b"v" * 32), "hi", nick="late"))

    run(tmp_path, story)


async def told_of(ann: Member, keys: int) -> None:
    await ann.until(StrangersChanged, lambda told: told.keys == keys)


def test_more_than_are_known_apart_are_one_account_and_counted_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = MORE - 2
    monkeypatch.setattr(book_module, "MAX_STRANGERS", most)
    monkeypatch.setattr(accounts_module, "MAX_STRANGERS", most)

    async def story(w: World) -> None:
        ann, room = await opened(w)
        for number, key in enumerate(CROWD):
            say(room, key, "hi")
            if (waiting := number + 1 - PEOPLE_A_MINUTE) > 0:
                await told_of(ann, waiting)
        assert {one.sender_id for one in strangers_of(room)} == {key.sender_id for key in LATE[2:]}
        assert ann.of(StrangersChanged)[-1].messages == MORE
        assert len(ann.node.profile.store.values("stranger/")) == most + 1
        await ann.node.close(0.1)
        again = w.start("ann")
        told = await again.until(StrangersChanged)
        assert (told.keys, told.messages) == (MORE, MORE)

    run(tmp_path, story)


def unsigned(room: ChannelSession, name: str) -> Message:
    """Say something as another make does, which signs nothing."""
    text = f"I am {name}".encode()
    message = Message(name * 32, name * 64, "lobby", Clock().now().wall, (), content=text)
    room.receive(CODEC.encode(message), "live")
    return message


def test_names_that_sign_nothing_wait_too_and_have_the_same_share(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room, _ = await crowded(w, 100)
        assert not await kept(ann, unsigned(room, "a"))
        ann.node.open_strangers(one.sender_id for one in strangers_of(room))
        await ann.until(StrangersChanged, lambda told: told.keys == 0)
        waiting = unsigned(room, "b")
        assert await kept(ann, waiting)
        await ann.until(StrangersChanged, lambda told: told.keys == 1)
        assert "I am b" not in ann.texts() + ann.shown()
        ann.node.open_strangers([waiting.sender_id])
        await ann.until(StrangersChanged, lambda told: bool(told.opened))
        assert "I am b" in ann.shown()

    run(tmp_path, story)


def test_they_are_shown_at_once_where_the_user_counts_them(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann = w.start("ann", changes={"trust.unsigned": "count"})
        await ann.until(ConnectionChanged, lambda c: c.state == "connected")
        room = ann.node.sessions["lobby"]
        for key in CROWD:
            say(room, key, "hi")
        unsigned(room, "a")
        await ann.until(MessageDelivered, lambda told: told.said.opened.text == "I am a")

    run(tmp_path, story)


@pytest.mark.parametrize("anew", [False, True])
def test_room_is_made_by_those_heard_least_lately(tmp_path: Path, anew: bool) -> None:
    """`anew`: by a node that is not in the channel."""
    share = 20_000

    async def story(w: World) -> None:
        ann, room, messages = await crowded(w, share)
        text, after = "x" * 1_000, dict(messages)
        for key in (*LATE[1:], LATE[0]):
            after[key] = say(room, key, text, after=messages[key]).message_id
        await ann.until(StrangersChanged, lambda told: told.messages == 2 * MORE)
        ann.node.send("lobby", "mine", reply_to=after[CROWD[0]])
        packets: Callable[[str], object] = room.channel.state.packet_of
        if anew:
            await ann.node.close(0.1)
            ann = w.start("ann", "elsewhere", changes={"trust.strangers_share": share})
            packets = ann.node.profile.store.channel("lobby").history.row
        assert ann.node.gate.share.excess
        tidy(ann)
        assert not ann.node.gate.share.excess
        kept = {key for key in LATE if packets(after[key]) is not None}
        assert LATE[0] in kept
        assert LATE[1] not in kept
        assert 0 < len(kept) < MORE
        assert all(packets(messages[key]) is not None for key in CROWD[:PEOPLE_A_MINUTE])
        log = ann.node.profile.store.channel("lobby").history
        assert all(log.entry(message_id) is not None for message_id in (*messages.values(), *after.values()))
        if not anew:
            heads = {entry.message_id for entry in room.channel.state.window.causal_history(100)}
            assert not heads & {after[key] for key in set(LATE) - kept}
        await ann.node.close(0.1)
        again, room = await opened(w, share)
        assert not again.node.profile.store.losses
        assert sum(one.messages for one in strangers_of(room)) == 2 * MORE
        assert not again.node.gate.share.excess

    run(tmp_path, story)


def test_who_is_not_known_apart_any_more_leaves_ids_and_no_standing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (book_module, accounts_module, bodies_module):
        monkeypatch.setattr(module, "MAX_STRANGERS", 1)
    monkeypatch.setattr(bodies_module, "FORGOTTEN_KEPT", 0)

    async def story(w: World) -> None:
        ann, room = await opened(w)
        said = {}
        for number, key in enumerate(CROWD):
            said[key] = say(room, key, "hi")
            if (waiting := number + 1 - PEOPLE_A_MINUTE) > 0:
                await told_of(ann, waiting)
        tidy(ann)
        store = ann.node.profile.store
        assert {sender_id for sender_id, standing, _ in store.standings() if standing & KeyStanding.WAITING} == {
            CROWD[-1].sender_id
        }
        full = [room.channel.state.packet_of(said[key].message_id) is not None for key in LATE]
        assert full == [False] * (MORE - 1) + [True]
        await ann.node.close(0.1)
        again = w.start("ann")
        told = await again.until(StrangersChanged)
        assert (told.keys, told.messages) == (MORE, MORE)
        assert again.shown() == ["hi"] * PEOPLE_A_MINUTE
        assert again.node.profile.store.unread("lobby") == PEOPLE_A_MINUTE

    run(tmp_path, story)


def test_a_store_keeps_what_every_stranger_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies_module, "FORGOTTEN_KEPT", -10_000)

    async def story(w: World) -> None:
        ann, room, messages = await crowded(w, "none")
        tidy(ann)
        assert all(room.channel.state.packet_of(message_id) is not None for message_id in messages.values())

    run(tmp_path, story)


def tidy(member: Member) -> None:
    for _ in StrangerBodies(member.node, member.node.profile.store).tidy():
        pass


def test_without_a_share_there_is_no_limit(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room, messages = await crowded(w, "none")
        assert await kept(ann, say(room, LATE[0], "more", after=messages[LATE[0]]))

    run(tmp_path, story)
