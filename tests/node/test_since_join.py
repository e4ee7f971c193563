"""Private channels that give nothing older to those who join: `history = since-join`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sdschat.catchup.values import HIGHEST, LOWEST
from sdschat.identity.private.link import accept, read_link
from sdschat.node.channel.author_chains import AuthorChains
from sdschat.node.events import HandedOver, MessageDelivered, OverLimit
from sdschat.node.node import Node
from sdschat.node.private.membership import PrivateChannel
from sdschat.node.private.record import create_private
from sdschat.node.private.sealer import ChannelSealer
from sdschat.node.sync import extension
from sdschat.transport.base import Received
from sdschat.transport.sealing import OpenedPacket
from tests.node.privately import link_of, private, said, say
from tests.node.worlds import PATIENCE, Member, World, world

OLD = ["the first secret", "the second secret"]


def run(tmp_path: Path, story: Callable[[World, list[Received]], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with world(tmp_path) as w:
            recorder, heard = w.network.transport(), list[Received]()
            recorder.start()
            recorder.listen(lambda event: heard.append(event) if isinstance(event, Received) else None)
            recorder.subscribe("#")
            await story(w, heard)

    asyncio.run(whole())


def start(w: World, name: str, channel: str) -> Member:
    return w.start(name, channel, before=extension.install)


def creator(w: World) -> Member:
    def make(node: Node) -> None:
        extension.install(node)
        create_private(node.profile.store, node.gate.identity, "garden", since_join=True)

    return w.start("ann", "garden", before=make)


async def stop(w: World, member: Member) -> None:
    await member.node.close(0.1)
    w.members.remove(member)


def unasked(member: Member) -> PrivateChannel:
    """Let the program of somebody who was removed send all the same, with the key that it has. Return its channel."""
    (session,) = member.node.sessions.values()
    found, session.private = private(member), None
    session.channel.connected(member.node.clock.now())
    return found


async def until_said(text: str, *members: Member) -> None:
    for member in members:
        await member.until(MessageDelivered, lambda body: body.said.opened.text == text)


def keys(member: Member) -> list[tuple[int, str]]:
    return list(member.node.profile.store.log(private(member).record.name).keys(LOWEST, HIGHEST, -1))


async def settled(*members: Member) -> None:
    """Wait until all have the same log."""
    async with asyncio.timeout(PATIENCE):
        while any(keys(member) != keys(members[0]) for member in members):
            await asyncio.sleep(0.05)


async def until_epoch(member: Member, number: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while private(member).roster.epoch_number < number:
            await asyncio.sleep(0.05)


def opened_with_all_keys(member: Member, heard: list[Received]) -> bytes:
    """Return everything on the broker that somebody can open with every secret that they have."""
    record = private(member).record
    found = bytearray()
    for secret in {*record.secrets.values(), *record.shared.values()}:
        sealer = ChannelSealer(bytes(20), record.genesis.salt, secret)
        for event in heard:
            opened = sealer.open(event.topic, event.payload)
            if isinstance(opened, OpenedPacket):
                found += opened.plain
                inside = opened.plain[2 + int.from_bytes(opened.plain[:2]) :]
                found += member.node.gate.identity.unseal(inside) or b""
    return bytes(found)


def on_disk(member: Member) -> bytes:
    path = member.node.profile.store.path
    return b"".join(each.read_bytes() for each in path.parent.iterdir() if each.is_file())


async def talked(w: World) -> tuple[Member, Member]:
    """Return ann and bob, who said something."""
    ann = creator(w)
    bob = start(w, "bob", link_of(ann))
    await ann.until(MessageDelivered, lambda body: body.said.nick == "bob")
    say(ann, OLD[0])
    await until_said(OLD[0], bob)
    say(bob, OLD[1])
    await until_said(OLD[1], ann)
    return ann, bob


def test_who_joins_gets_nothing_older_and_everything_after(tmp_path: Path) -> None:
    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        carol = start(w, "carol", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
        say(bob, "for all three")
        await until_said("for all three", ann, carol)
        say(carol, "from carol")
        await until_said("from carol", ann, bob)
        await settled(ann, bob, carol)
        assert said(carol) == ["for all three", "from carol"]
        assert all(text.encode() not in on_disk(carol) for text in OLD)
        assert all(text.encode() not in opened_with_all_keys(carol, heard) for text in OLD)
        assert all(text.encode() in opened_with_all_keys(ann, heard) for text in OLD)
        assert private(carol).roster.members.keys() == private(ann).roster.members.keys()
        assert private(carol).roster.epoch == private(bob).roster.epoch
        named = {told.sender_id: told.messages for told in carol.of(OverLimit)}
        assert named == {ann.node.sender_id: 1, bob.node.sender_id: 1}

    run(tmp_path, story)


def test_what_was_said_between_two_invites_is_not_told_as_missing(tmp_path: Path) -> None:
    """Whoever joined by the second invite read "ann's 2nd message here is missing" for ever: it is given as an id."""

    async def story(w: World, heard: list[Received]) -> None:
        ann = creator(w)
        link_of(ann)
        say(ann, OLD[0])
        bob = start(w, "bob", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "bob")
        say(ann, "for both")
        await until_said("for both", bob)
        (session,) = bob.node.sessions.values()
        chains = next(each for each in session.extensions if isinstance(each, AuthorChains))
        await bob.until(OverLimit)
        assert chains._doubts
        now = session.channel.state.now
        chains.advance(now._replace(mono=now.mono + 20_000))
        assert (chains._doubts, chains._events) == ({}, [])

    run(tmp_path, story)


def test_a_member_who_was_away_gets_what_a_newcomer_cannot_read(tmp_path: Path) -> None:
    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        await stop(w, bob)
        say(ann, "while bob was away")
        await asyncio.sleep(0.1)
        carol = start(w, "carol", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
        bob = start(w, "bob", "garden")
        await until_said("while bob was away", bob)
        say(bob, "I am back")
        await until_said("I am back", ann, carol)
        await settled(ann, bob, carol)
        assert said(carol) == ["I am back"]
        for text in (*OLD, "while bob was away"):
            assert text.encode() not in opened_with_all_keys(carol, heard) + on_disk(carol)

    run(tmp_path, story)


@pytest.mark.parametrize("late", [False, True])
def test_an_earlier_invite_is_of_use_after_a_later_one(tmp_path: Path, late: bool) -> None:
    """`late`: who was invited later joins first."""

    async def story(w: World, heard: list[Received]) -> None:
        ann = creator(w)
        say(ann, "said before all")
        links = [link_of(ann), link_of(ann)]
        assert private(ann).roster.epoch_number == 3
        names = ["bob", "carol"]
        order = list(zip(names, links, strict=True))
        members = [start(w, name, link) for name, link in (reversed(order) if late else order)]
        await ann.until(MessageDelivered, lambda body: body.said.nick == "bob")
        await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
        say(ann, "to both")
        await until_said("to both", *members)
        for member in members:
            say(member, f"I am {member.node.gate.nick}")
        for name in names:
            await until_said(f"I am {name}", ann, *members)
        assert all("said before all" not in said(member) for member in members)
        assert all(b"said before all" not in opened_with_all_keys(member, heard) for member in members)
        assert {private(member).roster.epoch for member in members} == {private(ann).roster.epoch}

    run(tmp_path, story)


def test_who_is_removed_reads_nothing_of_later_epochs(tmp_path: Path) -> None:
    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        carol = start(w, "carol", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
        link = link_of(ann)
        await until_epoch(carol, 4)
        private(ann).remove(bob.node.sender_id)
        async with asyncio.timeout(PATIENCE):
            while private(carol).roster.removals == 0:
                await asyncio.sleep(0.05)
        dora = start(w, "dora", link_of(carol))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "dora")
        say(ann, "without bob")
        await until_said("without bob", carol, dora)
        assert b"without bob" not in opened_with_all_keys(bob, heard) + on_disk(bob)
        before = keys(ann)
        joining = unasked(bob)._write(accept(read_link(link, 0), bob.node.gate.identity))
        await bob.until(HandedOver, lambda told: told.message_id == joining.message_id)
        await asyncio.sleep(0.5)
        assert keys(ann) == before

    run(tmp_path, story)
