"""Tests of false and altered messages: they take nobody's place in the log of a node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from sdschat.identity.keyfile import load_or_create
from sdschat.identity.signing import Identity
from sdschat.node.events import (
    ConnectionChanged,
    MessageDelivered,
)
from sdschat.sds.events import Rejected
from sdschat.sds.ids import content_id
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import HistoryEntry, Message, Reason
from sdschat.store.reader import Reader
from sdschat.wire.chat_codec import MAX_SENT_TIME, decode_envelope, encode_envelope
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import old_content, signed_message
from tests.node.worlds import world

CODEC = SdsCodec()


class Told(NamedTuple):
    """A message of bob's that ann lacks, what came under its name before it, and what became of both."""

    texts: list[str]
    rejections: dict[str, int]


def told_after(folder: Path, false: Callable[[bytes, Message], Message], forge: Callable[[Identity], bytes]) -> Told:
    """Return ann's final state if somebody first sends a false message, made by `false` from mallory's content."""

    async def story() -> Told:
        async with world(folder) as w:
            ann = w.start("ann")
            await ann.until(ConnectionChanged, lambda c: c.state == "connected")
            bob, mallory = (load_or_create(folder / name) for name in ("bob", "mallory"))
            clock = ann.node.sessions["lobby"].channel.state.clock.value
            true = signed_message(bob, "lobby", "the true one", clock + 1, nick="bob")
            for message in (false(forge(mallory), true), true):
                w.network.pass_on("sds/1/lobby/msg", CODEC.encode(message), False)
            await ann.until_texts("the true one")
            with Reader.open(w.path("ann"), CODEC) as reader:
                return Told(ann.texts(), reader.rejections("lobby").get("lobby", {}))

    return asyncio.run(story())


def _under_its_id(forged: bytes, true: Message) -> Message:
    return replace(true, content=forged)


def _under_its_id_and_dated_far_ahead(forged: bytes, true: Message) -> Message:
    return replace(true, content=forged, lamport_timestamp=MAX_LAMPORT - 1)


def _from_its_sender(forged: bytes, true: Message) -> Message:
    return replace(true, content=forged, message_id=content_id(forged))


def _placed(mallory: Identity) -> bytes:
    return signed_message(mallory, "lobby", "forged", 5, nick="bob").content or b""


def _old(mallory: Identity) -> bytes:
    return old_content(mallory, "lobby", "forged", nick="bob")


@pytest.mark.parametrize("false", [_under_its_id, _under_its_id_and_dated_far_ahead, _from_its_sender])
@pytest.mark.parametrize(("forge", "reason"), [(_placed, "altered"), (_old, "misnamed")])
def test_what_is_not_what_it_says_takes_nobody_s_place_and_is_counted(
    tmp_path: Path,
    false: Callable[[bytes, Message], Message],
    forge: Callable[[Identity], bytes],
    reason: str,
) -> None:
    assert told_after(tmp_path, false, forge) == Told(["the true one"], {reason: 1})


def _dated(message: Message) -> Message:
    return replace(message, lamport_timestamp=(message.lamport_timestamp or 0) + 1)


def _after_another(message: Message) -> Message:
    return replace(message, causal_history=(HistoryEntry("m0"),))


def _with_another_filter(message: Message) -> Message:
    return replace(message, bloom_filter=b"\xff")


def _signed_by_nobody(message: Message) -> Message:
    envelope = decode_envelope(message.content or b"")
    assert envelope is not None
    content = encode_envelope(envelope._replace(text="what bob never said"))
    return replace(message, content=content, message_id=content_id(content))


@pytest.mark.parametrize("alter", [_dated, _after_another, _with_another_filter, _signed_by_nobody])
@pytest.mark.parametrize("way", ["live", "store"])
def test_an_altered_copy_takes_nobody_s_place(tmp_path: Path, alter: Callable[[Message], Message], way: str) -> None:
    """Attack 1: whoever hears it first would have the message at another place than everybody else."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob = load_or_create(tmp_path / "bob")
            session = ann.node.sessions["lobby"]
            true = signed_message(bob, "lobby", "hello", session.channel.state.clock.value + 1, nick="bob")
            for message in (alter(true), true, alter(true)):
                session.receive(CODEC.encode(message), way)
            await ann.until_texts("hello")
            entry = session.channel.state.delivered(true.message_id)
            assert entry is not None
            assert (entry.lamport, entry.dependencies) == (true.lamport_timestamp, ())
            assert [told.reason for told in ann.of(Rejected)] == [Reason.ALTERED] * 2

    asyncio.run(story())


@pytest.mark.parametrize("way", ["live", "sync"])
def test_plain_content_takes_no_place_in_the_name_of_who_signs(tmp_path: Path, way: str) -> None:
    """Content without a signature, under the id of a message that is not here yet, would keep that message out."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob = load_or_create(tmp_path / "bob")
            session = ann.node.sessions["lobby"]
            lamport = session.channel.state.clock.value
            met = signed_message(bob, "lobby", "hello", lamport + 1, nick="bob")
            session.receive(CODEC.encode(met), way)
            await ann.until_texts("hello")
            true = signed_message(
                bob, "lobby", "the true one", lamport + 2, nick="bob", sequence=2, previous=met.message_id
            )
            session.receive(CODEC.encode(replace(true, content=b"what bob never said")), way)
            own_id = Message(bob.sender_id, content_id(b"bare text"), "lobby", lamport + 3, content=b"bare text")
            for message in (true, own_id):
                session.receive(CODEC.encode(message), way)
            await ann.until_texts("hello", "the true one", "bare text")
            assert [told.reason for told in ann.of(Rejected)] == [Reason.ALTERED]

    asyncio.run(story())


@pytest.mark.parametrize("sent_time", [MAX_SENT_TIME + 1, 2**63, 2**64 - 1])
def test_a_date_that_no_calendar_has_is_refused_and_ends_nobody(tmp_path: Path, sent_time: int) -> None:
    """A number that does not fit into the database would end every node that hears it, at each start."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob = load_or_create(tmp_path / "bob")
            session = ann.node.sessions["lobby"]
            lamport = session.channel.state.clock.value
            odd = signed_message(bob, "lobby", "at the end of time", lamport + 1, sent_time=sent_time)
            old = old_content(bob, "lobby", "at the end of time", sent_time=sent_time)
            plain = Message(bob.sender_id, content_id(old), "lobby", lamport + 2, content=old)
            true = signed_message(bob, "lobby", "now", lamport + 3, sent_time=MAX_SENT_TIME)
            for message in (odd, plain, true):
                session.receive(CODEC.encode(message), "live")
            told = await ann.until(MessageDelivered, lambda m: m.said.opened.text == "now")
            assert told.said.opened.sent_time == MAX_SENT_TIME
            assert [told.reason for told in ann.of(Rejected)] == [Reason.ALTERED]
            assert not ann.node.failed.done()

    asyncio.run(story())


def test_a_hint_may_be_added_to_what_was_signed(tmp_path: Path) -> None:
    """A Store's hint is for whoever passes a message on to add."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob = load_or_create(tmp_path / "bob")
            lamport = ann.node.sessions["lobby"].channel.state.clock.value + 1
            true = signed_message(bob, "lobby", "hello", lamport, nick="bob", history=(HistoryEntry("m0"),))
            hinted = replace(true, causal_history=(HistoryEntry("m0", b"a hint"),))
            session = ann.node.sessions["lobby"]
            session.receive(CODEC.encode(hinted), "live")
            assert session.channel.state.holds(true.message_id)

    asyncio.run(story())
