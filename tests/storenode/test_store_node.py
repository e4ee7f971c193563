"""A Store as a whole: its channels, what it keeps, and what it tells of itself."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from itertools import repeat
from pathlib import Path
from typing import NoReturn

import pytest

from sdschat.node.channel.last_heard import LastHeard
from sdschat.node.events import CatchingUp, MessageDelivered, PresenceChanged, SavingFailed, SavingResumed, TroubleMet
from sdschat.node.retention import RetentionLimits
from sdschat.node.store_server.discovery import Discovery
from sdschat.node.store_server.metrics import COUNTS, Counts, MetricsServer, prometheus
from sdschat.node.store_server.server import StoreNode
from sdschat.node.sync.extension import sync_extension
from sdschat.sds.values import Append, Message
from sdschat.store.archive import LogArchive, archived
from sdschat.store.errors import DiskFull, StoreDamaged
from sdschat.store.reader import Reader
from sdschat.store.transaction import Transaction
from sdschat.transport.base import HandlerFailed, SubscribeRefused
from sdschat.wire.sds_codec import SdsCodec
from tests.node.worlds import PATIENCE, InMemory, Member
from tests.storenode.worlds import Stores, stores


def _discovery(w: Stores, server: Member) -> Discovery:
    return Discovery(server.node, InMemory(w.network, server.node.settings), print, print)


async def _archive(w: Stores, server: Member, count: int) -> list[str]:
    ann = w.start("ann")
    await ann.until(PresenceChanged, lambda p: p.nick == "keeper")
    ids = [ann.node.send("lobby", f"number {number} " + "long " * 200).message_id for number in range(count)]
    await server.until(MessageDelivered, lambda m: m.said.message.message_id == ids[-1])
    return ids


def test_a_store_is_found_by_its_presence(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper")
            ann = w.start_asking("ann")
            await ann.until(PresenceChanged)
            assert list(ann.node.sessions["lobby"].presence.roles) == [server.node.sender_id]

    asyncio.run(story())


def test_packets_beyond_the_size_are_dropped_oldest_first(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, store = w.start_store("keeper", limits=RetentionLimits())
            ids = await _archive(w, server, 60)
            store.limits = RetentionLimits(size=200_000)
            for _ in store.tidy():
                pass
            shelf = LogArchive(server.node.profile.store)
            assert shelf.by_id("lobby", ids[0]) is None
            assert server.node.sessions["lobby"].channel.state.history.entry(ids[0]) is not None
            assert store.counts.dropped_packets > 20
            assert store.floor("lobby").packets == store.counts.dropped_packets

    asyncio.run(story())


def test_its_status_is_told_before_the_first_look_at_what_is_too_old_is_over(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, store = w.start_store("keeper", limits=RetentionLimits())
            await _archive(w, server, 3)
            store.limits = RetentionLimits(size=1)
            store.tidy = lambda: repeat(None)  # type: ignore[method-assign]
            keeping = asyncio.ensure_future(store.keep())
            await asyncio.sleep(0)
            assert server.node.profile.store.value(COUNTS) is not None
            keeping.cancel()

    asyncio.run(story())


def test_it_asks_before_each_look_how_soon_the_next_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looked every ten seconds, in which a flood writes two megabytes."""

    async def story() -> None:
        async with stores(tmp_path) as w:
            _, store = w.start_store("keeper", limits=RetentionLimits())
            looks = 0

            def pause() -> float:
                nonlocal looks
                looks += 1
                return 0.0

            monkeypatch.setattr(store, "pause", pause)
            keeping = asyncio.ensure_future(store.keep())
            async with asyncio.timeout(PATIENCE):
                while looks < 3:
                    await asyncio.sleep(0)
            keeping.cancel()

    asyncio.run(story())


def test_packets_beyond_the_age_are_dropped_and_younger_ones_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, store = w.start_store("keeper", limits=RetentionLimits(age=3_600_000))
            ids = await _archive(w, server, 5)
            for _ in store.tidy():
                pass
            assert store.counts.dropped_packets == 0
            store._clock.skew = 3_601_000
            for _ in store.tidy():
                pass
            store._clock.skew = 0
            assert store.counts.dropped_packets == 5
            assert LogArchive(server.node.profile.store).by_id("lobby", ids[-1]) is None

    asyncio.run(story())


