"""Private channels among nodes of one process: joining, reading, removing, and what nobody else gets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sdschat.catchup.values import HIGHEST, LOWEST, Ask, Frame, Question, QuestionKind
from sdschat.identity.content import ContentKind
from sdschat.identity.private.roster import Roster, SignedOperation
from sdschat.node.events import (
    ConnectionChanged,
    EpochChanged,
    HandedOver,
    MessageDelivered,
    MessageWithheld,
    NotAMember,
    PresenceChanged,
)
from sdschat.node.members.saved import create_members
from sdschat.node.node import Node
from sdschat.node.private import announcing
from sdschat.node.private.membership import PrivateChannel
from sdschat.node.private.operations import refusal_words
from sdschat.node.private.record import create_private
from sdschat.node.sync import extension
from sdschat.node.sync.extension import sync_extension
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.private import privacy, removable
from sdschat.sds.events import StateChanged, SyncReceived
from sdschat.sds.ids import content_id
from sdschat.sds.values import AckState, Message
from sdschat.transport.base import Received
from sdschat.transport.memory import MemoryTransport
from sdschat.transport.sealing import SealedTransport
from sdschat.wire.sds_codec import SdsCodec
from tests.node.worlds import Member, World, world
from tests.transport.worlds import Recorder, run

_LIES = 300  # at most


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


def test_those_who_have_the_link_read_and_write(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name = creator(here)
            say(ann, "before bob")
            bob = here.start("bob", link_of(ann))
            assert list(bob.node.sessions) == [name]
            say(bob, "hello ann")
            await until_said(ann, "hello ann")
            await until_said(bob, "before bob")
            assert "joined the channel" in ann.texts()
            assert len(private(bob).roster.members) == 2

    run(scenario)


def test_nobody_without_the_link_sees_a_word(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            outside, seen = here.network.transport(), Recorder()
            assert isinstance(outside, MemoryTransport)
            outside.listen(seen)
            outside.subscribe("#")
            outside.start()
            ann, name = creator(here)
            bob = here.start("bob", link_of(ann))
            stranger = here.start("carol", "garden")
            say(ann, "the treasure is under the oak")
            await until_said(bob, "the treasure is under the oak")
            assert stranger.texts() == []
            packets = seen.of(Received)
            text = b"".join(each.topic.encode() + each.payload for each in packets if "/garden/" not in each.topic)
            ids = [ann.node.sender_id, bob.node.sender_id]
            for secret in ("garden", name, "ann", "bob", "treasure", "joined", *ids):
                assert secret.encode() not in text

    run(scenario)


def test_a_removed_member_reads_nothing_afterwards_and_writes_nothing_that_others_show(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three_of_whom_carol_is_removed(here)
            say(ann, "without carol")
            await until_said(bob, "without carol")
            with pytest.raises(ValueError, match="no member"):
                say(carol, "may I?")
            # A program that does not ask writes all the same, with the key that it has.
            session = next(iter(carol.node.sessions.values()))
            session.private = None
            session.channel.connected(carol.node.clock.now())
            say(carol, "under the old key")
            await asyncio.sleep(0.5)
            assert "under the old key" not in [*said(ann), *said(bob)]
            assert "without carol" not in said(carol)
            assert said(carol)[0] == "I am here"

    run(scenario)


def test_a_removed_member_sends_nothing_of_what_waits_and_asks_for_nothing(tmp_path: Path) -> None:
    """Lines from before the removal was heard went out again and again, to nobody."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            injected = Injection(carol.node, name := next(iter(carol.node.sessions)))
            injected.offline(True)
            say(carol, "written while away")
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            injected.offline(False)
            await carol.until(NotAMember)
            session = carol.node.sessions[name]
            assert not session.channel.state.online
            carol.facts.clear()
            session.channel.resend(carol.node.clock.now(), session.channel.state.outgoing.open.copy().popitem()[0])
            session.mark_ready()
            await asyncio.sleep(0.3)
            assert carol.of(HandedOver) == []
            await carol.node.close(0.1)
            carol = here.start("carol", name)
            await carol.until(ConnectionChanged, lambda told: told.state == "connected")
            assert not carol.node.sessions[name].channel.state.online
            await carol.node.close(0.1)
            carol = here.start("carol", link_of(ann))
            say(carol, "back again")
            await until_said(bob, "back again")

    run(scenario)


