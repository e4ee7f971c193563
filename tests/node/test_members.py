"""Members' channels on nodes: who is let in, what is said, changed and taken back, and who is put out."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from sdschat.cli.histories import WantedHistory
from sdschat.cli.local_histories import MembersHistory
from sdschat.cli.log_formats import as_text
from sdschat.node.events import (
    CheckpointPassed,
    ConnectionChanged,
    DataSetFound,
    DeliveryChanged,
    Knocked,
    MemberStatusChanged,
    OperationPlaced,
    PostDeleted,
    PostEdited,
    PostSaid,
    TroubleMet,
)
from sdschat.node.members.channel import MembersChannel
from sdschat.node.members.events import MemberPost
from sdschat.node.members.opening import install
from sdschat.node.members.saved import ChannelStatus, create_members, saved_posts, saved_status
from sdschat.node.node import Node
from sdschat.node.recording.reader import read_recording
from sdschat.node.recording.recorder import Recorder
from sdschat.node.settings import Value
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import MembersConversation
from sdschat.transport.base import Topics
from tests.node.worlds import PATIENCE, Member, World, world

SHORT: dict[str, Value] = {
    "timber.heartbeat": 100,
    "timber.stagger": 30,
    "timber.retry": 200,
    "timber.sync_interval": 200,
}


def _create(node: Node) -> None:
    install(node)
    create_members(node.profile.store, node.gate.identity, "garden", node.settings.timber)


def _channel(member: Member) -> MembersChannel:
    found = member.node.sessions["garden"].members
    assert found is not None
    return found


def _texts(member: Member) -> list[str]:
    return [view.post.text for view in _channel(member).engine.posts()]


def _saved(member: Member) -> list[MemberPost]:
    """Return the posts as `log` reads them from the disk."""
    store = member.node.profile.store
    with contextlib.closing(store.open_read_only(store.path, member.node.profile.codec)) as reader:
        return saved_posts(reader, "garden", member.node.sender_id, member.node.nick)


def _status(member: Member) -> ChannelStatus:
    """Return what `timber status` reads from the disk."""
    store = member.node.profile.store
    with contextlib.closing(store.open_read_only(store.path, member.node.profile.codec)) as reader:
        return saved_status(reader, "garden", 8, member.node.nick, member.node.sender_id)


def _logged(member: Member) -> list[str]:
    """Return the lines of `log`."""
    store = member.node.profile.store
    with contextlib.closing(store.open_read_only(store.path, member.node.profile.codec)) as reader:
        history = MembersHistory(reader, "garden", member.node.sender_id, member.node.nick)
        return [as_text(one) for one in history.wanted(WantedHistory("garden", "", None, None, "", None))]


def _files_with(member: Member, text: str) -> list[str]:
    files = member.node.profile.store.path.parent.iterdir()
    return [file.name for file in files if text.encode() in file.read_bytes()]


def _start(place: World, name: str, **changes: Value) -> Member:
    return place.start(name, "garden", changes=SHORT | changes, before=_create if name == "ann" else install)


async def _let_in(host: Member, guest: Member) -> None:
    await host.until(Knocked, lambda knock: knock.sender_id == guest.node.sender_id)
    _channel(host).invite(guest.node.sender_id)
    sender_id = guest.node.sender_id
    await guest.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (sender_id, "member"))


def test_posts_of_somebody_who_is_muted_are_told_neither_by_events_nor_by_log(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            await _let_in(ann, bob)
            first = bob.node.say("garden", "before")
            await ann.until(PostSaid)
            ann.node.mute(bob.node.sender_id, True)
            noise = bob.node.say("garden", "noise")
            _channel(bob).edit(noise, "more noise")
            _channel(bob).edit(first, "changed")
            gone = bob.node.say("garden", "a slip")
            _channel(bob).delete(gone)
            await ann.until(OperationPlaced, lambda one: one.kind == "delete")
            own = ann.node.say("garden", "mine", reply_to=first)
            await ann.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (own, "settled"))
            assert _texts(ann) == ["changed", "more noise", "mine"]
            told = [one.post.text for one in ann.of(PostSaid)]
            assert (told, ann.of(PostEdited), ann.of(PostDeleted)) == (["before", "mine"], [], [])
            assert [line.partition("ann")[2] for line in _logged(ann)] == [": mine"]
            ann.node.mute(bob.node.sender_id, False)
            assert len(_logged(ann)) == 3

    asyncio.run(story())


def test_create_knock_invite_say_edit_and_delete(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            found = await bob.until(DataSetFound)
            assert found.data_set == _channel(ann).data_set
            assert found.creator == ann.node.sender_id
            await _let_in(ann, bob)
            first = bob.node.say("garden", "hello there")
            said = await ann.until(PostSaid)
            assert (said.post.message_id, said.post.sender_id, said.post.nick) == (first, bob.node.sender_id, "bob")
            second = ann.node.say("garden", "a secret")
            await bob.until(PostSaid, lambda one: one.post.message_id == second)
            _channel(bob).edit(first[:10], "hello all")
            assert await ann.until(PostEdited) == PostEdited(first, "hello all", bob.node.sender_id)
            _channel(ann).delete(second)
            assert (await bob.until(PostDeleted))[:2] == (second, False)
            await ann.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (second, "settled"))
            await bob.until(CheckpointPassed, lambda one: one.alive == 1)
            assert _texts(ann) == _texts(bob) == ["hello all"]
            assert [told.post.message_id for told in ann.of(PostSaid)] == [first, second]

    asyncio.run(story())


def test_a_post_that_is_changed_is_settled_again_only_once_all_have_the_change(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            await _let_in(ann, bob)
            said = ann.node.say("garden", "the meeting is on Monday")
            await ann.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (said, "settled"))
            Injection(bob.node, "garden").offline(True)
            _channel(ann).edit(said, "the meeting is on Tuesday")
            await ann.until(PostEdited)
            conversation = Conversations(ann.node).conversation("garden")
            assert isinstance(conversation, MembersConversation)
            assert conversation.delivery(said) == "written here"
            journey = conversation.journey(said)
            assert journey.word == "written"
            assert journey.writer is not None
            assert journey.writer.own
            assert [(one.nick, one.sender_id) for one in journey.lacking] == [("bob", bob.node.sender_id)]
            Injection(bob.node, "garden").offline(False)

            def states() -> list[str]:
                return [one.state for one in ann.of(DeliveryChanged) if one.message_id == said]

            await ann.until(DeliveryChanged, lambda _: states().count("settled") == 2)
            assert "written" in states()[states().index("settled") :]
            assert conversation.delivery(said) == "settled"
            assert [post.edited for post in _saved(bob)] == [True]

    asyncio.run(story())


def test_a_recording_has_nothing_of_a_members_channel_and_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        file = tmp_path / "run.jsonl"
        recorders: list[Recorder] = []

        def record(node: Node) -> None:
            recorders.append(Recorder(node, file))
            install(node)

        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), place.start("bob", "garden", "lobby", changes=SHORT, before=record)
            await _let_in(ann, bob)
            bob.node.say("garden", "a secret")
            bob.node.send("lobby", "in the open")
            await ann.until(PostSaid)
            trouble = [one.detail for one in bob.of(TroubleMet)]
            assert len(trouble) == 1
            assert trouble[0].startswith("garden is not recorded")
        recorders[0].close()
        kept = file.read_text()
        assert "in the open" in kept
        assert "a secret" not in kept
        assert {"PostSaid", "CheckpointPassed"}.isdisjoint(
            step.fields["f"]["o"] for step in read_recording(file).steps if "f" in step.fields
        )

    asyncio.run(story())


def test_posts_of_others_below_the_read_mark_are_unread_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            await _let_in(ann, bob)
            ann.node.say("garden", "read")
            await bob.until(PostSaid)
            before = Conversations(bob.node).channel("garden")
            before.mark_read(before.messages()[-1].key)
            bob.node.say("garden", "my own")
            last = ann.node.say("garden", "not read")
            await bob.until(PostSaid, lambda one: one.post.message_id == last)
            await bob.until(CheckpointPassed, lambda one: one.alive == 3)
            assert Conversations(bob.node).channel("garden").unread() == 1
            assert _saved(bob) == [placed.post for placed in _channel(bob).log.after((0, ""))], (
                "on the disk as in memory"
            )

    asyncio.run(story())


@pytest.mark.parametrize("instead", [b"", b"something else"])
def test_a_newcomer_finds_the_data_set_also_where_its_announcement_was_taken_away(
    instead: bytes, tmp_path: Path
) -> None:
    """Anybody can do that with one packet: whoever came then took the channel for an open one."""

    async def story() -> None:
        async with world(tmp_path) as here:
            ann = here.start("ann", "garden", changes=SHORT, before=_create)
            topic, retained = Topics("garden").announcement, here.network.retained
            async with asyncio.timeout(PATIENCE):
                while topic not in retained or _channel(ann)._announced.due is not None:
                    await asyncio.sleep(0.05)
                kept = retained[topic]
                here.network.pass_on(topic, instead, True)
                while retained.get(topic) != kept:
                    await asyncio.sleep(0.05)
            bob = here.start("bob", "garden", changes=SHORT, before=install)
            await bob.until(DataSetFound)

    asyncio.run(story())


def test_whoever_was_put_out_and_comes_back_knocks(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob, cid = _start(place, "ann"), _start(place, "bob"), _start(place, "cid")
            await _let_in(ann, bob)
            await _let_in(ann, cid)
            gone = cid.node.sender_id
            await cid.node.close(0.1)
            for at in range(10):
                for one, other in ((ann, bob), (bob, ann)):
                    said = one.node.say("garden", f"post {at}")
                    await other.until(PostSaid, lambda told, said=said: told.post.message_id == said)  # type: ignore[misc]
            await ann.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (gone, "evicted"))
            told = len(ann.of(Knocked))
            again = _start(place, "cid")
            await again.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (gone, "evicted"))
            await ann.until(Knocked, lambda knock: knock in ann.of(Knocked)[told:])
            assert ann.of(Knocked)[told:] == [Knocked(gone, "cid")]
            waits = again.node.say("garden", "I am back")
            await again.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (waits, "queued"))
            await again.node.close(0.1)
            again = _start(place, "cid")
            first = await again.until(MemberStatusChanged)
            assert (first.sender_id, first.status) == (gone, "evicted"), "told at the start"
            assert not again.of(DataSetFound)
            assert (_status(again).phase, _status(ann).phase) == ("put_out", "settled")
            assert [(one.nick, one.standing) for one in _status(ann).outside] == [("cid", "removed")]
            _channel(ann).invite(gone)
            await again.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (gone, "member"))
            await again.until(DeliveryChanged, lambda one: one.state == "settled")
            assert "I am back" in _texts(ann)

    asyncio.run(story())


def test_a_post_that_waits_for_admission_is_changed_and_taken_back_but_not_answered(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            await bob.until(DataSetFound)
            waiting = bob.node.say("garden", "may I come in?")
            await bob.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (waiting, "queued"))
            with pytest.raises(ValueError, match="waits until a member lets you in"):
                _channel(bob).say("please", reply_to=waiting)
            assert _channel(bob).edit(waiting[:10], "let me in") == waiting
            assert await bob.until(PostEdited) == PostEdited(waiting, "let me in", bob.node.sender_id)
            second = bob.node.say("garden", "a hasty word")
            assert _channel(bob).delete(second) == second
            assert (await bob.until(PostDeleted))[:2] == (second, True)
            third = bob.node.say("garden", "nobody has the id of what was taken back")
            assert third != second
            await bob.until(DeliveryChanged, lambda one: one.message_id == third)
            shown = [placed.post for placed in _channel(bob).log.after((0, ""))]
            assert [(post.message_id, post.text, post.waiting) for post in shown] == [
                (waiting, "let me in", True),
                (third, "nobody has the id of what was taken back", True),
            ]
            assert _saved(bob) == shown
            assert [line.partition(" bob: ")[2] for line in _logged(bob)] == [f"{one.text} [queued]" for one in shown]
            assert not any(_files_with(bob, text) for text in ("may I come in?", "a hasty word"))
            await _let_in(ann, bob)
            await ann.until(PostSaid, lambda one: one.post.text == shown[-1].text)
            assert _texts(ann) == ["let me in", shown[-1].text]

    asyncio.run(story())


def test_whoever_knocks_is_told_so_again_after_a_restart_and_whoever_left_is_not(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann, bob = _start(place, "ann"), _start(place, "bob")
            found = await bob.until(DataSetFound)
            bob.node.say("garden", "may I come in?")
            await bob.until(DeliveryChanged)
            await bob.node.close(0.1)
            bob = _start(place, "bob")
            assert await bob.until(DataSetFound) == found
            assert [shown.text for shown in Conversations(bob.node).channel("garden").messages()] == ["may I come in?"]
            await _let_in(ann, bob)
            await bob.until(DeliveryChanged, lambda one: one.state == "settled")
            _channel(bob).leave()
            gone = bob.node.sender_id
            await bob.until(MemberStatusChanged, lambda one: (one.sender_id, one.status) == (gone, "left"))
            await bob.node.close(0.1)
            bob = _start(place, "bob")
            await bob.until(ConnectionChanged, lambda one: one.state == "connected")
            assert not bob.of(DataSetFound)

    asyncio.run(story())


def test_what_became_of_a_post_is_known_before_the_channel_is_joined(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann = _start(place, "ann")
            said = ann.node.say("garden", "settled at once, alone")
            await ann.until(DeliveryChanged, lambda one: (one.message_id, one.state) == (said, "settled"))
            await ann.node.close(0.1)
            ann = place.start("ann", "lobby", changes=SHORT, before=install)
            garden = Conversations(ann.node).channel("garden")
            assert isinstance(garden, MembersConversation)
            assert garden.delivery(said) == "settled"
            assert garden.delivery("ab" * 32) == ""

    asyncio.run(story())