def test_every_channel_that_somebody_speaks_in_is_archived(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            ann = w.start("ann", "lobby", "attic")
            server, _ = w.start_store("keeper", "elsewhere")
            found: list[str] = []
            discovery = Discovery(server.node, InMemory(w.network, server.node.settings), found.append, lambda: None)
            discovery.start()
            sent = ann.node.send("attic", "hello")
            await server.until(MessageDelivered, lambda m: m.said.message.message_id == sent.message_id)
            assert sorted(found) == ["attic", "lobby"]
            await discovery.close()

    asyncio.run(story())


def test_a_channel_that_cannot_be_opened_ends_the_store_that_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(name: str) -> NoReturn:
        raise StoreDamaged(tmp_path, name)

    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", "elsewhere")
            discovery = _discovery(w, server)
            discovery.start()
            monkeypatch.setattr(server.node, "join", damaged)
            w.start("ann", "attic").node.send("attic", "hello")
            with pytest.raises(StoreDamaged, match="attic"):
                await asyncio.wait_for(server.node.failed, 1)
            await discovery.close()

    asyncio.run(story())


def test_a_packet_that_hits_a_fault_of_ours_ends_no_store(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", "elsewhere")
            discovery = _discovery(w, server)
            discovery._heard(HandlerFailed(IndexError("no such field"), None))
            assert [told.detail for told in server.of(TroubleMet)] == ["IndexError: no such field"]
            assert not server.node.failed.done()

    asyncio.run(story())


def test_a_broker_that_refuses_to_tell_of_all_channels_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", "elsewhere")
            discovery = _discovery(w, server)
            discovery._heard(SubscribeRefused("sds/1/+/msg", "The broker refused it."))
            assert [told.detail for told in server.of(TroubleMet)] == ["The broker refused it."]

    asyncio.run(story())


def test_made_up_channels_are_not_joined_and_real_ones_up_to_a_bound(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", "elsewhere")
            full: list[int] = []
            network = InMemory(w.network, server.node.settings)
            discovery = Discovery(server.node, network, lambda name: None, lambda: full.append(1), most=3)
            discovery.start()
            assert await discovery.first_connection(1) is None
            stranger = w.network.transport()
            stranger.start()
            for number in range(50):
                stranger.publish(f"sds/1/room{number}/msg", b"garbage")
                stranger.publish(f"sds/1/room{number}/who/somebody", b"unsigned", retain=True)
            ann = w.start("ann", "one", "two", "three")
            while not discovery.passed_over:
                await asyncio.sleep(0.001)
            assert full == [1]
            assert set(ann.node.sessions) == {"one", "two", "three"}
            assert len(server.node.sessions) == 3
            assert set(server.node.sessions) < {"elsewhere", "one", "two", "three"}
            await discovery.close()

    asyncio.run(story())


def test_the_channel_that_was_silent_for_longest_gives_its_place_to_one_where_somebody_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", "lobby")
            network = InMemory(w.network, server.node.settings)
            discovery = Discovery(server.node, network, lambda name: None, lambda: None, most=2, silent=0)
            discovery.start()
            bob = w.start("bob", "lobby")
            bob.node.send("lobby", "hello")
            await server.until_texts("hello")
            assert set(server.node.sessions) == {"elsewhere", "lobby"}
            bob.node.join("late")
            while "elsewhere" in server.node.sessions:
                await asyncio.sleep(0.001)
            bob.node.send("late", "here too")
            await server.until_texts("hello", "here too")
            assert set(server.node.sessions) == {"lobby", "late"}
            assert discovery.passed_over == 0
            await discovery.close()

    asyncio.run(story())


def test_packets_of_channels_without_a_place_cost_no_look_at_all_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def latest(_: LastHeard, without: str) -> int:
        looked.append(without)
        return 0

    monkeypatch.setattr(LastHeard, "latest", latest)

    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", "lobby")
            network = InMemory(w.network, server.node.settings)
            discovery = Discovery(server.node, network, lambda name: None, lambda: None, most=2)
            discovery.start()
            assert await discovery.first_connection(1) is None
            codec, stranger = SdsCodec(), w.network.transport()
            stranger.start()
            for number in range(50):
                packet = codec.encode(Message("a", "b", f"room{number}", 1, content=b"x"))
                stranger.publish(f"sds/1/room{number}/msg", packet)
            while discovery.passed_over < 50:
                await asyncio.sleep(0.001)
            assert len(looked) <= 2 * len(server.node.sessions)
            await discovery.close()

    asyncio.run(story())


def test_what_was_counted_is_told_to_other_processes(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, store = w.start_store("keeper")
            await _archive(w, server, 3)
            store.save_counts()
            with Reader.open(w.path("keeper"), SdsCodec()) as reader:
                told = json.loads(reader.value(COUNTS) or b"")
                assert (told["archived"], told["answered"]["ids"]) == (3, 0)
                [one] = [one for one in archived(reader) if one.channel == "lobby"]
                assert (one.messages, one.packets) == (3, 3)

    asyncio.run(story())


def test_what_a_full_disk_did_not_take_is_not_counted_as_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sdschat.node.node.RETRY", 0.01)
    write, full = Transaction.write, [False]

    async def story() -> None:
        async with stores(tmp_path) as w:
            server, store = w.start_store("keeper")
            await _archive(w, server, 3)
            connection = server.node.profile.store.connection

            def no_room(transaction: Transaction, to: sqlite3.Connection) -> None:
                taken = (type(each) for batch in server.node.unsaved for each in batch.writes)
                if to is connection and full[0] and Append in taken:
                    raise DiskFull(tmp_path)
                write(transaction, to)

            monkeypatch.setattr(Transaction, "write", no_room)
            full[0] = True
            w.start("bob").node.send("lobby", "one more")
            await server.until(SavingFailed)
            assert store.counts.archived == 4
            text = prometheus(store.snapshot())
            assert "sdschat_store_archived_total 3\n" in text
            assert "sdschat_store_saving 0\n" in text
            full[0] = False
            await server.until(SavingResumed)
            text = prometheus(store.snapshot())
            assert "sdschat_store_archived_total 4\n" in text
            assert "sdschat_store_saving 1\n" in text

    asyncio.run(story())


async def _get(place: tuple[str, int], request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*place)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionResetError:  # it did not even read to the end
        return b""
    finally:
        writer.close()


def test_metrics_are_served_in_the_format_of_prometheus(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, store = w.start_store("keeper", 'a"b\\c')
            store.counts.timed(0.003)
            store.counts.refuse("busy")
            metrics = MetricsServer(lambda: prometheus(store.snapshot()))
            place = await metrics.start("127.0.0.1", 0)
            head, _, body = (await _get(place, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")).partition(b"\r\n\r\n")
            await metrics.close()
            assert head.startswith(b"HTTP/1.1 200 OK")
            lines = body.decode().splitlines()
            assert 'sdschat_store_refused_total{reason="busy"} 1' in lines
            assert 'sdschat_store_answer_seconds_bucket{le="0.0025"} 0' in lines
            assert 'sdschat_store_answer_seconds_bucket{le="0.005"} 1' in lines
            assert 'sdschat_store_answer_seconds_bucket{le="+Inf"} 1' in lines
            assert any(line.startswith('sdschat_store_messages{channel="a\\"b\\\\c"} 0') for line in lines)
            names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
            assert len(names) == len(set(names)) > 15
            assert server.node.sessions

    asyncio.run(story())


def test_other_requests_are_refused_and_none_hangs_the_server() -> None:
    async def story() -> None:
        server = MetricsServer(lambda: "x 1\n")
        place = await server.start("127.0.0.1", 0)
        assert b"404" in await _get(place, b"GET /passwd HTTP/1.1\r\n\r\n")
        assert b"405" in await _get(place, b"POST /metrics HTTP/1.1\r\n\r\n")
        assert await _get(place, b"x" * 20_000) == b""
        assert (await _get(place, b"HEAD /metrics HTTP/1.1\r\n\r\n")).endswith(b"\r\n\r\n")
        await server.close()

    asyncio.run(story())


def test_metrics_that_cannot_be_read_are_an_error_of_the_server() -> None:
    async def story() -> None:
        def broken() -> str:
            raise RuntimeError("planted")

        server = MetricsServer(broken)
        place = await server.start("127.0.0.1", 0)
        assert (await _get(place, b"GET /metrics HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 500 ")
        await server.close()

    asyncio.run(story())


def test_answer_times_fall_into_the_right_buckets() -> None:
    counts = Counts()
    for seconds in (0.0005, 0.001, 0.3, 7.0):
        counts.timed(seconds)
    assert (counts.times[0], counts.times[-2], counts.times[-1]) == (2, 1, 1)


async def _say_much(w: Stores, server: Member, count: int) -> list[str]:
    """Have somebody say so much, until all is taken in, and nothing twice: copies that come later are kept anew."""
    never = {"sds.resend_unacked": 300_000, "sds.resend_possibly_acked": 300_000, "sds.resend_max": 600_000}
    ann = w.start("ann", changes=never)
    await ann.until(PresenceChanged, lambda p: p.nick == "keeper")
    ids = []
    for number in range(count):
        ids.append(ann.node.send("lobby", f"number {number} of many").message_id)
        if not number % 50:
            await asyncio.sleep(0)
    await server.until(MessageDelivered, lambda m: m.said.message.message_id == ids[-1])
    await ann.node.close(0.1)
    w.members.remove(ann)
    while server.node.sessions["lobby"].live.waiting._count:
        await asyncio.sleep(0.001)
    return ids


async def _keep_newest(w: Stores, messages: int, size: int) -> tuple[Member, list[str], int]:
    """Return a Store node that keeps only so many bytes, the ids of all messages, and the number of packets it kept."""
    server, store = w.start_store("keeper", limits=RetentionLimits())
    ids = await _say_much(w, server, messages)
    store.limits = RetentionLimits(size=size)
    for _ in store.tidy():
        pass
    [kept] = [one for one in archived(server.node.profile.store) if one.channel == "lobby"]
    return server, ids, kept.packets


def test_the_newest_packets_are_kept_whatever_the_size_and_a_joiner_gets_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, ids, packets = await _keep_newest(w, 2500, 2**20)
            assert 100 < packets < 2500
            shelf = LogArchive(server.node.profile.store)
            assert all(shelf.by_id("lobby", name) is not None for name in ids[-100:])
            bob = w.start_late("bob", changes={"history.on_join": "all"})
            await bob.until(CatchingUp, lambda told: told.state == "done")
            assert {told.said.message.message_id for told in bob.of(MessageDelivered)} >= set(ids[-100:])


def test_a_joiner_shows_what_waits_for_what_no_store_keeps_any_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            _, ids, packets = await _keep_newest(w, 300, 2**17)
            assert 10 < packets < 200
            bob = w.start_late("bob", changes={"history.on_join": "all"})
            incoming = bob.node.sessions["lobby"].channel.state.incoming
            sync_extension(bob.node, "lobby").catchup.pause()
            # What it asks the Store for, one dependency after the other.
            while len(incoming.buffered) < packets - 10:
                await asyncio.sleep(0.01)
            sync_extension(bob.node, "lobby").catchup.resume()
            await bob.until(CatchingUp, lambda told: told.state == "done")
            assert not incoming.buffered
            assert {told.said.message.message_id for told in bob.of(MessageDelivered)} >= set(ids[-packets:])

    asyncio.run(story())


def test_ids_that_take_half_of_the_size_are_bounded_and_the_operator_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            server, _ = w.start_store("keeper", limits=RetentionLimits())
            ids = await _say_much(w, server, 1200)
            told: list[str] = []
            node = server.node
            store = StoreNode(node, node.profile.store, RetentionLimits(size=200_000), warn=told.append)
            for _ in range(2):
                for _ in store.tidy():
                    pass
            [one] = [one for one in archived(node.profile.store) if one.channel == "lobby"]
            assert 0 < one.ids_bytes <= 100_000
            assert one.messages < 1200
            assert len(told) == 1
            assert "half of --max-size" in told[0]
            state = node.sessions["lobby"].channel.state
            assert state.horizon == one.floor.ids_from > 0
            assert state.history.entry(ids[0]) is None
            text = prometheus(store.snapshot())
            assert f'sdschat_store_ids{{channel="lobby"}} {one.floor.ids}' in text
            assert "sdschat_store_max_bytes 200000" in text
            await asyncio.sleep(0.5)
            [later] = [one for one in archived(node.profile.store) if one.channel == "lobby"]
            assert later == one
            assert one.packets >= 12

    asyncio.run(story())