def test_a_removed_member_answers_and_begins_no_comparison(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _ = creator(here)
            carol = here.start("carol", link_of(ann), before=extension.install)
            say(carol, "I am here")
            await until_said(ann, "I am here")
            private(ann).remove(carol.node.sender_id)
            await carol.until(NotAMember)
            (session,) = carol.node.sessions.values()
            sent: list[str] = []
            publish = session.transport.publish

            def noting(topic: str, payload: bytes, **options: Any) -> None:
                sent.append(topic)
                publish(topic, payload, **options)

            session.transport.publish = noting  # type: ignore[method-assign]
            asked = Frame(1, 1, Ask(1, (Question(QuestionKind.PARTS, LOWEST, HIGHEST, 2, bytes(8)),)))
            part = sync_extension(carol.node, session.name)
            session.presence.online[ann.node.sender_id] = "ann"
            part.catchup.heard(ann.node.sender_id, asked, carol.node.clock.now())
            part.catchup.begin()
            session.mark_ready()
            await asyncio.sleep(0.1)
            assert sent == []

    run(scenario)


def _known_of_us(member: Member) -> tuple[str, Roster, bytes, list[SignedOperation]]:
    here = private(member)
    return here.record.name, here.roster, here.own_key, list(here.operations.in_log.values())


def test_whom_the_creator_banned_is_not_brought_back_by_another_member(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            with pytest.raises(ValueError, match="Only the creator"):
                private(bob).remove(carol.node.sender_id, banned=True)
            private(ann).remove(carol.node.sender_id, banned=True)
            await bob.until(EpochChanged)
            await carol.until(NotAMember)
            assert "banned carol, and changed the key" in ann.texts()
            await carol.node.close(0.1)
            again = here.start("carol", link_of(bob))
            for each in (ann, bob):
                await each.until(MessageDelivered, lambda body: "banned them" in (body.said.opened.text or ""))
            await until([again], lambda each: "only an invite of the creator" in refusal_words(*_known_of_us(each)))
            assert not private(ann).has(again.node.sender_id)

    run(scenario)


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


def test_removals_are_not_announced_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        sent = announcements(monkeypatch)
        async with world(tmp_path) as here:
            await without_carol(here)
            await asyncio.sleep(0.5)
            before = len(sent)
            await asyncio.sleep(1.0)
            assert before > 0
            assert len(sent) - before <= 1

    run(scenario)


def test_who_comes_by_an_invite_from_before_a_removal_is_told_so_by_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The removal takes no place in the log there, since what it follows is under the new key."""

    async def scenario() -> None:
        announcements(monkeypatch)
        async with world(tmp_path) as here:
            made = await without_carol(here)
            dora = here.start("dora", made.link)
            say(dora, "may I?")
            assert "before the key of the channel was changed" in (await dora.until(NotAMember)).why
            assert dora.of(NotAMember)[1:] == []

    run(scenario)


def test_whose_new_invite_nobody_answered_yet_is_not_told_that_it_is_of_no_use(tmp_path: Path) -> None:
    """Carol knows operations of others, from before the removal, and not yet what came after her own."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three_of_whom_carol_is_removed(here)
            await carol.node.close(0.1)
            private(ann).remove(bob.node.sender_id)
            await bob.until(NotAMember)
            link = link_of(ann)
            for each in (ann, bob):
                await each.node.close(0.1)
            carol = here.start("carol", link)
            await carol.until(MessageDelivered, lambda body: body.said.own)
            assert "no member of garden" in refusal_words(*_known_of_us(carol))

    run(scenario)


def test_who_joins_after_a_removal_while_nobody_is_there_reads_that_they_wait_and_then_that_they_joined(
    tmp_path: Path,
) -> None:
    """The line said that the invite was older than the key. A second newcomer knows no better."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three_of_whom_carol_is_removed(here)
            link, by_bob = link_of(ann), link_of(bob)
            for each in (ann, bob, carol):
                await each.node.close(0.1)
            dora, erik = here.start("dora", link), here.start("erik", by_bob)
            for one in (dora, erik):
                await until([one], lambda each: len(log(each)) >= 2)
                assert set(operation_lines(one)) == {"joined; waits until a member is here"}
                say(one, "anybody here?")
            here.start("ann", "garden")
            await until([dora, erik], lambda each: operation_lines(each).count("joined the channel") >= 2)
            await until([dora, erik], lambda each: "joined; waits until a member is here" not in operation_lines(each))
            await until([dora, erik], lambda each: private(each).is_member)

    run(scenario)


def test_who_joins_by_a_members_invite_while_nobody_is_there_reads_that_they_wait(tmp_path: Path) -> None:
    """The line said that the invite was by somebody who is not a member: how bob joined is not here yet."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            link = link_of(bob)
            for each in (ann, bob, carol):
                await each.node.close(0.1)
            dora = here.start("dora", link)
            await until([dora], lambda each: log(each) != [])
            assert operation_lines(dora) == ["joined; waits until a member is here"]
            here.start("ann", "garden")
            await until([dora], lambda each: operation_lines(each).count("joined the channel") == 3)

    run(scenario)


def test_nor_is_that_told_where_another_newcomer_is_here_who_knows_no_better(tmp_path: Path) -> None:
    """The invite was said to be of no use, and nothing could be said, as soon as anybody was known to have joined."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            by_ann, by_bob = link_of(ann), link_of(bob)
            for each in (ann, bob, carol):
                await each.node.close(0.1)
            dora, erik = here.start("dora", by_bob), here.start("erik", by_ann)
            await until([dora], lambda each: len(private(each).roster.members) == 2)
            assert private(dora).is_unanswered
            lines = {"joined; waits until a member is here", "joined the channel"}  # a turn after they count
            await until([dora], lambda each: set(operation_lines(each)) == lines)
            say(dora, "anybody here?")
            here.start("ann", "garden")
            await until([dora, erik], lambda each: len(private(each).roster.members) == 5)
            await until_said(erik, "anybody here?")

    run(scenario)


def test_whose_joining_was_acknowledged_is_confirmed_also_alone_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name = creator(here)
            link = link_of(ann)
            bob = here.start("bob", link)
            await bob.until(StateChanged, lambda body: body.state is AckState.ACKED)
            for each in (ann, bob):
                await each.node.close(0.1)
            for who, where, unconfirmed in (("bob", "garden", False), ("dora", link, True), ("ann", "garden", False)):
                alone = here.start(who, where)
                await until([alone], lambda each: log(each) != [])
                state = privacy(alone.node, name)
                assert state is not None
                assert (who, state.unconfirmed) == (who, unconfirmed)
                await alone.node.close(0.1)

    run(scenario)


def test_a_joining_is_confirmed_by_a_member_who_has_it_and_not_by_one_who_is_here(tmp_path: Path) -> None:
    """A member who is here may know that the invite was used up; the head said that nothing was missing."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name = creator(here)
            bob = here.start("bob", link_of(ann))
            Injection(bob.node, name).share("loss", 1.0, "out")
            await bob.until(PresenceChanged, lambda body: body.sender_id == ann.node.sender_id)
            await bob.until(SyncReceived)
            before = privacy(bob.node, name)
            Injection(bob.node, name).share("loss", 0.0, "out")
            await bob.until(StateChanged, lambda body: body.state is AckState.ACKED)
            after = privacy(bob.node, name)
            assert before is not None
            assert after is not None
            assert (before.unconfirmed, after.unconfirmed) == (True, False)

    run(scenario)


def test_packets_that_nobody_can_open_bring_few_announcements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        sent = announcements(monkeypatch)
        async with world(tmp_path) as here:
            ann = (await without_carol(here)).ann
            await asyncio.sleep(0.5)
            outside = here.network.transport()
            assert isinstance(outside, MemoryTransport)
            outside.start()
            before = len(sent)
            for number in range(150):
                outside.publish(topic_outside(ann), b"SDE1" + number.to_bytes(8) + bytes(244))
                await asyncio.sleep(0.01)
            assert 1 <= len(sent) - before <= 10

    run(scenario)


@pytest.mark.parametrize("what", ["msg", "who"])
def test_packets_of_before_a_removal_that_are_repeated_bring_few_announcements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Anybody who recorded such a packet can send it again."""

    async def scenario() -> None:
        sent = announcements(monkeypatch)
        async with world(tmp_path) as here:
            recorder = here.network.transport()
            recorder.start()
            heard: list[Received] = []
            recorder.listen(lambda event: heard.append(event) if isinstance(event, Received) else None)
            recorder.subscribe("#")
            ann = (await without_carol(here)).ann
            await asyncio.sleep(0.5)
            own = {private(member)._sealer.epoch_id for member in (ann,)}
            old = next(
                event
                for event in heard
                if f"/{what}" in event.topic and event.payload and event.payload[4:12] not in own
            )
            before = len(sent)
            for _ in range(150):
                recorder.publish(old.topic, old.payload)
                await asyncio.sleep(0.01)
            assert len(sent) - before <= 10

    run(scenario)


def test_a_removed_member_puts_nothing_into_logs_in_the_name_of_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _ = creator(here)
            link = link_of(ann)
            bob, carol = here.start("bob", link), here.start("carol", link)
            say(bob, "I am bob")
            await until_said(ann, "I am bob")
            await until_said(carol, "I am bob")
            await until([ann, bob], lambda each: len(private(each).roster.members) == 3)
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            await carol.until(NotAMember)
            before = log(ann)
            forger, text = private(carol), b"not by bob"
            message = Message(bob.node.sender_id, content_id(text), forger.record.name, 1 << 40, (), content=text)
            forger.transport.publish(forger._msg_topic, SdsCodec().encode(message))
            say(bob, "by bob")
            await until_said(ann, "by bob")
            await asyncio.sleep(0.2)
            assert len(log(ann)) == len(before) + 1

    run(scenario)


def topic_outside(member: Member) -> str:
    """Return the topic of messages of a private channel, as the broker sees it."""
    found = private(member)
    return found.transport._topics.outside(found._msg_topic)


def test_a_member_who_was_away_gets_the_new_key_and_what_was_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name = creator(here)
            link = link_of(ann)
            bob, carol = here.start("bob", link), here.start("carol", link)
            await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
            await ann.until(MessageDelivered, lambda body: body.said.nick == "bob")
            await bob.node.close(0.1)
            here.members.remove(bob)
            private(ann).remove(carol.node.sender_id)
            await ann.until(EpochChanged)
            say(ann, "while bob was away")
            bob = here.start("bob", "garden")
            await until_said(bob, "while bob was away")
            assert private(bob).roster.epoch_number == 2
            assert list(bob.node.sessions) == [name]
            dora = here.start("dora", link_of(bob))
            say(dora, "hello from dora")
            await until_said(ann, "hello from dora")

    run(scenario)


def test_admins_who_remove_while_apart_agree_and_share_a_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _ = creator(here)
            link = link_of(ann)
            bob, carol, dora = (here.start(name, link) for name in ("bob", "carol", "dora"))
            people = [ann, bob, carol, dora]
            await until(people, lambda each: len(private(each).roster.members) == 4)
            private(ann).appoint(bob.node.sender_id, True)
            await until(people, lambda each: len(private(each).roster.seen) == 1)
            transports = [client for client in here.network.clients]
            for client in transports:
                client.drop()
            private(ann).remove(carol.node.sender_id)
            private(bob).remove(dora.node.sender_id)
            await until([ann, bob], lambda each: private(each).roster.epoch_number == 2)
            for client in transports:
                client.reconnect()
            await until([ann, bob], lambda each: len(private(each).roster.epoch) == 2)
            say(ann, "we two")
            await until_said(bob, "we two")
            assert "we two" not in [*said(carol), *said(dora)]

    run(scenario)


async def by_one_link(here: World) -> tuple[Member, str, Member, Member]:
    """Return ann, her channel, and bob and carol, who come by a link for one: carol is no member."""
    ann, name = creator(here)
    link = link_of(ann, uses=1)
    bob = here.start("bob", link)
    await ann.until(MessageDelivered, lambda body: body.said.nick == "bob")
    return ann, name, bob, here.start("carol", link)


def test_an_invite_that_is_used_up_lets_nobody_in_and_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _, bob, carol = await by_one_link(here)
            say(carol, "let me in")
            found = await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
            assert found.said.opened.text == (
                "could not join: the invite was used up. The link has the key: carol can read what is written here, "
                "until the creator or an admin makes a new key with /remove carol"
            )
            say(bob, "later")
            await until_said(ann, "later")
            assert "let me in" not in said(ann)
            told = await carol.until(NotAMember)
            assert told.why == (
                "your invite is of no use: the invite was used up. Ask for a new one. Until then you read by the link "
                "alone, and nobody is shown what you write"
            )

    run(scenario)


def test_whoever_reads_by_a_used_up_link_is_removed_with_a_new_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name, bob, carol = await by_one_link(here)
            await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
            say(ann, "carol reads this by the link")
            await until_said(carol, "carol reads this by the link")
            await ann.node.close(0.1)
            ann = here.start("ann", name)  # no key of an outsider is kept
            assert removable(ann.node, name, "carol") == carol.node.sender_id
            with pytest.raises(ValueError, match="member without rights"):
                removable(bob.node, name, "carol")
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            say(ann, "carol does not read this")
            await until_said(bob, "carol does not read this")
            say(bob, "nor this")
            await until_said(ann, "nor this")
            assert private(ann).outsiders() == {}
            assert said(carol) == ["carol reads this by the link"]

    run(scenario)


def test_the_reason_why_one_is_no_member_is_told_again_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            _, name, _, carol = await by_one_link(here)
            why = (await carol.until(NotAMember)).why
            assert why.startswith("your invite is of no use: the invite was used up.")
            await carol.node.close(0.1)
            carol = here.start("carol", name)
            assert (await carol.until(NotAMember)).why == why

    run(scenario)


def test_a_removed_member_who_takes_the_same_link_again_is_told_of_the_removal(tmp_path: Path) -> None:
    """It said that no member had confirmed it yet, and what was written went to nobody."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _ = creator(here)
            link = link_of(ann)
            carol = here.start("carol", link)
            await until([ann], lambda each: len(private(each).roster.members) == 2)
            private(ann).remove(carol.node.sender_id)
            await carol.until(NotAMember)
            await carol.node.close(0.1)
            carol = here.start("carol", link)
            assert "An invite from before lets nobody in" in (await carol.until(NotAMember)).why
            with pytest.raises(ValueError, match="You are no member"):
                private(carol).require_voice()

    run(scenario)


def test_what_is_meant_for_one_person_opens_no_channel_that_everybody_reads(tmp_path: Path) -> None:
    """`sdschat send @bob TEXT` said it in the open, where `sdschat log @bob` lists what was said to bob alone."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann = here.start("ann")
            with pytest.raises(ValueError, match="@bob would be an open channel, which everybody can read"):
                ann.node.join("@bob")

    run(scenario)


def test_a_space_that_nobody_sees_makes_no_other_channel(tmp_path: Path) -> None:
    """`lobby ` was another channel than `lobby`, and one space alone was one too."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann = here.start("ann")
            for name in ("lobby ", " lobby", " ", "\u3000"):
                with pytest.raises(ValueError, match="cannot be blank, nor begin or end with a space"):
                    ann.node.join(name)
                with pytest.raises(ValueError, match="cannot be blank, nor begin or end with a space"):
                    create_private(ann.node.profile.store, ann.node.gate.identity, name)
                with pytest.raises(ValueError, match="cannot be blank, nor begin or end with a space"):
                    create_members(ann.node.profile.store, ann.node.gate.identity, name, ann.node.settings.timber)
            assert "my room" in ann.node.join("my room").name

    run(scenario)


def test_a_character_that_nobody_sees_makes_no_other_channel(tmp_path: Path) -> None:
    """`lob` and `by` with a zero-width space between looked as `lobby`, and a mark for the direction of text turned
    round what stood behind it in a terminal."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann = here.start("ann")
            for character in ("\u200b", "\u202e", "\ufeff", "\u00ad"):
                with pytest.raises(ValueError, match=f"cannot have U\\+{ord(character):04X} in it"):
                    ann.node.join(f"lob{character}by")
            for name in ("\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f680"):
                assert ann.node.join(name).name == name

    run(scenario)


def test_the_full_name_of_a_private_channel_that_one_is_not_in_opens_no_open_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name = creator(here)
            bob = here.start("bob")
            with pytest.raises(ValueError, match="this profile was not invited to"):
                bob.node.join(name)
            assert ann.node.named("garden") == name
            assert bob.node.named("a~b") == "a~b", "an open channel may have the sign in its name"

    run(scenario)


def test_a_broker_that_alters_repeats_and_swaps_topics_has_nothing_shown_that_was_not_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _ = creator(here)
            bob = here.start("bob", link_of(ann), changes={"fault.loss": 0.1, "fault.reorder": 0.1})
            await until([ann, bob], lambda each: len(private(each).roster.members) == 2)
            liar, heard = here.network.transport(), list[Received]()
            told: set[tuple[str, bytes]] = set()

            def lie(event: object) -> None:
                if not isinstance(event, Received) or (event.topic, event.payload) in told or len(told) >= _LIES:
                    return
                heard.append(event)
                altered = event.payload[:-1] + bytes([event.payload[-1] ^ 1])
                elsewhere = heard[len(heard) // 2].topic
                for topic, payload in ((event.topic, altered), (elsewhere, event.payload), event[:2]):
                    told.add((topic, payload))
                    liar.publish(topic, payload)

            liar.listen(lie)
            liar.subscribe("#")
            liar.start()
            texts = [f"number {number}" for number in range(10)]
            for number, text in enumerate(texts):
                say((ann, bob)[number % 2], text)
                await asyncio.sleep(0.02)
            await until([ann, bob], lambda each: len(said(each)) >= len(texts))
            assert sorted(said(ann)) == sorted(said(bob)) == texts
            assert len(told) >= 20
            assert all(private(each).transport.counts.strange for each in (ann, bob))
            assert ann.of(MessageWithheld) == bob.of(MessageWithheld) == []
            assert log(ann) == log(bob)

    run(scenario)


async def until(members: list[Member], holds: object) -> None:
    async with asyncio.timeout(15):
        while not all(holds(each) for each in members):  # type: ignore[operator]
            await asyncio.sleep(0.02)
