"""Unsigned messages in the name or under the id of somebody who signs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sdschat.identity.keyfile import load_or_create
from sdschat.node.events import MessageDelivered, OverLimit, UnsignedInOurName
from sdschat.node.settings import Value
from sdschat.sds.events import Rejected, RepairScheduled
from sdschat.sds.ids import content_id
from sdschat.sds.values import HistoryEntry, Message, Reason
from sdschat.sds.window import RecentWindow
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.catching import log_of, say, start, stop
from tests.node.worlds import Member, World, world

CODEC = SdsCodec()


def plain(sender_id: str, member: Member, text: str) -> Message:
    """Return a message that nobody signed, dated after everything here."""
    clock = member.node.sessions["lobby"].channel.state.clock.value
    return Message(sender_id, content_id(text.encode()), "lobby", clock + 1, content=text.encode())


def hear(member: Member, *messages: Message) -> None:
    for message in messages:
        member.node.sessions["lobby"].receive(CODEC.encode(message), "live")


def test_what_is_in_our_name_is_told_and_not_shown_and_nothing_waits_for_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), load_or_create(tmp_path / "bob")
            claim = plain(ann.node.gate.identity.sender_id, ann, "never said")
            named = (HistoryEntry(claim.message_id, None, claim.sender_id),)
            answer = signed_message(bob, "lobby", "really?", (claim.lamport_timestamp or 0) + 1, history=named)
            hear(ann, answer, claim, claim)
            await ann.until_texts("really?")
            told = await ann.until(UnsignedInOurName)
            assert told.message_id == claim.message_id
            assert {event.reason for event in ann.of(Rejected)} == {Reason.OWN_ID_UNKNOWN}

    asyncio.run(story())


def test_nor_is_what_came_by_catching_up(tmp_path: Path) -> None:
    """It was shown as our own."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = start(w, "ann")
            await say(ann, "I am ann")
            own = ann.node.gate.identity.sender_id
            await stop(w, ann)
            bob = start(w, "bob")
            hear(bob, plain(own, bob, "never said"))
            await bob.until_texts("never said")
            ann = start(w, "ann")
            await ann.until(UnsignedInOurName)
            await say(bob, "hello")
            await ann.until_texts("hello")
            assert log_of(ann) == ["I am ann", "hello"]

    asyncio.run(story())


def test_who_signs_nothing_gets_what_a_lost_profile_said(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = start(w, "ann", content__format="text")
            bob = start(w, "bob", content__format="text")
            claim = plain(ann.node.gate.identity.sender_id, bob, "said before")
            hear(bob, claim)
            await bob.until_texts("said before")
            await stop(w, ann)
            ann = start(w, "ann", content__format="text")
            await ann.until_texts("said before")

    asyncio.run(story())


async def _bob_has_heard(w: World) -> tuple[Member, Member, Member]:
    members = start(w, "ann"), start(w, "bob"), start(w, "carol")
    for member in members:
        await say(member, f"{member.node.gate.nick} is here")
    for member in members:
        await member.until_texts("ann is here", "bob is here", "carol is here")
    return members


@pytest.mark.parametrize("name", ["nobody", "ann", "carol"])
def test_who_has_another_message_under_the_id_of_one_gets_that_one(tmp_path: Path, name: str) -> None:
    """Whoever lost the packet got it from nobody: all took it to be there, by filters, fingerprints and mentions."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, carol = await _bob_has_heard(w)
            session = ann.node.sessions["lobby"]
            session.transport.unsubscribe("sds/1/lobby/msg")
            carol.node.send("lobby", "true")
            said = await bob.until(MessageDelivered, lambda told: told.said.opened.text == "true")
            true = said.said.message
            names = {member.node.gate.nick: member.node.gate.identity.sender_id for member in (ann, carol)}
            hear(ann, replace(true, sender_id=names.get(name, name), content=b"false", bloom_filter=None))
            session.transport.subscribe("sds/1/lobby/msg")
            await ann.until(MessageDelivered, lambda told: told.said.opened.text == "true")
            assert log_of(ann)[-1] == "true"

    asyncio.run(story())


LIMITED: dict[str, Value] = {"trust.messages_per_minute": 1, "trust.messages_at_once": 4}


def test_lines_in_the_name_of_one_who_signs_have_a_limit_of_their_own(tmp_path: Path) -> None:
    """They used up that of the one whose name they bear, of whom only ids were kept then."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann", changes=LIMITED), load_or_create(tmp_path / "bob")
            lamport = ann.node.sessions["lobby"].channel.state.clock.value + 1
            first = signed_message(bob, "lobby", "I am bob", lamport, nick="bob")
            hear(ann, first)
            await ann.until_texts("I am bob")
            claims = [plain(bob.sender_id, ann, f"false {number}") for number in range(60)]
            second = signed_message(
                bob, "lobby", "this is me", lamport + 99, nick="bob", sequence=2, previous=first.message_id
            )
            hear(ann, *claims, second)
            await ann.until(MessageDelivered, lambda told: told.said.opened.text == "this is me")
            assert sum(text.startswith("false") for text in ann.texts()) == 20
            assert not ann.of(OverLimit)
            state = ann.node.sessions["lobby"].channel.state
            assert all(state.holds(claim.message_id) for claim in claims)

    asyncio.run(story())


def test_what_they_say_of_their_sender_is_not_looked_at(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), load_or_create(tmp_path / "bob")
            state = ann.node.sessions["lobby"].channel.state
            hear(ann, signed_message(bob, "lobby", "I am bob", state.clock.value + 1, nick="bob"))
            await ann.until_texts("I am bob")
            own = ann.node.send("lobby", "hello").message_id
            before = state.peers.known[bob.sender_id].last_lamport
            ahead = state.now.wall + state.config.max_skew - 10_000
            asks = (HistoryEntry(own, None, ann.node.gate.identity.sender_id),)
            unknown = tuple(HistoryEntry(f"{number:064}") for number in range(64))
            claim = Message(bob.sender_id, content_id(b"false"), "lobby", ahead, unknown, None, asks, b"false")
            hear(ann, claim)
            await ann.until(MessageDelivered, lambda told: told.said.opened.text == "false")
            assert state.peers.known[bob.sender_id].last_lamport == before
            assert not state.requests.missing
            assert not ann.of(RepairScheduled)

    asyncio.run(story())


def test_old_messages_that_somebody_sends_again_use_up_no_limit(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann", changes=LIMITED), load_or_create(tmp_path / "bob")
            state = ann.node.sessions["lobby"].channel.state
            old = signed_message(bob, "lobby", "old", state.clock.value - 200_000, nick="bob")
            hear(ann, old)
            await ann.until_texts("old")
            state.window = RecentWindow([])  # as after a thousand others
            for _ in range(60):
                hear(ann, old)
            later = state.clock.value - 190_000
            hear(ann, signed_message(bob, "lobby", "new", later, nick="bob", sequence=2, previous=old.message_id))
            await ann.until_texts("old", "new")

    asyncio.run(story())
