"""Private channels among nodes of one process: members, links, and what they said."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest

from sdschat.identity.content import ContentKind
from sdschat.identity.private.roster import Roster, SignedOperation
from sdschat.node.events import EpochChanged, MessageDelivered, NotAMember
from sdschat.node.node import Node
from sdschat.node.private import announcing
from sdschat.node.private.membership import PrivateChannel
from sdschat.node.private.record import create_private
from sdschat.node.view.conversations import Conversations
from sdschat.transport.sealing import SealedTransport
from tests.node.worlds import Member, World


def creator(here: World, name: str = "ann") -> tuple[Member, str]:
    """A member who made the channel garden, and its full name."""
    made: list[str] = []

    def make(node: Node) -> None:
        made.append(create_private(node.profile.store, node.gate.identity, "garden"))

    member = here.start(name, "garden", before=make)
    return member, made[0]


def private(member: Member) -> PrivateChannel:
    (session,) = member.node.sessions.values()
    assert session.private is not None
    return session.private


def link_of(member: Member, *, uses: int = 0, lasts: int = 0) -> str:
    return private(member).invite(member.node.clock.now().wall, uses=uses, lasts=lasts)


def say(member: Member, text: str) -> None:
    member.node.send(next(iter(member.node.sessions)), text)


def operation_lines(member: Member) -> list[str]:
    """Return the lines of operations, as they read now."""
    (name,) = member.node.sessions
    view = Conversations(member.node)
    shown = [view.channel(name).message(message_id) for _, message_id in log(member)]
    view.close()
    return [each.text or "" for each in shown if each is not None and each.kind == ContentKind.OPERATION]


def said(member: Member) -> list[str]:
    return [body.said.opened.text or "" for body in member.of(MessageDelivered) if body.said.opened.kind == 0]


def log(member: Member) -> list[tuple[int, str]]:
    (session,) = member.node.sessions.values()
    return [(entry.lamport, entry.message_id) for entry in session.channel.state.history.between(0, 1 << 62, 100)]


async def three(here: World) -> tuple[Member, Member, Member]:
    """Return the creator, and two who came by one link, the second of whom has been heard. All know each other."""
    ann, _ = creator(here)
    link = link_of(ann)
    bob, carol = here.start("bob", link), here.start("carol", link)
    say(carol, "I am here")
    for each in (ann, bob):
        await until_said(each, "I am here")
    await until([ann, bob, carol], lambda each: len(private(each).roster.members) == 3)
    return ann, bob, carol


async def three_of_whom_carol_is_removed(here: World) -> tuple[Member, Member, Member]:
    """Return ann, bob and carol, who all know of the removal."""
    ann, bob, carol = await three(here)
    private(ann).remove(carol.node.sender_id)
    await bob.until(EpochChanged)
    await carol.until(NotAMember)
    return ann, bob, carol


async def until_said(member: Member, text: str) -> None:
    await member.until(MessageDelivered, lambda body: body.said.opened.text == text)


def announcements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count removals that are sent again. The times between them are a hundredth of what they are."""
    for name in ("ANNOUNCE_AFTER", "ANNOUNCE_EVERY", "ANNOUNCE_LATEST"):
        monkeypatch.setattr(announcing, name, getattr(announcing, name) // 100)
    sent: list[str] = []
    publish = SealedTransport.publish_in_epoch

    def counted(self: SealedTransport, epoch_id: bytes, topic: str, payload: bytes) -> None:
        sent.append(topic)
        publish(self, epoch_id, topic, payload)

    monkeypatch.setattr(SealedTransport, "publish_in_epoch", counted)
    return sent


class WithoutCarol(NamedTuple):
    """Two members of a channel of which a third one was removed, and the link by which they came."""

    ann: Member
    bob: Member
    link: str


async def without_carol(here: World) -> WithoutCarol:
    ann, _ = creator(here)
    link = link_of(ann)
    bob, carol = here.start("bob", link), here.start("carol", link)
    await ann.until(MessageDelivered, lambda body: body.said.nick == "bob")
    await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
    private(ann).remove(carol.node.sender_id)
    await bob.until(EpochChanged)
    await carol.node.close(0.1)
    here.members.remove(carol)
    return WithoutCarol(ann, bob, link)


async def until(members: list[Member], holds: object) -> None:
    async with asyncio.timeout(15):
        while not all(holds(each) for each in members):  # type: ignore[operator]
            await asyncio.sleep(0.02)


def known_of_us(member: Member) -> tuple[str, Roster, bytes, list[SignedOperation]]:
    here = private(member)
    return here.record.name, here.roster, here.own_key, list(here.operations.in_log.values())
