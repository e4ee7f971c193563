"""Missing dependencies are asked of a Store first, and left to repair where that does not help."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdschat.identity.signing import Identity
from sdschat.node.events import MessageDelivered, PresenceChanged
from sdschat.node.settings import Value
from sdschat.node.store_client.envelope import ANSWER, SealedQuery, seal, unseal
from sdschat.node.store_client.events import StoreAnswered, StoreAsked, StoreLeft, StoreSilent
from sdschat.sds.events import RepairRequested
from sdschat.sds.values import Message
from sdschat.store.reader import Reader
from sdschat.transport.base import Received
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.store_codec import Item, Sealed, StoreAnswer, StoreQuery, decode_query, encode_answer, encode_sealed
from tests.node.worlds import Member
from tests.storenode.worlds import Stores, client_of, deaf, hearing, silence, stores, twist

# Repair and resending take so long that only a Store can help within a test.
SLOW: dict[str, Value] = {
    "repair.t_min": 60_000,
    "repair.t_max": 120_000,
    "push.enabled": False,
    "sds.resend_unacked": 60_000,
    "sds.resend_possibly_acked": 60_000,
    "sds.resend_max": 60_000,
}
CODEC = SdsCodec()


async def _miss(ann: Member, bob: Member, servers: list[Member], texts: tuple[str, ...] = ("missed",)) -> list[str]:
    """Bob does not hear what ann says, while the Stores do, and then hears something that depends on it."""
    for server in servers:
        await bob.until(PresenceChanged, lambda p, nick=server.node.nick: p.nick == nick)  # type: ignore[misc]
    ann.node.send("lobby", "before")
    await bob.until_texts("before")
    deaf(bob)
    missed = [ann.node.send("lobby", text).message_id for text in texts]
    for server in servers:
        await server.until(MessageDelivered, lambda m: m.said.message.message_id == missed[-1])
    hearing(bob)
    ann.node.send("lobby", "after")
    return missed


def _via(member: Member) -> dict[str, str]:
    return {told.said.opened.text or "": told.via for told in member.of(MessageDelivered)}


def _three(w: Stores, changes: dict[str, Value] = SLOW) -> tuple[Member, Member, Member]:
    server, _ = w.start_store("keeper", changes=changes)
    return server, w.start_asking("ann", changes=changes), w.start_asking("bob", changes=changes)


def test_what_was_missed_comes_from_the_store_and_the_channel_is_not_asked(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ann, bob = _three(w)
            [missed] = await _miss(ann, bob, [server])
            await bob.until_texts("before", "missed", "after")
            assert _via(bob)["missed"] == "store"
            asked = [fact for fact in bob.of(StoreAsked) if fact.why == "missing"]
            answered = [fact for fact in bob.of(StoreAnswered) if fact.why == "missing"]
            assert (asked[0].message_ids, answered[0].message_ids) == ((missed,), (missed,))
            assert bob.of(RepairRequested) == []
            with Reader.open(w.path("bob"), CODEC) as reader:
                told = [(row.event, row.peer, row.deps, row.cause) for row in reader.journal("lobby")]
            assert ("store_asked", server.node.sender_id, (missed,), "missing") in told
            assert ("store_answered", server.node.sender_id, (missed,), "missing") in told

    asyncio.run(story())


def test_a_chain_of_missing_messages_is_walked_without_waiting(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ann, bob = _three(w, SLOW | {"sds.causal_history": 1})
            texts = tuple(f"missed {number}" for number in range(12))
            await _miss(ann, bob, [server], texts)
            await bob.until_texts("before", *texts, "after")
            assert {via for text, via in _via(bob).items() if text.startswith("missed")} == {"store"}

    asyncio.run(story())


def test_without_a_store_repair_does_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            ann, bob = w.start_asking("ann"), w.start_asking("bob")
            await bob.until(PresenceChanged)
            await _miss(ann, bob, [])
            await bob.until_texts("before", "missed", "after")
            assert bob.of(StoreAsked) == []
            assert _via(bob)["missed"] != "store"

    asyncio.run(story())


def test_what_the_store_has_not_is_left_to_repair(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ann, bob = _three(w, SLOW | {"repair.t_min": 700, "repair.t_max": 900})

            def denies(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                return StoreAnswer(query.query_id, (), tuple(one.message_id for one in query.wanted))

            twist(server, denies)
            [missed] = await _miss(ann, bob, [server])
            await bob.until_texts("before", "missed", "after")
            assert _via(bob)["missed"] == "repair"
            assert missed in [name for fact in bob.of(StoreAnswered) for name in fact.unknown]

    asyncio.run(story())


def _with(packet: bytes, **changes: Any) -> bytes:
    message = CODEC.decode(packet)
    assert isinstance(message, Message)
    return CODEC.encode(replace(message, **changes))


def test_a_message_under_another_name_than_its_author_signed_is_not_taken_from_a_store(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ann, bob = _three(w, SLOW | {"repair.t_min": 700, "repair.t_max": 900})

            def renames(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                items = [item._replace(packet=_with(item.packet, sender_id="eve")) for item in answer.items if item[1]]
                return answer._replace(items=tuple(items))

            twist(server, renames)
            await _miss(ann, bob, [server])
            await bob.until_texts("before", "missed", "after")
            told = {one.said.opened.text: one for one in bob.of(MessageDelivered)}
            assert told["missed"].via == "repair"
            assert told["missed"].said.message.sender_id == ann.node.sender_id

    asyncio.run(story())


def test_a_store_that_lies_is_left_and_the_other_one_asked(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ann, bob = _three(w)
            liar, _ = w.start_store("liar", changes=SLOW)

            def forges(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                items = tuple(
                    item._replace(packet=_with(item.packet, content=b"SDC1 forged")) if item.packet else item
                    for item in answer.items
                )
                return answer._replace(items=items)

            twist(liar, forges)
            for round_number in range(6):  # each question goes to either of the two
                await _one_round(bob, ann, [server, liar], round_number)
                assert _via(bob)[f"missed {round_number}"] == "store"
                if bob.of(StoreLeft):
                    break
            left = await bob.until(StoreLeft)
            assert (left.store_id, left.nick) == (liar.node.sender_id, "liar")
            assert "other bytes" in left.detail
            assert all("forged" not in text for text in bob.texts())

    asyncio.run(story())


def test_a_silent_store_costs_a_moment_and_the_other_one_answers(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ann, bob = _three(w)
            mute, _ = w.start_store("mute", changes=SLOW)
            silence(mute)
            client_of(bob)._requests.patience = 1000
            for round_number in range(40):  # which of the two is asked is drawn
                await _one_round(bob, ann, [server, mute], round_number)
                if any(fact.store_id == mute.node.sender_id for fact in bob.of(StoreSilent)):
                    break
            assert mute.node.sender_id in [fact.store_id for fact in bob.of(StoreSilent)]
            assert {via for text, via in _via(bob).items() if text.startswith("missed")} == {"store"}

    asyncio.run(story())


async def _one_round(bob: Member, ann: Member, servers: list[Member], number: int) -> None:
    for server in servers:
        await bob.until(PresenceChanged, lambda p, nick=server.node.nick: p.nick == nick)  # type: ignore[misc]
    deaf(bob)
    sent = ann.node.send("lobby", f"missed {number}")
    for server in servers:
        await server.until(
            MessageDelivered,
            lambda m, name=sent.message_id: m.said.message.message_id == name,  # type: ignore[misc]
        )
    hearing(bob)
    ann.node.send("lobby", f"after {number}")
    await bob.until(MessageDelivered, lambda m: m.said.opened.text == f"missed {number}")


def test_answers_that_nobody_asked_for_or_that_another_signed_change_nothing(tmp_path: Path) -> None:
    """Anybody can write on our answer topic: neither a message nor the standing of a Store may come of that."""

    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ann, bob = _three(w)
            silence(server)
            forger, me = Identity(b"f" * 32), bob.node.sender_id
            outsider = w.network.transport()
            asked: list[StoreQuery] = []

            def hear(event: object) -> None:
                if isinstance(event, Received):
                    letter = unseal(event.payload, 100_000)
                    query = decode_query(letter.sealed.body) if isinstance(letter, SealedQuery) else None
                    assert isinstance(query, StoreQuery)
                    asked.append(query)
                    item = Item(query.wanted[0].message_id, b"rubbish")
                    lie = encode_answer(StoreAnswer(query.query_id, (item,)))
                    outsider.publish(f"sds/1/lobby/store/answer/{me}", seal(forger, ANSWER, "lobby", me, lie))
                    borrowed = encode_sealed(Sealed(server.node.gate.identity.public_key, b"s" * 64, lie))
                    outsider.publish(f"sds/1/lobby/store/answer/{me}", borrowed)
                    other = encode_answer(StoreAnswer(bytes(8), (item,)))
                    outsider.publish(f"sds/1/lobby/store/answer/{me}", seal(forger, ANSWER, "lobby", me, other))
                    outsider.publish(f"sds/1/lobby/store/answer/{me}", b"rubbish")

            outsider.listen(hear)
            outsider.subscribe(f"sds/1/lobby/store/query/{me}")
            outsider.start()
            await _miss(ann, bob, [server])
            await bob.until(StoreAsked, lambda fact: fact.why == "missing")
            for _ in range(100):
                await asyncio.sleep(0)
            assert asked
            assert bob.of(StoreLeft) == []
            assert [fact for fact in bob.of(StoreAnswered) if fact.why == "missing"] == []

    asyncio.run(story())
