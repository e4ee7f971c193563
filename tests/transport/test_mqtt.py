"""The MQTT transport against real brokers: mosquitto, and the embedded one."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sdschat.transport.address import parse_url
from sdschat.transport.base import (
    Connected,
    Connecting,
    Disconnected,
    Event,
    Failure,
    HandlerFailed,
    ProbeUnanswered,
    Published,
    PublishFailed,
    Received,
    SubscribeRefused,
    Topics,
    Why,
)
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.client import MqttTransport
from sdschat.transport.mqtt_options import MqttOptions
from tests.transport.worlds import Mosquitto, Recorder, client, connected, embedded, free_port, quick, run

TOPICS = Topics("lobby")
BROKERS = ["mosquitto", "embedded", "embedded MQTT 5", "embedded websocket"]


@contextlib.asynccontextmanager
async def broker(kind: str, tmp_path: Path) -> AsyncIterator[str]:
    """Run a broker of this kind, and return its URL."""
    if kind == "mosquitto":
        async with Mosquitto(tmp_path) as mosquitto:
            yield mosquitto.url
        return
    config = BrokerConfig(port=free_port(), port_v5=free_port(), port_websocket=free_port())
    async with embedded(config):
        scheme, port = {
            "embedded": ("mqtt", config.port),
            "embedded MQTT 5": ("mqtt", config.port_v5),
            "embedded websocket": ("ws", config.port_websocket),
        }[kind]
        yield f"{scheme}://127.0.0.1:{port}"


@pytest.mark.parametrize("kind", BROKERS)
def test_two_clients_hear_each_other(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            broker(kind, tmp_path) as url,
            connected(quick(url), TOPICS.msg) as (alice, alice_heard),
            connected(quick(url), TOPICS.msg) as (bob, bob_heard),
        ):
            assert alice.connected
            assert alice.describe() == str(parse_url(url)[0])
            alice.publish(TOPICS.msg, b"hi bob", tag="a")
            await bob_heard.until(Received, where=lambda got: got == Received(TOPICS.msg, b"hi bob", False))
            assert await alice_heard.until(Published) == Published("a")
            bob.publish(TOPICS.msg, b"\0\xffhi alice", qos=0, tag="b")
            await alice_heard.until(Received, where=lambda got: got.payload == b"\0\xffhi alice")
            await bob_heard.until(Published, where=lambda done: done.tag == "b")
            spoken = {"mosquitto": "MQTT 5", "embedded MQTT 5": "MQTT 5"}.get(kind, "MQTT 3.1.1")
            assert alice_heard.of(Connected)[0].protocol == spoken
            assert len(alice_heard.of(Connecting)) == 1

    run(scenario)


@pytest.mark.parametrize("kind", BROKERS)
def test_large_packets_arrive_whole_and_oversized_ones_are_refused_before(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            broker(kind, tmp_path) as url,
            connected(quick(url)) as (alice, told),
            connected(quick(url), TOPICS.msg) as (_, heard),
        ):
            large = os.urandom(200 * 1024)
            for tag in range(3):
                alice.publish(TOPICS.msg, large, tag=tag)
            await heard.until(Received, 3, where=lambda got: got.payload == large)
            alice.publish(TOPICS.msg, bytes(256 * 1024 + 1), tag="too large")
            failed = await told.until(PublishFailed)
            assert (failed.tag, failed.failure) == ("too large", Failure.TOO_LARGE)
            assert "262145" in failed.detail
            assert "262144" in failed.detail
            assert alice.connected

    run(scenario)


@pytest.mark.parametrize("how", ["leaves", "dies"])
@pytest.mark.parametrize("kind", ["mosquitto", "embedded"])
def test_presence_is_kept_for_newcomers_and_replaced_at_the_end(kind: str, how: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        topic = TOPICS.who("alice")
        async with broker(kind, tmp_path) as url, connected(quick(url), TOPICS.who_all) as (_, watcher):
            alice, facts = MqttTransport(quick(url, presence_topic=topic)), Recorder()
            alice.listen(facts)
            alice.set_presence(b"here", b"left")
            alice.start()
            assert await watcher.until(Received) == Received(topic, b"here", False)
            async with connected(quick(url), TOPICS.who_all) as (_, newcomer):
                assert await newcomer.until(Received) == Received(topic, b"here", True)
            if how == "leaves":
                await alice.close()
                assert facts.events[-1] == Disconnected(Why.CLOSED, "The program left the broker.", None)
            else:
                assert alice._session is not None
                alice._session.abort(Why.CONNECTION_LOST, "cut")
            await watcher.until(Received, where=lambda got: got.payload == b"left")
            await alice.close()
            if how == "leaves":
                await watcher.until(Received, where=lambda got: got.payload == b"")

    run(scenario)


def test_a_changed_presence_is_published_and_announced_again_after_a_reconnect(tmp_path: Path) -> None:
    async def scenario() -> None:
        topic = TOPICS.who("alice")
        async with Mosquitto(tmp_path) as mosquitto:
            options = quick(mosquitto.url, presence_topic=topic)
            async with connected(options) as (alice, facts), connected(quick(mosquitto.url), topic) as (_, heard):
                alice.set_presence(b"one")
                alice.set_presence(b"two")
                await heard.until(Received, where=lambda got: got.payload == b"two")
                mosquitto.stop()
                await facts.until(Disconnected)
                await mosquitto.start()
                await facts.until(Connected, 2)
                await heard.until(Received, 2, where=lambda got: got.payload == b"two")

    run(scenario)


def test_a_handler_that_raises_is_told_and_the_connection_lives_on(tmp_path: Path) -> None:
    class Clumsy(Recorder):
        def __call__(self, event: Event) -> None:
            super().__call__(event)
            if isinstance(event, Received) and event.payload == b"bad":
                raise RuntimeError("a bug in our parser")

    async def scenario() -> None:
        async with Mosquitto(tmp_path) as mosquitto, connected(quick(mosquitto.url)) as (alice, _):
            bob, facts = MqttTransport(quick(mosquitto.url)), Clumsy()
            bob.listen(facts)
            bob.subscribe(TOPICS.msg)
            bob.start()
            await facts.until(Connected)
            for payload in (b"bad", b"good", b"bad", b"good"):
                alice.publish(TOPICS.msg, payload)
            await facts.until(Received, 4)
            failed = facts.of(HandlerFailed)
            assert [str(event.error) for event in failed] == ["a bug in our parser"] * 2
            assert failed[0].event == Received(TOPICS.msg, b"bad", False)
            assert bob.failures == 2
            assert bob.connected
            assert not facts.of(Disconnected)
            await bob.close()

    run(scenario)


def test_without_leave_to_probe_the_connection_is_kept_and_it_is_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        rules = tmp_path / "acl"
        rules.write_text("topic readwrite sds/1/lobby/#\n")
        async with Mosquitto(tmp_path, f"allow_anonymous true\nacl_file {rules}") as mosquitto:
            options = quick(mosquitto.url, probe_every=0.1, probe_patience=0.2)
            async with connected(options, TOPICS.msg, "forbidden/topic") as (alice, facts):
                told = await facts.until(ProbeUnanswered)
                assert "!echo" in told.topic
                assert "does not let you read" in told.detail
                alice.publish(TOPICS.msg, b"still here", tag=1)
                await facts.until(Published)
                alice.publish(f"forbidden/{'0f' * 16}/x", b"x", tag=2)
                failed = await facts.until(PublishFailed)
                assert (failed.tag, failed.failure) == (2, Failure.REFUSED)
                assert "Not authorized (topic forbidden/+/x)" in failed.detail
                assert [event.topic_filter for event in facts.of(SubscribeRefused)] in ([], ["forbidden/topic"])
                assert not facts.of(Disconnected)

    run(scenario)


def test_a_broker_that_hangs_up_at_a_packet_gets_it_no_more(tmp_path: Path) -> None:
    """rumqttd does not report its limit; a packet above it ends the connection, and would do so again and again."""

    async def scenario() -> None:
        config = BrokerConfig(port=free_port(), max_packet=20_480)
        async with embedded(config):
            options = quick(f"mqtt://127.0.0.1:{config.port}")
            async with connected(options) as (alice, told), connected(options, TOPICS.msg) as (_, heard):
                for tag, size in enumerate((10, 30_000, 20)):
                    alice.publish(TOPICS.msg, bytes(size), tag=tag)
                failed = await told.until(PublishFailed)
                assert (failed.tag, failed.failure) == (1, Failure.REFUSED)
                await told.until(Published, where=lambda done: done.tag == 2)
                await heard.until(Received, where=lambda got: len(got.payload) == 20)
                alice.publish(TOPICS.msg, bytes(30_000), tag="again")
                failed = await told.until(PublishFailed, 2)
                assert failed.failure is Failure.TOO_LARGE
                assert "did not take more" in failed.detail

    run(scenario)


def test_the_brokers_own_limit_is_respected_before_sending(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Mosquitto(tmp_path, "allow_anonymous true\nmax_packet_size 2000") as mosquitto,
            connected(quick(mosquitto.url)) as (alice, facts),
        ):
            assert facts.of(Connected)[0].max_payload < 2000
            alice.publish(TOPICS.msg, bytes(2000), tag="over")
            assert (await facts.until(PublishFailed)).failure is Failure.TOO_LARGE
            alice.publish(TOPICS.msg, bytes(1900), tag="under")
            assert await facts.until(Published) == Published("under")
            assert not facts.of(Disconnected)

    run(scenario)


def test_a_message_above_mosquittos_limit_is_refused_without_the_loss_of_the_connection(tmp_path: Path) -> None:
    """Mosquitto answers with a reason that MQTT does not have for an acknowledgement."""

    async def scenario() -> None:
        async with (
            Mosquitto(tmp_path, "allow_anonymous true\nmessage_size_limit 6000") as mosquitto,
            connected(quick(mosquitto.url)) as (alice, facts),
        ):
            alice.publish(TOPICS.msg, bytes(7000), tag="over")
            failed = await facts.until(PublishFailed)
            assert (failed.tag, failed.failure) == ("over", Failure.TOO_LARGE)
            assert "takes no packet with 7000 bytes" in failed.detail
            alice.publish(TOPICS.msg, bytes(10), tag="under")
            assert await facts.until(Published) == Published("under")
            assert not facts.of(Disconnected)

    run(scenario)


def test_an_answer_that_is_no_mqtt_is_not_taken_for_silence() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            version = (await reader.read(1000))[8]
            accepted = b"\x20\x03\x00\x00\x00" if version == 5 else b"\x20\x02\x00\x00"
            writer.write(accepted + b"\x40\x01\x00")  # and an acknowledgement of no packet
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with client(quick(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}")) as (_, facts):
            lost = await facts.until(Disconnected)
            assert (lost.why, "cannot be read" in lost.detail) == (Why.PROTOCOL, True)
        server.close()
        await server.wait_closed()

    run(scenario)


def test_a_packet_larger_than_we_take_ends_the_connection_and_is_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Mosquitto(tmp_path, "allow_anonymous true") as mosquitto:
            # An old client does not tell the broker its limit.
            options = quick(mosquitto.url, max_incoming=10_000)
            async with connected(quick(mosquitto.url)) as (alice, _), client(options, TOPICS.msg) as (bob, heard):
                bob._version = 3
                await heard.until(Connected)
                alice.publish(TOPICS.msg, bytes(20_000))
                lost = await heard.until(Disconnected)
                assert lost.why is Why.OVERSIZED
                await heard.until(Connected, 2)
                alice.publish(TOPICS.msg, b"fits")
                await heard.until(Received, where=lambda got: got.payload == b"fits")

    run(scenario)


def test_the_queue_is_bounded() -> None:
    async def scenario() -> None:
        async with client(quick(f"mqtt://127.0.0.1:{free_port()}", queue_packets=5)) as (alice, facts):
            for tag in range(7):
                alice.publish(TOPICS.msg, b"x", tag=tag)
            await facts.until(PublishFailed, 2)
            assert [(each.tag, each.failure) for each in facts.of(PublishFailed)] == [
                (5, Failure.QUEUE_FULL),
                (6, Failure.QUEUE_FULL),
            ]
        assert [each.failure for each in facts.of(PublishFailed)[2:]] == [Failure.CLOSED] * 5
        alice.publish(TOPICS.msg, b"x", tag="late")

    run(scenario)


def test_closing_sends_what_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Mosquitto(tmp_path) as mosquitto, connected(quick(mosquitto.url), TOPICS.msg) as (_, heard):
            async with connected(quick(mosquitto.url)) as (alice, told):
                for number in range(300):
                    alice.publish(TOPICS.msg, b"%d" % number, tag=number)
            assert len(told.of(Published)) == 300
            await heard.until(Received, 300)

    run(scenario)


@pytest.mark.parametrize("topic", ["", "a/+", "a/#", "a\0b", "x" * 65536])
def test_a_topic_that_is_none_is_a_wrong_call(topic: str) -> None:
    with pytest.raises(ValueError, match="topic"):
        MqttTransport(MqttOptions()).publish(topic, b"x")
