"""The embedded broker: its addresses, its limits, its users, and its end when its host ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sdschat.transport.address import Secret
from sdschat.transport.base import Disconnected, Published, Why
from sdschat.transport.broker import BrokerConfig, BrokerError, BrokerTls, EmbeddedBroker, PortTakenError
from tests.needs import needs_module
from tests.transport.worlds import client, connected, embedded, free_port, listens, quick, run

LOCAL = "mqtt://127.0.0.1"


def own_address() -> str | None:
    """Return an address of this machine other than loopback, found without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
        return address


def test_it_listens_on_loopback_only_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(threading.enumerate())

    async def scenario() -> None:
        async with embedded() as broker:
            port = broker.config.port
            assert broker.running
            assert listens("127.0.0.1", port)
            other = own_address()
            assert other is None or other.startswith("127.") or not listens(other, port)
            async with connected(quick(f"{LOCAL}:{port}"), "t") as (alice, facts):
                alice.publish("t", b"x", tag=1)
                await facts.until(Published)
        assert broker.pid is None
        assert not listens("127.0.0.1", port)
        await broker.stop()

    run(scenario)
    for thread in set(threading.enumerate()) - before:
        thread.join(5)  # the thread that waited for the process ends a moment after the process
        assert not thread.is_alive()
    assert list(tmp_path.iterdir()) == []  # the settings file, which holds passwords, is gone
    assert capfd.readouterr() == ("", "")


def test_it_can_be_stopped_and_started_again_on_its_port() -> None:
    async def scenario() -> None:
        async with embedded() as broker:
            for _ in range(2):
                await broker.stop()
                assert not listens("127.0.0.1", broker.config.port)
                await broker.start()
                await broker.start()
                assert listens("127.0.0.1", broker.config.port)

    run(scenario)


def test_users_and_passwords_are_required_where_given() -> None:
    async def scenario() -> None:
        users = {"alice": Secret('p"ä\\ss'), "bob": Secret("b")}
        config = BrokerConfig(port=free_port(), users=users)
        async with embedded(config):
            url = f"{LOCAL}:{config.port}"
            good = quick(url.replace("//", "//alice@"), password=users["alice"])
            async with connected(good) as (alice, facts):
                alice.publish("t", b"x", tag=1)
                await facts.until(Published)
            wrong = quick(url.replace("//", "//alice@"), password=Secret("b"))
            # rumqttd closes the connection without an answer. Without a user that may have other causes: the text
            # names both.
            for bad, why in ((quick(url), Why.PROTOCOL), (wrong, Why.NOT_AUTHORISED)):
                async with client(bad) as (_, facts):
                    refused = await facts.until(Disconnected)
                    assert refused.why is why
                    assert "user" in refused.detail
                    assert "password" in refused.detail
        assert 'p"' not in repr(config)

    run(scenario)


def test_a_taken_port_is_told() -> None:
    async def scenario() -> None:
        async with embedded() as broker:
            second = EmbeddedBroker(broker.config)
            with pytest.raises(PortTakenError, match="Leave all chats here"):
                await second.start()
            assert not second.running
            assert listens("127.0.0.1", broker.config.port)

    run(scenario)


def test_of_many_that_start_at_once_exactly_one_serves() -> None:
    """rumqttd does not report that it could not bind its port: two brokers must never both believe that they serve."""
    needs_module("iotcore")

    async def scenario() -> None:
        config = BrokerConfig(port=free_port())
        brokers = [EmbeddedBroker(config) for _ in range(5)]
        results = await asyncio.gather(*(broker.start() for broker in brokers), return_exceptions=True)
        try:
            assert [isinstance(result, PortTakenError) for result in results].count(True) == 4
            assert [broker.running for broker in brokers].count(True) == 1
            assert listens("127.0.0.1", config.port)
        finally:
            await asyncio.gather(*(broker.stop() for broker in brokers))

    for _ in range(3):
        run(scenario)


def test_a_udp_port_that_is_used_otherwise_does_not_keep_it_from_serving() -> None:
    async def scenario() -> None:
        port = free_port()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", port))
            async with embedded(BrokerConfig(port=port)):
                assert listens("127.0.0.1", port)

    run(scenario)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (BrokerConfig(host="localhost"), "IP address"),
        (BrokerConfig(port=0), "Ports go"),
        (BrokerConfig(port=1, port_v5=1), "Ports go"),
        (BrokerConfig(max_packet=10), "packets"),
        (BrokerConfig(users={"a\n": Secret("b")}), "user or password"),
        (BrokerConfig(users={"a": Secret("b\x7f")}), "user or password"),
        (BrokerConfig(tls=BrokerTls(Path(__file__), Path(__file__))), "PEM form"),
        (BrokerConfig(tls=BrokerTls(Path("absent.crt"), Path("absent.key"))), "No such file"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_words(config: BrokerConfig, said: str) -> None:
    with pytest.raises(BrokerError, match=said):
        EmbeddedBroker(config)


def test_an_address_of_another_machine_is_told_as_such_and_not_as_a_taken_port() -> None:
    needs_module("iotcore")

    async def scenario() -> None:
        broker = EmbeddedBroker(BrokerConfig(host="203.0.113.1", port=free_port()))
        with pytest.raises(BrokerError, match="no address of this machine"):
            await broker.start()
        assert not broker.running

    run(scenario)


def test_who_is_let_in_is_known() -> None:
    assert not BrokerConfig().open_to_all
    assert BrokerConfig(host="0.0.0.0").open_to_all
    assert not BrokerConfig(host="0.0.0.0", users={"a": Secret("b")}).open_to_all
    assert BrokerConfig(host="0.0.0.0", tls=BrokerTls(Path("a"), Path("b"))).open_to_all


def test_ctrl_c_in_the_terminal_does_not_reach_the_broker() -> None:
    async def scenario() -> None:
        async with embedded() as broker:
            assert broker.pid is not None
            assert os.getsid(broker.pid) != os.getsid(0)

    run(scenario)


def test_passwords_are_not_among_the_arguments_of_the_process() -> None:
    async def scenario() -> None:
        async with embedded(BrokerConfig(port=free_port(), users={"alice": Secret("hidden-word")})) as broker:
            arguments = Path(f"/proc/{broker.pid}/cmdline")
            if arguments.exists():
                assert b"hidden-word" not in arguments.read_bytes()

    run(scenario)


def test_the_settings_file_is_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    """The settings file for rumqttd, as seen by a stand-in for iotcore that looks at its mode."""
    stand_in = tmp_path / "iotcore"
    stand_in.mkdir()
    (stand_in / "__init__.py").write_text("")
    (stand_in / "iotcore.py").write_text(
        "import os, stat\n"
        "class IotCoreBroker:\n"
        "    def __init__(self, config_path):\n"
        "        raise SystemError(oct(stat.S_IMODE(os.stat(config_path).st_mode)))\n"
    )
    script = Path(sys.modules["sdschat.transport.broker"].__file__ or "").with_name("broker_process.py")
    before = os.umask(0)
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(script)],
            input=json.dumps({"config": "", "addresses": []}) + "\n",
            env={**os.environ, "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
        )
    finally:
        os.umask(before)
    assert done.stdout == f"failed {oct(stat.S_IRUSR | stat.S_IWUSR)}\n"
    assert [each.name for each in tmp_path.iterdir()] == ["iotcore"]
