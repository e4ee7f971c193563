"""Row 3 of the threats: plain content under an invented name, put under the id of a message before that one is here."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.identity.keyfile import load_or_create
from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.catching import log_of
from tests.node.test_sharing import fingerprint_in, shared
from tests.node.worlds import world

CODEC = SdsCodec()


def test_a_page_tells_no_fingerprint_of_the_log_before_a_refused_message_whose_id_is_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            session = ann.node.sessions["lobby"]
            parent = ann.node.send("lobby", "one").message_id
            await ann.until_texts("one")
            dated = session.channel.state.clock.value
            child = Message("nobody", "c" * 64, "lobby", dated - 1, (HistoryEntry(parent),), content=b"older")
            session.receive(CODEC.encode(child), "live")
            ann.node.send("lobby", "two")
            await ann.until_texts("one", "two")
            state = fingerprint_in(ann.node)
            session.receive(b"no packet", "live")  # it is refused too, and has no id
            ann.node.send("lobby", "three")
            await ann.until_texts("one", "two", "three")
            first, second, third = (line for line in shared(ann.node).lines if line["event"] == "delivered")
            assert "fingerprint" not in first
            assert (second["messages"], second["fingerprint"]) == (3, state)
            assert (third["messages"], third["fingerprint"]) == (4, fingerprint_in(ann.node))

    asyncio.run(story())


@pytest.mark.parametrize("way", ["live", "store"])
def test_the_signed_message_takes_its_place(tmp_path: Path, way: str) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob = load_or_create(tmp_path / "bob")
            session = ann.node.sessions["lobby"]
            lamport = session.channel.state.clock.value + 1
            true = signed_message(bob, "lobby", "trueword", lamport, nick="bob")
            false = Message("nobody", true.message_id, "lobby", lamport + 1, content=b"falseword")
            session.receive(CODEC.encode(false), way)
            await ann.until_texts("falseword")
            session.receive(CODEC.encode(true), way)
            await ann.until_texts("falseword", "trueword")
            assert log_of(ann) == ["trueword"]
            found = "SELECT count(*) FROM search WHERE search MATCH ?"
            hits = [
                ann.node.profile.store.connection.execute(found, (word,)).fetchone()[0]
                for word in ("falseword", "trueword")
            ]
            assert hits == [0, 1]
            assert ann.node.profile.store.messages("lobby") == 1
            await ann.node.close(0.1)
            again = w.start("ann")
            assert not again.node.profile.store.losses
            assert log_of(again) == ["trueword"]

    asyncio.run(story())


def test_a_message_that_nobody_signed_takes_no_place_by_that(tmp_path: Path) -> None:
    """The false one is here, so that the signature of the next is to be looked at all the same."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob, eve = load_or_create(tmp_path / "bob"), load_or_create(tmp_path / "eve")
            session = ann.node.sessions["lobby"]
            lamport = session.channel.state.clock.value + 1
            signed = signed_message(eve, "lobby", "never said", lamport, nick="bob")
            forged = Message(bob.sender_id, signed.message_id, "lobby", lamport, content=signed.content)
            for message in (Message("nobody", signed.message_id, "lobby", lamport, content=b"plain"), forged):
                session.receive(CODEC.encode(message), "live")
            ann.node.send("lobby", "after it")
            await ann.until_texts("plain", "after it")

    asyncio.run(story())
