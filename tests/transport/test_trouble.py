"""The MQTT transport in trouble: restarts, hangs, refusals, and servers that are no brokers."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
from pathlib import Path
from random import Random

import pytest

from sdschat.node.network import MqttNetwork
from sdschat.node.settings import make_settings
from sdschat.transport.address import AddressError, parse_url
from sdschat.transport.base import (
    Connected,
    Disconnected,
    Failure,
    Published,
    PublishFailed,
    Received,
    Topics,
    Why,
)
from sdschat.transport.client import MqttTransport
from sdschat.transport.credentials import PASSWORD_PLACES
from sdschat.transport.mqtt_options import MqttOptions
from sdschat.transport.mqtt_reasons import explain_dial, explain_loss
from sdschat.transport.session import LinkOptions
from tests.transport.worlds import Mosquitto, Recorder, client, connected, embedded, quick, run

TOPICS = Topics("lobby")


def test_a_restarted_broker_is_found_again_and_nothing_waiting_is_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Mosquitto(tmp_path) as mosquitto,
            connected(quick(mosquitto.url)) as (alice, told),
            connected(quick(mosquitto.url), TOPICS.msg) as (_, heard),
        ):
            mosquitto.stop()
            lost = await told.until(Disconnected)
            assert lost.why is Why.CONNECTION_LOST
            assert lost.retry_at is not None
            assert not alice.connected
            for number in range(50):
                alice.publish(TOPICS.msg, b"%d" % number, tag=number)
            alice.publish(TOPICS.msg, b"now or never", qos=0, tag="QoS 0")
            failed = await told.until(PublishFailed)
            assert (failed.tag, failed.failure) == ("QoS 0", Failure.NOT_CONNECTED)
            assert alice.waiting == 50
            refused = await told.until(Disconnected, where=lambda event: event.why is Why.UNREACHABLE)
            assert "Nothing listens" in refused.detail
            await heard.until(Disconnected, 2)
            # Both have subscribed again before anything is sent: `Connected` promises that.
            await mosquitto.start()
            await told.until(Published, 50)
            assert [done.tag for done in told.of(Published)] == list(range(50))
            assert alice.waiting == 0

    run(scenario)


def test_subscriptions_are_in_force_again_after_a_reconnect(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Mosquitto(tmp_path) as mosquitto,
            connected(quick(mosquitto.url), "a") as (alice, heard),
            connected(quick(mosquitto.url)) as (bob, bob_facts),
        ):
            alice.subscribe("b")
            alice.subscribe("b")
            alice.subscribe("c")
            alice.unsubscribe("a")
            alice.unsubscribe("never")
            mosquitto.stop()
            await heard.until(Disconnected)
            await mosquitto.start()
            await heard.until(Connected, 2)
            await bob_facts.until(Connected, 2)
            for topic in "abc":
                bob.publish(topic, topic.encode())
            await heard.until(Received, where=lambda got: got.topic == "c")
            assert [got.topic for got in heard.of(Received)] == ["b", "c"]

    run(scenario)


@pytest.mark.parametrize("kind", ["mosquitto", "embedded"])
def test_a_frozen_broker_is_noticed(kind: str, tmp_path: Path) -> None:
    """SIGSTOP: the socket stays open, the kernel still acknowledges, and nothing ever comes back."""

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as stack:
            if kind == "mosquitto":
                mosquitto = await stack.enter_async_context(Mosquitto(tmp_path))
                assert mosquitto.process is not None
                pid, url = mosquitto.process.pid, mosquitto.url
            else:
                inside = await stack.enter_async_context(embedded())
                assert inside.pid is not None
                pid, url = inside.pid, f"mqtt://127.0.0.1:{inside.config.port}"
            options = quick(url, probe_every=0.2, probe_patience=0.3, connect_timeout=0.5)
            async with (
                connected(quick(url), "sds/1/!echo/+") as (_, watcher),
                connected(options, TOPICS.msg) as (alice, facts),
            ):
                # A second probe is sent only after an answer to the first one.
                await watcher.until(Received, 2, where=lambda got: got.topic == alice._echo)
                os.kill(pid, signal.SIGSTOP)
                try:
                    lost = await facts.until(Disconnected)
                    assert lost.why is Why.SILENT
                    assert "did not come back" in lost.detail
                    again = await facts.until(Disconnected, 2)
                    assert again.why is Why.SILENT
                    assert "does not answer" in again.detail
                finally:
                    os.kill(pid, signal.SIGCONT)
                await facts.until(Connected, 2)

    run(scenario)


def test_without_a_probe_the_keep_alive_notices_a_frozen_broker(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Mosquitto(tmp_path) as mosquitto:
            assert mosquitto.process is not None
            options = quick(mosquitto.url, keepalive=1, probe_patience=100.0)
            async with connected(options) as (_, facts):
                mosquitto.process.send_signal(signal.SIGSTOP)
                try:
                    lost = await facts.until(Disconnected)
                finally:
                    mosquitto.process.send_signal(signal.SIGCONT)
                assert lost.why is Why.SILENT
                assert "keep-alive" in lost.detail

    run(scenario)


def test_the_default_times_notice_a_hang_within_45_seconds() -> None:
    options = MqttOptions()
    assert options.keepalive == 20
    assert options.probe_every + options.probe_patience + 2 * options.tick < 45
    assert 2 * options.keepalive + 2 * options.tick < 45
    assert (options.backoff_first, options.backoff_longest) == (1, 60)


def test_two_that_share_a_client_id_do_not_throw_each_other_out_for_ever(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Mosquitto(tmp_path) as mosquitto, connected(quick(mosquitto.url)) as (alice, facts):
            thief = MqttTransport(quick(mosquitto.url))
            thief._client_id = alice._client_id
            thief.listen(facts)
            thief.start()
            while alice._client_id == thief._client_id or not (alice.connected and thief.connected):
                await facts.until(Connected, len(facts.of(Connected)) + 1)
            assert len(facts.of(Disconnected)) <= 6
            await thief.close()

    run(scenario)


def test_every_start_has_a_client_id_of_its_own() -> None:
    ids = {MqttTransport(MqttOptions(), Random(1))._client_id for _ in range(100)}
    assert len(ids) == 100


def test_credentials_are_checked_and_their_refusal_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        passwords = tmp_path / "passwords"
        # mosquitto's own format, PBKDF2 of "secret", would need its tool; an empty file refuses every user.
        passwords.write_text("")
        async with Mosquitto(tmp_path, f"allow_anonymous false\npassword_file {passwords}") as mosquitto:
            url = f"mqtt://alice:wrong@127.0.0.1:{mosquitto.port}"
            async with client(quick(url)) as (_, facts):
                refused = await facts.until(Disconnected)
                assert refused.why is Why.NOT_AUTHORISED
                assert "user and password" in refused.detail
                assert PASSWORD_PLACES in refused.detail
                assert "wrong" not in repr(facts.events)

    run(scenario)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mqtt://alice:wrong@{}", "refuse the user or password, or that want TLS (mqtts://). Check these"),
        ("mqtt://alice@{}", "refuse the user or password, or that want TLS (mqtts://); no password was given."),
        ("mqtts://alice:x@{}", "refuse the user or password. Check these"),
        ("ws://{}", "a user and password (--broker ws://user@{}), or TLS (--broker wss://{}), or does not"),
        ("mqtts://{}", "It wants a user and password (--broker mqtts://user@{}), or does not"),
    ],
)
def test_where_a_broker_hangs_up_it_is_told_where_a_password_goes(url: str, said: str) -> None:
    address, password = parse_url(url.format("127.0.0.1:5"))
    why, detail = explain_loss(None, False, LinkOptions(address, "me", 3, 60, 1.0, 1000, password=password))
    assert (why is Why.NOT_AUTHORISED) == ("alice" in url)
    assert said.replace("{}", "127.0.0.1:5") in detail
    assert "SDSCHAT_BROKER_PASSWORD or the file of --password-file" in detail


def test_a_broker_that_took_us_before_is_said_to_be_down_where_it_hangs_up() -> None:
    address, _ = parse_url("mqtt://127.0.0.1:5")
    _, detail = explain_loss(None, False, LinkOptions(address, "me", 3, 60, 1.0, 1000, accepted=True))
    assert "hung up without an answer, though it took us before" in detail
    assert "password" not in detail


def test_a_password_in_clear_to_another_host_is_refused_before_anything_is_sent() -> None:
    address, password = parse_url("mqtt://u:secret@broker.example.org")
    with pytest.raises(AddressError, match="unencrypted"):
        MqttTransport(MqttOptions(address, password))
    allowed = MqttOptions(address, password, allow_clear_password=True)
    MqttTransport(allowed)
    assert "secret" not in repr(allowed)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x20\xff\xff\xff\xff\x7f", b"\x00" * 64]
)
def test_what_answers_and_is_no_broker_is_told(answer: bytes) -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(answer)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for scheme in ("mqtt", "ws"):
            async with client(quick(f"{scheme}://127.0.0.1:{port}")) as (_, facts):
                lost = await facts.until(Disconnected)
                assert lost.why is Why.PROTOCOL
                assert lost.detail
        server.close()
        await server.wait_closed()

    run(scenario)


@pytest.mark.parametrize(
    ("user", "answer", "why", "told"),
    [
        ("team:secret@", b"", Why.NOT_AUTHORISED, "refuse the user or password"),
        ("team:secret@", b"SSH-2.0-OpenSSH_9.2\r\n", Why.PROTOCOL, "does not speak MQTT"),
        ("", b"", Why.PROTOCOL, "wants a user and password"),
    ],
)
def test_a_hang_up_instead_of_an_answer_is_taken_for_what_it_is(user: str, answer: bytes, why: Why, told: str) -> None:
    async def scenario() -> None:
        asked: list[int] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append((await reader.read(1000))[8])  # the version of MQTT
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with client(quick(f"mqtt://{user}127.0.0.1:{port}")) as (_, facts):
            lost = await facts.until(Disconnected)
            assert lost.why is why
            assert told in lost.detail
            assert "secret" not in lost.detail
            assert asked[:2] == [5, 4]  # not refused before the older version was tried
        server.close()
        await server.wait_closed()

    run(scenario)


def test_a_name_that_does_not_exist_is_told() -> None:
    async def scenario() -> None:
        async with client(quick("mqtt://no-such-host.invalid")) as (_, facts):
            lost = await facts.until(Disconnected)
            assert lost.why is Why.UNREACHABLE
            assert "no-such-host.invalid" in lost.detail

    run(scenario)


def test_retrying_now_does_not_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        mosquitto = Mosquitto(tmp_path)
        options = quick(mosquitto.url, backoff_first=60.0, backoff_longest=60.0)
        async with client(options) as (alice, facts):
            await facts.until(Disconnected)
            async with mosquitto:
                alice.retry_now()
                await facts.until(Connected)

    run(scenario)


def test_the_first_channel_that_is_connected_lets_the_others_try_at_once(tmp_path: Path) -> None:
    """Each has a back-off of its own: one was connected, and the others stayed offline for up to a minute."""

    async def scenario() -> None:
        mosquitto = Mosquitto(tmp_path)
        options = quick(mosquitto.url, backoff_first=60.0, backoff_longest=60.0)
        network = MqttNetwork(options, make_settings({}, "spec"), embedded=False)
        lobby, dev = (network.transport(f"sds/1/{name}/who/ann") for name in ("lobby", "dev"))
        of_lobby, of_dev = Recorder(), Recorder()
        lobby.listen(of_lobby)
        dev.listen(of_dev)
        lobby.start()
        dev.start()
        try:
            await of_lobby.until(Disconnected)
            await of_dev.until(Disconnected)
            async with mosquitto:
                lobby.retry_now()
                await of_dev.until(Connected)
        finally:
            await lobby.close()
            await dev.close()

    run(scenario)


def test_the_end_comes_also_where_a_wait_lost_its_cancellation() -> None:
    async def scenario() -> None:
        waiting = asyncio.Event()

        async def broker_starts() -> None:
            waiting.set()
            with contextlib.suppress(asyncio.CancelledError):  # as `asyncio.wait_for` does if the answer comes then
                await asyncio.Event().wait()

        async with embedded() as broker, asyncio.timeout(5):
            options = quick(f"mqtt://127.0.0.1:{broker.config.port}", before_connect=broker_starts)
            async with client(options) as (_, told):
                await waiting.wait()
            assert not told.of(Connected)

    run(scenario)


def test_a_network_without_a_way_there_is_told_in_words() -> None:
    """It had the number of the system's error in brackets."""
    _, told = explain_dial(
        OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH)), parse_url("mqtt://10.9.0.1")[0]
    )
    assert told == "10.9.0.1:1883 cannot be reached: No route to host. Check the address and the network."
