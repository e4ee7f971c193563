"""Members' channels that are private as well: the data set inside of the sealed packets."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from sdschat.cli import remove
from sdschat.cli.errors import CommandProblem
from sdschat.identity.members import seal_packet
from sdschat.node.events import (
    DeliveryChanged,
    EpochChanged,
    Knocked,
    MembersChanged,
    MemberStatusChanged,
    MessageDelivered,
    MessageWithheld,
    NotAMember,
    PostDeleted,
    PostEdited,
    PostSaid,
)
from sdschat.node.members.channel import MembersChannel
from sdschat.node.members.opening import install
from sdschat.node.members.record import is_members_channel
from sdschat.node.members.saved import create_private_members, saved_posts
from sdschat.node.node import Node
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import MembersConversation
from sdschat.node.view.private import halt_words
from sdschat.store.journal import BALLOT
from sdschat.store.reader import Reader
from sdschat.timber.values import Sync, member_id
from sdschat.transport.base import Received
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.timber_codec import TimberCodec
from tests.node.privately import private
from tests.node.test_members import SHORT
from tests.node.worlds import Member, World, world
from tests.transport.worlds import Recorder, run


def _creator(here: World) -> Member:
    def make(node: Node) -> None:
        install(node)
        create_private_members(node.profile.store, node.gate.identity, "garden", node.settings.timber)

    return here.start("ann", "garden", changes=SHORT, before=make)


def _posts(member: Member) -> MembersChannel:
    (session,) = member.node.sessions.values()
    assert session.members is not None
    return session.members


def _link(member: Member) -> str:
    return private(member).invite(member.node.clock.now().wall)


def _join(here: World, name: str, link: str) -> Member:
    return here.start(name, link, changes=SHORT, before=install)


def _with_guests(here: World) -> tuple[Member, Member, Member]:
    """Return ann, who made the channel, and two who joined by her link."""
    ann = _creator(here)
    link = _link(ann)
    return ann, _join(here, "bob", link), _join(here, "carol", link)


def _say(member: Member, text: str) -> str:
    return member.node.say(next(iter(member.node.sessions)), text)


async def _let_in(host: Member, guest: Member) -> None:
    sender_id = guest.node.sender_id
    await host.until(Knocked, lambda knock: knock.sender_id == sender_id)
    _posts(host).invite(sender_id)
    await guest.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (sender_id, "member"))


async def _until_said(member: Member, text: str) -> str:
    return (await member.until(PostSaid, lambda one: one.post.text == text)).post.message_id


def test_who_has_the_link_knocks_is_let_in_and_changes_posts_that_the_broker_cannot_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            outside, seen = here.network.transport(), Recorder()
            outside.listen(seen)
            outside.subscribe("#")
            outside.start()
            ann = _creator(here)
            bob = _join(here, "bob", _link(ann))
            await _let_in(ann, bob)
            first, second = _say(bob, "under the oak"), _say(ann, "a mistake")
            assert await _until_said(ann, "under the oak") == first
            await _until_said(bob, "a mistake")
            _posts(bob).edit(first, "under the elm")
            _posts(ann).delete(second)
            assert await ann.until(PostEdited) == PostEdited(first, "under the elm", bob.node.sender_id)
            assert (await bob.until(PostDeleted))[:2] == (second, False)
            assert ann.of(MessageDelivered) == bob.of(MessageDelivered) == []
            name, data_set = private(ann).record.name, _posts(ann).data_set
            secrets = [b"garden", b"ann", b"bob", b"under the", b"mistake", bytes.fromhex(data_set), data_set.encode()]
            secrets += [name.encode(), *(each.node.sender_id.encode() for each in (ann, bob))]
            passed = b"".join(each.topic.encode() + each.payload for each in seen.of(Received))
            assert [secret for secret in secrets if secret in passed] == []
            store = bob.node.profile.store
            with contextlib.closing(store.open_read_only(store.path, bob.node.profile.codec)) as reader:
                assert is_members_channel(reader, name)
                assert [post.text for post in saved_posts(reader, name, bob.node.sender_id, "bob")] == ["under the elm"]

    run(scenario)


def test_a_link_alone_gets_no_operation_by_asking_for_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = _with_guests(here)
            await _let_in(ann, bob)
            _say(ann, "for those who are let in")
            await _until_said(bob, "for those who are let in")
            await ann.until(Knocked, lambda knock: knock.sender_id == carol.node.sender_id)
            for host in (ann, bob):
                channel, identity = _posts(host), carol.node.gate.identity
                question = TimberCodec().encode(Sync(channel.engine.checkpoint, (), bytes(32)))
                data_set = bytes.fromhex(channel.data_set)
                asked = seal_packet(identity, private(ann).record.name, data_set, "carol", question)
                channel._heard(carol.node.sender_id, asked, host.node.clock.now())
                packets = channel.engine.take().packets
                assert member_id(identity.public_key) not in [packet.peer for packet in packets]

    run(scenario)


def test_the_command_line_does_not_halt_a_committee_unasked(tmp_path: Path) -> None:
    """It removed one of two at once; nobody could be let in any more."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann = _creator(here)
            bob = _join(here, "bob", _link(ann))
            await _let_in(ann, bob)
            name = private(ann).record.name
            await ann.node.close(0.1)
            ann = here.start("ann", changes=SHORT, before=install)
            with pytest.raises(CommandProblem, match=r"bob is not removed\. .* nothing would settle, .* --yes does it"):
                await remove._remove(ann.node, name, "bob", False, False)
            assert len(private(bob).roster.members) == 2
            await ann.node.close(0.1)
            ann = here.start("ann", changes=SHORT, before=install)
            assert await remove._remove(ann.node, name, "bob", False, False, sure=True) == 0
            await bob.until(NotAMember)

    run(scenario)


