"""Retrieval hints: named once a Store has confirmed a message, and used by whoever lacks it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.node.events import MessageDelivered, PresenceChanged
from sdschat.node.store_client import client
from sdschat.node.store_client.events import StoreAsked
from sdschat.node.store_client.hint import hint_of, read_hint
from sdschat.wire.store_codec import StoreAnswer, StoreQuery
from tests.storenode.test_fetching import SLOW
from tests.storenode.worlds import deaf, hearing, keeper_of, stores, twist

# A sync message of a Store names what is missing with the hint of that Store, not with the one of the author.
UNTOLD = SLOW | {"sds.sync_interval": 600_000}
STORE = "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "HINTS_AFTER", 20)
    monkeypatch.setattr(client, "HINTS_EVERY", 40)
    monkeypatch.setattr(client, "GRACE", 20)


def test_a_hint_comes_back_as_it_went() -> None:
    assert read_hint(hint_of(STORE, 5)) == (STORE, 5)


@pytest.mark.parametrize("raw", [b"", b"S1", b"S2" + bytes(24), b"S1" + bytes(23), b"S1" + bytes(25), bytes(64)])
def test_hints_of_another_make_are_none_of_ours(raw: bytes) -> None:
    assert read_hint(raw) is None


def test_a_place_that_no_database_has_does_no_harm() -> None:
    hint = read_hint(b"S1" + bytes(16) + b"\xff" * 8)
    assert hint is not None
    assert hint.place < 2**63


def test_a_message_is_named_with_the_hint_of_the_store_that_confirmed_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", changes=SLOW)
            keeper_of(server).advance = lambda now: None  # type: ignore[method-assign]  # names no hints itself
            ann = w.start_asking("ann", changes=SLOW)
            await ann.until(PresenceChanged)
            first = ann.node.send("lobby", "first")
            await server.until(MessageDelivered)
            state = ann.node.sessions["lobby"].channel.state
            while first.message_id not in state.hints:
                await asyncio.sleep(0.005)
            assert "hints" in [fact.why for fact in ann.of(StoreAsked)]
            second = ann.node.send("lobby", "second")
            hints = {entry.message_id: entry.retrieval_hint for entry in second.causal_history}
            named = read_hint(hints[first.message_id] or b"")
            assert named is not None
            assert named.store == server.node.sender_id

    asyncio.run(story())


def test_without_a_confirmation_there_is_no_hint(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", changes=SLOW)
            keeper_of(server).advance = lambda now: None  # type: ignore[method-assign]  # names no hints itself
            ann = w.start_asking("ann", changes=SLOW)
            await ann.until(PresenceChanged)
            twist(
                server, lambda query, answer: StoreAnswer(query.query_id, (), tuple(w.message_id for w in query.wanted))
            )
            ann.node.send("lobby", "first")
            await ann.until(StoreAsked, lambda fact: fact.why == "hints")
            for _ in range(50):
                await asyncio.sleep(0)
            assert [entry.retrieval_hint for entry in ann.node.send("lobby", "second").causal_history] == [None]

    asyncio.run(story())


def test_the_store_that_a_hint_names_is_asked_and_finds_it_by_the_hint(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            servers = [w.start_store(name, changes=UNTOLD)[0] for name in ("keeper", "other", "third")]
            ann, bob = w.start_asking("ann", changes=UNTOLD), w.start_asking("bob", changes=UNTOLD)
            asked: list[tuple[str, StoreQuery]] = []

            for server in servers:

                def note(query: StoreQuery, answer: StoreAnswer, name: str = server.node.sender_id) -> StoreAnswer:
                    asked.append((name, query))
                    return answer

                twist(server, note)
                await ann.until(PresenceChanged, lambda p, nick=server.node.nick: p.nick == nick)  # type: ignore[misc]
                await bob.until(PresenceChanged, lambda p, nick=server.node.nick: p.nick == nick)  # type: ignore[misc]
            await ann.until(PresenceChanged, lambda p: p.nick == "bob")
            deaf(bob)
            missed = ann.node.send("lobby", "missed")
            state = ann.node.sessions["lobby"].channel.state
            while missed.message_id not in state.hints:
                await asyncio.sleep(0.005)
            hint = read_hint(state.hints[missed.message_id])
            assert hint is not None
            hearing(bob)
            ann.node.send("lobby", "after")
            await bob.until_texts("missed", "after")
            [(name, query)] = [(name, query) for name, query in asked if not query.confirm]
            assert name == hint.store
            assert read_hint(query.wanted[0].hint) == hint

    asyncio.run(story())


def test_a_store_that_never_has_it_is_not_asked_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "HINTS_EVERY", 5)

    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", changes=SLOW)
            keeper_of(server).advance = lambda now: None  # type: ignore[method-assign]  # names no hints itself
            twist(
                server, lambda query, _: StoreAnswer(query.query_id, (), tuple(one.message_id for one in query.wanted))
            )
            ann = w.start_asking("ann", changes=SLOW)
            await ann.until(PresenceChanged)
            ann.node.send("lobby", "first")
            tries = client.HINTS_TRIES
            async with asyncio.timeout(15):
                while len([fact for fact in ann.of(StoreAsked) if fact.why == "hints"]) < tries + 1:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(1.0)
            assert len([fact for fact in ann.of(StoreAsked) if fact.why == "hints"]) == tries + 1

    asyncio.run(story())
