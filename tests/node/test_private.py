"""Private channels among nodes of one process: those with the link read and write, and nobody else gets a word."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.node.events import MessageWithheld
from sdschat.node.members.saved import create_members
from sdschat.node.private.record import create_private
from sdschat.transport.base import Received
from sdschat.transport.memory import MemoryTransport
from tests.node.privately import creator, link_of, log, private, said, say, until, until_said
from tests.node.worlds import world
from tests.transport.worlds import Recorder, run

_LIES = 300  # at most


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