def test_who_is_removed_reads_and_writes_nothing_and_is_put_out_of_the_committee(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = _with_guests(here)
            name = next(iter(ann.node.sessions))
            await _let_in(ann, bob)
            assert halt_words(ann.node, name, bob.node.sender_id), "one of two"
            await _let_in(ann, carol)
            _say(carol, "I am here")
            await _until_said(ann, "I am here")
            await _until_said(bob, "I am here")
            assert not halt_words(ann.node, name, carol.node.sender_id)
            last = _say(carol, "just before")
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            await carol.until(NotAMember)
            hers = Conversations(carol.node).conversation(name)
            assert isinstance(hers, MembersConversation)
            assert hers.journey(last).cut_off
            assert halt_words(ann.node, name, bob.node.sender_id), "two of three"
            said = _say(ann, "without carol")
            await _until_said(bob, "without carol")
            await ann.until(DeliveryChanged, lambda one: one.message_id == said and one.state in ("written", "known"))
            conversation = Conversations(ann.node).conversation(name)
            assert isinstance(conversation, MembersConversation)
            journey = conversation.journey(said)
            assert [one.sender_id for one in journey.removed] == [carol.node.sender_id]
            assert carol.node.sender_id not in [one.sender_id for one in journey.lacking]
            with pytest.raises(ValueError, match="no member"):
                _say(carol, "may I?")
            # A program that does not ask writes all the same, with the key that it has.
            _posts(carol).engine.say("under the old key", carol.node.clock.now())
            gone = carol.node.sender_id
            for each in (ann, bob):
                await each.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (gone, "evicted"))
                assert "under the old key" not in [one.post.text for one in each.of(PostSaid)]
                with Reader.open(each.node.profile.store.path, SdsCodec()) as reader:
                    (ballot,) = (one for one in reader.journal() if one.event == BALLOT)
                both = {ann.node.sender_id, bob.node.sender_id}
                assert (ballot.peer, set(ballot.deps or ()), ballot.attempt) == (gone, both, 2)
            assert "without carol" not in [one.post.text for one in carol.of(PostSaid)]
            with pytest.raises(ValueError, match="has not joined"):
                _posts(ann).invite(gone)

    run(scenario)


def test_who_is_removed_is_put_out_of_the_committee_though_nobody_writes(tmp_path: Path) -> None:
    """They stayed in it until the others had written eight rounds of operations, and nobody was let in until then."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = _with_guests(here)
            await _let_in(ann, bob)
            await _let_in(ann, carol)
            gone = carol.node.sender_id
            private(ann).remove(gone)
            for each in (ann, bob):
                await each.until(MembersChanged, lambda one: (one.removed, one.by) == ((gone,), ann.node.sender_id))
                await each.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (gone, "evicted"))
            dave = _join(here, "dave", _link(ann))
            await _let_in(bob, dave)

    run(scenario)


def test_it_is_what_it_was_after_a_restart_and_messages_of_sds_are_not_shown(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann = _creator(here)
            link = _link(ann)
            bob = _join(here, "bob", link)
            await _let_in(ann, bob)
            _say(bob, "before")
            await _until_said(ann, "before")
            await bob.node.close(0.1)
            here.members.remove(bob)
            _say(ann, "while bob was away")
            bob = _join(here, "bob", "garden")
            await _until_said(bob, "while bob was away")
            # A program that does not ask says something in SDS.
            session = next(iter(bob.node.sessions.values()))
            members, session.members = session.members, None
            bob.node.send(session.name, "beside the posts")
            session.members = members
            await ann.until(MessageWithheld)
            assert ann.of(MessageDelivered) == []

    run(scenario)


def test_who_leaves_the_committee_writes_nothing_more_and_reads_on_with_the_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann = _creator(here)
            bob = _join(here, "bob", _link(ann))
            await _let_in(ann, bob)
            _posts(bob).leave()
            await ann.until(
                MemberStatusChanged, lambda one: (one.sender_id, one.status) == (bob.node.sender_id, "left")
            )
            assert len(private(ann).roster.members) == 2
            _say(ann, "after bob left")
            await _until_said(bob, "after bob left")

    run(scenario)
