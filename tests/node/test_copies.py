"""Two copies of one message of another make: the first one stands, the difference is shown, and comparisons end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sdschat.identity.signing import Identity
from sdschat.node.channel.copies import COPY, difference_to_copy
from sdschat.node.channel.session import ChannelSession
from sdschat.node.events import CatchingUp, ConnectionChanged
from sdschat.node.silent_senders import ForgottenValues
from sdschat.node.view.conversations import Conversations
from sdschat.sds.events import RangeDiffered
from sdschat.sds.ids import content_id
from sdschat.sds.values import HistoryEntry, LogRow, Message
from sdschat.store.reader import Reader
from sdschat.store.senders import KeptBody, keep_as_ids, values_after
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.catching import caught_up, say, start
from tests.node.worlds import Member, World, world

CODEC = SdsCodec()
ID = "m1"
BOB = Identity(b"b" * 32)


def foreign(session: ChannelSession, message_id: str = ID) -> Message:
    return Message("someone", message_id, "lobby", session.channel.state.clock.value + 1, content=b"plain")


async def opened(w: World, name: str) -> tuple[Member, ChannelSession]:
    member = w.start(name)
    await member.until(ConnectionChanged, lambda c: c.state == "connected")
    return member, member.node.sessions["lobby"]


def shown(member: Member) -> str:
    view = Conversations(member.node)
    found = view.channel("lobby").message(ID)
    view.close()
    assert found is not None
    return found.other_copy


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"content": b"other"}, "another text"),
        ({"causal_history": ()}, "another causal history"),
        ({"sender_id": "other"}, "another sender (other)"),
        ({"causal_history": (HistoryEntry("m0", b"a hint"),)}, ""),
        ({"bloom_filter": b"\xff"}, ""),
        ({}, ""),
    ],
)
def test_the_difference_of_another_copy_is_kept_and_shown(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, session = await opened(w, "ann")
            session.receive(CODEC.encode(foreign(session, "m0")), "live")
            message = replace(foreign(session), causal_history=(HistoryEntry("m0"),))
            for each in (message, replace(message, **changes)):  # type: ignore[arg-type]
                session.receive(CODEC.encode(each), "live")
            ann.node.send("lobby", "after it")
            await ann.until_texts("plain", "plain", "after it")
            assert shown(ann) == words
            with Reader.open(w.path("ann"), CODEC) as reader:
                assert difference_to_copy(reader, "lobby", ID) == words

    asyncio.run(story())


def test_a_copy_of_what_nobody_signed_in_the_name_of_who_signs_is_compared_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, session = await opened(w, "ann")
            date = session.channel.state.clock.value + 1
            session.receive(CODEC.encode(signed_message(BOB, "lobby", "signed", date)), "live")
            await ann.until_texts("signed")
            message = Message(BOB.sender_id, content_id(b"plain"), "lobby", date + 1, content=b"plain")
            for each in (message, replace(message, lamport_timestamp=date + 2)):
                session.receive(CODEC.encode(each), "live")
            ann.node.send("lobby", "after it")
            await ann.until_texts("signed", "plain", "after it")
            found = difference_to_copy(ann.node.profile.store, "lobby", message.message_id)
            assert found == f"another Lamport time ({date + 2})"

    asyncio.run(story())


def test_two_that_have_different_copies_know_it_and_fall_silent(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            (ann, hers), (bob, his) = await opened(w, "ann"), await opened(w, "bob")
            message = foreign(hers)
            later = replace(message, lamport_timestamp=(message.lamport_timestamp or 0) + 1)
            hers.receive(CODEC.encode(message), "live")
            his.receive(CODEC.encode(later), "live")
            for member in (ann, bob):
                await member.until_texts("plain")
            for session in (hers, his):
                for each in (message, later):
                    session.receive(CODEC.encode(each), "live")
            await asyncio.sleep(0.01)  # a message dated no later than a copy that it names would be refused
            ann.node.send("lobby", "hello")
            await bob.until_texts("plain", "hello")
            assert shown(ann) == f"another Lamport time ({later.lamport_timestamp})"
            assert shown(bob) == f"another Lamport time ({message.lamport_timestamp})"
            before = len(ann.of(RangeDiffered)) + len(bob.of(RangeDiffered))
            await asyncio.sleep(2.0)  # ten sync intervals
            assert len(ann.of(RangeDiffered)) + len(bob.of(RangeDiffered)) - before <= 4

    asyncio.run(story())


def test_a_newcomer_sees_by_catching_up_that_there_are_two_copies_and_comparing_ends(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = start(w, "ann", alone=True)
            message = foreign(ann.node.sessions["lobby"])
            ann.node.sessions["lobby"].receive(CODEC.encode(message), "live")
            await say(ann, *(f"number {number}" for number in range(30)))
            bob = start(w, "bob", alone=True)
            # Above all of ann's, so that it is in no part with the first one, and that is fetched as a whole.
            later = replace(message, lamport_timestamp=foreign(ann.node.sessions["lobby"]).lamport_timestamp)
            bob.node.sessions["lobby"].receive(CODEC.encode(later), "live")
            await caught_up(bob)
            assert shown(bob) == f"another Lamport time ({message.lamport_timestamp})"
            told = len(bob.of(CatchingUp))
            await asyncio.sleep(1.0)  # five sync intervals
            assert len(bob.of(CatchingUp)) == told

    asyncio.run(story())


def test_the_difference_of_a_copy_goes_with_the_message(tmp_path: Path) -> None:
    """Anybody can make copies, and what was kept of them stayed for good."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, session = await opened(w, "ann")
            store = ann.node.profile.store
            for message_id in (ID, "m2/x"):
                for text in (b"plain", b"other"):
                    session.receive(CODEC.encode(replace(foreign(session, message_id), content=text)), "live")
            ann.node.send("lobby", "after it")
            await ann.until_texts("plain", "plain", "after it")
            values = [f"{COPY}lobby/{ID}", f"{COPY}lobby/m2/x"]
            assert values_after(store, COPY, "", 9) == values
            dropped = session.channel.state.delivered(ID)
            assert dropped is not None
            with store.transaction() as transaction:
                keep_as_ids(transaction, "lobby", [KeptBody(LogRow(dropped, b"", False, "live", 0), 1)])
            for _ in ForgottenValues(ann.node, store).tidy():
                pass
            assert values_after(store, COPY, "", 9) == values[1:]

    asyncio.run(story())
