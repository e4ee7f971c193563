"""Removals from a private channel: what who was removed still gets, and how the others come to agree."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sdschat.catchup.values import HIGHEST, LOWEST, Ask, Frame, Question, QuestionKind
from sdschat.cli.timber import removal_words
from sdschat.node.events import ConnectionChanged, EpochChanged, HandedOver, MessageDelivered, NotAMember
from sdschat.node.private.operations import refusal_words
from sdschat.node.private.people import one_called, removable_called
from sdschat.node.private.record import private_state
from sdschat.node.sync import extension
from sdschat.node.sync.extension import sync_extension
from sdschat.node.tools.fault_injection import Injection
from sdschat.sds.ids import content_id
from sdschat.sds.values import Message
from sdschat.transport.base import Received
from sdschat.transport.memory import MemoryTransport
from sdschat.wire.sds_codec import SdsCodec
from tests.node.privately import (
    announcements,
    creator,
    known_of_us,
    link_of,
    log,
    private,
    said,
    say,
    three,
    three_of_whom_carol_is_removed,
    until,
    until_said,
    without_carol,
)
from tests.node.worlds import Member, world
from tests.transport.worlds import run


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


def test_whom_the_creator_banned_is_not_brought_back_by_another_member(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            with pytest.raises(ValueError, match="Only the creator"):
                private(bob).remove(carol.node.sender_id, banned=True)
            private(ann).remove(carol.node.sender_id, banned=True)
            await bob.until(EpochChanged)
            assert "a new one of its creator does" in (await carol.until(NotAMember)).why
            assert "banned carol, and changed the key" in ann.texts()
            left = private_state(carol.node.profile.store, next(iter(carol.node.sessions)))
            assert removal_words(left, carol.node.sender_id).endswith("A new link of the creator lets you in again")
            await carol.node.close(0.1)
            again = here.start("carol", link_of(bob))
            for each in (ann, bob):
                await each.until(MessageDelivered, lambda body: "banned them" in (body.said.opened.text or ""))
            await until([again], lambda each: "only an invite of the creator" in refusal_words(*known_of_us(each)))
            assert not private(ann).has(again.node.sender_id)

    run(scenario)


def test_whoever_was_removed_can_be_banned_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann = (await without_carol(here)).ann
            carol = removable_called(private(ann), "carol", banned=True)
            with pytest.raises(ValueError, match=r"No member of .* is called carol"):
                removable_called(private(ann), "carol")
            private(ann).remove(carol, banned=True)
            await ann.until(MessageDelivered, lambda body: "banned carol" in (body.said.opened.text or ""))
            with pytest.raises(ValueError, match=r"No member of .* is called carol"):
                removable_called(private(ann), "carol", banned=True)

    run(scenario)


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


def test_who_is_called_alike_is_told_apart_by_enough_of_the_ids(tmp_path: Path) -> None:
    """The ids began with the same eight letters, so that none of those that were listed could be given."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _, _ = await three(here)
            one, other = "27582e79a43b4a7e" + 16 * "0", "27582e790d082321" + 16 * "0"
            with pytest.raises(ValueError, match=r"eve \(27582e790\), eve \(27582e79a\)\. Give"):
                one_called(private(ann), "eve", {one: "eve", other: "eve"})

    run(scenario)
