"""Catching up where one Store is all there is: it is busy, or dies and comes back, and all of it comes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from sdschat.node.events import MessageDelivered, PresenceChanged
from sdschat.node.store_client.events import StoreLeft, StoreSilent
from sdschat.sds.values import Append, Entry, LogRow
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.wire.store_codec import StoreAnswer, StoreQuery
from tests.node.catching import CODEC, DAY, caught_up, log_of, say, start, stop
from tests.node.worlds import Member, World, world
from tests.storenode.worlds import Twist, keeper_of, twist

TEXTS = [f"number {number}" for number in range(300)]
SOON = 30.0  # seconds after the Store is back


async def _only_a_store(w: World) -> Member:
    """A Store with a history of yesterday, and nobody else. Its pages are small."""
    ann, store = start(w, "ann", ago=DAY), start(w, "store", ago=DAY, store=True)
    await say(ann, *TEXTS)
    await store.until_texts(*TEXTS)
    await stop(w, ann)
    await stop(w, store)
    return _back(w)


def _back(w: World) -> Member:
    store = start(w, "store", store=True)
    keeper_of(store)._answers.page_bytes = 24_000
    return store


def test_a_store_that_is_busy_for_a_while_is_asked_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            store = await _only_a_store(w)
            pages = 0

            def busy(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                nonlocal pages
                pages += query.range is not None
                return StoreAnswer(query.query_id, refused="busy") if pages == 3 else answer

            twist(store, busy)
            keeper_of(store)._answers.page_bytes = 24_000
            bob = start(w, "bob", alone=True)
            began = time.monotonic()
            await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert [told.reason for told in bob.of(StoreSilent)] == ["busy"]
            assert time.monotonic() - began < SOON

    asyncio.run(story())


def test_a_store_that_dies_and_comes_back_is_asked_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            store = await _only_a_store(w)
            bob = start(w, "bob", alone=True)
            await bob.until(MessageDelivered, lambda told: told.via == "store")
            me = store.node.sender_id
            await stop(w, store)
            await bob.until(PresenceChanged, lambda told: told.sender_id == me and not told.online)
            assert len(log_of(bob)) < len(TEXTS)
            _back(w)
            began = time.monotonic()
            await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert time.monotonic() - began < SOON

    asyncio.run(story())


def _omits(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
    """Every tenth message is left out of pages and denied by its id."""
    kept = tuple(item for at, item in enumerate(answer.items) if query.range is None or at % 10 != 9)
    return answer._replace(items=kept)


def _late_floor(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
    return StoreAnswer(query.query_id, floor=2**42)


def _impossible_floor(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
    return StoreAnswer(query.query_id, floor=2**52)


def _empty(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
    return StoreAnswer(query.query_id)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (_omits, "that it said to have"),
        (_empty, "that it said to have"),
        (_late_floor, "later than now"),
        (_impossible_floor, "cannot be read"),
    ],
)
def test_a_store_that_hides_is_named_within_ten_answers_and_all_comes_without_its_pages(
    tmp_path: Path, how: Twist, why: str
) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            store = await _only_a_store(w)
            answers = 0

            def counted(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                nonlocal answers
                answers += not bob.of(StoreLeft)
                return how(query, answer)

            bob = start(w, "bob", alone=True)
            twist(store, counted)
            left = await bob.until(StoreLeft)
            assert (left.store_id, left.nick) == (store.node.sender_id, "store")
            assert why in left.detail
            assert answers <= 10
            await caught_up(bob)
            assert log_of(bob) == TEXTS

    asyncio.run(story())


async def _store_without_every_tenth(w: World, count: int) -> Member:
    """A Store in whose log every tenth message lacks, so that its comparisons say the same as its pages."""
    texts = [f"number {number}" for number in range(count)]
    ann = start(w, "ann", ago=DAY)
    await say(ann, *texts)
    await stop(w, ann)
    store = start(w, "store", ago=DAY, store=True)
    await stop(w, store)
    with Reader.open(w.path("ann"), CODEC) as reader:
        rows = [
            LogRow(Entry(*one.key, one.sender_id, one.dependencies), one.raw or b"", False, "live", one.received_at)
            for at, one in enumerate(reader.messages("lobby", with_raw=True))
            if at % 10 != 9
        ]
    with Store.open(w.path("store"), CODEC) as archive:
        archive.commit([("lobby", list(map(Append, rows)))])
    return _back(w)


def test_a_store_that_leaves_out_what_its_own_messages_name_is_noticed_within_ten_answers(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            store = await _store_without_every_tenth(w, 600)
            answers = 0

            def counted(query: StoreQuery, answer: StoreAnswer) -> StoreAnswer:
                nonlocal answers
                answers += not bob.of(StoreLeft)
                return answer

            bob = start(w, "bob", alone=True)
            twist(store, counted)
            keeper_of(store)._answers.page_bytes = 80_000
            left = await bob.until(StoreLeft)
            assert "depend on" in left.detail
            assert answers <= 10
            await caught_up(bob)
            assert len(log_of(bob)) == 540

    asyncio.run(story())
