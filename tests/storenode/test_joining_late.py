"""Somebody who comes a day later sees all of it, in order, verified, though only the Store is still there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.catchup.values import CatchUpState
from sdschat.node.events import CatchingUp, MessageDelivered, PresenceChanged
from sdschat.sds.events import RepairRequested
from sdschat.store.reader import Reader
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.store_codec import StoreAnswer, StoreQuery
from tests.node.worlds import Member
from tests.storenode.test_fetching import SLOW
from tests.storenode.worlds import Stores, keeper_of, silence, stores, transport_of, twist

DAY = 24 * 3600 * 1000
CALM = SLOW | {"sds.sync_interval": 2_000}
CODEC = SdsCodec()


async def _chat_of_yesterday(w: Stores, count: int) -> tuple[Member, list[str]]:
    """Ann and Bob talk, a Store hears it, and both leave. Gives the texts in the order of the log."""
    server, _ = w.start_store("keeper", "hall", changes=CALM)
    server.node.clock.skew = -DAY
    server.node.join("lobby")
    ann, bob = (w.start_late(name, skew=-DAY, changes=CALM) for name in ("ann", "bob"))
    await ann.until(PresenceChanged, lambda p: p.nick == "bob")
    for number in range(count):
        (ann, bob)[number % 2].node.send("lobby", f"number {number}")
        await asyncio.sleep(0)
    await server.until_texts(*(f"number {number}" for number in range(count)))
    for member in (ann, bob):
        await member.until_texts(*(f"number {number}" for number in range(count)))
        await member.node.close(0.1)
    server.node.clock.skew = 0
    return server, _log(w, "keeper")


def _log(w: Stores, name: str) -> list[str]:
    with Reader.open(w.path(name), CODEC) as reader:
        return [message.text or "" for message in reader.messages("lobby")]


def test_who_comes_a_day_later_sees_all_of_it_from_the_store(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            _, texts = await _chat_of_yesterday(w, 60)
            carol = w.start_late("carol", changes=CALM)
            await carol.until_texts(*texts)
            assert _log(w, "carol") == texts
            told = carol.of(MessageDelivered)
            assert {one.via for one in told} == {"store"}
            assert all(one.said.opened.verdict.signed for one in told)
            assert len({one.said.message.message_id for one in told}) == len(told)
            assert carol.of(RepairRequested) == []

    asyncio.run(story())


def test_a_store_that_falls_silent_half_way_is_left_for_a_peer_and_nothing_comes_twice(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, texts = await _chat_of_yesterday(w, 60)
            dora = w.start_late("dora", changes=CALM)
            await dora.until_texts(*texts)
            await dora.until(CatchingUp, lambda told: told.state == CatchUpState.DONE)
            answered = 0

            def few(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                nonlocal answered
                answered += query.range is not None
                if answered > 2:
                    silence(server)
                    transport_of(server).drop()
                return answer

            twist(server, few)
            keeper_of(server)._answers.page_bytes = 3000
            carol = w.start_late("carol", changes=CALM)
            await carol.until_texts(*texts)
            assert _log(w, "carol") == texts
            told = [one.said.message.message_id for one in carol.of(MessageDelivered)]
            assert len(told) == len(set(told)) == 60
            assert answered > 2
            assert {one.via for one in carol.of(MessageDelivered)} == {"store", "sync"}

    asyncio.run(story())


def test_a_store_that_hides_pages_is_noticed_and_what_it_hides_comes_from_a_peer(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, texts = await _chat_of_yesterday(w, 60)
            dora = w.start_late("dora", changes=CALM)
            await dora.until_texts(*texts)
            await dora.until(CatchingUp, lambda told: told.state == CatchUpState.DONE)

            def hides(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                kept = tuple(item for at, item in enumerate(answer.items) if query.range is None or at % 3)
                return answer._replace(items=kept)

            twist(server, hides)
            carol = w.start_late("carol", changes=CALM)
            await carol.until_texts(*texts)
            assert _log(w, "carol") == texts

    asyncio.run(story())
