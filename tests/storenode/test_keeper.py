"""Answers of a Store, and the askers that get them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from sdschat.identity.signing import Identity
from sdschat.node.events import MessageDelivered, PresenceChanged
from sdschat.node.store_client.envelope import ANSWER, QUERY, SealedQuery, seal, unseal
from sdschat.node.store_client.hint import hint_of, read_hint
from sdschat.node.store_server.answers import Answerer
from sdschat.node.store_server.quota import Quota
from sdschat.node.store_server.server import BACKLOG
from sdschat.sds.events import SyncSent
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import Message, MessageKind
from sdschat.store.archive import ArchivedMessage, ArchiveRange
from sdschat.transport import base
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.store_codec import (
    MAX_ANSWER_BYTES,
    Range,
    StoreAnswer,
    StoreKey,
    StoreQuery,
    WantedMessage,
    decode_answer,
    encode_query,
)
from tests.node.worlds import PATIENCE, Member
from tests.storenode.worlds import Stores, keeper_of, stores, transport_of

CODEC = SdsCodec()
ASKER = Identity(b"x" * 32)


class Wire:
    """Somebody who hears everything in the channel, and sends what they like on any topic."""

    def __init__(self, w: Stores) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self._transport = w.network.transport()
        self._transport.listen(self._hear)
        self._transport.subscribe("sds/1/lobby/#")
        self._transport.start()
        self._questions = 0

    def _hear(self, event: base.Event) -> None:
        if isinstance(event, base.Received):
            self.heard.append((event.topic.removeprefix("sds/1/lobby/"), event.payload))

    def publish(self, topic: str, payload: bytes) -> None:
        self._transport.publish(f"sds/1/lobby/{topic}", payload)

    def query(self, store: Member, **asked: object) -> StoreQuery:
        self._questions += 1
        made = StoreQuery(self._questions.to_bytes(8, "big"), store.node.sender_id, int(time.time() * 1000))
        return made._replace(**asked)  # type: ignore[arg-type]

    def ask(self, query: StoreQuery, frm: str = ASKER.sender_id, channel: str = "lobby") -> None:
        self.publish(f"store/query/{frm}", seal(ASKER, QUERY, channel, query.store, encode_query(query)))

    @property
    def answers(self) -> list[StoreAnswer]:
        found = []
        for topic, payload in self.heard:
            if topic == f"store/answer/{ASKER.sender_id}":
                letter = unseal(payload, MAX_ANSWER_BYTES)
                assert isinstance(letter, SealedQuery)
                assert letter.proven(ANSWER, "lobby", ASKER.sender_id)
                answer = decode_answer(letter.sealed.body)
                assert isinstance(answer, StoreAnswer)
                found.append(answer)
        return found

    async def answer(self, query: StoreQuery) -> StoreAnswer:
        self.ask(query)
        async with asyncio.timeout(PATIENCE):
            while not (found := [one for one in self.answers if one.query_id == query.query_id]):
                await asyncio.sleep(0.001)
        return found[0]

    async def settled(self) -> None:
        """Everything that is on its way has arrived, and been answered."""
        for _ in range(200):
            await asyncio.sleep(0)


async def _archive(w: Stores, count: int) -> tuple[Member, list[str], Wire]:
    server, _ = w.start_store("keeper")
    ann = w.start("ann")
    await ann.until(PresenceChanged, lambda p: p.nick == "keeper")
    ids = [ann.node.send("lobby", f"number {number}").message_id for number in range(count)]
    for message_id in ids:
        await server.until(MessageDelivered, lambda m, name=message_id: m.said.message.message_id == name)  # type: ignore[misc]
    return server, ids, Wire(w)


def test_by_id_by_hint_and_both(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 3)
            by_id = await wire.answer(wire.query(server, wanted=(WantedMessage(ids[0]), WantedMessage("nobody's"))))
            assert [item.message_id for item in by_id.items] == ids[:1]
            assert by_id.unknown == ("nobody's",)
            hint = by_id.items[0].hint
            by_hint = await wire.answer(wire.query(server, wanted=(WantedMessage("", hint),)))
            assert by_hint.items == by_id.items
            wrong = await wire.answer(wire.query(server, wanted=(WantedMessage(ids[1], hint),)))
            assert [item.message_id for item in wrong.items] == ids[1:2]
            foreign = hint_of("f" * 32, 1)
            other = await wire.answer(
                wire.query(server, wanted=(WantedMessage(ids[2], foreign), WantedMessage("", foreign)))
            )
            assert [item.message_id for item in other.items] == ids[2:]

    asyncio.run(story())


def test_packets_are_handed_out_as_they_were_broadcast(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper")
            wire, ann = Wire(w), w.start("ann")
            await ann.until(PresenceChanged, lambda p: p.nick == "keeper")
            sent = ann.node.send("lobby", "hello")
            await server.until(MessageDelivered)
            broadcast = [payload for topic, payload in wire.heard if topic == "msg" and b"hello" in payload]
            answer = await wire.answer(wire.query(server, wanted=(WantedMessage(sent.message_id),)))
            assert answer.items[0].packet == broadcast[0]

    asyncio.run(story())


def test_pages_follow_one_another_both_ways(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 7)
            for newest_first in (False, True):
                found: list[str] = []
                after: StoreKey | None = None
                for _ in range(4):
                    asked = Range(0, MAX_LAMPORT, after, newest_first, 2)
                    answer = await wire.answer(wire.query(server, range=asked))
                    messages = [CODEC.decode(item.packet) for item in answer.items]
                    found += [message.message_id for message in messages if isinstance(message, Message)]
                    assert answer.more == (len(found) < 7)
                    after = answer.last
                assert found == (ids[::-1] if newest_first else ids)

    asyncio.run(story())


def test_a_large_answer_is_cut_and_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 5)
            keeper_of(server)._answers.page_bytes = 1500
            first = await wire.answer(wire.query(server, wanted=tuple(WantedMessage(name) for name in ids)))
            assert first.more
            got = [item.message_id for item in first.items]
            assert 0 < len(got) < 5
            page = await wire.answer(wire.query(server, range=Range(0, MAX_LAMPORT)))
            assert page.more
            assert 0 < len(page.items) < 5

    asyncio.run(story())


def test_whether_something_is_archived_is_told_without_sending_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 1)
            answer = await wire.answer(
                wire.query(server, wanted=(WantedMessage(ids[0]), WantedMessage("no")), confirm=True)
            )
            assert (answer.items[0].message_id, answer.items[0].packet, answer.unknown) == (ids[0], b"", ("no",))
            hint = read_hint(answer.items[0].hint)
            assert hint is not None
            assert hint.store == server.node.sender_id

    asyncio.run(story())


def test_only_the_store_that_is_named_answers(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 1)
            other, _ = w.start_store("other")
            for _ in range(5):
                await wire.answer(wire.query(server, wanted=(WantedMessage(ids[0]),)))
            await wire.settled()
            assert len(wire.answers) == 5
            assert keeper_of(other)._shared.counts.refused == {}

    asyncio.run(story())


def test_what_is_not_signed_by_who_asks_is_not_answered(tmp_path: Path) -> None:
    """Otherwise anybody could have a Store flood somebody else."""

    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 1)
            query = wire.query(server, wanted=(WantedMessage(ids[0]),))
            wire.ask(query, frm="a" * 32)  # in another's name
            wire.ask(query, channel="attic")  # signed for another channel
            body = encode_query(query)
            wire.publish(f"store/query/{ASKER.sender_id}", seal(ASKER, ANSWER, "lobby", query.store, body))
            wire.publish(f"store/query/{ASKER.sender_id}", b"\xff garbage")
            await wire.settled()
            assert [topic for topic, _ in wire.heard if topic.startswith("store/answer")] == []
            assert keeper_of(server)._shared.counts.refused == {"forged": 3, "unreadable": 1}

    asyncio.run(story())


def test_forged_questions_use_up_nobodys_share(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            keeper, ids, wire = await _archive(w, 1)
            keeper_of(keeper)._shared.quota = Quota(queries=2, queries_all=4)
            for _ in range(8):
                forged = wire.query(keeper, wanted=(WantedMessage(ids[0]),))
                wire.ask(forged, channel="attic")  # in the asker's name, and not signed for this channel
            answer = await wire.answer(wire.query(keeper, wanted=(WantedMessage(ids[0]),)))
            assert [item.message_id for item in answer.items] == ids
            assert keeper_of(keeper)._shared.counts.refused == {"forged": 8}

    asyncio.run(story())


def test_a_question_that_is_sent_again_is_answered_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 1)
            query = wire.query(server, wanted=(WantedMessage(ids[0]),))
            for _ in range(3):
                wire.ask(query)
            await wire.settled()
            assert len(wire.answers) == 1
            old = await wire.answer(wire.query(server, wanted=(WantedMessage(ids[0]),), sent_time=1))
            assert (old.refused, old.items) == ("clock", ())

    asyncio.run(story())


def test_a_store_that_is_asked_too_much_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 1)
            keeper_of(server)._shared.quota = Quota(each=100)
            await wire.answer(wire.query(server, wanted=(WantedMessage(ids[0]),)))
            assert (await wire.answer(wire.query(server, wanted=(WantedMessage(ids[0]),)))).refused == "busy"

    asyncio.run(story())


def test_a_store_says_nothing_but_sync_messages_which_name_what_it_has(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ids, wire = await _archive(w, 2)
            me = server.node.sender_id

            def own() -> list[Message]:
                decoded = [CODEC.decode(payload) for topic, payload in wire.heard if topic == "msg"]
                return [one for one in decoded if isinstance(one, Message) and one.sender_id == me]

            async with asyncio.timeout(PATIENCE):
                while not any(entry.retrieval_hint for one in own() for entry in one.causal_history):
                    await asyncio.sleep(0.01)
            assert server.of(SyncSent)
            assert {one.kind for one in own()} == {MessageKind.SYNC}

    asyncio.run(story())


def test_while_the_connection_is_behind_no_more_answers_are_made(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, wire = await _archive(w, 1)
            transport = transport_of(server)
            for number in range(BACKLOG + 1):
                transport._queue.append((f"sds/1/lobby/sync/x/{number}", b"", False, None))
            answer = await wire.answer(wire.query(server, wanted=(WantedMessage(ids[0]),)))
            assert answer.refused == "busy"
            transport._queue.clear()

    asyncio.run(story())


class _Shelf:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.spans: list[ArchiveRange] = []

    def by_id(self, channel: str, message_id: str) -> None:
        return None

    def at(self, channel: str, place: int) -> None:
        return None

    def place_of(self, channel: str, message_id: str) -> None:
        return None

    def page(self, channel: str, span: ArchiveRange) -> tuple[list[ArchivedMessage], bool]:
        self.spans.append(span)
        return [], False


def test_what_was_dropped_is_not_looked_through_for_a_page() -> None:
    shelf = _Shelf()
    answers = Answerer("s" * 32, "lobby", shelf)
    query = StoreQuery(bytes(8), "s" * 32, 0, (), Range(10, 90))
    assert answers.answer(query, 50).floor == 50
    assert [(span.low, span.high) for span in shelf.spans] == [(50, 90)]
    assert answers.answer(query, 91) == StoreAnswer(bytes(8), floor=91)
    assert len(shelf.spans) == 1
